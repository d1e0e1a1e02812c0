/// An operand (`MESSAGE`) or an option with its value (`--from N`), and its help text.
typealias Parameter = (name: String, help: String)

/// Describes in one line what is wrong with a command line.
struct UsageError: Error, Hashable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// A parsed command line: operands, and options with a value (`--name VALUE` or `--name=VALUE`).
struct Arguments: Hashable, Sendable {
  private(set) var operands: [String] = []
  private var values: [String: String] = [:]

  /// Parses `words`. Operands are optional, and so are options.
  ///
  /// - Throws: ``UsageError`` for an option that is unknown, repeated or without a value, and for a
  ///   surplus operand.
  init(_ words: some Sequence<String>, parameters: [Parameter]) throws(UsageError) {
    let options = parameters.map { $0.name.prefix { $0 != " " } }.filter { $0.hasPrefix("--") }
    var words = Array(words)[...]
    while let word = words.popFirst() {
      guard word.hasPrefix("-") else {
        operands.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard options.contains(parts[0]) else { throw UsageError("unknown option '\(parts[0])'") }
      guard let value = parts.count == 2 ? String(parts[1]) : words.popFirst() else {
        throw UsageError("option '\(parts[0])' needs a value")
      }
      guard values.updateValue(value, forKey: String(parts[0])) == nil else {
        throw UsageError("option '\(parts[0])' is given twice")
      }
    }
    let limit = parameters.count - options.count
    guard operands.count <= limit else {
      throw UsageError("unexpected argument '\(operands[limit])'")
    }
  }

  /// Returns the value of an option that names a file or folder.
  func path(_ option: String) throws(UsageError) -> String? {
    try value(of: option, "the path of a file or folder") { $0.isEmpty ? nil : $0 }
  }

  /// Returns the value of an option that is a whole number in `range`.
  func integer(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    try value(of: option, "a whole number from \(range.lowerBound) to \(range.upperBound)") {
      Int($0).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// Returns the value of an option that is a number of seconds, up to a day.
  func seconds(_ option: String) throws(UsageError) -> Duration? {
    try value(of: option, "a number of seconds above 0 and up to 86400") {
      Double($0).flatMap { $0 > 0 && $0 <= 86_400 ? .seconds($0) : nil }
    }
  }

  /// Returns the value of an option that names one of `clocks`, or the first of them by default.
  func choice(_ option: String, of clocks: [ClockChoice]) throws(UsageError) -> ClockChoice {
    let names = clocks.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    return try value(of: option, "one of \(names)") { name in clocks.first { $0.rawValue == name } }
      ?? clocks[0]
  }

  private func value<Value>(
    of option: String, _ expected: String, parse: (String) -> Value?
  ) throws(UsageError) -> Value? {
    guard let text = values[option] else { return nil }
    guard let value = parse(text) else {
      throw UsageError("option '\(option)' needs \(expected), not '\(text)'")
    }
    return value
  }
}

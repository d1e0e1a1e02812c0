/// An argument that is not an option.
struct Operand: Sendable {
  /// What stands for it in the usage.
  let name: String
  let help: String
}

/// An option with a value: `--name VALUE` or `--name=VALUE`.
struct Option: Sendable {
  /// Its name, without the dashes.
  let name: String
  /// What stands for its value in the usage.
  let value: String
  let help: String
}

/// Says what is wrong with a command line, in a line.
struct UsageError: Error, Hashable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// A command line, taken apart.
struct Arguments: Hashable, Sendable {
  /// The arguments that are not options, in order.
  private(set) var operands: [String] = []
  private var values: [String: String] = [:]

  /// Takes `words` apart. What comes after `--` is an operand, whatever it looks like.
  ///
  /// - Throws: ``UsageError`` for an option that is unknown, has no value or is given twice, and
  ///   for too many operands.
  init(_ words: some Sequence<String>, operands: [Operand], options: [Option])
    throws(UsageError)
  {
    var words = Array(words)[...]
    while let word = words.popFirst() {
      if word == "--" {
        self.operands += words
        break
      }
      // A negative number is no option.
      guard word.hasPrefix("-"), word != "-", Double(word) == nil else {
        self.operands.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0].dropFirst(2))
      guard word.hasPrefix("--"), options.contains(where: { $0.name == name }) else {
        let names = options.map { "--" + $0.name } + ["--help"]
        throw UsageError(
          "unknown option '\(parts[0])'\(names.suggestion(for: String(parts[0])))")
      }
      guard let value = parts.count == 2 ? String(parts[1]) : words.popFirst() else {
        throw UsageError("option '--\(name)' needs a value")
      }
      guard values.updateValue(value, forKey: name) == nil else {
        throw UsageError("option '--\(name)' is given twice")
      }
    }
    guard self.operands.count <= operands.count else {
      throw UsageError("unexpected argument '\(self.operands[operands.count])'")
    }
  }

  /// The value of an option, or `nil` if it is not given.
  func string(_ option: String) -> String? { values[option] }

  /// The value of an option that is a whole number in `range`.
  func integer(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let value = values[option] else { return nil }
    guard let number = Int(value), range.contains(number) else {
      throw UsageError(
        "option '--\(option)' needs a whole number from \(range.lowerBound) to "
          + "\(range.upperBound), not '\(value)'")
    }
    return number
  }

  /// The value of an option that is a number of seconds, up to a day.
  func seconds(_ option: String) throws(UsageError) -> Duration? {
    guard let value = values[option] else { return nil }
    guard let seconds = Double(value), seconds > 0, seconds <= 86_400 else {
      throw UsageError(
        "option '--\(option)' needs a number of seconds above 0 and up to 86400, not '\(value)'")
    }
    return .seconds(seconds)
  }
}

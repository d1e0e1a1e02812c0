/// The name of a function as it was written: `Poller.inner()` for
/// `(2) await resume partial function for MyTests.Poller.inner() async -> ()`.
struct FunctionName: Hashable, Sendable {
  /// Empty if the demangled name has no module.
  private(set) var module = ""
  /// Types, name and labels, without the module.
  private(set) var text = ""
  /// Whether the compiler generated the function, only to call another one.
  private(set) var isThunk = false
  private(set) var isClosure = false

  init(_ symbol: String) { self.init(demangled: RuntimeFunctions.demangled(symbol)) }

  /// - Parameter demangled: The name as `swift_demangle` returns it.
  init(demangled: String) {
    var rest = Substring(demangled)
    stripPrefixes(&rest)
    if let (kind, inner) = Self.closure(rest) {
      let function = FunctionName(demangled: String(inner))
      module = function.module
      text = "\(kind) in \(function.text)"
      isThunk = isThunk || function.isThunk
      isClosure = true
    } else {
      readName(&rest)
    }
  }

  private static let kinds = [
    "static ", "class ", "merged ", "async function pointer to ", "@objc ",
    // A closure that is the initial value of a property.
    "variable initialization expression of ",
  ]
  private static let thunks = [
    "partial apply forwarder for ", "partial apply for ", "dispatch thunk of ", "curry thunk of ",
    "protocol witness for ", "reabstraction thunk helper ", "reabstraction thunk ", "thunk for ",
    "vtable thunk for ", "back deployment thunk for ", "back deployment fallback for ",
    "back deployed thunk for ", "distributed thunk ",
  ]
  private static let specializations = [
    "generic specialization ", "generic not re-abstracted specialization ",
    "generic partial specialization ", "function signature specialization ",
    "generic pre-specialization ", "inlined generic function ",
  ]

  private mutating func stripPrefixes(_ rest: inout Substring) {
    while true {
      if rest.first == "(", let end = rest.firstRange(of: " resume partial function for "),
        rest[..<end.lowerBound].dropFirst().prefix(while: \.isNumber).count > 0
      {
        rest = rest[end.upperBound...]
      } else if let kind = Self.kinds.first(where: rest.hasPrefix) {
        rest = rest.dropFirst(kind.count)
      } else if let thunk = Self.thunks.first(where: rest.hasPrefix) {
        isThunk = true
        rest = rest.dropFirst(thunk.count)
      } else if let kind = Self.specializations.first(where: rest.hasPrefix) {
        rest = rest.dropFirst(kind.count)
        guard let function = rest.text(after: " of ") else { return }
        rest = function
      } else {
        return
      }
    }
  }

  /// Splits the name of a closure into its own part and the function around it.
  private static func closure(_ text: Substring) -> (kind: String, inner: Substring)? {
    let prefix = ["closure #", "implicit closure #", "autoclosure #"].first(where: text.hasPrefix)
    guard let prefix, let inner = text.text(after: " in ") else { return nil }
    let number = text.dropFirst(prefix.count).prefix(while: \.isNumber)
    let kind = prefix == "autoclosure #" ? "implicit closure #" : prefix
    return (kind + number, inner)
  }

  private mutating func readName(_ rest: inout Substring) {
    var parts: [String] = []
    while true {
      if rest.hasPrefix("(extension in "), let end = rest.firstIndex(of: ")") {
        module = String(rest[..<end].dropFirst("(extension in ".count))
        rest = rest[end...].dropFirst(2)
      }
      guard let part = Self.part(&rest) else { break }
      parts.append(part)
      if rest.first == "<" { rest = rest.dropBrackets() }
      guard rest.first == "." else { break }
      rest = rest.dropFirst()
    }
    if parts.count > 1 {
      if module.isEmpty { module = parts[0] }
      parts.removeFirst()
    }
    if let kind = parts.last, parts.count > 1,
      ["getter", "setter", "modify", "read"].contains(kind)
    {
      text = parts.dropLast().joined(separator: ".")
      return
    }
    if let last = parts.last, last.hasPrefix("__"), last.hasSuffix("init") {
      parts[parts.count - 1] = "init"
    }
    text = parts.joined(separator: ".")
    readLocalFunction(&rest)
    // Code that a macro generated has no name that a user knows.
    if parts.contains(where: { $0.contains("$s") && $0.first != "`" }) { isThunk = true }
  }

  /// Takes one name from the text: `inner`, or `(inner in _1A2B3C)` if it is private to a file.
  private static func part(_ rest: inout Substring) -> String? {
    if rest.first == "(" {
      let inner = rest.dropFirst()
      let tail = inner.dropFirst(inner.rawNameCount)
      guard let end = tail.firstRange(of: " in _"), let close = tail.firstIndex(of: ")"),
        end.upperBound < close
      else { return nil }
      let name = inner[..<end.lowerBound]
      rest = rest[close...].dropFirst()
      return String(name)
    }
    let name = rest.word { !".(< :".contains($0) }
    rest = rest.dropFirst(name.count)
    return name.isEmpty ? nil : String(name)
  }

  /// Reads parameters, or the function around a local one: for example `inner #1 () async -> () in MyTests.outer()`.
  private mutating func readLocalFunction(_ rest: inout Substring) {
    guard rest.hasPrefix(" #") else {
      text += Self.labels(rest)
      return
    }
    rest = rest.dropFirst(2).drop(while: \.isNumber)
    text += rest.firstIndex(of: "(").map { Self.labels(rest[$0...]) } ?? "()"
    guard let function = rest.text(after: " in ") else { return }
    let outer = FunctionName(demangled: String(function))
    module = outer.module
    isThunk = isThunk || outer.isThunk
    text += " in \(outer.text)"
  }

  /// The name without the types, and without the function around it: `image(for:)`.
  var nameAlone: String {
    var rest = Substring(text)
    var name = ""
    while let part = Self.part(&rest) {
      name = part
      guard rest.first == "." else { break }
      rest = rest.dropFirst()
    }
    return rest.first == "(" ? name + rest.prefix(rest.bracketsCount) : name
  }

  /// The labels of the parameters at the beginning of a text: `(_:to:)`.
  private static func labels(_ text: Substring) -> String {
    guard text.first == "(" else { return "" }
    let parameters = text.prefix(text.bracketsCount).dropFirst().dropLast()
    guard !parameters.isEmpty else { return "()" }
    let labels = sequence(first: parameters) { $0.text(after: ",") }.map { rest in
      let parameter = rest.drop { $0 == " " }
      let label = parameter.word { $0.isLetter || $0.isNumber || $0 == "_" }
      return parameter.dropFirst(label.count).hasPrefix(": ") ? "\(label):" : "_:"
    }
    return "(\(labels.joined()))"
  }
}

extension Substring {
  /// The length of the name in backticks at the beginning, backticks included; 0 if there is none.
  fileprivate var rawNameCount: Int {
    guard first == "`", let end = dropFirst().firstIndex(of: "`") else { return 0 }
    return self[...end].count
  }

  /// The name in backticks at the beginning, or else the first characters that belong to a name.
  fileprivate func word(while isPart: (Character) -> Bool) -> Substring {
    let count = rawNameCount
    return count > 0 ? prefix(count) : prefix(while: isPart)
  }

  /// The number of characters up to and including the bracket that closes the first bracket.
  fileprivate var bracketsCount: Int {
    var depth = 0
    var count = 0
    var isInRawName = false
    var previous: Character = " "
    for character in self {
      count += 1
      if character == "`" { isInRawName.toggle() }
      if isInRawName { continue }
      if "([<{".contains(character) { depth += 1 }
      // The `>` of an arrow is not a bracket.
      if ")]}".contains(character) || (character == ">" && previous != "-") { depth -= 1 }
      if depth == 0 { return count }
      previous = character
    }
    return count
  }

  fileprivate func dropBrackets() -> Substring { dropFirst(bracketsCount) }

  /// Returns the text after the first occurrence of `separator` outside of brackets and backticks.
  fileprivate func text(after separator: String) -> Substring? {
    var rest = self
    while let character = rest.first {
      if rest.hasPrefix(separator) { return rest.dropFirst(separator.count) }
      if rest.hasPrefix("->") {
        rest = rest.dropFirst(2)
      } else if character == "`" {
        rest = rest.dropFirst(Swift.max(rest.rawNameCount, 1))
      } else {
        rest = "([<{".contains(character) ? rest.dropBrackets() : rest.dropFirst()
      }
    }
    return nil
  }
}

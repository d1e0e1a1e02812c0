import ClocksDrawing
import ClocksSupport

/// The expected events of a sequence, step by step.
struct Diagram: Hashable, Sendable {
  /// An event of a sequence or of its reader.
  enum Symbol: Hashable, Sendable {
    /// A value, as its description. It is quoted if it would look like the sign of another value.
    case value(String, isQuoted: Bool = false)
    /// A value with a sign of its own, and the description that a quoted text must equal.
    case known(Character, description: String)
    case end
    case error(isExpected: Bool, String)
    /// The task that reads the sequence is cancelled.
    case cancellation
    /// The task is cancelled, and the sequence does not end.
    case ignoredCancellation
  }

  struct Problem: Error, Hashable, CustomStringConvertible {
    var diagram: String
    /// The index of the wrong character.
    var position: Int
    var reason: String

    var description: String {
      let indent = String(diagram.prefix(position)).printable.columns
      return "\(reason)\n  \(diagram.printable)\n  \(String(repeating: " ", count: indent))^"
    }
  }

  /// The signs that do not stand for a value by themselves: those with a meaning, and those without any.
  static let special: Set<Character> = Set("-|#!()' ").union(withoutMeaning)
  static let withoutMeaning: Set<Character> = [
    "^", "[", "]", "{", "}", ";", ",", "\"", "\n", "\r", "\r\n", "\t",
  ]

  let steps: [[Symbol]]

  /// The step at which the reader is cancelled, if there is one.
  var cancellation: Int? { steps.firstIndex { $0.contains(.cancellation) } }

  /// The step at which the reader is cancelled, if the cancellation is the first event of that step.
  ///
  /// `nil` for the diagram's first step, because no cancellation can precede the beginning of the sequence.
  var earlyCancellation: Int? {
    guard let cancellation, cancellation > 0, steps[cancellation].first == .cancellation else {
      return nil
    }
    return cancellation
  }

  /// Whether the diagram shows how the sequence ends after the cancellation.
  var saysEndAfterCancellation: Bool {
    guard let cancellation else { return false }
    return steps[cancellation...].joined().contains { symbol in
      switch symbol {
      case .end, .error: true
      case .value, .known, .cancellation, .ignoredCancellation: false
      }
    }
  }

  /// Reads a diagram.
  ///
  /// - Parameters:
  ///   - value: Returns the symbol of the value that a sign stands for; `nil` if there is none.
  init(
    _ text: String,
    value: @escaping (Character) -> Symbol? = { Symbol.value(String($0)) }
  ) throws(Problem) {
    var parser = DiagramParser(text: text, characters: Array(text), value: value)
    try parser.parse()
    steps = parser.steps
  }
}

private struct DiagramParser {
  let text: String
  let characters: [Character]
  let value: (Character) -> Diagram.Symbol?
  var position = 0
  var steps: [[Diagram.Symbol]] = []
  /// The open group and the position of its beginning.
  var group: (symbols: [Diagram.Symbol], position: Int)?
  /// The latest symbol that is not a value. It restricts the symbols that may follow.
  var end: Diagram.Symbol?

  mutating func parse() throws(Diagram.Problem) {
    while position < characters.count {
      try take(characters[position])
      position += 1
    }
    if let group { throw problem("the group that begins here is not closed", at: group.position) }
    if steps.isEmpty { throw problem("a diagram has at least one step", at: 0) }
  }

  private mutating func take(_ character: Character) throws(Diagram.Problem) {
    switch character {
    case " ": break
    case "-":
      guard group == nil else { throw problem("no time passes within a group") }
      steps.append([])
    case "(":
      guard group == nil else { throw problem("a group within a group") }
      group = ([], position)
    case ")":
      guard let group else { throw problem("a group ends that has not begun") }
      guard !group.symbols.isEmpty else { throw problem("an empty group; write - for nothing") }
      self.group = nil
      steps.append(group.symbols)
    case "|": try add(.end)
    case "#": try add(.error(isExpected: true, ""))
    case "!": try add(.cancellation)
    case "'": try addQuoted()
    case _ where Diagram.withoutMeaning.contains(character):
      throw problem("\(String(reflecting: String(character))) has no meaning in a diagram")
    default:
      guard let symbol = value(character) else {
        throw problem("there is no value for \"\(character)\"")
      }
      try add(symbol)
    }
  }

  private mutating func addQuoted() throws(Diagram.Problem) {
    let start = position
    guard let close = characters[(start + 1)...].firstIndex(of: "'") else {
      throw problem("the value that begins here has no end: a ' is missing")
    }
    let text = String(characters[(start + 1)..<close])
    try add(.value(text, isQuoted: isSign(text)))
    position = close
  }

  private func isSign(_ text: String) -> Bool {
    guard text.count == 1, case .known? = value(Character(text)) else { return false }
    return true
  }

  private mutating func add(_ symbol: Diagram.Symbol) throws(Diagram.Problem) {
    switch end {
    case .end: throw problem("nothing comes after the end")
    case .error: throw problem("nothing comes after an error")
    case .cancellation where symbol == .cancellation:
      throw problem("the reader is cancelled only once")
    default: break
    }
    if !symbol.isValue { end = symbol }
    if group != nil {
      group?.symbols.append(symbol)
    } else {
      steps.append([symbol])
    }
  }

  private func problem(_ reason: String, at place: Int? = nil) -> Diagram.Problem {
    Diagram.Problem(diagram: text, position: place ?? position, reason: reason)
  }
}

extension Diagram.Symbol {
  var isValue: Bool {
    switch self {
    case .value, .known: true
    case .end, .error, .cancellation, .ignoredCancellation: false
    }
  }

  /// Whether an event is the one that a diagram shows with this symbol.
  func matches(_ event: Diagram.Symbol) -> Bool {
    switch (self, event) {
    case (.value(let text, _), .value(let description, _)),
      (.value(let text, _), .known(_, let description)):
      text == description
    case (.known(let sign, _), .known(let other, _)): sign == other
    case (.error, .error(let isExpected, _)): isExpected
    default: self == event
    }
  }

  /// The symbol as a diagram shows it.
  var text: String {
    switch self {
    case .value(let value, let isQuoted):
      !isQuoted && value.count == 1 && !Diagram.special.contains(Character(value))
        ? value : "'\(value)'"
    case .known(let sign, _): Diagram.Symbol.value(String(sign)).text
    case .end: "|"
    case .error: "#"
    case .cancellation: "!"
    case .ignoredCancellation: "!…"
    }
  }

  var words: String {
    switch self {
    case .value, .known: text
    case .end: "the end"
    case .error(true, ""): "an error"
    case .error(_, let description): "the error \(description)"
    case .cancellation: "the cancellation"
    case .ignoredCancellation: "the cancellation, after which it went on"
    }
  }
}

extension [Diagram.Symbol] {
  /// The symbols of one step as a diagram shows them.
  var text: String {
    switch count {
    case 0: "-"
    case 1: self[0].text
    default: "(\(map(\.text).joined()))"
    }
  }

  var words: String {
    switch count {
    case 0: "nothing"
    case 1: self[0].words
    default: map(\.words).dropLast().joined(separator: ", ") + " and \(self[count - 1].words)"
    }
  }
}

/// The first difference between a diagram and what a sequence did.
struct DiagramDifference {
  typealias Symbol = Diagram.Symbol

  /// The symbol of what happened, and the time since the first step.
  struct Event: Sendable {
    var time: Duration
    var symbol: Symbol
  }

  /// A description of the first difference.
  let first: String
  /// The expected diagram, the actual diagram, and a caret below the difference.
  let lines: [String]

  /// Returns `nil` if there is no difference.
  ///
  /// - Parameters:
  ///   - events: The actual events, in order.
  ///   - step: The length of a step; positive.
  init?(_ diagram: Diagram, _ events: [Event], every step: Duration) {
    var actual = [[Symbol]](repeating: [], count: diagram.steps.count)
    var offGrid: (index: Int, event: Event)?
    for event in events {
      let index = Self.index(of: event.time, every: step, last: diagram.steps.count - 1)
      actual[index].append(event.symbol)
      if offGrid == nil, event.time != step * index { offGrid = (index, event) }
    }
    var difference = zip(diagram.steps, actual).enumerated()
      .first { !Self.isSame($0.element.0, $0.element.1) }?.offset
    var words: String?
    if let (index, event) = offGrid, index <= difference ?? index {
      difference = index
      words = "\(event.symbol.words) came at \(event.time.inSeconds), between two steps"
    }
    guard let difference else { return nil }
    first =
      words
        ?? """
        at \((step * difference).inSeconds) expected \(diagram.steps[difference].words), but got \
        \(actual[difference].words)
        """
    lines = Self.lines(diagram.steps, actual, difference)
  }

  /// Returns the step at a time, or the next step if the time is between two.
  private static func index(of time: Duration, every step: Duration, last: Int) -> Int {
    let (whole, rest) = time.attoseconds.quotientAndRemainder(dividingBy: step.attoseconds)
    return min(Int(clamping: max(0, whole + rest.signum())), last)
  }

  private static func isSame(_ expected: [Symbol], _ actual: [Symbol]) -> Bool {
    expected.count == actual.count && zip(expected, actual).allSatisfy { $0.matches($1) }
  }

  /// Returns the diagrams with equal steps below each other.
  private static func lines(
    _ expected: [[Symbol]], _ actual: [[Symbol]], _ difference: Int
  ) -> [String] {
    var (above, below, caret) = ("", "", 0)
    for (index, (one, other)) in zip(expected, actual).enumerated() {
      if index == difference { caret = above.columns }
      let (one, other) = (one.text.printable, other.text.printable)
      let width = max(one.columns, other.columns)
      above += one + String(repeating: " ", count: width - one.columns)
      below += other + String(repeating: " ", count: width - other.columns)
    }
    return ["  expected  \(above)", "  actual    \(below)"].map(trimmed)
      + ["            \(String(repeating: " ", count: caret))^"]
  }

  private static func trimmed(_ line: String) -> String {
    line.lastIndex { $0 != " " }.map { String(line[...$0]) } ?? ""
  }
}

import Clocks
import ClocksDrawing

/// What is expected of a sequence, step by step, as it is written in a diagram.
struct Diagram: Hashable, Sendable {
  /// Something that a sequence does, or that is done to it.
  enum Symbol: Hashable, Sendable {
    /// A value, by its character or its description.
    case value(String)
    case end
    /// An error; whether it is the expected one.
    case error(isExpected: Bool, String)
    /// Whoever reads it is cancelled.
    case cancellation
    /// The same, and it went on.
    case ignoredCancellation
  }

  /// Says what is wrong with a diagram, and where.
  struct Problem: Error, Hashable, CustomStringConvertible {
    var diagram: String
    /// The number of characters before the one that is wrong.
    var position: Int
    var reason: String

    var description: String {
      // The caret stands below the character, whatever the width of those before it.
      let indent = String(diagram.prefix(position)).columns
      return "\(reason)\n  \(diagram.printable)\n  \(String(repeating: " ", count: indent))^"
    }
  }

  /// What happens at each step.
  private(set) var steps: [[Symbol]] = []
  /// Where each step begins in the text.
  private(set) var positions: [Int] = []

  /// The step at which the reader is cancelled, if it is.
  var cancellation: Int? { steps.firstIndex { $0.contains(.cancellation) } }

  /// Whether it says how the sequence ends after the cancellation.
  var saysEndAfterCancellation: Bool {
    guard let cancellation else { return false }
    // Nothing that ends a sequence stands before.
    return steps[cancellation...].joined().contains { symbol in
      switch symbol {
      case .end, .error: true
      case .value, .cancellation, .ignoredCancellation: false
      }
    }
  }

  /// - Parameter isKnown: Whether there is a value for a character.
  init(_ text: String, isKnown: @escaping (Character) -> Bool = { _ in true }) throws(Problem) {
    var parser = DiagramParser(text, isKnown: isKnown)
    try parser.parse()
    (steps, positions) = (parser.steps, parser.positions)
  }
}

extension Diagram {
  /// The same with other texts for values.
  func mapValues(_ transform: (String) -> String) -> Diagram {
    var diagram = self
    diagram.steps = steps.map { symbols in
      symbols.map { symbol in
        if case .value(let value) = symbol { .value(transform(value)) } else { symbol }
      }
    }
    return diagram
  }
}

/// Takes a diagram apart.
private struct DiagramParser {
  private let text: String
  private let characters: [Character]
  private let isKnown: (Character) -> Bool
  private var position = 0
  private(set) var steps: [[Diagram.Symbol]] = []
  private(set) var positions: [Int] = []
  /// The group that is open, and where it began.
  private var group: (symbols: [Diagram.Symbol], position: Int)?
  /// What ended the sequence, if something did.
  private var end: Diagram.Symbol?

  init(_ text: String, isKnown: @escaping (Character) -> Bool) {
    self.text = text
    self.isKnown = isKnown
    characters = Array(text)
  }

  mutating func parse() throws(Diagram.Problem) {
    while position < characters.count {
      try take(characters[position])
      position += 1
    }
    if let group { throw problem("the group that begins here is not closed", at: group.position) }
    if steps.isEmpty { throw problem("a diagram has one step or more", at: 0) }
  }

  private mutating func take(_ character: Character) throws(Diagram.Problem) {
    switch character {
    case " ": break
    case "-":
      guard group == nil else { throw problem("no time passes within a group") }
      steps.append([])
      positions.append(position)
    case "(":
      guard group == nil else { throw problem("a group within a group") }
      group = ([], position)
    case ")":
      guard let group else { throw problem("a group ends that has not begun") }
      guard !group.symbols.isEmpty else { throw problem("an empty group; write - for nothing") }
      self.group = nil
      steps.append(group.symbols)
      positions.append(group.position)
    case "|": try add(.end)
    case "#": try add(.error(isExpected: true, ""))
    case "!": try add(.cancellation)
    case "'": try addQuoted()
    case "^", "[", "]", "{", "}", ";", ",", "\"", "\n", "\t":
      throw problem("\(String(reflecting: String(character))) has no meaning in a diagram")
    default:
      guard isKnown(character) else { throw problem("there is no value for \"\(character)\"") }
      try add(.value(String(character)))
    }
  }

  private mutating func addQuoted() throws(Diagram.Problem) {
    let start = position
    guard let close = characters[(start + 1)...].firstIndex(of: "'") else {
      throw problem("the value that begins here has no end: a ' is missing")
    }
    try add(.value(String(characters[(start + 1)..<close])))
    position = close
  }

  private mutating func add(_ symbol: Diagram.Symbol) throws(Diagram.Problem) {
    switch end {
    case .end: throw problem("nothing comes after the end")
    case .error: throw problem("nothing comes after an error")
    case .cancellation where symbol == .cancellation: throw problem("it is cancelled once")
    default: break
    }
    if case .value = symbol {} else { end = symbol }
    if group != nil {
      group?.symbols.append(symbol)
    } else {
      steps.append([symbol])
      positions.append(position)
    }
  }

  private func problem(_ reason: String, at place: Int? = nil) -> Diagram.Problem {
    Diagram.Problem(diagram: text, position: place ?? position, reason: reason)
  }
}

// MARK: - In words

extension Diagram.Symbol {
  /// The symbol as it stands in a diagram.
  var text: String {
    switch self {
    case .value(let value): value.count == 1 && !"-|#!()' ".contains(value) ? value : "'\(value)'"
    case .end: "|"
    case .error: "#"
    case .cancellation: "!"
    case .ignoredCancellation: "!…"
    }
  }

  var words: String {
    switch self {
    case .value: text
    case .end: "the end"
    case .error(true, ""): "an error"
    case .error(_, let description): "the error \(description)"
    case .cancellation: "the cancellation"
    case .ignoredCancellation: "the cancellation, after which it went on"
    }
  }
}

extension [Diagram.Symbol] {
  /// The symbols as they stand in a diagram at one step.
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

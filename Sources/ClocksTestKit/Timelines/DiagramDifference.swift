import Clocks
import ClocksDrawing
import ClocksSupport

/// What a sequence did that is not as its diagram says.
struct DiagramDifference {
  typealias Symbol = Diagram.Symbol

  /// Something that happened, and when, counted from the beginning.
  struct Event: Sendable {
    var time: Duration
    var symbol: Symbol
  }

  /// The first difference, in words.
  let first: String
  /// The expected diagram and the actual one, below each other, and a caret below the first difference.
  let lines: [String]

  /// Compares; returns `nil` if everything is as it should be.
  ///
  /// - Parameters:
  ///   - events: What happened, in order.
  ///   - step: How much time each step stands for; positive.
  init?(_ diagram: Diagram, _ events: [Event], every step: Duration) {
    var actual = [[Symbol]](repeating: [], count: diagram.steps.count)
    var offGrid: Event?
    for event in events {
      let index = Self.index(of: event.time, every: step, last: diagram.steps.count - 1)
      actual[index].append(event.symbol)
      if offGrid == nil, event.time != step * index { offGrid = event }
    }
    var difference = zip(diagram.steps, actual).enumerated()
      .first { !Self.isSame($0.element.0, $0.element.1) }?.offset
    var words: String?
    if let offGrid {
      let index = Self.index(of: offGrid.time, every: step, last: diagram.steps.count - 1)
      if index <= difference ?? index {
        difference = index
        words = "\(offGrid.symbol.words) came at \(offGrid.time.inSeconds), between two steps"
      }
    }
    guard let difference else { return nil }
    first =
      words
        ?? """
        at \((step * difference).inSeconds) expected \(diagram.steps[difference].words), but it was \
        \(actual[difference].words)
        """
    lines = Self.lines(diagram.steps, actual, difference)
  }

  /// The step at which something happened, or the next one.
  private static func index(of time: Duration, every step: Duration, last: Int) -> Int {
    let steps = max(0, (time.attoseconds + step.attoseconds - 1) / step.attoseconds)
    return min(Int(clamping: steps), last)
  }

  private static func isSame(_ expected: [Symbol], _ actual: [Symbol]) -> Bool {
    expected.count == actual.count
      && zip(expected, actual).allSatisfy { expected, actual in
        if case .error = expected, case .error(let isExpected, _) = actual { return isExpected }
        return expected == actual
      }
  }

  /// The diagrams with their steps below each other.
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
    return [
      "  expected  \(above)".withoutSpacesAtItsEnd, "  actual    \(below)".withoutSpacesAtItsEnd,
      "            \(String(repeating: " ", count: caret))^",
    ]
  }
}

extension String {
  fileprivate var withoutSpacesAtItsEnd: String {
    var text = self
    while text.hasSuffix(" ") { text.removeLast() }
    return text
  }
}

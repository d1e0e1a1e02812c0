/// The number of times that an event is expected: a number or a range.
struct ExpectedCount: Hashable, Sendable {
  let least: Int
  /// The upper bound; `nil` if there is none.
  let most: Int?

  init(_ count: Int) {
    least = count
    most = count
  }

  init(_ range: some RangeExpression<Int> & Sequence<Int> & Sendable) {
    switch range {
    case let range as ClosedRange<Int>:
      least = range.lowerBound
      most = range.upperBound
    case let range as PartialRangeFrom<Int>:
      least = range.lowerBound
      most = nil
    default:
      let range = range.relative(to: 0..<Int.max)
      least = range.lowerBound
      most = range.upperBound - 1
    }
  }

  /// Returns whether further events cannot change the outcome.
  func isDecided(at count: Int) -> Bool {
    if let most { count > most } else { count >= least }
  }

  func contains(_ count: Int) -> Bool {
    count >= least && count <= most ?? .max
  }
}

extension ExpectedCount: CustomStringConvertible {
  /// For example `exactly 3 times`.
  var description: String {
    switch (least, most) {
    case (0, 0): "never"
    case (let least, nil): "at least \(least.times)"
    case (let least, let most?) where least == most: "exactly \(least.times)"
    case (let least, let most?): "\(least) to \(most.times)"
    }
  }
}

extension Int {
  /// For example `1 time` or `2 times`.
  var times: String { self == 1 ? "1 time" : "\(self) times" }
}

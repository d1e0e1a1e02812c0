import Testing

@testable import Clocks

@Suite struct SaturatingTests {
  static let longest = Duration(attoseconds: .max)
  static let shortest = Duration(attoseconds: .min)

  @Test(
    arguments: [
      (.seconds(1), .milliseconds(500), .milliseconds(1500)),
      (.seconds(1), .seconds(-3), .seconds(-2)),
      (longest, .zero, longest),
      (longest, Duration(attoseconds: 1), longest),
      (Duration(attoseconds: 1), longest, longest),
      (longest, longest, longest),
      (longest - Duration(attoseconds: 1), Duration(attoseconds: 1), longest),
      (shortest, Duration(attoseconds: -1), shortest),
      (shortest, shortest, shortest),
      (longest, shortest, Duration(attoseconds: -1)),
      (.seconds(Int64.max), .seconds(Int64.max), .seconds(Int64.max) * 2),
    ] as [(Duration, Duration, Duration)])
  func sumStopsAtTheEndsOfTheRange(a: Duration, b: Duration, sum: Duration) {
    #expect(saturatingSum(a, b) == sum)
    #expect(saturatingSum(b, a) == sum)
  }

  @Test(
    arguments: [
      (.seconds(1), .milliseconds(500), .milliseconds(500)),
      (.seconds(1), .seconds(3), .seconds(-2)),
      (longest, .seconds(-1), longest),
      (.zero, shortest, longest),
      (Duration(attoseconds: -1), shortest, longest),
      (shortest, Duration(attoseconds: 1), shortest),
      (shortest, longest, shortest),
      (.zero, longest, Duration(attoseconds: -.max)),
      (longest, longest, .zero),
    ] as [(Duration, Duration, Duration)])
  func differenceStopsAtTheEndsOfTheRange(a: Duration, b: Duration, difference: Duration) {
    #expect(saturatingDifference(a, b) == difference)
  }

  @Test func otherDurationsAreAddedAndSubtractedByTheirOwnRule() {
    #expect(saturatingSum(Beats(count: 3), Beats(count: 4)) == Beats(count: 7))
    #expect(saturatingDifference(Beats(count: 3), Beats(count: 4)) == Beats(count: -1))
  }
}

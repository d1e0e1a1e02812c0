import Testing

@testable import Clocks

@Suite struct GreatestMultipleTests {
  @Test func equalsTheQuotientTimesTheUnit() {
    for unit in 1...40 {
      for limit in -3...400 {
        let expected = max(0, limit / unit) * unit
        let multiple = greatestMultiple(
          of: Beats(count: unit), notAbove: Beats(count: limit))
        #expect(multiple == Beats(count: expected), "\(unit) \(limit)")
      }
    }
  }

  @Test func isExactAndStaysInRangeWhereTheNumbersAreTheGreatest() {
    let day = Duration.seconds(86400)
    #expect(greatestMultiple(of: .nanoseconds(7), notAbove: day) == day - .nanoseconds(1))

    let longest = Duration(attoseconds: .max)
    let attosecond = Duration(attoseconds: 1)
    #expect(greatestMultiple(of: attosecond, notAbove: longest) == longest)
    #expect(
      greatestMultiple(of: attosecond * 2, notAbove: longest) == longest - attosecond)
    #expect(greatestMultiple(of: longest, notAbove: longest) == longest)
    #expect(
      greatestMultiple(of: Beats(count: 2), notAbove: Beats(count: .max))
        == Beats(count: .max - 1))
  }

  @Test func terminatesWithFloatingPointNumbers() {
    let multiple = greatestMultiple(of: Minutes(count: 0.1), notAbove: Minutes(count: 1e300)).count
    #expect(multiple <= 1e300 && multiple > 0.999e300)
    #expect(
      greatestMultiple(of: Minutes(count: .leastNonzeroMagnitude), notAbove: Minutes(count: 1))
        == Minutes(count: 1))
    #expect(
      greatestMultiple(of: Minutes(count: 1), notAbove: Minutes(count: .infinity)).count > 1e300)
  }

  @Test func takesLogarithmicTime() async throws {
    _ = greatestMultiple(of: CountingBeats(count: 1), notAbove: CountingBeats(count: 1 << 60))
    // 60 doublings, each of an addition and a comparison by subtraction; then 62 comparisons and one addition.
    #expect(CountingBeats.additions.value == 183)
  }

  /// A timer with nanosecond ticks that misses a million years. Adding the ticks one by one would not end.
  @Test func aTimerOfNanosecondsCatchesUp() async throws {
    let clock = ImmediateClock()
    var iterator = clock.timer(interval: .nanoseconds(3)).makeAsyncIterator()
    #expect(await iterator.next()?.offset == .nanoseconds(3))
    let millionYears = Duration.seconds(31_556_952_000_000)
    try await clock.sleep(for: millionYears + .nanoseconds(2))
    #expect(await iterator.next()?.offset == millionYears + .nanoseconds(3))
    #expect(await iterator.next()?.offset == millionYears + .nanoseconds(6))
  }
}

/// A duration that counts its additions and subtractions.
private struct CountingBeats: DurationProtocol {
  static let additions = Tally()

  var count: Int

  static let zero = CountingBeats(count: 0)

  static func + (a: Self, b: Self) -> Self {
    additions.add()
    return Self(count: a.count + b.count)
  }
  static func - (a: Self, b: Self) -> Self {
    additions.add()
    return Self(count: a.count - b.count)
  }
  static func * (a: Self, b: Int) -> Self { Self(count: a.count * b) }
  static func / (a: Self, b: Int) -> Self { Self(count: a.count / b) }
  static func / (a: Self, b: Self) -> Double { Double(a.count) / Double(b.count) }
  static func < (a: Self, b: Self) -> Bool { a.count < b.count }
}

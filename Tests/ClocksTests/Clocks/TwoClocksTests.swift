import Clocks
import Testing

/// Advances of two clocks that are under way together.
@Suite struct TwoClocksTests {
  private let first = TestClock()
  private let second = TestClock()
  private let log = Log<String>()

  /// Starts a task that logs its clock's name at each multiple of `interval`.
  private func tick(_ name: String, on clock: TestClock<Duration>, every interval: Duration) {
    Task { [log] in
      for _ in 0..<100 {
        try await clock.sleep(for: interval)
        log.add("\(name)\(clock.now.offset.components.seconds)")
      }
    }
  }

  @Test func twoClocksMoveInStep() async {
    tick("a", on: first, every: .seconds(2))
    tick("b", on: second, every: .seconds(3))
    async let one: Void = first.advance(by: .seconds(6))
    async let other: Void = second.advance(by: .seconds(6))
    _ = await (one, other)
    // At six seconds, the clock that was advanced first goes first.
    #expect(log.all == ["a2", "b3", "a4", "a6", "b6"])
    #expect(first.now == .seconds(6))
    #expect(second.now == .seconds(6))
  }

  /// The whole range is longer than the longest duration.
  @Test func twoClocksMoveInStepThroughTheWholeRange() async {
    let ends = (Duration(attoseconds: .min), Duration(attoseconds: .max))
    let first = TestClock(now: .init(offset: ends.0))
    let second = TestClock(now: .init(offset: ends.0))
    async let one: Void = first.advance(to: .init(offset: ends.1))
    async let other: Void = second.advance(to: .init(offset: ends.1))
    _ = await (one, other)
    #expect(first.now.offset == ends.1)
    #expect(second.now.offset == ends.1)
  }

  @Test func aTaskThatWakesReadsTheSameTimeOnBoth() async {
    let task = Task { [first, second, log] in
      try await first.sleep(for: .seconds(3))
      log.add("\(second.now)")
      try await second.sleep(for: .seconds(1))
      log.add("\(first.now)")
    }
    async let one: Void = first.advance(by: .seconds(10))
    async let other: Void = second.advance(by: .seconds(10))
    _ = await (one, other)
    #expect(log.all == ["3.0 seconds", "4.0 seconds"])
    task.cancel()
  }

  @Test func anAdvanceOfAnotherClockFromAWokenTaskIsNotQueued() async {
    let task = Task { [first, second, log] in
      try await first.sleep(for: .seconds(3))
      await second.advance(by: .seconds(2))
      log.add("\(first.now), \(second.now)")
    }
    tick("a", on: first, every: .seconds(4))
    await first.advance(by: .seconds(10))
    #expect(log.all == ["a4", "5.0 seconds, 2.0 seconds", "a8"])
    #expect(first.now == .seconds(10))
    #expect(second.now == .seconds(2))
    task.cancel()
  }

  @Test func anAdvanceThatEndsFirstDoesNotWaitForTheOtherClock() async throws {
    let task = Task { [first, second] in
      try await first.sleep(for: .seconds(1))
      await second.advance(by: .seconds(4))
    }
    await first.advance(by: .seconds(1))
    #expect(second.now == .zero)
    await first.settle()
    #expect(second.now == .zero)
    try await task.value
    #expect(first.now == .seconds(1))
    #expect(second.now == .seconds(4))
  }

  @Test func advancesOfOneClockAreStillQueued() async {
    tick("a", on: first, every: .seconds(2))
    tick("b", on: second, every: .seconds(1))
    async let one: Void = first.advance(by: .seconds(2))
    async let two: Void = first.advance(by: .seconds(2))
    async let other: Void = second.advance(by: .seconds(3))
    _ = await (one, two, other)
    #expect(log.all == ["b1", "a2", "b2", "b3", "a4"])
    #expect(first.now == .seconds(4))
  }

  @Test func everyKindOfAdvanceMovesInStep() async {
    tick("a", on: first, every: .seconds(2))
    let sleeper = Task { [second] in try await second.sleep(for: .seconds(5)) }
    async let one: Void = first.advance(to: .init(offset: .seconds(6)))
    async let other: Void = second.run()
    async let third: TestClock<Duration>.Instant? = first.advanceToNextSleep()
    _ = await (one, other)
    #expect(await third == .seconds(8))
    #expect(second.now == .seconds(5))
    #expect(log.all == ["a2", "a4", "a6", "a8"])
    sleeper.cancel()
  }

  @Test func clocksWithOtherDurationsAreMovedOneAfterAnother() async {
    let beats = TestClock<Beats>()
    tick("a", on: first, every: .seconds(1))
    let task = Task { [log] in
      try await beats.sleep(for: Beats(count: 1))
      log.add("beat")
    }
    async let one: Void = first.advance(by: .seconds(2))
    async let other: Void = beats.advance(by: Beats(count: 2))
    _ = await (one, other)
    #expect(log.all == ["a1", "a2", "beat"])
    #expect(beats.now.offset == Beats(count: 2))
    task.cancel()
  }
}

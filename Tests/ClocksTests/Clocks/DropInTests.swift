import Clocks
import Testing

/// Code that users of swift-clocks write compiles here, with the same meaning.
@Suite struct DropInTests {
  @MainActor private final class Stopwatch {
    private let clock: any Clock<Duration>
    private(set) var seconds = 0

    init(clock: any Clock<Duration>) { self.clock = clock }

    func run() async {
      for await _ in clock.timer(interval: .seconds(1)) { seconds += 1 }
    }
  }

  // MARK: - Timers

  @MainActor @Test func timerOfAnyClock() async {
    let clock = TestClock()
    let stopwatch = Stopwatch(clock: clock)
    let task = Task { await stopwatch.run() }
    await clock.advance(by: .milliseconds(4_999))
    #expect(stopwatch.seconds == 4)
    await clock.advance(by: .milliseconds(1))
    #expect(stopwatch.seconds == 5)
    task.cancel()
    await task.value
    #expect(clock.pendingSleeps == [])
  }

  @Test func timerOfAKnownClockHasThatClocksInstants() async {
    let clock = ImmediateClock()
    var ticks = clock.timer(interval: .seconds(1)).makeAsyncIterator()
    let first: ImmediateClock<Duration>.Instant? = await ticks.next()
    #expect(first?.offset == .seconds(1))
  }

  @Test func timerOfAnyClockComparesItsTicks() async throws {
    let clock: any Clock<Duration> = ImmediateClock()
    var ticks = clock.timer(interval: .seconds(2)).makeAsyncIterator()
    let first = try #require(await ticks.next())
    let second = try #require(await ticks.next())
    #expect(first.duration(to: second) == .seconds(2))
  }

  @Test func timerOfAnyClockFailsAtTheCallersLine() async throws {
    let clock: any Clock<Duration> = ImmediateClock()
    let issues = try await recordedIssues {
      for await _ in clock.timer(interval: .zero) {}
    }
    #expect(issues.map(\.line) == [#line - 2])
    #expect(issues.map(\.fileID) == [#fileID])
  }

  // MARK: - Instants

  @Test func instantsHaveArithmetic() {
    let clock = TestClock()
    let later = clock.now + .seconds(1)
    #expect(later == .init(offset: .seconds(1)))
    #expect(later - clock.now == .seconds(1))
    #expect(later - .seconds(3) == .init(offset: .seconds(-2)))
    var instant = ImmediateClock().now
    instant += .seconds(2)
    instant -= .milliseconds(500)
    #expect(instant.offset == .milliseconds(1_500))
    let start = AnyClock(clock).now
    #expect((start + .seconds(1)) - start == .seconds(1))
  }

  // MARK: - The resolution

  @Test func aTestSetsTheResolution() async {
    let clock = TestClock()
    #expect(clock.minimumResolution == .zero)
    clock.minimumResolution = .milliseconds(16)
    #expect(clock.minimumResolution == .milliseconds(16))
    let erased: any Clock<Duration> = clock
    #expect(erased.minimumResolution == .milliseconds(16))
    #expect(TestClock().minimumResolution == .zero)
    let task = Task { try await clock.sleep(for: .milliseconds(1)) }
    await clock.advance(by: .milliseconds(1))
    #expect(clock.pendingSleeps == [])
    await #expect(throws: Never.self) { try await task.value }
  }

  // MARK: - An unimplemented clock with an underlying clock

  @Test func anUnimplementedClockForwardsToItsUnderlyingClock() async throws {
    let base = TestClock(now: .init(offset: .seconds(100)))
    base.minimumResolution = .milliseconds(16)
    let clock = UnimplementedClock(base, name: "Player.clock")
    let issues = try await recordedIssues {
      #expect(clock.now.offset == .zero)
      #expect(clock.minimumResolution == .milliseconds(16))
      let task = Task { try await clock.sleep(until: .init(offset: .seconds(3)), tolerance: nil) }
      await base.settle()
      #expect(base.pendingSleeps.map(\.deadline.offset) == [.seconds(103)])
      await base.advance(by: .seconds(3))
      try await task.value
      #expect(clock.now.offset == .seconds(3))
    }
    #expect(
      issues.map(\.message) == [
        "The clock \"Player.clock\" is unimplemented, but was asked for its time.",
        "The clock \"Player.clock\" is unimplemented, but was asked for its minimum resolution.",
        "The clock \"Player.clock\" is unimplemented, but was asked for a sleep until 3.0 seconds.",
        "The clock \"Player.clock\" is unimplemented, but was asked for its time.",
      ])
  }

  @Test func anUnimplementedClockOverARealOneIsAFailureToo() async throws {
    let issues = try await recordedIssues {
      let clock = UnimplementedClock(ContinuousClock())
      try await clock.sleep(for: .zero)
    }
    let asked = "The clock \"ContinuousClock\" is unimplemented, but was asked for"
    #expect(issues.map(\.line) == Array(repeating: #line - 4, count: 2))
    #expect(issues.first?.message == "\(asked) its time.")
    // The clock's origin is the time at which it was made.
    #expect(issues.last?.message.wholeMatch(of: /.* asked for a sleep until \S+ seconds\./) != nil)
    #expect(issues.last?.message.hasPrefix(asked) == true)
  }

  @Test func anUnimplementedClockIsNamedAfterItsUnderlyingClock() {
    #expect(UnimplementedClock(ContinuousClock()).name == "ContinuousClock")
    #expect(UnimplementedClock<Duration>().name == "UnimplementedClock")
  }

  // MARK: - run

  @Test func runStopsAfterHalfASecond() async throws {
    let clock = TestClock()
    let ticks = Task { for await _ in clock.timer(interval: .seconds(1)) {} }
    let issues = try await recordedIssues { await clock.run() }
    #expect(issues.count == 1)
    #expect(issues.first?.message.contains("after 0.5 seconds of real time") == true)
    ticks.cancel()
  }

  @Test func aHundredThousandWakesAreNotEndless() async {
    let clock = TestClock()
    let count = Tally()
    let task = Task {
      for _ in 0..<100_000 {
        try await clock.sleep(for: .seconds(1))
        count.add()
      }
    }
    await clock.run(timeout: .zero)
    #expect(count.value == 100_000)
    await #expect(throws: Never.self) { try await task.value }
  }

  @Test func moreThanAHundredThousandWakesAreEndlessAfterTheTimeout() async throws {
    let clock = TestClock()
    let count = Tally()
    let task = Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        count.add()
      }
    }
    let issues = try await recordedIssues { await clock.run(timeout: .zero) }
    #expect(issues.count == 1)
    #expect(count.value == 100_000)
    task.cancel()
  }
}

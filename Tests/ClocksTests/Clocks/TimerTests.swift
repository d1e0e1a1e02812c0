import Testing

@testable import Clocks

@Suite struct TimerTests {
  /// The ticks that a task has received, in seconds since the origin of its clock.
  private actor Ticks {
    private(set) var seconds: [Double] = []
    private(set) var hasEnded = false

    func append(_ tick: TestClock<Duration>.Instant) {
      seconds.append(tick.offset / .seconds(1))
    }

    func end() { hasEnded = true }
  }

  @Test func ticksAtTheStartPlusMultiplesOfTheInterval() async {
    let clock = TestClock<Duration>(now: .init(offset: .seconds(10)))
    let ticks = Ticks()
    let task = Task {
      for await tick in clock.timer(interval: .milliseconds(1500)) { await ticks.append(tick) }
    }
    await clock.advance(by: .milliseconds(1499))
    #expect(await ticks.seconds == [])
    await clock.advance(by: .milliseconds(1))
    #expect(await ticks.seconds == [11.5])
    await clock.advance(by: .seconds(6))
    #expect(await ticks.seconds == [11.5, 13, 14.5, 16, 17.5])
    task.cancel()
  }

  @Test func startsWhenTheFirstTickIsAskedFor() async {
    let clock = TestClock()
    let ticks = Ticks()
    let timer = clock.timer(interval: .seconds(5))
    await clock.advance(by: .seconds(2))
    var iterator = timer.makeAsyncIterator()
    await clock.advance(by: .seconds(1))

    async let first = iterator.next()
    let task = Task {
      try await clock.sleep(for: .seconds(2))
      for await tick in timer { await ticks.append(tick) }
    }
    await clock.advance(by: .seconds(12))
    #expect(await first == .init(offset: .seconds(8)))
    #expect(await ticks.seconds == [10, 15])
    task.cancel()
  }

  @Test func doesNotDriftWhenItsTaskIsBusy() async {
    let clock = TestClock()
    let ticks = Ticks()
    let task = Task {
      for await tick in clock.timer(interval: .seconds(1)) {
        await ticks.append(tick)
        try await clock.sleep(for: .milliseconds(900))
      }
    }
    await clock.advance(by: .seconds(5))
    #expect(await ticks.seconds == [1, 2, 3, 4, 5])
    task.cancel()
  }

  @Test func missedTicksAreMergedIntoTheLatest() async {
    let clock = TestClock()
    let ticks = Ticks()
    let received = Ticks()
    let task = Task {
      for await tick in clock.timer(interval: .seconds(1)) {
        await ticks.append(tick)
        await received.append(clock.now)
        if tick.offset == .seconds(1) { try await clock.sleep(for: .milliseconds(3500)) }
      }
    }
    await clock.advance(by: .seconds(6))
    #expect(await ticks.seconds == [1, 4, 5, 6])
    #expect(await received.seconds == [1, 4.5, 5, 6])
    task.cancel()
  }

  @Test func aTickIsDueAtItsInstant() async throws {
    let clock = ImmediateClock()
    var iterator = clock.timer(interval: .seconds(1)).makeAsyncIterator()
    #expect(await iterator.next()?.offset == .seconds(1))
    try await clock.sleep(until: .init(offset: .seconds(4) - .nanoseconds(1)))
    #expect(await iterator.next()?.offset == .seconds(3))
    try await clock.sleep(until: .init(offset: .seconds(5)))
    #expect(await iterator.next()?.offset == .seconds(5))
    #expect(clock.now.offset == .seconds(5))
    #expect(await iterator.next()?.offset == .seconds(6))
  }

  @Test func endsOnCancellationWhileItWaits() async {
    let clock = TestClock()
    let ticks = Ticks()
    let task = Task {
      for await tick in clock.timer(interval: .seconds(1)) { await ticks.append(tick) }
      await ticks.end()
    }
    await clock.advance(by: .seconds(2))
    #expect(await !ticks.hasEnded)
    task.cancel()
    await clock.settle()
    #expect(await ticks.hasEnded)
    #expect(await ticks.seconds == [1, 2])
    #expect(clock.pendingSleeps.isEmpty)
  }

  @Test func endsOnCancellationWithTicksLeftToReceive() async throws {
    let clock = ImmediateClock()
    let seconds = await Task {
      var seconds: [Duration] = []
      for await tick in clock.timer(interval: .seconds(1)) {
        seconds.append(tick.offset)
        try? await clock.sleep(for: .milliseconds(2500))
        withUnsafeCurrentTask { $0?.cancel() }
      }
      return seconds
    }.value
    #expect(seconds == [.seconds(1)])
    #expect(clock.now.offset == .milliseconds(3500))
  }

  @Test func doesNotTouchTheClockInACancelledTask() async {
    let clock = UnimplementedClock()
    let count = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await clock.timer(interval: .seconds(1)).reduce(0) { count, _ in count + 1 }
    }.value
    #expect(count == 0)
  }

  @Test func staysEnded() async {
    let clock = FailingClock()
    var iterator = clock.timer(interval: .seconds(1)).makeAsyncIterator()
    #expect(await iterator.next() == nil)
    #expect(await iterator.next() == nil)
    #expect(clock.attempts.value == 1)
  }

  @Test(arguments: [Duration.zero, .nanoseconds(-1), .seconds(-3)])
  func anIntervalThatIsNotPositiveIsAFailureAndNoTicks(interval: Duration) async throws {
    let clock = ImmediateClock()
    let line = #_sourceLocation.line + 2
    let issues = try await recordedIssues {
      let timer = clock.timer(interval: interval)
      var iterator = timer.makeAsyncIterator()
      #expect(await iterator.next() == nil)
      #expect(await iterator.next() == nil)
    }
    #expect(
      issues == [
        RecordedIssue(
          "A timer's interval must be positive, but is \(interval).",
          at: SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 30))
      ])
    #expect(clock.now.offset == .zero)
  }

  @Test func anIntervalThatIsNotANumberIsNotPositive() async throws {
    let clock = ImmediateClock<Minutes>()
    let issues = try await recordedIssues {
      for await _ in clock.timer(interval: Minutes(count: .nan)) { Issue.record("a tick") }
    }
    #expect(
      issues.map(\.message) == ["A timer's interval must be positive, but is Minutes(count: nan)."])
  }

  @Test func passesTheToleranceOn() async {
    let clock = TestClock()
    let timer = clock.timer(interval: .seconds(1), tolerance: .milliseconds(20))
    let task = Task { for await _ in timer {} }
    await clock.settle()
    #expect(clock.pendingSleeps.map(\.tolerance) == [.milliseconds(20)])
    task.cancel()
  }

  /// The clocks of the standard library trap at such tolerances.
  @Test(arguments: [
    (Duration(attoseconds: .max), Duration.longestSleep),
    (Duration(attoseconds: .min), .zero - Duration.longestSleep),
  ])
  func theToleranceIsBounded(_ given: Duration, _ bounded: Duration) async {
    let clock = TestClock()
    let timer = clock.timer(interval: .seconds(1), tolerance: given)
    let task = Task { for await _ in timer {} }
    await clock.settle()
    #expect(clock.pendingSleeps.map(\.tolerance) == [bounded])
    task.cancel()
  }

  @Test func endsWithTheClocksTime() async {
    let clock = ImmediateClock()
    var offsets: [Duration] = []
    for await tick in clock.timer(interval: Duration(attoseconds: .max)) {
      offsets.append(tick.offset)
    }
    let longest = Duration.longestSleep
    #expect(
      offsets == (1...36).map { longest * $0 } + [Duration(attoseconds: .max)])
  }

  @Test func ticksOnAnyClock() async throws {
    let beats = ImmediateClock<Beats>()
    var counts: [Int] = []
    for await tick in beats.timer(interval: Beats(count: 4)).prefix(3) {
      counts.append(tick.offset.count)
    }
    #expect(counts == [4, 8, 12])

    let base = ImmediateClock()
    let erased = AnyClock(base)
    for await _ in erased.timer(interval: .seconds(1)).prefix(3) {}
    #expect(base.now.offset == .seconds(3))

    let start = ContinuousClock.now
    var (last, count) = (start, 0)
    for await tick in ContinuousClock().timer(interval: .milliseconds(2)).prefix(3) {
      #expect(tick <= .now)
      #expect(last.duration(to: tick) >= .milliseconds(2))
      last = tick
      count += 1
    }
    #expect(count == 3)
  }
}

private final class FailingClock: Clock {
  struct Failure: Error {}

  let attempts = Tally()

  var now: ImmediateClock<Duration>.Instant { .init() }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: ImmediateClock<Duration>.Instant, tolerance: Duration?) async throws {
    attempts.add()
    throw Failure()
  }
}

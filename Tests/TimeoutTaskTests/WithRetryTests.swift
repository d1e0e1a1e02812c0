import Clocks
import Testing
import TimeoutTask

/// One test for each rule of `Backoff` and `withRetry`.
@Suite struct WithRetryTests {
  let clock = TestClock()
  let log = Log<Duration>()

  /// A generator that always returns the same number.
  private struct Constant: RandomNumberGenerator {
    let number: UInt64
    mutating func next() -> UInt64 { number }
  }

  // MARK: - Backoff

  @Test func anExponentialDelayGrowsUpToTheLongest() {
    let constant = Backoff.constant(.seconds(3))
    #expect(
      (1...4).map { constant.delay(afterFailures: $0) } == Array(repeating: .seconds(3), count: 4))
    let growing = Backoff.exponential(from: .milliseconds(100), upTo: .seconds(1))
    #expect(
      (0...6).map { growing.delay(afterFailures: $0) } == [
        .milliseconds(100), .milliseconds(100), .milliseconds(200), .milliseconds(400),
        .milliseconds(800), .seconds(1), .seconds(1),
      ])
    let fast = Backoff.exponential(from: .seconds(1), factor: 10, upTo: .seconds(Int64.max))
    #expect(fast.delay(afterFailures: 4) == .seconds(1000))
    #expect(fast.delay(afterFailures: .max) == .seconds(1 << 62))
  }

  @Test func unusualValuesDoNotTrap() {
    #expect(Backoff.constant(.seconds(-3)).delay(afterFailures: 1) == .zero)
    let shrinking = Backoff.exponential(from: .seconds(8), factor: -2, upTo: .seconds(20))
    #expect(shrinking.factor == 1)
    #expect(shrinking.delay(afterFailures: .max) == .seconds(8))
    #expect(shrinking.delay(afterFailures: .min) == .seconds(8))
    let growing = Backoff.exponential(from: .seconds(1), upTo: .seconds(9))
    #expect(growing.delay(afterFailures: .min) == .seconds(1))
    let none = Backoff.exponential(from: .zero, upTo: .seconds(9))
    #expect(none.delay(afterFailures: .max) == .zero)
    let short = Backoff.exponential(from: .seconds(8), upTo: .seconds(2))
    #expect(short.delay(afterFailures: 1) == .seconds(2))
    let endless = Backoff.exponential(
      from: .seconds(Int64.max) * 4, factor: .max, upTo: .seconds(Int64.max) * 4)
    #expect(endless.delay(afterFailures: 9) == .seconds(1 << 62))
    var generator = Seeded(state: 1)
    #expect(endless.delay(afterFailures: 9, using: &generator) <= .seconds(1 << 62))
  }

  @Test func jitterStaysWithinItsBounds() {
    func delays(_ jitter: Backoff.Jitter, _ generator: some RandomNumberGenerator) -> [Duration] {
      var generator = generator
      let backoff = Backoff.exponential(from: .seconds(4), upTo: .seconds(60), jitter: jitter)
      return (0..<1000).map { _ in backoff.delay(afterFailures: 1, using: &generator) }
    }
    #expect(Set(delays(.none, Seeded(state: 1))) == [.seconds(4)])
    let full = delays(.full, Seeded(state: 1))
    #expect(full.allSatisfy { (.zero ... .seconds(4)).contains($0) })
    #expect(full.contains { $0 < .seconds(1) } && full.contains { $0 > .seconds(3) })
    let equal = delays(.equal, Seeded(state: 1))
    #expect(equal.allSatisfy { (.seconds(2) ... .seconds(4)).contains($0) })
    #expect(equal.contains { $0 < .milliseconds(2500) })
    #expect(equal.contains { $0 > .milliseconds(3500) })
    #expect(delays(.full, Constant(number: 0))[0] == .zero)
    #expect(delays(.equal, Constant(number: 0))[0] == .seconds(2))
    #expect(delays(.full, Constant(number: .max))[0] == .seconds(4))
    #expect(delays(.equal, Constant(number: .max))[0] == .seconds(4))
    #expect(delays(.full, Constant(number: 1 << 63))[0] == .seconds(2))
    #expect(delays(.equal, Constant(number: 1 << 63))[0] == .seconds(3))
    #expect(delays(.full, Seeded(state: 5)) == delays(.full, Seeded(state: 5)))
  }

  // MARK: - Attempts

  /// Throws for the first `count` calls, and logs the time of each.
  private func attempt(failing count: Int) throws(Failure) -> Int {
    log.add(clock.now.offset)
    if log.all.count <= count { throw Failure() }
    return log.all.count
  }

  private let backoff = Backoff.exponential(
    from: .seconds(1), upTo: .seconds(4), jitter: .none)

  @Test func itRetriesAfterEachPauseAndReturnsTheResult() async throws {
    let task = Task {
      try await withRetry(attempts: 9, backoff: backoff, clock: clock) { () throws(Failure) in
        try attempt(failing: 4)
      }
    }
    await clock.advance(by: .seconds(60))
    #expect(try await task.value == 5)
    #expect(log.all == [.zero, .seconds(1), .seconds(3), .seconds(7), .seconds(11)])
    try await clock.checkSuspension()
  }

  @Test(arguments: [(3, 3), (1, 1), (0, 1), (.min, 1)])
  func theErrorOfTheLastAttemptIsThrown(_ attempts: Int, _ count: Int) async throws {
    let task = Task {
      do throws(Failure) {
        _ = try await withRetry(attempts: attempts, backoff: backoff, clock: clock) {
          () throws(Failure) in
          try attempt(failing: 9)
        }
        return false
      } catch {
        return error == Failure()
      }
    }
    await clock.advance(by: .seconds(60))
    #expect(await task.value)
    #expect(log.all == Array([.zero, .seconds(1), .seconds(3)].prefix(count)))
    try await clock.checkSuspension()
  }

  @Test func theJitterComesFromTheGenerator() async throws {
    let backoff = Backoff.exponential(from: .seconds(1), upTo: .seconds(4), jitter: .full)
    var expected: [Duration] = [.zero]
    var generator = Seeded(state: 7)
    for failures in 1...3 {
      expected.append(
        expected[failures - 1] + backoff.delay(afterFailures: failures, using: &generator))
    }
    let task = Task {
      var generator = Seeded(state: 7)
      return try await withRetry(
        attempts: 9, backoff: backoff, clock: clock, using: &generator
      ) { try attempt(failing: 3) }
    }
    await clock.advance(by: .seconds(60))
    #expect(try await task.value == 4)
    #expect(log.all == expected)
  }

  @Test func shouldRetryEndsTheAttempts() async {
    struct Fatal: Error {}
    let task = Task {
      try await withRetry(
        backoff: backoff, clock: clock, if: { (error: any Error) in !(error is Fatal) }
      ) {
        _ = try attempt(failing: 1)
        throw Fatal()
      }
    }
    await clock.advance(by: .seconds(60))
    await #expect(throws: Fatal.self) { try await task.value }
    #expect(log.all == [.zero, .seconds(1)])
  }

  @Test(arguments: [
    (Duration.seconds(3), 2), (.seconds(4), 3), (.zero, 1), (.seconds(-1), 1),
    (.seconds(Int64.max), 9),
  ])
  func noAttemptBeginsWhenTheBudgetIsSpent(_ budget: Duration, _ count: Int) async throws {
    let task = Task {
      try await withRetry(attempts: 9, backoff: backoff, budget: budget, clock: clock) {
        try attempt(failing: 9)
      }
    }
    await clock.run()
    await #expect(throws: Failure.self) { try await task.value }
    let attempts = [0, 1, 3, 7, 11, 15, 19, 23, 27].map { Duration.seconds($0) }
    #expect(log.all == Array(attempts.prefix(count)))
    // It is known before the pause that the next attempt would be too late.
    #expect(clock.now.offset == log.all.last)
  }

  /// A clock whose sleeps end later than their deadlines.
  private final class LateClock: Clock, Sendable {
    private let base = ImmediateClock()
    let delay: Duration

    init(delay: Duration) { self.delay = delay }

    var now: ImmediateClock<Duration>.Instant { base.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ImmediateClock<Duration>.Instant, tolerance: Duration?) async throws
    {
      try await base.sleep(until: deadline.advanced(by: delay))
    }
  }

  /// Without the delay, three attempts would fit.
  @Test(arguments: [(Duration.milliseconds(700), 3), (.milliseconds(750), 2), (.seconds(2.5), 1)])
  func noAttemptFollowsAPauseThatEndsAfterTheBudget(_ delay: Duration, _ count: Int) async {
    let late = LateClock(delay: delay)
    await #expect(throws: Failure.self) {
      try await withRetry(
        attempts: 3, backoff: .constant(.seconds(1)), budget: .seconds(3.5), clock: late
      ) {
        log.add(late.now.offset)
        throw Failure()
      }
    }
    let attempts = [Duration.zero, .seconds(1) + delay, .seconds(2) + delay * 2]
    #expect(log.all == Array(attempts.prefix(count)))
  }

  @Test func noPauseStartsThatWouldEndAtTheDeadlineOrLater() async {
    let task = Task {
      try await withTimeout(.seconds(3), clock: clock) {
        try await withRetry(attempts: 9, backoff: backoff, clock: clock) {
          try attempt(failing: 9)
        }
      }
    }
    await clock.advance(by: .seconds(1))
    // At one second the third attempt is known to begin at the deadline.
    await #expect(throws: Failure.self) { try await task.value }
    #expect(clock.now.offset == .seconds(1))
    #expect(log.all == [.zero, .seconds(1)])
  }

  @Test func aDeadlineOnAnotherClockCancelsThePauseAndContainsTheLastError() async {
    let other = TestClock()
    let task = Task {
      try await withTimeout(.seconds(1), clock: other) {
        try await withRetry(attempts: 9, backoff: backoff, clock: clock) {
          try attempt(failing: 9)
        }
      }
    }
    await clock.settle()
    await other.advance(by: .seconds(1))
    let error = await #expect(throws: TimeoutError.self) { try await task.value }
    #expect(error?.underlyingError is Failure)
    #expect(log.all == [.zero])
  }

  @Test func aTimeoutTaskThatCancelsThePauseGetsTheLastError() async {
    let other = TestClock()
    let late = Log<Bool>()
    let task = TimeoutTask(timeout: .seconds(1), clock: other) {
      try await withRetry(attempts: 9, backoff: backoff, clock: clock) { try attempt(failing: 9) }
    } onLateResult: { result in
      if case .failure(let error) = result { late.add(error is Failure) }
    }
    await clock.settle()
    #expect(late.all == [])
    await other.advance(by: .seconds(1))
    await #expect(throws: TimeoutError.self) { try await task.value }
    #expect(late.all == [true])
    #expect(log.all == [.zero])
  }

  @Test func cancellationEndsThePauseAndTheAttempts() async throws {
    let task = Task {
      try await withRetry(attempts: 9, backoff: backoff, clock: clock) { try attempt(failing: 9) }
    }
    await clock.advance(by: .seconds(2))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.all == [.zero, .seconds(1)])
    try await clock.checkSuspension()
  }

  @Test func aCancelledPauseThrowsTheLastErrorIfTheTypeExcludesACancellation() async throws {
    let task = Task { () throws(Failure) -> Int in
      try await withRetry(attempts: 9, backoff: backoff, clock: clock) { () throws(Failure) in
        throw Failure()
      }
    }
    await clock.advance(by: .seconds(2))
    task.cancel()
    await #expect(throws: Failure.self) { try await task.value }
  }

  @Test func aCancelledTaskTriesOnceWithoutAskingShouldRetry() async {
    let asked = Log<Void>()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await withRetry(
        backoff: .constant(.zero), clock: clock,
        if: { (_: any Error) in
          asked.add(())
          return true
        }
      ) { try attempt(failing: 9) }
    }
    await #expect(throws: Failure.self) { try await task.value }
    #expect(log.all == [.zero])
    #expect(asked.all.isEmpty)
  }

  @Test func anErrorOfTheClockEndsTheAttempts() async {
    await #expect(throws: Failure.self) {
      try await withRetry(backoff: .constant(.seconds(1)), clock: FailingClock()) {
        try attempt(failing: 9)
      }
    }
    #expect(log.all == [.zero])
  }

  @Test func eachAttemptMayHaveItsOwnTimeout() async throws {
    let task = Task {
      try await withRetry(attempts: 3, backoff: .constant(.seconds(1)), clock: clock) {
        try await withTimeout(.seconds(2), clock: clock) {
          log.add(clock.now.offset)
          if log.all.count < 3 { try await clock.sleep(for: .seconds(60)) }
          return log.all.count
        }
      }
    }
    await clock.advance(by: .seconds(60))
    #expect(try await task.value == 3)
    #expect(log.all == [.zero, .seconds(3), .seconds(6)])
  }

  @Test func theContinuousClockIsTheDefault() async throws {
    let result = try await withRetry(backoff: .constant(.zero)) { try attempt(failing: 2) }
    #expect(result == 3)
  }
}

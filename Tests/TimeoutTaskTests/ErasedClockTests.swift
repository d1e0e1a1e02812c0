import Clocks
import Foundation
import Testing
import TimeoutTask

/// Calls with a property `clock` of the type `any Clock<Duration>`, in a file that imports Foundation.
///
/// The C library has a function of that name, so the compiler does not pass the property to a generic function. Each
/// test also tests that its calls compile.
@Suite struct ErasedClockTests {
  let testClock = TestClock()
  private var player: Player { Player(clock: testClock) }

  private let late = TimeoutError(timeout: .seconds(2), operation: "load")

  // MARK: - A deadline around an operation

  @Test func withTimeoutReturnsAResultInTime() async throws {
    let task = Task { [player] in try await player.load(for: .seconds(1)) }
    await testClock.advance(by: .seconds(1))
    #expect(try await task.value == .seconds(1))
    try await testClock.checkSuspension()
  }

  @Test func withTimeoutThrowsATimeoutError() async throws {
    let task = Task { [player] in try await player.load(for: .seconds(5)) }
    await testClock.settle()
    #expect(testClock.pendingSleeps.map(\.deadline.offset) == [.seconds(2), .seconds(5)])
    await testClock.advance(by: .seconds(2))
    await #expect(throws: late) { try await task.value }
    try await testClock.checkSuspension()
  }

  @Test func withTimeoutThrowsAnErrorInTimeUnchanged() async {
    await #expect(throws: Failure()) { try await player.fail() }
  }

  @Test func withDeadlineInADuration() async throws {
    let task = Task { [player] in
      await (try player.loadWithDeadline(for: .seconds(1)), player.loadOnce(for: .seconds(5)))
    }
    await testClock.advance(by: .seconds(3))
    let (first, second) = try await task.value
    #expect(first == .seconds(1))
    #expect(second == "3.0 seconds: \(late)")
    try await testClock.checkSuspension()
  }

  @Test func withTimeoutOrNilNeedsNoTryAndKeepsTheTypeOfAnError() async throws {
    #expect(await player.number() == 7)
    do throws(Failure) {
      _ = try await player.failOrNil()
      Issue.record("No error was thrown.")
    } catch {
      let failure: Failure = error
      #expect(failure == Failure())
    }
    let task = Task { [player] in try await player.loadOrNil(for: .seconds(5)) }
    await testClock.advance(by: .seconds(2))
    #expect(try await task.value == nil)
    try await testClock.checkSuspension()
  }

  @Test func theToleranceAndANoncopyableResultArePassedOn() async throws {
    let task = Task { [player] in try await player.openTicket().number }
    await testClock.settle()
    #expect(testClock.pendingSleeps.map(\.tolerance) == [nil, .seconds(3)])
    await testClock.advance(by: .seconds(1))
    #expect(try await task.value == 4)
  }

  // MARK: - Isolation

  @Test func theOperationRunsInTheIsolationOfItsCaller() async throws {
    let counter = Counter(clock: testClock)
    #expect(try await counter.count() == 1)
    #expect(try await counter.countOrNil() == 2)
    #expect(try await counter.countAgain() == 3)
    #expect(try await counter.countInATask() == 4)
    #expect(try await counter.twice(of: 4) == 8)
  }

  @Test @MainActor func theOperationRunsOnTheMainActor() async throws {
    let model = Model(clock: testClock)
    try await model.load()
    #expect(model.text == "1 2 3")
  }

  // MARK: - Retries

  @Test func withRetryPausesOnTheClock() async throws {
    let log = Log<Duration>()
    let task = Task { [player] in try await player.retry(log) }
    await testClock.advance(by: .seconds(9))
    await #expect(throws: Failure()) { try await task.value }
    #expect(log.all == [.zero, .seconds(2), .seconds(4)])
    try await testClock.checkSuspension()
  }

  @Test func withRetryUsesTheGenerator() async throws {
    let log = Log<Duration>()
    let task = Task { [player] in
      do throws(Failure) {
        try await player.retryAtRandom(log)
      } catch {
        log.add(.seconds(100))
      }
    }
    await testClock.advance(by: .seconds(9))
    await task.value
    // The generator returns only zeros, and a fully random pause is then none.
    #expect(log.all == [.zero, .zero, .seconds(100)])
    try await testClock.checkSuspension()
  }

  // MARK: - TimeoutTask

  @Test func aTimeoutTaskHasItsTimerBeforeItsWorkCanRun() async throws {
    let lateResults = Log<Duration>()
    let task = player.start(for: .seconds(5)) { lateResults.add($0) }
    #expect(testClock.pendingSleeps.map(\.deadline.offset) == [.seconds(2)])
    await testClock.advance(by: .seconds(2))
    await #expect(throws: late) { try await task.value }
    await testClock.advance(by: .seconds(3))
    #expect(lateResults.all == [.seconds(5)])
    let other = player.start(for: .seconds(1)) { lateResults.add($0) }
    await testClock.advance(by: .seconds(1))
    #expect(try await other.value == .seconds(6))
    #expect(lateResults.all == [.seconds(5)])
    try await testClock.checkSuspension()
  }

  // MARK: - Remaining time

  @Test func theRemainingTimeIsThatOfTheDeadline() async throws {
    #expect(player.remaining == nil)
    let task = Task { [player] in try await player.remainingAfterASecond() }
    await testClock.advance(by: .seconds(1))
    #expect(try await task.value == .seconds(4))
  }

  @Test func theCurrentDeadlineIsFound() async throws {
    #expect(player.deadline == nil)
    #expect(try await player.deadlineWithTimeout() == .init(offset: .seconds(5)))
  }

  // MARK: - AnyClock

  @Test func anyClockErasesAClockWhoseTypeIsNotKnown() async throws {
    #expect(player.erased.id == AnyClock(testClock).id)
    let task = Task { [player] in try await player.loadWithMovableTimeout() }
    await testClock.advance(by: .seconds(3))
    #expect(try await task.value == .seconds(3))
    let loop = Task { [player] in
      for try await _ in AsyncStream<Int>(unfolding: { try? await player.never() }).timeout(
        .seconds(2), clock: player.erased, name: "load")
      {
        Issue.record("There is no element.")
      }
    }
    await testClock.advance(by: .seconds(2))
    await #expect(throws: late) { try await loop.value }
    try await testClock.checkSuspension()
  }

  // MARK: - Calls that compiled before

  @Test func aKnownTypeOfClockIsPassedAsItIs() async throws {
    let kept = ContinuousClock()
    let clock: any Clock<Duration> = testClock
    #expect(try await withTimeout(.seconds(2), clock: testClock) { 1 } == 1)
    #expect(try await withTimeout(.seconds(2), clock: clock) { 2 } == 2)
    #expect(try await withTimeout(.seconds(9), clock: .suspending) { 3 } == 3)
    #expect(try await withDeadline(in: .seconds(9), clock: kept) { 4 } == 4)
    #expect(try await withDeadline(in: .seconds(2), clock: clock, body: { 5 }) == 5)
    #expect(await withTimeoutOrNil(.seconds(2), clock: AnyClock(clock)) { 6 } == 6)
    #expect(await withRetry(clock: testClock) { 7 } == 7)
    #expect(try await TimeoutTask(timeout: .seconds(2), clock: clock) { 8 }.value == 8)
    #expect(Deadline.remaining(on: .continuous) == nil)
    let beats = TestClock<Beats>()
    #expect(try await withTimeout(Beats(count: 2), clock: beats) { 9 } == 9)
  }
}

/// Code of an app, with an injected clock.
private struct Player: Sendable {
  let clock: any Clock<Duration>

  /// The time on the clock, which is a `TestClock`.
  private var time: Duration {
    (clock as! TestClock<Duration>).now.offset
  }

  func load(for duration: Duration) async throws -> Duration {
    try await withTimeout(.seconds(2), clock: clock, name: "load") {
      try await clock.sleep(for: duration)
      return time
    }
  }

  func fail() async throws {
    try await withTimeout(.seconds(2), clock: clock) { throw Failure() }
  }

  func loadWithDeadline(for duration: Duration) async throws -> Duration {
    try await withDeadline(in: .seconds(2), clock: clock, name: "load") {
      try await clock.sleep(for: duration)
      return time
    }
  }

  func loadOnce(for duration: Duration) async -> String {
    do {
      return try await "\(loadWithDeadline(for: duration))"
    } catch {
      return "\(time): \(error)"
    }
  }

  func number() async -> Int? {
    await withTimeoutOrNil(.seconds(2), clock: clock) { 7 }
  }

  func failOrNil() async throws(Failure) -> Int? {
    try await withTimeoutOrNil(.seconds(2), clock: clock) { () throws(Failure) -> Int in
      throw Failure()
    }
  }

  func loadOrNil(for duration: Duration) async throws -> Duration? {
    try await withTimeoutOrNil(.seconds(2), clock: clock) {
      try await clock.sleep(for: duration)
      return time
    }
  }

  func openTicket() async throws -> Ticket {
    try await withTimeout(.seconds(2), tolerance: .seconds(3), clock: clock) {
      try await clock.sleep(for: .seconds(1))
      return Ticket(number: 4)
    }
  }

  func retry(_ log: Log<Duration>) async throws(Failure) {
    try await withRetry(
      attempts: 9, backoff: .constant(.seconds(2)), budget: .seconds(5), clock: clock
    ) { () throws(Failure) in
      log.add(time)
      throw Failure()
    }
  }

  func retryAtRandom(_ log: Log<Duration>) async throws(Failure) {
    var zeros = Zeros()
    try await withRetry(
      attempts: 2, backoff: .exponential(from: .seconds(1), upTo: .seconds(4)), clock: clock,
      using: &zeros
    ) { () throws(Failure) in
      log.add(time)
      throw Failure()
    }
  }

  func start(
    for duration: Duration, onLateResult: @escaping @Sendable (Duration) -> Void
  ) -> TimeoutTask<Duration> {
    TimeoutTask(timeout: .seconds(2), clock: clock, name: "load") {
      let end = time + duration
      while time < end { try? await Task { try await clock.sleep(for: end - time) }.value }
      return time
    } onLateResult: { result in
      if let time = try? result.get() { onLateResult(time) }
    }
  }

  var deadline: TestClock<Duration>.Instant? {
    Deadline.current(on: clock) as? TestClock<Duration>.Instant
  }

  func deadlineWithTimeout() async throws -> TestClock<Duration>.Instant? {
    try await withTimeout(.seconds(5), clock: clock) { deadline }
  }

  var remaining: Duration? { Deadline.remaining(on: clock) }

  func remainingAfterASecond() async throws -> Duration? {
    try await withTimeout(.seconds(5), clock: clock) {
      try await clock.sleep(for: .seconds(1))
      return Deadline.remaining(on: clock)
    }
  }

  var erased: AnyClock<Duration> { AnyClock(clock) }

  func loadWithMovableTimeout() async throws -> Duration {
    try await withMovableTimeout(.seconds(2), clock: AnyClock(clock)) { deadline in
      deadline.expire(after: .seconds(4))
      try await clock.sleep(for: .seconds(3))
      return time
    }
  }

  func never() async throws -> Int {
    try await clock.sleep(for: .seconds(3600))
    return 0
  }
}

private struct Ticket: ~Copyable {
  let number: Int
}

private struct Zeros: RandomNumberGenerator {
  func next() -> UInt64 { 0 }
}

private actor Counter {
  private let clock: any Clock<Duration>
  private var number = 0

  init(clock: any Clock<Duration>) { self.clock = clock }

  func count() async throws -> Int {
    try await withTimeout(.seconds(2), clock: clock) {
      number += 1
      return number
    }
  }

  func countOrNil() async throws -> Int? {
    await withTimeoutOrNil(.seconds(2), clock: clock) {
      number += 1
      return number
    }
  }

  func countAgain() async throws -> Int {
    await withRetry(clock: clock) {
      number += 1
      return number
    }
  }

  func countInATask() async throws -> Int {
    try await TimeoutTask(timeout: .seconds(2), clock: clock) {
      self.number += 1
      return self.number
    }.value
  }

  nonisolated func twice(of number: Int) async throws -> Int {
    try await withDeadline(in: .seconds(2), clock: clock) { 2 * number }
  }
}

@MainActor private final class Model {
  private var clock: any Clock<Duration>
  private(set) var text = ""

  init(clock: any Clock<Duration>) { self.clock = clock }

  func load() async throws {
    try await withTimeout(.seconds(2), clock: clock) { text += "1" }
    try await withDeadline(in: .seconds(2), clock: clock) { text += " 2" }
    await withTimeoutOrNil(.seconds(2), clock: clock) { text += " 3" }
  }
}

import Clocks
import Testing
import TimeoutTask

/// Clocks whose sleeps ignore cancellation.
@Suite struct StubbornClockTests {
  /// A clock whose sleeps end only when its gate is opened.
  private final class StubbornClock: Clock {
    let gate = Gate()
    let ended = Gate()
    let now = ContinuousClock.now
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      await gate.pass()
      ended.open()
    }
  }

  @Test func aResultIsReturnedBeforeTheSleepEnds() async throws {
    let clock = StubbornClock()
    #expect(try await withTimeout(.seconds(1), clock: clock) { 5 } == 5)
    await #expect(throws: Failure.self) {
      try await withTimeout(.seconds(1), clock: clock) { throw Failure() }
    }
    #expect(try await TimeoutTask(timeout: .seconds(1), clock: clock) { 6 }.value == 6)
    clock.gate.open()
    await clock.ended.pass()
  }

  @Test func aCancelledCallerReturnsBeforeTheSleepEnds() async {
    let clock = StubbornClock()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await withTimeout(.seconds(1), clock: clock) { try Task.checkCancellation() }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    clock.gate.open()
  }

  /// The sleep is cancelled, and ends while the operation still runs.
  @Test func aSleepThatEndsAfterACancellationCausesNoTimeout() async {
    let clock = StubbornClock()
    let started = Gate()
    let goOn = Gate()
    let task = Task {
      try await withTimeout(.seconds(1), clock: clock) {
        started.open()
        await goOn.pass()
        try Task.checkCancellation()
      }
    }
    await started.pass()
    task.cancel()
    clock.gate.open()
    await clock.ended.pass()
    goOn.open()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// A clock whose sleeps return, or throw its own error, when they are cancelled.
  private struct QuietClock: Clock {
    var error: Failure?
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      try? await HandFiredClock().sleep(for: .seconds(1))
      if let error { throw error }
    }
  }

  /// The test clock runs the tasks in order: the timer ends before the operation begins.
  @Test(arguments: [nil, Failure()])
  func aCancelledSleepThatEndsBeforeTheOperationBeginsIsIgnored(_ error: Failure?) async {
    let clock = TestClock()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await withTimeout(.seconds(1), clock: QuietClock(error: error)) {
        try Task.checkCancellation()
      }
    }
    await clock.settle()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// A clock that has reached each deadline, but whose sleeps end only when they are cancelled.
  private final class LateClock: Clock {
    let cancelled = Gate()
    let deadlines = Log<ContinuousClock.Instant>()
    let start = ContinuousClock.now
    var now: ContinuousClock.Instant { deadlines.all.last ?? start }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      deadlines.add(deadline)
      do {
        try await HandFiredClock().sleep(for: .seconds(1))
      } catch {
        cancelled.open()
        throw error
      }
    }
  }

  @Test func aTimerWhoseTimeIsOverBeforeItIsKeptIsCancelled() async throws {
    let clock = LateClock()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { Task.isCancelled }
    await #expect(throws: TimeoutError(timeout: .seconds(1))) { try await task.value }
    await clock.cancelled.pass()
    let other = LateClock()
    #expect(try await withTimeout(.seconds(1), clock: other) { Task.isCancelled })
    await other.cancelled.pass()
  }

  @Test func withoutTimeNoSleepStarts() async throws {
    let clock = LateClock()
    #expect(try await withTimeout(.zero, clock: clock) { Task.isCancelled })
    #expect(try await withDeadline(clock.now, clock: clock) { Task.isCancelled })
    let task = TimeoutTask(timeout: .zero, clock: clock) { Task.isCancelled }
    await #expect(throws: TimeoutError(timeout: .zero)) { try await task.value }
    #expect(clock.deadlines.all.isEmpty)
  }
}

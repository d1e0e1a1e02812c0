import Clocks
import Testing
import TimeoutTask

/// Clocks whose sleeps do not end when they are cancelled.
@Suite struct StubbornClockTests {
  /// A clock whose sleeps end when its gate is opened, and not before.
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

  @Test func theResultIsNotHeldBack() async throws {
    let clock = StubbornClock()
    #expect(try await withTimeout(.seconds(1), clock: clock) { 5 } == 5)
    await #expect(throws: Failure.self) {
      try await withTimeout(.seconds(1), clock: clock) { throw Failure() }
    }
    #expect(try await TimeoutTask(timeout: .seconds(1), clock: clock) { 6 }.value == 6)
    clock.gate.open()
    await clock.ended.pass()
  }

  @Test func aCancelledCallerIsNotHeldBack() async {
    let clock = StubbornClock()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await withTimeout(.seconds(1), clock: clock) { try Task.checkCancellation() }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    clock.gate.open()
  }

  /// The sleep ends while the operation is under way, but it had been cancelled before.
  @Test func aSleepThatEndsAfterItsCallerWasCancelledIsNoTimeout() async {
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
}

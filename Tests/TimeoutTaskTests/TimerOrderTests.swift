import Foundation
import Testing
import TimeoutTask

/// The timer leaves its clock before a waiter is resumed, also when tasks run in parallel.
@Suite struct TimerOrderTests {
  /// A clock that takes a moment to cancel a sleep.
  private struct SluggishClock: Clock {
    let log: Log<String>

    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      let log = log
      try await withTaskCancellationHandler {
        try await Task.sleep(until: deadline, tolerance: tolerance)
      } onCancel: {
        usleep(20_000)
        log.add("the timer has left")
      }
    }
  }

  @Test func theTimerIsCancelledBeforeAWaiterIsResumed() async {
    let log = Log<String>()
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(3600), clock: SluggishClock(log: log)) {
      await gate.pass()
    }
    let waiters = (0..<2).map { _ in
      Task {
        try await task.value
        log.add("a waiter is told")
      }
    }
    usleep(5_000)
    gate.open()
    for waiter in waiters { await #expect(throws: Never.self) { try await waiter.value } }
    #expect(log.all == ["the timer has left", "a waiter is told", "a waiter is told"])
  }
}

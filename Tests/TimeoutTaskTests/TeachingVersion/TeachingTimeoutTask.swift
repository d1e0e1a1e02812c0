import Clocks
import TimeoutTask

/// The design in which this class is usually taught: a variable that holds the continuation of
/// whoever waits, and two tasks, the timer and the work, that race to resume it.
///
/// It is here to fail. `@unchecked` is what the compiler of its time did not ask for.
final class TeachingTimeoutTask<Value: Sendable>: @unchecked Sendable {
  private let clock: TestClock<Duration>
  private let nanoseconds: UInt64
  private let work: @Sendable () async throws -> Value
  private var waiting: CheckedContinuation<Value, any Error>?

  init(
    seconds: Double, clock: TestClock<Duration>, work: @escaping @Sendable () async throws -> Value
  ) {
    self.clock = clock
    self.nanoseconds = UInt64(seconds * 1e9)
    self.work = work
  }

  func value() async throws -> Value {
    try await withCheckedThrowingContinuation {
      waiting = $0
      Task {
        try await clock.sleep(nanoseconds: nanoseconds)
        finish(.failure(TimeoutError()))
      }
      Task {
        let value = try await work()
        finish(.success(value))
      }
    }
  }

  func cancel() {
    finish(.failure(CancellationError()))
  }

  private func finish(_ outcome: Result<Value, any Error>) {
    waiting?.resume(with: outcome)
    waiting = nil
  }
}

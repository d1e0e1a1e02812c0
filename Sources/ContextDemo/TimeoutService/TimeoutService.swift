import TimeoutTask

/// Runs work that must be done in time, one piece at a time.
///
/// The work, the clock and the handler of results are its owner's. A service is used where it was
/// made, on one actor or in one task; releasing it cancels what it is doing.
final class TimeoutService<Value: Sendable> {
  private let clock: any Clock<Duration>
  private let work: @Sendable () async throws -> Value
  private var attempt: Attempt?

  /// One start, and whoever waits for its outcome.
  private struct Attempt {
    let task: TimeoutTask<Value>
    var delivery: Task<Void, Never>?

    func cancel() {
      delivery?.cancel()
      task.cancel()
    }
  }

  /// Makes a service that does `work` when it is asked to, and measures its time with `clock`.
  init(
    clock: any Clock<Duration> = ContinuousClock(),
    work: @escaping @Sendable () async throws -> Value
  ) {
    self.clock = clock
    self.work = work
  }

  deinit { attempt?.cancel() }

  /// Does the work and returns its result. What was started before is cancelled.
  ///
  /// - Throws: `TimeoutError` when `timeout` has passed, even if the work ignores its cancellation;
  ///   `CancellationError` if the caller is cancelled, or the work because it is started again or
  ///   the service released; otherwise what the work throws.
  nonisolated(nonsending) func run(timeout: Duration) async throws -> Value {
    try await begin(timeout: timeout).value
  }

  /// Begins the work, and calls `handler` with its result or error. What was started before is
  /// cancelled.
  ///
  /// The handler is called once, on the caller's actor, or on the one that is given; and never once
  /// the work has been started again or the service released, which is certain when that happens on
  /// the same actor.
  func start(
    timeout: Duration, isolation: isolated (any Actor)? = #isolation,
    handler: @escaping (Result<Value, any Error>) -> Void
  ) {
    let task = begin(timeout: timeout)
    attempt?.delivery = Task {
      // A task runs on the actor whose isolation it captures.
      _ = isolation
      let result = await task.result
      // Nothing can happen on this actor between the question and the call.
      guard !Task.isCancelled else { return }
      handler(result)
    }
  }

  private func begin(timeout: Duration) -> TimeoutTask<Value> {
    attempt?.cancel()
    let task = TimeoutTask(timeout: timeout, clock: clock, operation: work)
    attempt = Attempt(task: task)
    return task
  }
}

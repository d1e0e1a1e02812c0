import TimeoutTask

/// Runs work with a timeout, one attempt at a time.
///
/// The service is not `Sendable`: one actor or task owns it. Releasing the service cancels the
/// current attempt.
final class TimeoutService<Value: Sendable> {
  private let clock: any Clock<Duration>
  private let work: @Sendable () async throws -> Value
  private var attempt: Attempt?

  /// One run of the work, and the task that delivers its result to a handler.
  private struct Attempt {
    let task: TimeoutTask<Value>
    var delivery: Task<Void, Never>?

    func cancel() {
      delivery?.cancel()
      task.cancel()
    }
  }

  /// Creates a service that runs `work` on request and measures timeouts with `clock`.
  init(
    clock: any Clock<Duration> = ContinuousClock(),
    work: @escaping @Sendable () async throws -> Value
  ) {
    self.clock = clock
    self.work = work
  }

  deinit { attempt?.cancel() }

  /// Runs the work and returns its result. Cancels the previous attempt.
  ///
  /// - Throws: `TimeoutError` after `timeout`, even if the work ignores its cancellation;
  ///   `CancellationError` if the caller is cancelled or the service is started again; otherwise the
  ///   error of the work. The call retains the service, so a release does not end it.
  nonisolated(nonsending) func run(timeout: Duration) async throws -> Value {
    try await begin(timeout: timeout).value
  }

  /// Starts the work and calls `handler` once with its result. Cancels the previous attempt.
  ///
  /// The handler runs on the caller's actor, or on `isolation`. If the service is restarted or
  /// released on that actor, the handler of the earlier attempt is never called after that.
  func start(
    timeout: Duration, isolation: isolated (any Actor)? = #isolation,
    handler: @escaping (Result<Value, any Error>) -> Void
  ) {
    let task = begin(timeout: timeout)
    attempt?.delivery = Task {
      // Capturing `isolation` makes the task run on that actor.
      _ = isolation
      let result = await task.result
      // No suspension between this check and the call: no other code of the actor can run here.
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

extension TimeoutTask {
  /// Registers the timer on its clock; it offers the outcome when it is due.
  ///
  /// Comes before `startWork`, so that the sleep is on the clock before the work can run.
  func startTimer<C: Clock>(
    _ timeout: C.Duration, tolerance: C.Duration?, clock: C, name: String?
  ) {
    if timeout.isForEver { return }
    let error = TimeoutError(timeout: timeout, operation: name)
    if timeout <= .zero {
      settle(.failure(error))
      return
    }

    let deadline = clock.now.advanced(by: timeout)
    let timer = Task<Void, Never>.startingNow(name: name.map { "timeout of \($0)" }) { [self] in
      var outcome: any Error = error
      do {
        try await clock.sleep(until: deadline, tolerance: tolerance)
      } catch {
        // If this is our own cancellation of the timer, there is an outcome, and this is not it.
        outcome = error
      }
      timeOut(.failure(outcome))
    }
    keep(timer, as: \.timer)
  }

  /// Offers the timer's outcome, and cancels the work after the waiters were told.
  private func timeOut(_ outcome: Outcome) {
    // By the time they are resumed the waiters have not run yet, and cancelling runs the work's
    // cancellation handlers here and now. Where jobs run one at a time, a job that is enqueued
    // after the waiters' is what comes after them.
    guard let before = settle(outcome), let work = before.work else { return }
    if before.waiters.isEmpty { work.cancel() } else { Task { work.cancel() } }
  }

  /// Starts the work, whose end is offered as the outcome.
  func startWork(
    name: String?, priority: TaskPriority?,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    let work = Task<Void, Never>.start(
      name: name, priority: priority, isolatedAs: operation
    ) { [self] result in
      if settle(result) == nil { onLateResult?(result) }
    }
    keep(work, as: \.work)
  }

  /// Remembers a task for whoever sets the outcome to cancel, or cancels it if that was before.
  private func keep(
    _ task: Task<Void, Never>, as property: WritableKeyPath<State, Task<Void, Never>?>
  ) {
    let isTooLate = lock.withLock {
      if state.outcome == nil { state[keyPath: property] = task }
      return state.outcome != nil
    }
    if isTooLate { task.cancel() }
  }
}

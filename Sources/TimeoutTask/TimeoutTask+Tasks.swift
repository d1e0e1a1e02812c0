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
      settle(.failure(error), cancellingWork: true)
      return
    }

    let deadline = clock.now.advanced(by: timeout)
    let timer = Task<Void, Never>.startingNow { [self] in
      var outcome: any Error = error
      do {
        try await clock.sleep(until: deadline, tolerance: tolerance)
      } catch {
        // If this is our own cancellation of the timer, there is an outcome, and this is not it.
        outcome = error
      }
      settle(.failure(outcome), cancellingWork: true)
    }
    keep(timer, as: \.timer)
  }

  /// Starts the work, whose end is offered as the outcome.
  func startWork(
    name: String?, priority: TaskPriority?,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    let work = Task<Void, Never>.start(
      name: name, priority: priority, isolatedAs: operation
    ) { [self] result in
      if !settle(result, cancellingWork: false) { onLateResult?(result) }
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

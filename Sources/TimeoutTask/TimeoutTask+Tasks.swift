extension TimeoutTask {
  /// Registers the timer on its clock; it offers the outcome when it is due.
  ///
  /// Comes before `startWork`, so that the sleep is on the clock before the work can run.
  func startTimer<C: Clock>(
    _ timeout: C.Duration, tolerance: C.Duration?, clock: C, name: String?
  ) {
    if timeout.isForEver { return }
    if timeout <= .zero {
      settle(.failure(TimeoutError(timeout: timeout, operation: name)))
      return
    }

    let deadline = clock.now.advanced(by: timeout)
    let timerName = name.map { "timeout of \($0)" }
    let timer = Task<Void, Never>.startingNow(name: timerName) { [self] in
      do {
        try await clock.sleep(until: deadline, tolerance: tolerance)
        timeOut(.failure(TimeoutError(timeout: timeout, operation: name)))
      } catch {
        // If this is our own cancellation of the timer, an outcome has won, and this is none.
        timeOut(.failure(error))
      }
    }
    keep(timer) { $0.timer = timer }
  }

  /// Offers the timer's outcome, and cancels the work after the waiters were told.
  private func timeOut(_ outcome: Outcome) {
    // By the time they are resumed the waiters have not run yet, and cancelling runs the work's
    // cancellation handlers here and now. Where jobs run one at a time, a job that is enqueued
    // after the waiters' is what comes after them.
    guard let settled = settle(outcome), let work = settled.work else { return }
    if settled.waiters.isEmpty { work.cancel() } else { Task { work.cancel() } }
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
    keep(work) { $0.work = work }
  }

  /// Remembers a task for whoever decides the outcome to cancel, or cancels it if that was before.
  private func keep(_ task: Task<Void, Never>, _ update: (inout Running) -> Void) {
    let isInTime = lock.withLock { race.updateRunning(update) }
    if !isInTime { task.cancel() }
  }
}

extension TimeoutTask {
  /// Starts the timer, then the work: the sleep is on the clock before the work can run.
  ///
  /// The tasks are remembered together. An outcome may win before that; its tasks are then
  /// cancelled here, and nobody can know of the outcome yet, because the initializer has not
  /// returned.
  func start<C: Clock>(
    _ timeout: C.Duration, tolerance: C.Duration?, clock: C, name: String?,
    priority: TaskPriority?, operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    let isForEver = timeout.isForEver
    let now = clock.now
    let instant = timeout > .zero && !isForEver ? now.advanced(by: timeout) : now
    let timer =
      timeout > .zero && !isForEver
      ? startTimer(until: instant, timeout, tolerance: tolerance, clock: clock, name: name) : nil
    // A clock that does not wait has come to the instant already, though its sleep may have been
    // suspended. The work must see that from the beginning.
    let isTooLate = !isForEver && (timeout <= .zero || instant <= clock.now)
    if isTooLate { decide(.failure(TimeoutError(timeout: timeout, operation: name))) }
    let deadline =
      isForEver
      ? nil : DeadlineOnClock(at: instant, tolerance: tolerance, on: clock, inside: nil)
    let work = startWork(
      name: name, priority: priority, under: deadline, beginsCancelled: isTooLate,
      operation: operation)
    let isInTime = lock.withLock { race.keep(Running(timer: timer, work: work)) }
    if isInTime { return }
    timer?.cancel()
    work.cancel()
  }

  /// Registers the timer on its clock; it offers the outcome when it is due.
  private func startTimer<C: Clock>(
    until instant: C.Instant, _ timeout: C.Duration, tolerance: C.Duration?, clock: C, name: String?
  ) -> Task<Void, Never> {
    Task<Void, Never>.startingNow(name: timerName(for: name)) { [self] in
      do {
        try await clock.sleep(until: instant, tolerance: tolerance)
        timeOut(.failure(TimeoutError(timeout: timeout, operation: name)))
      } catch {
        // If this is our own cancellation of the timer, an outcome has won, and this is none.
        timeOut(.failure(error))
      }
    }
  }

  /// Offers the timer's outcome, and cancels the work after the waiters were told.
  private func timeOut(_ outcome: Outcome) {
    // By the time they are resumed the waiters have not run yet, and cancelling runs the work's
    // cancellation handlers here and now. Where jobs run one at a time, a job that is enqueued
    // after the waiters' is what comes after them.
    guard let decision = decide(outcome), let work = decision.work else { return }
    if decision.waiters.isEmpty { work.cancel() } else { Task { work.cancel() } }
  }

  /// Starts the work, whose end is offered as the outcome.
  private func startWork(
    name: String?, priority: TaskPriority?, under deadline: ActiveDeadline?, beginsCancelled: Bool,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) -> Task<Void, Never> {
    Task<Void, Never>.start(
      name: name, priority: priority, under: deadline, beginsCancelled: beginsCancelled,
      isolatedAs: operation
    ) { [self] result in
      if decide(result) == nil { onLateResult?(result) }
    }
  }
}

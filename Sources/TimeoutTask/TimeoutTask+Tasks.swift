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
    let deadline = deadline(timeout, tolerance: tolerance, clock: clock, name: name)
    let timer = deadline.flatMap { startTimer($0, timeout: timeout, name: name) }
    // A clock that does not wait has come to the instant already, though its sleep may have been
    // suspended. The work must see that from the beginning.
    let isTooLate = timeout <= .zero || deadline?.hasPassed == true
    if isTooLate { decide(.failure(TimeoutError(timeout: timeout, operation: name))) }
    let work = startWork(
      name: name, priority: priority, under: deadline, beginsCancelled: isTooLate,
      operation: operation)
    let isInTime = lock.withLock { race.keep(Running(timer: timer, work: work)) }
    if isInTime { return }
    timer?.cancel()
    work.cancel()
  }

  /// The deadline that cancels the work, or `nil` if it never passes.
  private func deadline<C: Clock>(
    _ timeout: C.Duration, tolerance: C.Duration?, clock: C, name: String?
  ) -> DeadlineOnClock<C>? {
    if timeout.isForEver { return nil }
    let now = clock.now
    return DeadlineOnClock(
      at: timeout > .zero ? now.advanced(by: timeout) : now, tolerance: tolerance, on: clock,
      inside: nil)
  }

  /// Registers the timer on its clock; it offers the outcome when it is due. Returns `nil` if there
  /// is nothing to wait for.
  private func startTimer<C: Clock>(
    _ deadline: DeadlineOnClock<C>, timeout: C.Duration, name: String?
  ) -> Task<Void, Never>? {
    guard timeout > .zero, let instant = deadline.instant else { return nil }
    return Task<Void, Never>.startingNow(name: timerName(for: name)) { [self] in
      do {
        try await deadline.clock.sleep(until: instant, tolerance: deadline.tolerance)
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

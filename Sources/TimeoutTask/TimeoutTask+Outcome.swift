extension TimeoutTask {
  typealias Outcome = Result<Success, any Error>

  /// A suspended task. It is resumed with an error if it is to stop waiting, and without one if
  /// there is an outcome.
  typealias Waiter = UnsafeContinuation<Void, any Error>

  /// All that is known about a task that may still be running.
  ///
  /// Invariant: once there is an outcome, there are no waiters, no timer and no work here. So
  /// whoever sets the outcome is the only one who can resume those waiters and cancel those tasks.
  struct State {
    /// Set once and never changed.
    var outcome: Outcome?

    var waiters = WaiterQueue<Waiter>()

    /// The task that sleeps until the deadline; `nil` before it is known, and if there is none.
    var timer: Task<Void, Never>?

    /// The task that runs the operation; `nil` before it is known.
    var work: Task<Void, Never>?

    /// Sets the outcome and returns what there was before, or `nil` if it was set already.
    mutating func end(with outcome: Outcome) -> State? {
      guard self.outcome == nil else { return nil }
      let before = self
      self = State(outcome: outcome)
      return before
    }
  }

  /// Offers an outcome; returns what it ended if it was the first, and `nil` if it came too late.
  ///
  /// The timer leaves the clock before anyone is resumed, so that whoever wakes finds no sleep
  /// there. The work is left alone; its cancellation is up to the caller.
  @discardableResult
  func settle(_ outcome: Outcome) -> State? {
    guard let before = lock.withLock({ state.end(with: outcome) }) else { return nil }
    before.timer?.cancel()
    for waiter in before.waiters.all { waiter.resume() }
    return before
  }

  /// Suspends the current task until there is an outcome or the task itself is cancelled.
  nonisolated(nonsending) func wait() async -> Outcome {
    let ticket = lock.withLock { state.waiters.takeTicket() }
    do {
      try await withEscalation {
        lock.withLock { state.work }
      } during: {
        try await withTaskCancellationHandler {
          try await withUnsafeThrowingContinuation { enter($0, with: ticket) }
        } onCancel: {
          leave(with: ticket)
        }
      }
    } catch {
      return .failure(error)
    }
    // Read here and not handed over by whoever resumes: ThreadSanitizer does not see what a
    // continuation orders if it is resumed before its task is suspended. It sees the lock.
    guard let outcome = lock.withLock({ state.outcome }) else {
      preconditionFailure("A waiter was resumed without an outcome.")
    }
    return outcome
  }

  private func enter(_ waiter: Waiter, with ticket: WaiterQueue<Waiter>.Ticket) {
    let isTooLate = lock.withLock {
      if state.outcome == nil { state.waiters.add(waiter, with: ticket) }
      return state.outcome != nil
    }
    if isTooLate { return waiter.resume() }

    // The cancellation handler may have run before there was anyone to take out. It runs after the
    // task was marked as cancelled, so either it finds the waiter or this finds the mark.
    if Task.isCancelled { leave(with: ticket) }
  }

  private func leave(with ticket: WaiterQueue<Waiter>.Ticket) {
    let (waiter, before) = lock.withLock {
      let waiter = state.waiters.remove(ticket)
      // In the same breath: a task that begins to wait a moment later must not be able to keep
      // waiting for work that is being cancelled.
      let isLast = waiter != nil && state.waiters.isEmpty
      return (waiter, isLast ? state.end(with: .failure(CancellationError())) : nil)
    }
    before?.timer?.cancel()
    waiter?.resume(throwing: CancellationError())
    before?.work?.cancel()
  }
}

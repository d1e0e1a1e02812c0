/// Who decides the outcome of a `TimeoutTask`, and waits for it.
///
/// Nothing here depends on the type of the result. Its owner sees to it that it is there for as long as
/// somebody waits.
struct Contest: Sendable {
  /// Nothing is resumed, cancelled or called under its lock.
  private let race = Guarded(Race())

  let endsWithLastWaiter: Bool

  /// Frees it; the owner calls this once, when nobody can reach it any more. Returns the place of the
  /// result, if there is one.
  func destroy() -> UnsafeMutableRawPointer? {
    let result = race.withoutLock.result
    race.destroy()
    return result
  }

  /// Keeps what is to be cancelled, and returns whether that was in time.
  func keep(_ running: Running) -> Bool {
    race.withLock { $0.keep(running) }
  }

  /// Offers an outcome; returns what it ended if it was the first, and `nil` if it came too late.
  ///
  /// The work is left alone; its cancellation is up to the caller.
  @discardableResult
  func decide(_ outcome: Outcome) -> Decision? {
    guard let running = race.withLock({ $0.decide() }) else { return nil }
    return announce(outcome, ending: running)
  }

  /// Makes known the outcome that has won.
  private func announce(_ outcome: Outcome, ending running: Running) -> Decision {
    // Before anyone can know of the outcome, so that whoever does finds no sleep on the clock; and
    // not under the lock, because it runs the clock's code.
    running.timer?.cancel()
    let waiters = race.withLock { $0.announce(outcome) }
    waiters.resumeAll { $0.resume() }
    return Decision(hadWaiters: !waiters.isEmpty, work: running.work)
  }

  /// Suspends the current task until there is an outcome or the task itself is cancelled. Returns
  /// the place of the result.
  nonisolated(nonsending) func wait() async throws -> UnsafeMutableRawPointer {
    let (known, ticket, running) = race.withLock { race in
      (race.outcome, race.waiters.takeTicket(), race.running)
    }
    if let known { return try known.get() }
    try await withEscalation(of: running) {
      try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { enter($0, with: ticket) }
      } onCancel: {
        leave(with: ticket)
      }
    }
    // Read here and not handed over by whoever resumes: ThreadSanitizer does not see what a
    // continuation orders if it is resumed before its task is suspended. It sees the lock.
    guard let outcome = race.withLock({ $0.outcome }) else {
      preconditionFailure("A waiter was resumed without an outcome.")
    }
    return try outcome.get()
  }

  private func enter(_ waiter: Waiter, with ticket: WaiterQueue<Waiter>.Ticket) {
    let isTooLate = race.withLock { race in
      if race.outcome == nil { race.waiters.add(waiter, with: ticket) }
      return race.outcome != nil
    }
    if isTooLate { return waiter.resume() }

    // The cancellation handler may have run before there was anyone to take out. It runs after the
    // task was marked as cancelled, so either it finds the waiter or this finds the mark.
    if Task.isCancelled { leave(with: ticket) }
  }

  private func leave(with ticket: WaiterQueue<Waiter>.Ticket) {
    let (waiter, running) = race.withLock { race in
      let waiter = race.waiters.remove(ticket)
      // Under the same lock: a task that begins to wait a moment later must not be able to wait for
      // work that is being cancelled.
      let isLast = endsWithLastWaiter && waiter != nil && race.waiters.isEmpty
      return (waiter, isLast ? race.decide() : nil)
    }
    let cancellation = CancellationError()
    let decision = running.map { announce(.failure(cancellation), ending: $0) }
    waiter?.resume(throwing: cancellation)
    decision?.work?.cancel()
  }
}

/// A suspended task. It is resumed with an error if it was cancelled, and without one if there is
/// an outcome.
typealias Waiter = UnsafeContinuation<Void, any Error>

/// The outcome of a `TimeoutTask`: an error, or the address of the result.
typealias Outcome = Result<UnsafeMutableRawPointer, any Error>

/// The timer and the work of a `TimeoutTask`. Both are `nil` until they have been started. The
/// timer stays `nil` if the task needs none.
struct Running {
  var timer: Timer?
  /// The task that runs the operation.
  var work: Task<Void, Never>?

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  func escalate(to priority: TaskPriority) {
    work?.escalatePriority(to: priority)
    // The timer resumes the waiters if the work takes too long, so it needs their priority as well.
    timer?.escalatePriority(to: priority)
  }
}

/// The state of a `TimeoutTask` at the moment when an outcome won.
struct Decision {
  /// Whether tasks waited. These tasks have been resumed.
  let hadWaiters: Bool
  /// The task that runs the operation. It has not been cancelled.
  let work: Task<Void, Never>?
}

/// The state of a `TimeoutTask`.
///
/// The functions only change the state, and return what to do. The owner calls them under a lock,
/// and carries out what they return after it has released the lock.
struct OutcomeState {
  private enum Phase {
    case undecided(Running)
    /// An outcome has won. The thread that offered it is cancelling the timer.
    case decided
    /// The outcome can be read. It never changes, and the owner frees it.
    case announced(Outcome)
  }

  private var phase = Phase.undecided(Running())

  /// The waiting tasks. Empty once there is an outcome.
  var waiters = WaiterQueue<Waiter>()

  var isDecided: Bool {
    if case .undecided = phase { false } else { true }
  }

  /// The outcome that can be read, if there is one.
  var outcome: Outcome? {
    if case .announced(let outcome) = phase { outcome } else { nil }
  }

  /// The timer and the work that an outcome has to cancel; empty once an outcome has won.
  var running: Running {
    if case .undecided(let running) = phase { running } else { Running() }
  }

  /// Stores the timer and the work. Returns `false` if an outcome has won already.
  mutating func keep(_ running: Running) -> Bool {
    guard case .undecided = phase else { return false }
    phase = .undecided(running)
    return true
  }

  /// Lets an outcome win. Returns the timer and the work, or `nil` if another outcome has won.
  ///
  /// The caller has to call `announce(_:)`.
  mutating func decide() -> Running? {
    guard case .undecided(let running) = phase else { return nil }
    phase = .decided
    return running
  }

  /// Makes the outcome readable. Returns the waiters to resume.
  mutating func announce(_ outcome: Outcome) -> WaiterQueue<Waiter> {
    guard case .decided = phase else {
      preconditionFailure("An outcome was announced in the phase \(phase).")
    }
    phase = .announced(outcome)
    defer { waiters = WaiterQueue() }
    return waiters
  }
}

/// The outcome of a `TimeoutTask`, and the tasks that wait for it.
///
/// Nothing here depends on the type of the result. The owner keeps the result while tasks wait for
/// it.
struct SharedOutcome: ~Copyable, Sendable {
  /// While the lock of `state` is held, no continuation is resumed, no task cancelled and no clock called.
  private let state = Guarded(OutcomeState())

  let endsWithLastWaiter: Bool

  /// The address of the result, if there is one. Requires that no other thread can use the state.
  var placeOfResult: UnsafeMutableRawPointer? { try? state.withoutLock.outcome?.get() }

  var isDecided: Bool { state.withLock { $0.isDecided } }

  /// Stores the timer and the work. Returns `false` if an outcome has won already.
  func keep(_ running: Running) -> Bool {
    state.withLock { $0.keep(running) }
  }

  /// Offers an outcome and cancels the timer. Returns `nil` if another outcome has won.
  ///
  /// The caller has to cancel the work.
  @discardableResult
  func decide(_ outcome: Outcome) -> Decision? {
    guard let running = state.withLock({ $0.decide() }) else { return nil }
    return announce(outcome, ending: running)
  }

  private func announce(_ outcome: Outcome, ending running: Running) -> Decision {
    // The timer is cancelled before any task can read the outcome, so that no task then finds the
    // timer's sleep on the clock. The lock is not held, because cancelling runs code of the clock.
    running.timer?.cancel()
    let waiters = state.withLock { $0.announce(outcome) }
    waiters.resumeAll { $0.resume() }
    return Decision(hadWaiters: !waiters.isEmpty, work: running.work)
  }

  /// Waits until there is an outcome, or the current task is cancelled. Returns the address of the
  /// result.
  ///
  /// The closures capture `isolation`: a closure that does not capture it would leave the caller's actor.
  func wait(isolation: isolated (any Actor)? = #isolation) async throws -> UnsafeMutableRawPointer {
    let (known, ticket, running) = state.withLock { state in
      (state.outcome, state.waiters.takeTicket(), state.running)
    }
    if let known { return try known.get() }
    try await withEscalation(of: running) {
      _ = isolation
      try await withTaskCancellationHandler {
        _ = isolation
        try await withUnsafeThrowingContinuation { enter($0, with: ticket) }
      } onCancel: {
        leave(with: ticket)
      }
    }
    // The outcome is read under the lock and not passed through the continuation. If a continuation
    // is resumed before its task is suspended, ThreadSanitizer does not see that the resumption
    // precedes what the task does next. With the lock, it sees the order.
    guard let outcome = state.withLock({ $0.outcome }) else {
      preconditionFailure("A waiter was resumed without an outcome.")
    }
    return try outcome.get()
  }

  private func enter(_ waiter: Waiter, with ticket: WaiterQueue<Waiter>.Ticket) {
    let isTooLate = state.withLock { state in
      if state.outcome == nil { state.waiters.add(waiter, with: ticket) }
      return state.outcome != nil
    }
    if isTooLate { return waiter.resume() }

    // Thread A may run the cancellation handler before thread B adds the waiter here. The task is marked as cancelled
    // before the handler runs, so thread B finds the mark, and removes the waiter.
    if Task.isCancelled { leave(with: ticket) }
  }

  private func leave(with ticket: WaiterQueue<Waiter>.Ticket) {
    let (waiter, running) = state.withLock { state in
      let waiter = state.waiters.remove(ticket)
      // The outcome is decided while the lock is held: a task that begins to wait afterwards must
      // not wait for work that is being cancelled.
      let isLast = endsWithLastWaiter && waiter != nil && state.waiters.isEmpty
      return (waiter, isLast ? state.decide() : nil)
    }
    let cancellation = CancellationError()
    let decision = running.map { announce(.failure(cancellation), ending: $0) }
    waiter?.resume(throwing: cancellation)
    decision?.work?.cancel()
  }

  /// Runs `operation`, and meanwhile keeps the priority of `running` at least as high as the
  /// current task's.
  ///
  /// Older systems cannot escalate a task. There, this function only runs `operation`.
  private func withEscalation(
    of running: Running, isolation: isolated (any Actor)? = #isolation,
    during operation: () async throws -> Void
  ) async throws {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *),
      running.timer != nil || running.work != nil
    else { return try await operation() }
    try await withTaskPriorityEscalationHandler {
      _ = isolation
      // The priority is read after the handler is added: the handler hears of no earlier escalation.
      running.escalate(to: Task.currentPriority)
      try await operation()
    } onPriorityEscalated: { _, priority in
      running.escalate(to: priority)
    }
  }
}

/// The tasks that wait for one outcome. The queue's owner guards it by a lock.
///
/// A waiter is added once and removed once, and the caller that removes it resumes it.
///
/// A task takes its ticket before it is suspended: its cancellation handler needs the ticket, and
/// may run before the waiter has been added.
struct WaiterQueue<Waiter> {
  /// Identifies a waiter. Tickets increase in the order in which tasks began to wait.
  struct Ticket: Hashable {
    fileprivate let number: UInt64
  }

  /// The waiter that was added while the queue was empty.
  ///
  /// Most outcomes have one waiter. Then `others` stays empty, and allocates nothing.
  private var only: (ticket: Ticket, waiter: Waiter)?
  private var others: [Ticket: Waiter] = [:]
  private var nextNumber: UInt64 = 0

  var isEmpty: Bool { only == nil && others.isEmpty }

  /// All waiters in the order of their tickets. O(n log n).
  var all: [Waiter] {
    var all = others.map { (ticket: $0.key, waiter: $0.value) }
    if let only { all.append(only) }
    return all.sorted { $0.ticket.number < $1.ticket.number }.map(\.waiter)
  }

  /// Calls `resume` for all waiters in the order of their tickets. O(n log n); O(1) for one waiter.
  func resumeAll(_ resume: (Waiter) -> Void) {
    if others.isEmpty {
      if let only { resume(only.waiter) }
    } else {
      for waiter in all { resume(waiter) }
    }
  }

  mutating func takeTicket() -> Ticket {
    defer { nextNumber += 1 }
    return Ticket(number: nextNumber)
  }

  /// Adds a waiter. O(1).
  mutating func add(_ waiter: Waiter, with ticket: Ticket) {
    if isEmpty { only = (ticket, waiter) } else { others[ticket] = waiter }
  }

  /// Removes a waiter. Returns `nil` if the queue does not contain it. O(1).
  mutating func remove(_ ticket: Ticket) -> Waiter? {
    guard let only, only.ticket == ticket else { return others.removeValue(forKey: ticket) }
    self.only = nil
    return only.waiter
  }
}

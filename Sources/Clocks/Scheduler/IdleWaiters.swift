import ClocksSupport

/// A task's wait for the test to be idle. Subclasses also move time.
///
/// When the test is idle and the waiter comes first, `takeSleeper` returns a sleep to wake. This repeats until
/// `takeSleeper` returns `nil`: then the wait ends.
class IdleWaiter {
  enum Kind {
    /// Time does not move.
    case settle
    /// Moves time, after the earlier waiters of this kind.
    case advance
    /// Waits for the next instant at which the test is idle, no matter what moves time there.
    case observe
  }

  // The variable properties are accessed under the scheduler's lock, or before or after the wait.

  let kind: Kind
  let isOwn: Bool
  /// The task that waits. Set before the waiter is handed to the scheduler.
  var continuation: UnsafeContinuation<Void, Never>?
  /// Why the wait was aborted; `nil` if it was not.
  var runaway: Runaway?
  /// The task of the job at which the wait was aborted, if it is known.
  var culprit: RetainedTask?
  /// The next waiter in the same queue.
  fileprivate var next: IdleWaiter?

  init(_ kind: Kind = .settle, isOwn: Bool) {
    self.kind = kind
    self.isOwn = isOwn
  }

  /// Removes the next sleep to wake and moves time to its deadline. If there is none, moves time to the target.
  func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? { nil }

  /// The virtual clock that the waiter moves.
  var movedClock: VirtualClock? { nil }
}

/// The waits for the test to be idle, and their order.
struct IdleWaiters: ~Copyable {
  private let isPassedByAddress = PassedByAddress()
  /// The waiters for which time does not move, in order of arrival.
  private(set) var settles = WaiterQueue()
  /// The waiters that move time, in order of arrival; the first is under way.
  private(set) var advances = WaiterQueue()
  /// Whether some of `advances` move different clocks. Then these clocks move in step.
  private(set) var moveSeveralClocks = false
  private(set) var observers: [VirtualClockObserver] = []
  /// Counts jobs that something outside the scope made ready; 0 outside scopes.
  private(set) var jobsFromOutside: UInt64 = 0

  var isEmpty: Bool { settles.isEmpty && advances.isEmpty && observers.count == 0 }

  mutating func append(_ waiter: IdleWaiter) {
    switch waiter.kind {
    case .settle: settles.append(waiter)
    case .advance:
      if let first = advances.first, first.movedClock !== waiter.movedClock {
        moveSeveralClocks = true
      }
      advances.append(waiter)
    case .observe:
      let observer = unsafeDowncast(waiter, to: VirtualClockObserver.self)
      if observer.jobsFromOutside != jobsFromOutside { observer.mustCheck = true }
      observers.append(observer)
    }
  }

  /// Removes a waiter. O(1) if it is the oldest of its kind and no observer, else O(n).
  mutating func remove(_ waiter: IdleWaiter) {
    switch waiter.kind {
    case .settle: settles.remove(waiter)
    case .advance:
      advances.remove(waiter)
      if advances.isEmpty { moveSeveralClocks = false }
    case .observe: observers.removeAll { $0 === waiter }
    }
  }

  /// The waiter that comes first; `nil` if there is none. In this order:
  ///
  /// 1. observers that have not checked the present instant yet, so that they miss none;
  /// 2. waiters for which time does not move, because the scheduler may not be idle again for long;
  /// 3. the oldest waiter that moves time; with several clocks, the waiter with the least time to its next
  ///    event;
  /// 4. the oldest observer, for which time moves as well; if the scope moves time itself, the oldest that is not
  ///    paced.
  @_transparent
  func first(scopeMovesTime: Bool) -> IdleWaiter? {
    if observers.count > 0, let behind = observers.first(where: \.isBehind) { return behind }
    if let settle = settles.first { return settle }
    if let advance = advances.first { return moveSeveralClocks ? firstInStep : advance }
    return observers.count == 0 ? nil : observers.first { !($0.isPaced && scopeMovesTime) }
  }

  mutating func jobCameFromOutside() {
    jobsFromOutside += 1
    for observer in observers { observer.mustCheck = true }
  }

  /// Stops the program if a waiter is in the wrong queue, or an observer counts too many jobs. Used by tests.
  func checkInvariants() {
    precondition(settles.all.allSatisfy { $0.kind == .settle }, "a waiter that moves time")
    precondition(advances.all.allSatisfy { $0.kind == .advance }, "a waiter that moves no time")
    precondition(observers.allSatisfy { $0.jobsFromOutside <= jobsFromOutside }, "lost jobs")
  }
}

/// Waiters in order of arrival: a linked list.
struct WaiterQueue: ~Copyable {
  private(set) var first: IdleWaiter?
  /// Valid unless the queue is empty.
  private unowned(unsafe) var last: IdleWaiter?

  var isEmpty: Bool { first == nil }

  /// The waiters in their order. O(n).
  var all: [IdleWaiter] {
    first.map { Array(sequence(first: $0) { $0.next }) } ?? []
  }

  mutating func append(_ waiter: IdleWaiter) {
    if first == nil { first = waiter } else { last?.next = waiter }
    last = waiter
  }

  /// Removes a waiter of the queue. O(1) if it is the first, else O(n).
  mutating func remove(_ waiter: IdleWaiter) {
    let next = waiter.next.take()
    if first === waiter {
      first = next
    } else {
      let before = all.first { $0.next === waiter }
      before?.next = next
      if last === waiter { last = before }
    }
  }
}

extension Scheduler {
  /// Suspends the current task until the wait ends.
  nonisolated(nonsending) func wait(_ waiter: IdleWaiter) async {
    await withUnsafeContinuation { continuation in
      waiter.continuation = continuation
      change { state in
        state.scope?.waitsForTime(UnownedTask(continuation).id)
        state.append(waiter)
      }
    }
  }

  /// Suspends the current task until everything at the next instant has happened; or, if it is cancelled,
  /// until the test is idle.
  nonisolated(nonsending) func observe(with observer: VirtualClockObserver) async {
    // The observer is changed within `change` only.
    nonisolated(unsafe) let observer = observer
    await withTaskCancellationHandler {
      await wait(observer)
    } onCancel: {
      change { _ in observer.mustCheck = true }
    }
  }

  /// Suspends the current task until the test is idle. `isOwn` says whether the scheduler owns the task.
  ///
  /// Returns the waiter. If the wait was aborted, the waiter has the reason, and the task that caused it.
  @discardableResult
  nonisolated(nonsending) func settle(isOwn: Bool = true) async -> IdleWaiter {
    let waiter = IdleWaiter(isOwn: isOwn)
    await wait(waiter)
    return waiter
  }

  /// Ends a sleep with an error. `isOwn` says whether the scheduler owns the sleeping task.
  func cancel(_ sleeper: UnsafeContinuation<Void, any Error>, isOwn: Bool) {
    if isOwn { willResume(UnownedTask(sleeper)) }
    // On a thread that runs for the scheduler, `isWaking` saves the hook from looking up the task's owner.
    let context = isOwn ? ThreadContext.current : nil
    guard let context, context.pointee.owner === self, !context.pointee.isWaking else {
      return sleeper.cancel()
    }
    context.pointee.isWaking = true
    sleeper.cancel()
    context.pointee.isWaking = false
  }
}

extension UnsafeContinuation<Void, any Error> {
  /// Resumes the task, which throws a `CancellationError`.
  ///
  /// `resume(throwing:)` is generic in the type of the error. With the type `any Error`, it would put the error, which
  /// is in a box, into another box.
  @_transparent
  func cancel() {
    unsafeBitCast(self, to: UnsafeContinuation<Void, CancellationError>.self)
      .resume(throwing: CancellationError())
  }
}

import ClocksSupport

/// Somebody who waits for the scheduler to be idle. Its subclasses also move time.
///
/// When the scheduler is idle and it is the waiter's turn, it is asked for a sleep to wake. Then the
/// scheduler runs until it is idle again, and asks again, until there is none: then the wait ends.
class IdleWaiter {
  enum Kind {
    /// Time does not move for it.
    case settle
    /// It moves time, one after another.
    case advance
    /// It looks at each instant at which something happens, whoever moves time there.
    case observe
  }

  // What changes does so within `Scheduler.change`, whose lock makes every access exclusive, or before
  // and after the wait; so accesses are not checked a second time.

  let kind: Kind
  /// Whether the task that waits belongs to the scheduler.
  let isOwn: Bool
  /// The task that waits. Set before the waiter is handed to the scheduler.
  @exclusivity(unchecked) var continuation: UnsafeContinuation<Void, Never>?
  /// Why the wait was given up, if it was.
  @exclusivity(unchecked) private(set) var runaway: Runaway?
  /// The task because of which it was given up, if it is known.
  @exclusivity(unchecked) var culprit: RetainedTask?

  init(_ kind: Kind = .settle, isOwn: Bool) {
    self.kind = kind
    self.isOwn = isOwn
  }

  /// Takes out the next sleep to wake, and moves time to its deadline; `nil` if there is none, and
  /// then time has moved as far as it is to.
  ///
  /// - Parameter nanosecondsWithoutThread: For how long the scheduler has waited for threads so far.
  func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? { nil }

  /// Notes that the test never comes to rest, so that the wait ends.
  final func abort(_ reason: Runaway) { runaway = reason }

  /// What ends the wait.
  final var end: Action { .finish(continuation.unsafelyUnwrapped, isOwn: isOwn) }

  // MARK: - For choosers and listeners

  /// The sleeps that are due now on the virtual clock that the waiter moves.
  func dueSleeps() -> ScratchBuffer<Candidate> { ScratchBuffer() }

  /// Takes out one of the sleeps that are due.
  func takeDueSleeper(_ number: UInt64) -> Sleeper? { nil }

  /// The time that the waiter moves, and the sleep that it took out last.
  var trace: (now: Duration?, removed: (number: UInt64, task: UInt64)?) { (nil, nil) }
}

/// Somebody who looks at each instant at which something happens.
class InstantObserver: IdleWaiter {
  /// Whether it waits until a scope's time may jump, in a scope that moves time by itself; elsewhere it
  /// moves time.
  let isPaced: Bool
  /// The number of jobs from outside that there had been when it last looked.
  let jobsFromOutside: UInt64
  /// Whether it must look although time has not moved: its task has been cancelled, or a job has come
  /// from outside.
  @exclusivity(unchecked) var mustLook = false

  init(isOwn: Bool, isPaced: Bool, jobsFromOutside: UInt64) {
    self.isPaced = isPaced
    self.jobsFromOutside = jobsFromOutside
    super.init(.observe, isOwn: isOwn)
  }

  /// Whether it must look before time moves on.
  var isBehind: Bool { mustLook }
}

/// Those who wait for the scheduler to be idle, and whose turn it is.
struct IdleWaiters: ~Copyable {
  /// Those for whom time does not move, in order of arrival.
  private(set) var settles = WaiterQueue()
  /// Those who move time, in order of arrival; the first is under way.
  private(set) var advances = WaiterQueue()
  /// Those who look at each instant, in order of arrival.
  private(set) var observers: [InstantObserver] = []
  /// Counts jobs that something outside the scope made ready. An observer compares it with the count
  /// that it last saw. It stays 0 outside scopes, where time never waits for such jobs.
  private(set) var jobsFromOutside: UInt64 = 0

  var isEmpty: Bool { settles.isEmpty && advances.isEmpty && observers.count == 0 }

  /// Adds somebody who wants to know, or who moves time. O(1).
  mutating func append(_ waiter: IdleWaiter) {
    if waiter.kind == .settle { settles.append(waiter) } else { advances.append(waiter) }
  }

  /// Adds somebody who looks at each instant. O(1).
  mutating func append(observer: InstantObserver) {
    if observer.jobsFromOutside != jobsFromOutside { observer.mustLook = true }
    observers.append(observer)
  }

  /// Removes a waiter whose turn it was. O(1); O(n) with n observers.
  mutating func remove(_ waiter: IdleWaiter) {
    switch waiter.kind {
    case .settle: settles.removeFirst()
    case .advance: advances.removeFirst()
    case .observe: observers.removeAll { $0 === waiter }
    }
  }

  /// Whose turn it is among those who wait; `nil` if nobody's:
  ///
  /// 1. observers that have not looked at the present instant yet, so that they miss none;
  /// 2. those who only want to know, because the scheduler may not be idle again for long;
  /// 3. the oldest of those who move time;
  /// 4. observers, for whom time moves as well; but a paced one gets its turn only when the scope would
  ///    jump, if the scope moves time.
  ///
  /// - Parameter scopeMovesTime: Whether the scope moves time; then paced observers wait for it.
  @inline(__always)
  func first(scopeMovesTime: Bool) -> IdleWaiter? {
    if observers.count > 0, let behind = observers.first(where: \.isBehind) { return behind }
    if let settle = settles.first { return settle }
    if let advance = advances.first { return advance }
    return observers.count == 0 ? nil : observers.first { !($0.isPaced && scopeMovesTime) }
  }

  /// Notes that something outside the scope has made a job ready. O(observers).
  mutating func jobCameFromOutside() {
    jobsFromOutside += 1
    for observer in observers { observer.mustLook = true }
  }

  /// Stops the program if a waiter stands in the wrong place; for tests.
  func checkInvariants() {
    precondition(settles.all.allSatisfy { $0.kind == .settle }, "not one who only wants to know")
    precondition(advances.all.allSatisfy { $0.kind == .advance }, "not one who moves time")
    precondition(observers.allSatisfy { $0.jobsFromOutside <= jobsFromOutside }, "lost jobs")
  }
}

/// Waiters in order of arrival.
///
/// There are rarely more than a few; removing the first is amortized O(1) all the same.
struct WaiterQueue: ~Copyable {
  /// Those who wait, from `head` on; before that, those who have left.
  private var waiters: [IdleWaiter] = []
  private var head = 0

  var isEmpty: Bool { head == waiters.count }

  var first: IdleWaiter? { head == waiters.count ? nil : waiters[head] }

  var all: ArraySlice<IdleWaiter> { waiters[head...] }

  mutating func append(_ waiter: IdleWaiter) {
    waiters.append(waiter)
  }

  mutating func removeFirst() {
    // Nearly always there is one, and no array needs to be made empty in a general way.
    if waiters.count == 1 {
      waiters.removeLast()
      return
    }
    head += 1
    if head == waiters.count {
      waiters.removeAll(keepingCapacity: waiters.count < 16)
      head = 0
    } else if head >= 32, head * 2 >= waiters.count {
      waiters.removeFirst(head)
      head = 0
    }
  }
}

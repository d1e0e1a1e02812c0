import ClocksSupport
import Synchronization

/// The registry of all owners in the process, and of the tasks that belong to them.
///
/// A new task belongs to the owner for which its creator runs, until it ends or is transferred. Ids are never reused.
/// An owner and its entries stay until its last clock is released. A task known to belong to no owner is *unowned*.
final class TaskOwnership: Sendable {
  static let shared = TaskOwnership()

  // Read without the lock, written under it.

  /// The number of registered owners.
  private let count = Atomic<Int>(0)
  private let hasProcessWide = Atomic(false)
  private let hasLeftovers = Atomic(false)
  /// Whether there ever was an explored owner.
  private let explored = Atomic(false)

  /// Guards everything below. Rank `taskOwnership`: no lock is taken under it.
  let lock = Lock(.taskOwnership)
  /// Invariant: every owner here is also in `registered`, which keeps it alive.
  nonisolated(unsafe) private(set) var owners = OwnerTable()
  nonisolated(unsafe) private var registered: [ObjectIdentifier: TaskOwner] = [:]
  /// The owner of clocks made outside any task, where no test cases are known.
  nonisolated(unsafe) private(set) var processWide: ProcessWideOwner?
  /// The number of unowned jobs under way that were counted. A job may outlive the process-wide owner of its beginning.
  nonisolated(unsafe) private var unownedJobs = 0
  /// The owner of clocks made outside any task, if it is known which task runs which test case. It owns the tasks that
  /// use these clocks.
  nonisolated(unsafe) private var ofThreads: TaskOwner?
  /// The unowned tasks, unless `owners` has an owner for them. Tasks older than every owner have no entry.
  nonisolated(unsafe) private(set) var unowned = TaskSet()
  /// The number of chunks in `unowned` above which outdated chunks are dropped.
  nonisolated(unsafe) private var unownedLimit = 8
  nonisolated(unsafe) private var leftovers = LeftoverTasks()

  /// Whether there is no owner. Then no look-up is needed. O(1), without the lock.
  @inline(__always)
  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  /// Whether the hops of some tasks may have to be seen. O(1), without the lock.
  @inline(__always)
  var isAnyExplored: Bool { explored.load(ordering: .relaxed) }

  // MARK: - Owners

  /// Registers `owner` for one more clock. Returns whether it is the only one. `newestTask` is called without the lock.
  @discardableResult
  func retain(_ owner: TaskOwner, newestTask: () -> UInt64) -> Bool {
    guard lock.withLock({ addClock(to: owner) }) else { return false }
    setWatermark(of: owner, newestTask)
    return true
  }

  /// Returns whether the watermark is unknown. If threads A and B register one owner concurrently, both set one.
  private func addClock(to owner: TaskOwner) -> Bool {
    owner.registration.clocks += 1
    if owner.registration.clocks == 1 {
      registered[ObjectIdentifier(owner)] = owner
      // `count` is stored before the newest task is determined: a task that was not seen, because there was no owner,
      // must not be newer than the watermark.
      count.store(registered.count, ordering: .sequentiallyConsistent)
      if owner.isExplored { explored.store(true, ordering: .relaxed) }
    }
    return owner.registration.watermark == .max
  }

  private func setWatermark(of owner: TaskOwner, _ newestTask: () -> UInt64) {
    let newest = newestTask()
    lock.withLock { owner.registration.watermark = newest }
  }

  /// Balances one `retain`; with the last one, removes the owner and its entries. O(tasks of the owner).
  ///
  /// - Returns: Whether this was the last `retain`.
  @discardableResult
  func release(_ owner: TaskOwner) -> Bool {
    // Freed outside the lock.
    var removedProcessWide: ProcessWideOwner?
    defer { withExtendedLifetime(removedProcessWide) {} }
    return lock.withLock {
      owner.registration.clocks -= 1
      guard owner.registration.clocks == 0 else { return false }
      let tasks = owner.registration.tasks
      owner.registration = OwnerRegistration()
      registered[ObjectIdentifier(owner)] = nil
      for index in 0..<tasks.count {
        // Does nothing for a task that was transferred to another owner.
        owners.remove(tasks[index], of: owner)
        // Another owner's thread may run the task in an actor drain, and must not take it for a new one.
        unowned.insert(tasks[index])
      }
      if processWide?.owner === owner {
        removedProcessWide = processWide
        processWide = nil
        hasProcessWide.store(false, ordering: .relaxed)
      }
      if ofThreads === owner { ofThreads = nil }
      if registered.isEmpty {
        owners = OwnerTable()
        unowned = TaskSet()
      }
      count.store(registered.count, ordering: .relaxed)
      return true
    }
  }

  /// Returns the process-wide owner, registered for one more clock. Calls `make` if there is none.
  func retainProcessWide(make: () -> TaskOwner) -> TaskOwner {
    lock.withLock {
      let owner = processWide?.owner ?? make()
      if processWide == nil {
        processWide = ProcessWideOwner(owner: owner)
        hasProcessWide.store(true, ordering: .relaxed)
      }
      // The process-wide owner owns every task that has no other owner, however old.
      if addClock(to: owner) { owner.registration.watermark = 0 }
      return owner
    }
  }

  /// Returns the owner of clocks made outside any task, registered for one more clock. Calls `make` if there is none.
  func retainOwnerOfThreads(newestTask: () -> UInt64, make: () -> TaskOwner) -> TaskOwner {
    let (owner, isAgeUnknown) = lock.withLock {
      let owner = ofThreads ?? make()
      ofThreads = owner
      return (owner, addClock(to: owner))
    }
    if isAgeUnknown { setWatermark(of: owner, newestTask) }
    return owner
  }

  var processWideUsers: [UInt64] { lock.withLock { processWide?.liveUsers ?? [] } }

  var registeredOwners: [TaskOwner] { lock.withLock { Array(registered.values) } }

  // MARK: - Tasks

  func knownOwner(of id: UInt64) -> TaskOwner? { isEmpty ? nil : lock.withLock { owners[id] } }

  /// Registers a task for `owner` unless the task has another owner. Returns whether `owner` owns it now.
  func claim(_ id: UInt64, for owner: TaskOwner) -> Bool { claimed(id, for: owner).isOwn }

  /// Like `claim`; also returns whether the task had no owner before. Amortized O(1).
  func claimed(_ id: UInt64, for owner: TaskOwner) -> (isOwn: Bool, isNew: Bool) {
    lock.withLock {
      if let other = owners[id] { return (other === owner, false) }
      register(id, of: owner)
      return (true, true)
    }
  }

  /// Registers a task that `owner` just created, though another thread may have marked it as unowned. O(1).
  ///
  /// Returns whether it had no owner; `nil` if `owner` has no clock any more.
  func register(newTask id: UInt64, of owner: TaskOwner) -> Bool? {
    lock.withLock {
      guard owner.registration.exists else { return nil }
      guard owners[id] == nil else { return false }
      register(id, of: owner)
      return true
    }
  }

  /// Marks a task that an unowned task just created, unless it is known. Amortized O(1).
  ///
  /// A task that begins on an actor passes no hook before it runs, perhaps in an actor drain of an owner.
  func register(newUnownedTask id: UInt64) {
    guard !isEmpty else { return }
    lock.withLock { if owners[id] == nil, !unowned.contains(id) { registerUnowned(id) } }
  }

  /// Registers a task for `owner`, even if it has another owner.
  func transfer(_ id: UInt64, to owner: TaskOwner) {
    lock.withLock { register(id, of: owner) }
  }

  /// Returns the owner of a job that became ready, and whether its task is seen for the first time. Amortized O(1).
  ///
  /// A task is first seen on the thread that starts it, and belongs to the owner `running` for which that thread
  /// runs. Later any thread may resume the task, and its owner stays.
  ///
  /// - Parameter isFirst: Whether the current thread is creating the task, as far as is known.
  func owner(
    ofReadyJob id: UInt64, on running: TaskOwner?, isFirst: Bool = false
  ) -> (owner: TaskOwner?, isNew: Bool) {
    // Without a closure, which a debug build would call for each job.
    lock.lock()
    defer { lock.unlock() }
    // An actor drain is not a task, so it is not registered. It runs for the owner that started it.
    guard id != 0 else {
      let owner = running?.registration.exists == true ? running : processWide?.ownerIfAwake
      return (owner, false)
    }
    if let owner = owners[id] { return (owner, false) }
    if unowned.contains(id) { return (processWide?.ownerIfAwake, false) }
    if let running, running.registration.exists {
      if running === processWide?.owner { return (running, false) }
      // A task older than the owner is being resumed here, not started. But the owner may have adopted the current
      // task while that one was creating the task.
      guard isFirst || id > running.registration.watermark else {
        return (processWide?.ownerIfAwake, false)
      }
      register(id, of: running)
      return (running, true)
    }
    if let owner = processWide?.ownerIfAwake { return (owner, false) }
    registerUnowned(id)
    return (nil, true)
  }

  /// Notes the leftovers of an owner: tasks that outlive the clocks of their test.
  func leave(_ tasks: [UInt64], of owner: TaskOwner, _ isOver: @escaping LeftoverTasks.TestIsOver) {
    // Released without the lock.
    let forgotten = lock.withLock {
      hasLeftovers.store(true, ordering: .relaxed)
      return leftovers.add(tasks, madeFor: owner.maker, isOver)
    }
    withExtendedLifetime(forgotten) {}
  }

  /// Registers a leftover for `owner`, because a job of `owner` resumes it. Returns whether the task was a leftover.
  ///
  /// For example, a loop that a test started for a shared object also works for later tests. While that test still
  /// runs, no other test adopts the loop: the test itself does, if its clocks are gone and it makes another one.
  @inline(never)
  func adopt(leftover id: UInt64, of prior: TaskOwner?, by owner: TaskOwner) -> Bool {
    if let prior {
      guard prior.isOver, !owner.isOver else { return false }
      transfer(id, to: owner)
      return true
    }
    guard id != 0, hasLeftovers.load(ordering: .relaxed), !owner.isOver else { return false }
    var test: LeftoverTasks.TestIsOver?
    defer { withExtendedLifetime(test) {} }  // Released without the lock.
    return lock.withLock {
      guard owner.registration.exists, owners[id] == nil else { return false }
      test = leftovers.removeIfTestOver(id, orMadeFor: owner.maker)
      guard test != nil else { return false }
      hasLeftovers.store(!leftovers.isEmpty, ordering: .relaxed)
      register(id, of: owner)
      return true
    }
  }

  private func register(_ id: UInt64, of owner: TaskOwner) {
    // The process-wide owner has no entries.
    guard owner !== processWide?.owner, owner.registration.exists else { return }
    owners.set(id, to: owner)
    owner.registration.tasks.append(id)
  }

  /// Marks a task as unowned, so that a test that resumes it later does not adopt it by mistake.
  private func registerUnowned(_ id: UInt64) {
    unowned.insert(id)
    guard unowned.chunkCount > unownedLimit else { return }
    let watermarks = registered.values.lazy.map(\.registration.watermark)
    // Nothing is removed while a watermark is unknown: tasks above it may be in `unowned` already.
    if !watermarks.contains(.max) { unowned.removeChunks(upTo: watermarks.min() ?? 0) }
    unownedLimit = max(8, unowned.chunkCount * 2)
  }

  /// Wakes `owner` until the task of `user` is over. Does nothing if `owner` is not the process-wide owner.
  ///
  /// Returns the number of running unowned jobs, which become its externally started jobs; and the previous users, some
  /// of which the caller releases without a lock.
  func wake(
    _ owner: TaskOwner, for user: ProcessWideOwner.User
  ) -> (jobs: Int, outdated: [ProcessWideOwner.User]) {
    var outdated: [ProcessWideOwner.User] = []
    let jobs = lock.withLock {
      guard processWide?.owner === owner else { return 0 }
      return processWide?.wake(user, unownedJobs, &outdated) ?? 0
    }
    return (jobs, outdated)
  }

  /// Counts an unowned job that is about to run. Returns whether `unownedJobHasRun` must follow.
  @inline(__always)
  func unownedJobWillRun() -> Bool {
    guard hasProcessWide.load(ordering: .relaxed) else { return false }
    return lock.withLock {
      guard processWide != nil else { return false }
      unownedJobs += 1
      return true
    }
  }

  /// Counts an unowned job that ran. Returns the owner that waited for it, if there is one.
  func unownedJobHasRun() -> TaskOwner? {
    lock.withLock {
      unownedJobs -= 1
      return processWide?.unownedJobHasRun(unownedJobs) ?? nil
    }
  }

  var census: (owners: Int, tasks: Int) { lock.withLock { (registered.count, owners.count) } }

  var unownedBytes: Int { lock.withLock { unowned.chunkCount * 512 } }

  /// Stops the program if an invariant does not hold. O(tasks).
  func checkInvariants() {
    lock.withLock {
      precondition(count.load(ordering: .relaxed) == registered.count, "miscounted owners")
      precondition(registered.values.allSatisfy(\.registration.exists), "an owner without a clock")
      if let processWide { precondition(processWide.owner.registration.exists, "a lost owner") }
      owners.checkInvariants()
    }
  }
}

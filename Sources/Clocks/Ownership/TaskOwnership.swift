import ClocksSupport
import Synchronization

/// Who owns which task: the register of all owners in the process and of the tasks that belong to
/// them.
///
/// A task belongs to the owner on whose behalf it was started, for good. Ids of tasks are never used
/// again, so an entry never names the wrong task. An owner and its entries stay until the last of
/// its clocks is gone. A task is *foreign* if it is known to be no owner's.
final class TaskOwnership: Sendable {
  static let shared = TaskOwnership()

  /// The number of registered owners, for a look without the lock; written under the lock only.
  private let count = Atomic<Int>(0)

  /// Guards everything below. No other lock is taken while it is held, nor is it taken under one. It
  /// makes every access exclusive, so they are not checked a second time.
  private let lock = Lock(.taskOwnership)
  /// The owner of each task that has been seen. Every owner in it is also in `registrations`, which
  /// keeps it alive.
  @exclusivity(unchecked) nonisolated(unsafe) private var owners = OwnerTable()
  /// Every registered owner.
  @exclusivity(unchecked) nonisolated(unsafe) private var registrations:
    [ObjectIdentifier: OwnerRegistration] = [:]
  /// The owner for the clocks that were made outside any test's task, where no test cases are known.
  @exclusivity(unchecked) nonisolated(unsafe) private var processWide: ProcessWideOwner?
  /// Whether there is one, for a look without the lock; written under the lock only.
  private let hasProcessWide = Atomic(false)
  /// The owner for those clocks where test cases are known: it owns the tasks of those that use them.
  @exclusivity(unchecked) nonisolated(unsafe) private var ofThreads: TaskOwner?
  /// Tasks that are known to be foreign, unless `owners` says otherwise; but for those that are older
  /// than every owner, which are foreign anyway.
  @exclusivity(unchecked) nonisolated(unsafe) private var foreign = TaskSet()
  /// How large the set may get before the outdated ones are dropped.
  @exclusivity(unchecked) nonisolated(unsafe) private var unownedLimit = 8

  /// Whether there ever was an owner whose tasks' hops are to be seen, for a look without the lock.
  private let explored = Atomic(false)

  deinit { lock.destroy() }

  /// Whether there is no owner, so that nothing needs to be looked up. O(1), without the lock.
  @inline(__always)
  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  /// Whether the hops of some owner's tasks may have to be seen. O(1), without the lock.
  @inline(__always)
  var isAnyExplored: Bool { explored.load(ordering: .relaxed) }

  // MARK: - Owners

  /// Registers `owner` for one more clock.
  ///
  /// - Parameter newestTask: Finds out the id of the newest task there is.
  func retain(_ owner: TaskOwner, newestTask: () -> UInt64) {
    if lock.withLock({ addClock(to: owner) }) { setWatermark(of: owner, newestTask) }
  }

  /// Returns whether it is not known yet how old the owner is. Then each of two threads that register it at
  /// once finds that out, before it goes on.
  private func addClock(to owner: TaskOwner) -> Bool {
    let registration = owner.registration ?? register(owner)
    registration.clocks += 1
    return registration.watermark == .max
  }

  private func register(_ owner: TaskOwner) -> OwnerRegistration {
    let registration = OwnerRegistration(owner: owner)
    owner.registration = registration
    registrations[ObjectIdentifier(owner)] = registration
    // Before anybody asks for the newest task: one that came to the door while there was no owner, and so
    // was not seen, is older than that.
    count.store(registrations.count, ordering: .sequentiallyConsistent)
    if owner.isExplored { explored.store(true, ordering: .relaxed) }
    return registration
  }

  private func setWatermark(of owner: TaskOwner, _ newestTask: () -> UInt64) {
    let newest = newestTask()
    lock.withLock { owner.registration?.watermark = newest }
  }

  /// Takes back one clock's `retain`; with the last one everything about the owner is struck off.
  ///
  /// O(number of the owner's tasks).
  func release(_ owner: TaskOwner) {
    // What is struck off is freed outside the lock.
    var struckOff: OwnerRegistration?
    defer { withExtendedLifetime(struckOff) {} }
    var struckOffProcessWide: ProcessWideOwner?
    defer { withExtendedLifetime(struckOffProcessWide) {} }
    lock.withLock {
      let registration = owner.registration!
      registration.clocks -= 1
      guard registration.clocks == 0 else { return }
      struckOff = registration
      owner.registration = nil
      registrations[ObjectIdentifier(owner)] = nil
      for index in 0..<registration.tasks.count {
        // Unless the task has gone over to another owner since.
        owners.remove(registration.tasks[index], of: owner)
      }
      if processWide?.owner === owner {
        struckOffProcessWide = processWide
        processWide = nil
        hasProcessWide.store(false, ordering: .relaxed)
      }
      if ofThreads === owner { ofThreads = nil }
      if registrations.isEmpty {
        owners.removeAll()
        foreign.removeAll()
      }
      count.store(registrations.count, ordering: .relaxed)
    }
  }

  /// The process-wide owner, which `make` makes if there is none, registered for one more clock.
  func retainProcessWide(make: () -> TaskOwner) -> TaskOwner {
    lock.withLock {
      let owner = processWide?.owner ?? make()
      if processWide == nil {
        processWide = ProcessWideOwner(owner: owner)
        hasProcessWide.store(true, ordering: .relaxed)
      }
      // Whatever is nobody else's is its own, however old it is.
      if addClock(to: owner) { owner.registration?.watermark = 0 }
      return owner
    }
  }

  /// The owner for clocks that are made outside any task, which `make` makes if there is none, registered
  /// for one more clock.
  ///
  /// - Parameter newestTask: Finds out the id of the newest task there is.
  func retainOwnerOfThreads(newestTask: () -> UInt64, make: () -> TaskOwner) -> TaskOwner {
    let (owner, isAgeUnknown) = lock.withLock {
      let owner = ofThreads ?? make()
      ofThreads = owner
      return (owner, addClock(to: owner))
    }
    if isAgeUnknown { setWatermark(of: owner, newestTask) }
    return owner
  }

  /// Every registered owner. O(number of owners).
  var registeredOwners: [TaskOwner] {
    lock.withLock { registrations.values.map(\.owner) }
  }

  // MARK: - Tasks

  /// The owner that a task is registered for. O(1).
  func knownOwner(of id: UInt64) -> TaskOwner? { lock.withLock { owners[id] } }

  /// The owner that a task is known to have, or the process-wide one if it is awake. O(1).
  func owner(of id: UInt64) -> TaskOwner? {
    lock.withLock {
      owners[id] ?? processWide?.ownerIfAwake
    }
  }

  /// The owner that the current task is known to have; if nothing is known of it, the one on whose
  /// behalf its thread runs. O(1).
  func owner(of id: UInt64, on running: TaskOwner?) -> TaskOwner? {
    lock.withLock {
      if let owner = owners[id] { return owner }
      return foreign.contains(id)
        ? processWide?.ownerIfAwake : running ?? processWide?.ownerIfAwake
    }
  }

  /// Registers a task as `owner`'s unless another owns it, and says whether it is `owner`'s now.
  /// Amortized O(1).
  func claim(_ id: UInt64, for owner: TaskOwner) -> Bool { claimed(id, for: owner).isOwn }

  /// The same; says also whether it was nobody's before. Amortized O(1).
  func claimed(_ id: UInt64, for owner: TaskOwner) -> (isOwn: Bool, isNew: Bool) {
    lock.withLock {
      if let other = owners[id] { return (other === owner, false) }
      register(id, of: owner)
      return (true, true)
    }
  }

  /// Registers a task that `owner`'s tasks have just made, and says whether it was unknown.
  /// Amortized O(1).
  func register(newTask id: UInt64, of owner: TaskOwner) -> Bool {
    lock.withLock {
      guard owners[id] == nil, !foreign.contains(id) else { return false }
      register(id, of: owner)
      return true
    }
  }

  /// Makes a task `owner`'s, whoever owned it before.
  func transfer(_ id: UInt64, to owner: TaskOwner) {
    lock.withLock { register(id, of: owner) }
  }

  /// Whose a job is that has just become ready, if it is anybody's, and whether its task is seen for the
  /// first time.
  /// Amortized O(1).
  ///
  /// A task is seen here for the first time when it is started, on the thread that starts it, and
  /// then belongs to the test for which that thread runs. Afterwards it is resumed from anywhere
  /// and belongs where it belonged.
  ///
  /// - Parameters:
  ///   - id: The job's task; 0 if it is no task's.
  ///   - running: The owner on whose behalf the current thread runs.
  func owner(
    ofReadyJob id: UInt64, on running: TaskOwner?
  ) -> (owner: TaskOwner?, isNew: Bool) {
    lock.withLock {
      // An actor's queue has no owner of its own: it works for whoever set it going.
      guard id != 0 else { return (registered(running) ?? processWide?.ownerIfAwake, false) }
      if let owner = owners[id] { return (owner, false) }
      if foreign.contains(id) { return (processWide?.ownerIfAwake, false) }
      if let running, let registration = running.registration {
        if running === processWide?.owner { return (running, false) }
        // A task older than the owner can only be resumed here, not started.
        guard id > registration.watermark else {
          return (processWide?.ownerIfAwake, false)
        }
        register(id, of: running)
        return (running, true)
      }
      if let owner = processWide?.ownerIfAwake { return (owner, false) }
      registerUnowned(id)
      return (nil, true)
    }
  }

  private func registered(_ owner: TaskOwner?) -> TaskOwner? {
    owner?.registration == nil ? nil : owner
  }

  private func register(_ id: UInt64, of owner: TaskOwner) {
    // Whatever is nobody else's is the process-wide owner's without an entry.
    guard owner !== processWide?.owner else { return }
    guard let registration = owner.registration else { return }
    owners.set(id, to: owner)
    registration.tasks.append(id)
  }

  /// Remembers that a task is foreign, so that a test which resumes it later does not take it for
  /// its own.
  private func registerUnowned(_ id: UInt64) {
    foreign.insert(id)
    guard foreign.chunkCount > unownedLimit else { return }
    let oldest = registrations.values.lazy.map(\.watermark).min() ?? .max
    // If it is not known yet, the newest task may have come to the door already.
    if oldest != .max { foreign.removeChunks(upTo: oldest) }
    unownedLimit = max(8, foreign.chunkCount * 2)
  }

  // MARK: - The process-wide owner

  /// Has the process-wide owner own whatever is nobody else's, until a task is over that uses one of its
  /// clocks; does nothing if `owner` is another one.
  ///
  /// - Parameter user: The task, and whether it is over.
  /// - Returns: The number of foreign jobs that are under way and become the owner's visitors.
  func wake(_ owner: TaskOwner, for user: ProcessWideOwner.User) -> Int {
    // What is not needed any more is freed outside the lock.
    var outdated: [ProcessWideOwner.User] = []
    return lock.withLock {
      guard processWide?.owner === owner else { return 0 }
      return processWide?.wake(user, &outdated) ?? 0
    }
  }

  /// Notes that a foreign job is about to be handed to a thread. Returns whether `unownedJobHasRun` is
  /// to be called at its end.
  @inline(__always)
  func unownedJobWillRun() -> Bool {
    guard hasProcessWide.load(ordering: .relaxed) else { return false }
    return lock.withLock {
      processWide?.unownedJobs += 1
      return processWide != nil
    }
  }

  /// Notes that a foreign job has run. Returns the owner that waited for it, if one did.
  func unownedJobHasRun() -> TaskOwner? {
    lock.withLock { processWide?.unownedJobHasRun() ?? nil }
  }

  // MARK: - For tests

  /// The number of owners and of their tasks that are kept account of.
  var census: (owners: Int, tasks: Int) {
    lock.withLock { (registrations.count, owners.count) }
  }

  /// The memory that is taken by what is known of foreign tasks, in bytes, roughly.
  var unownedBytes: Int { lock.withLock { foreign.chunkCount * 512 } }

  /// Stops the program if the register is out of order. O(tasks).
  func checkInvariants() {
    lock.withLock {
      precondition(count.load(ordering: .relaxed) == registrations.count, "miscounted owners")
      precondition(registrations.values.allSatisfy { $0.clocks > 0 }, "an owner without a clock")
      if let processWide { precondition(registered(processWide.owner) != nil, "a lost owner") }
      owners.checkInvariants()
    }
  }
}

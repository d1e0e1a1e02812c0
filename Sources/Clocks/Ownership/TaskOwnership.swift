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

  /// Guards everything below. No other lock is taken while it is held, nor is it taken under one.
  private let lock = Lock()
  /// The owner of each task that has been seen. Every owner in it is also in `registrations`, which
  /// keeps it alive.
  nonisolated(unsafe) private var owners = TaskTable()
  /// Every registered owner.
  nonisolated(unsafe) private var registrations: [ObjectIdentifier: Registration] = [:]
  /// The owner for the clocks that were made outside any task: it owns whatever nobody else does.
  nonisolated(unsafe) private var processWide: TaskOwner?
  /// The ids in `owners` of foreign tasks, to drop the outdated ones when there are many.
  nonisolated(unsafe) private var foreign: [UInt64] = []
  /// How many foreign tasks there may be before the outdated ones are dropped.
  nonisolated(unsafe) private var foreignLimit = 1024

  private struct Registration {
    let owner: TaskOwner
    /// The number of clocks that keep the owner registered.
    var clocks = 0
    /// The newest task there was when the owner began: older ones are not its own unless it claimed
    /// them.
    var watermark: UInt64
    /// The tasks that are registered as the owner's, to strike them off at its end.
    var tasks: [UInt64] = []
  }

  deinit { lock.destroy() }

  /// Whether there is no owner, so that nothing needs to be looked up. O(1), without the lock.
  @inline(__always)
  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  // MARK: - Owners

  /// Registers `owner` for one more clock.
  ///
  /// - Parameter watermark: The id of the newest task there is.
  func retain(_ owner: TaskOwner, watermark: UInt64) {
    lock.withLock {
      registrations[
        ObjectIdentifier(owner), default: Registration(owner: owner, watermark: watermark)
      ].clocks += 1
      count.store(registrations.count, ordering: .relaxed)
    }
  }

  /// Takes back one clock's `retain`; with the last one everything about the owner is struck off.
  ///
  /// O(number of the owner's tasks).
  func release(_ owner: TaskOwner) {
    // What is struck off is freed outside the lock.
    var struckOff: Registration?
    lock.withLock {
      let key = ObjectIdentifier(owner)
      registrations[key]!.clocks -= 1
      guard registrations[key]!.clocks == 0 else { return }
      struckOff = registrations.removeValue(forKey: key)
      for id in struckOff!.tasks {
        // Unless the task has gone over to another owner since.
        owners.remove(id, of: owner)
      }
      if processWide === owner { processWide = nil }
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
      let owner = processWide ?? make()
      processWide = owner
      registrations[
        ObjectIdentifier(owner), default: Registration(owner: owner, watermark: 0)
      ].clocks += 1
      count.store(registrations.count, ordering: .relaxed)
      return owner
    }
  }

  /// Every registered owner. O(number of owners).
  var registeredOwners: [TaskOwner] {
    lock.withLock { registrations.values.map(\.owner) }
  }

  // MARK: - Tasks

  /// The owner that a task is known to have, or the process-wide one. O(1).
  func owner(of id: UInt64) -> TaskOwner? {
    lock.withLock {
      if case .known(let owner) = owners[id] { return owner }
      return processWide
    }
  }

  /// The owner that the current task is known to have; if nothing is known of it, the one on whose
  /// behalf its thread runs. O(1).
  func owner(of id: UInt64, on running: TaskOwner?) -> TaskOwner? {
    lock.withLock {
      switch owners[id] {
      case .known(let owner): return owner
      case .nobody: return processWide
      case .unknown: return running ?? processWide
      }
    }
  }

  /// Registers a task as `owner`'s unless another owns it, and says whether it is `owner`'s now.
  /// Amortized O(1).
  func claim(_ id: UInt64, for owner: TaskOwner) -> Bool {
    lock.withLock {
      if case .known(let other) = owners[id] { return other === owner }
      register(id, of: owner)
      return true
    }
  }

  /// Registers a task that `owner`'s tasks have just made, and says whether it was unknown.
  /// Amortized O(1).
  func register(newTask id: UInt64, of owner: TaskOwner) -> Bool {
    lock.withLock {
      guard case .unknown = owners[id] else { return false }
      register(id, of: owner)
      return true
    }
  }

  /// Makes a task `owner`'s, whoever owned it before.
  func transfer(_ id: UInt64, to owner: TaskOwner) {
    lock.withLock { register(id, of: owner) }
  }

  /// Whose a job is that has just become ready, and whether its task is seen for the first time.
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
      guard id != 0 else { return (registered(running) ?? processWide, false) }
      switch owners[id] {
      case .known(let owner): return (owner, false)
      case .nobody: return (processWide, false)
      case .unknown: break
      }
      if let running = registered(running) {
        if running === processWide { return (running, false) }
        // A task older than the owner can only be resumed here, not started.
        guard id > registrations[ObjectIdentifier(running)]!.watermark else {
          return (processWide, false)
        }
        register(id, of: running)
        return (running, true)
      }
      if processWide == nil { registerForeign(id) }
      return (processWide, false)
    }
  }

  private func registered(_ owner: TaskOwner?) -> TaskOwner? {
    guard let owner, registrations[ObjectIdentifier(owner)] != nil else { return nil }
    return owner
  }

  private func register(_ id: UInt64, of owner: TaskOwner) {
    // Whatever is nobody else's is the process-wide owner's without an entry.
    guard owner !== processWide else { return }
    guard registrations[ObjectIdentifier(owner)] != nil else { return }
    owners.set(id, to: owner)
    registrations[ObjectIdentifier(owner)]?.tasks.append(id)
  }

  /// Remembers that a task is foreign, so that a test which resumes it later does not take it for
  /// its own.
  private func registerForeign(_ id: UInt64) {
    owners.set(id, to: nil)
    foreign.append(id)
    guard foreign.count > foreignLimit else { return }
    // Tasks older than every owner are recognized without an entry.
    let watermark = registrations.values.lazy.map(\.watermark).min() ?? .max
    foreign.removeAll { id in
      guard id <= watermark else { return false }
      owners.remove(id, of: nil)
      return true
    }
    foreignLimit = max(1024, foreign.count * 2)
  }

  // MARK: - For tests

  /// The number of owners and of tasks that are kept account of.
  var census: (owners: Int, tasks: Int) {
    lock.withLock { (registrations.count, owners.count) }
  }

  /// Stops the program if the register is out of order. O(tasks).
  func checkInvariants() {
    lock.withLock {
      precondition(count.load(ordering: .relaxed) == registrations.count, "miscounted owners")
      precondition(registrations.values.allSatisfy { $0.clocks > 0 }, "an owner without a clock")
      if let processWide { precondition(registered(processWide) != nil, "an owner is lost") }
      owners.checkInvariants()
    }
  }
}

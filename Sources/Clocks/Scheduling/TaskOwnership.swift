import Synchronization

/// Who owns which task: the register of all schedulers in the process and of the tasks that belong
/// to them.
///
/// A task belongs to the scheduler on whose behalf it was started, for good. Ids of tasks are never
/// used again, so an entry never names the wrong task. A scheduler and its entries stay until the
/// last of its clocks is gone.
final class TaskOwnership: Sendable {
  static let shared = TaskOwnership()

  /// The number of registered schedulers, for a look without the lock; written under the lock only.
  private let count = Atomic<Int>(0)

  /// Guards everything below. No scheduler's lock is taken while it is held, nor is it taken under
  /// one.
  private let lock = Lock()
  /// The owner of each task that has been seen. Every scheduler in it is also in `schedulers`,
  /// which keeps it alive.
  nonisolated(unsafe) private var owners = TaskTable()
  /// Every registered scheduler.
  nonisolated(unsafe) private var schedulers: [ObjectIdentifier: Registration] = [:]
  /// The scheduler of the clocks that were made outside any task: it owns whatever nobody else
  /// does.
  nonisolated(unsafe) private var processWide: Scheduler?
  /// The ids in `owners` that are nobody's, and how many there may be before the outdated ones are
  /// dropped.
  nonisolated(unsafe) private var strangers: [UInt64] = []
  nonisolated(unsafe) private var strangerLimit = 1024

  private struct Registration {
    let scheduler: Scheduler
    /// The number of clocks that keep the scheduler registered.
    var clocks = 0
    /// The newest task there was when the scheduler began: older ones are not its own unless it
    /// claimed them.
    var watermark: UInt64
    /// The tasks that are registered as the scheduler's, to strike them off at its end.
    var tasks: [UInt64] = []
  }

  /// Whether there is no scheduler, so that nothing needs to be looked up. O(1), without the lock.
  @inline(__always)
  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  // MARK: - Schedulers

  /// Registers `scheduler` for one more clock.
  ///
  /// - Parameter watermark: The id of the newest task there is.
  func retain(_ scheduler: Scheduler, watermark: UInt64) {
    lock.withLock {
      schedulers[
        ObjectIdentifier(scheduler),
        default: Registration(scheduler: scheduler, watermark: watermark)
      ].clocks += 1
      count.store(schedulers.count, ordering: .relaxed)
    }
  }

  /// Takes back one clock's `retain`; with the last one everything about the scheduler is struck
  /// off.
  ///
  /// O(number of the scheduler's tasks).
  func release(_ scheduler: Scheduler) {
    // What is struck off is freed outside the lock.
    var struckOff: Registration?
    lock.withLock {
      let key = ObjectIdentifier(scheduler)
      schedulers[key]!.clocks -= 1
      guard schedulers[key]!.clocks == 0 else { return }
      struckOff = schedulers.removeValue(forKey: key)
      for id in struckOff!.tasks {
        // Unless the task has gone over to another scheduler since.
        owners.remove(id, of: scheduler)
      }
      if processWide === scheduler { processWide = nil }
      if schedulers.isEmpty {
        owners.removeAll()
        strangers.removeAll()
      }
      count.store(schedulers.count, ordering: .relaxed)
    }
  }

  /// The process-wide scheduler, which `make` makes if there is none, registered for one more
  /// clock.
  func retainProcessWide(make: () -> Scheduler) -> Scheduler {
    lock.withLock {
      let scheduler = processWide ?? make()
      processWide = scheduler
      schedulers[
        ObjectIdentifier(scheduler), default: Registration(scheduler: scheduler, watermark: 0)
      ].clocks += 1
      count.store(schedulers.count, ordering: .relaxed)
      return scheduler
    }
  }

  /// Every registered scheduler. O(number of schedulers).
  var registeredSchedulers: [Scheduler] {
    lock.withLock { schedulers.values.map(\.scheduler) }
  }

  /// Whether a job of any test runs or is ready. O(schedulers).
  var isAnyBusy: Bool {
    registeredSchedulers.contains { scheduler in scheduler.lock.withLock { !scheduler.isIdle } }
  }

  // MARK: - Tasks

  /// The scheduler that a task is known to belong to, or the process-wide one. O(1).
  func owner(of id: UInt64) -> Scheduler? {
    lock.withLock {
      if case .scheduler(let owner) = owners[id] { return owner }
      return processWide
    }
  }

  /// The scheduler that the current task is known to belong to; if nothing is known of it, the one
  /// on whose behalf its thread runs. O(1).
  func owner(of id: UInt64, on running: Scheduler?) -> Scheduler? {
    lock.withLock {
      switch owners[id] {
      case .scheduler(let owner): return owner
      case .nobody: return processWide
      case .unknown: return running ?? processWide
      }
    }
  }

  /// Registers a task as `scheduler`'s unless another owns it, and says whether it is `scheduler`'s
  /// now. Amortized O(1).
  func claim(_ id: UInt64, for scheduler: Scheduler) -> Bool {
    lock.withLock {
      if case .scheduler(let owner) = owners[id] { return owner === scheduler }
      register(id, of: scheduler)
      return true
    }
  }

  /// Makes a task `scheduler`'s, whoever owned it before.
  func transfer(_ id: UInt64, to scheduler: Scheduler) {
    lock.withLock { register(id, of: scheduler) }
  }

  /// The scheduler that a job which has just become ready belongs to. Amortized O(1).
  ///
  /// A task is seen here for the first time when it is started, on the thread that starts it, and
  /// then belongs to the test for which that thread runs. Afterwards it is resumed from anywhere
  /// and belongs where it belonged.
  ///
  /// - Parameters:
  ///   - id: The job's task; 0 if it is no task's.
  ///   - running: The scheduler on whose behalf the current thread runs.
  func owner(ofReadyJob id: UInt64, on running: Scheduler?) -> Scheduler? {
    lock.withLock {
      // An actor's queue has no owner of its own: it works for whoever set it going.
      guard id != 0 else { return registered(running) ?? processWide }
      switch owners[id] {
      case .scheduler(let owner): return owner
      case .nobody: return processWide
      case .unknown: break
      }
      if let running = registered(running) {
        if running === processWide { return running }
        // A task older than the scheduler can only be resumed here, not started.
        guard id > schedulers[ObjectIdentifier(running)]!.watermark else { return processWide }
        register(id, of: running)
        return running
      }
      if processWide == nil { registerStranger(id) }
      return processWide
    }
  }

  private func registered(_ scheduler: Scheduler?) -> Scheduler? {
    guard let scheduler, schedulers[ObjectIdentifier(scheduler)] != nil else { return nil }
    return scheduler
  }

  private func register(_ id: UInt64, of scheduler: Scheduler) {
    // Whatever is nobody else's is the process-wide scheduler's without an entry.
    guard scheduler !== processWide else { return }
    guard schedulers[ObjectIdentifier(scheduler)] != nil else { return }
    owners.set(id, to: scheduler)
    schedulers[ObjectIdentifier(scheduler)]?.tasks.append(id)
  }

  /// Remembers that a task is nobody's, so that a test which resumes it later does not take it for
  /// its own.
  private func registerStranger(_ id: UInt64) {
    owners.set(id, to: nil)
    strangers.append(id)
    guard strangers.count > strangerLimit else { return }
    // Tasks older than every scheduler are recognized without an entry.
    let watermark = schedulers.values.lazy.map(\.watermark).min() ?? .max
    strangers.removeAll { id in
      guard id <= watermark else { return false }
      owners.remove(id, of: nil)
      return true
    }
    strangerLimit = max(1024, strangers.count * 2)
  }

  // MARK: - For tests

  /// The number of schedulers and of tasks that are kept account of.
  var census: (schedulers: Int, tasks: Int) {
    lock.withLock { (schedulers.count, owners.count) }
  }
}

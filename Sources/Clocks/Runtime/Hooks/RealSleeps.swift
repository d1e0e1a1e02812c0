import ClocksSupport

/// The sleeps on the runtime's clocks, in real time, of all tasks of the process, and the blocks that begin in real time.
///
/// While a test has such a sleep, none of its wake-ups counts as lost. The sleep may have begun before the test had a
/// clock, so the sleeps of unowned tasks are noted, too.
enum RealSleeps {
  private struct Sleep {
    /// When the sleep ends unless the task is cancelled.
    let end: RealTime
    /// 0 for a block.
    let task: UInt64
    /// The task's address. The task is not retained, so the memory may belong to another object.
    let address: UInt
    /// The owner of a block.
    let owner: ObjectIdentifier?

    /// Whether the sleep has not ended.
    var isUnderWay: Bool {
      guard !end.hasPassed else { return false }
      #if os(Linux)
        guard task != 0, TaskStatus.isKnownToBeReadable, TaskStatus.readsCancellation else {
          return true
        }
        guard let copy = MemoryCopy(of: address, size: TaskABI.Task.size), copy.taskID == task
        else { return false }
        let status = TaskStatus(flags: copy.half(TaskABI.Task.status))
        return !status.isCancelled && !status.isActive && !status.isOver
      #else
        return true
      #endif
    }

    func belongs(to other: TaskOwner) -> Bool {
      guard task != 0 else { return owner == ObjectIdentifier(other) }
      guard TaskOwnership.shared.owner(of: task) === other else { return false }
      // The process-wide owner owns tasks of earlier tests, too.
      return task > (XCTestFailures.newestTaskAtStart ?? 0)
    }
  }

  /// Guards the variables below. Rank `leaf`.
  private static let lock = Lock(.leaf)
  @exclusivity(unchecked) nonisolated(unsafe) private static var sleeps: [Sleep] = []
  /// The number of sleeps above which those that have ended are removed.
  @exclusivity(unchecked) nonisolated(unsafe) private static var limit = 64

  /// Notes that a task begins to sleep. Amortized O(1).
  static func begin(_ task: UnownedTask, for delay: Duration) {
    add(
      Sleep(
        end: RealTime(in: delay), task: task.id, address: unsafeBitCast(task.job, to: UInt.self),
        owner: nil))
  }

  /// Notes that a block of an owner is to begin later. Amortized O(1).
  static func begin(blockOf owner: TaskOwner, for delay: Duration) {
    add(Sleep(end: RealTime(in: delay), task: 0, address: 0, owner: ObjectIdentifier(owner)))
  }

  private static func add(_ sleep: Sleep) {
    lock.withLock {
      sleeps.append(sleep)
      guard sleeps.count > limit else { return }
      sleeps.removeAll { !$0.isUnderWay }
      limit = max(64, sleeps.count * 2)
    }
  }

  private static func underWay(of owner: TaskOwner) -> [Sleep] {
    lock.withLock { sleeps }.filter { $0.belongs(to: owner) && $0.isUnderWay }
  }

  /// Whether a task of the owner sleeps, or one of its blocks is to begin. O(sleeps).
  static func areUnderWay(of owner: TaskOwner) -> Bool { !underWay(of: owner).isEmpty }

  /// The owner's tasks that sleep, for example `task #12 for 0.9 seconds more`, in the order of their creation. O(sleeps).
  static func lines(of owner: TaskOwner) -> [String] {
    let tasks = underWay(of: owner).filter { $0.task != 0 }.sorted { $0.task < $1.task }
    return tasks.compactMap { sleep in
      guard let left = sleep.end.nanosecondsLeft, left > 0 else { return nil }
      let tenths = (Double(left) / 1e8).rounded(.up) / 10
      return "task #\(sleep.task) for \(tenths) seconds more"
    }
  }

  /// Returns the end of a sentence about tasks that sleep in real time, and the remedy.
  static func note(_ lines: [String]) -> String {
    """
    there \(lines.count == 1 ? "is 1 task" : "are \(lines.count) tasks") asleep on one of the runtime's \
    real clocks, which was not injected:
    \(lines.listed)
    Inject this clock there, or use `@Test(.virtualTime)`, where nothing needs to be injected.
    """
  }
}

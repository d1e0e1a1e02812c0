import ClocksSupport

/// The sleeps on the runtime's clocks, in real time, of all tasks of the process, and the blocks that begin in real
/// time.
///
/// While such a sleep may wake up a test, none of the test's wake-ups counts as lost. The sleep may have begun before
/// the test had a clock, so those of unowned tasks are noted, too.
enum RealSleeps {
  private struct Sleep {
    /// When the sleep ends unless the task is cancelled.
    let end: RealTime
    /// 0 for a block.
    var task: UInt64 = 0
    /// The task's address. The task is not retained, so the memory may belong to another object.
    var address: UInt = 0
    /// The task whose only job ends the sleep, if Dispatch runs that job; its address is not retained, either.
    var wake: (task: UInt64, address: UInt) = (0, 0)
    /// The owner of a block, if there is one.
    var owner: ObjectIdentifier?

    /// Whether the sleep has not ended. Its task may still run: the sleep is noted before the task is suspended.
    func isUnderWay(at now: RealTime) -> Bool {
      guard now < end else { return false }
      guard task != 0, TaskStatus.isKnownToBeReadable, TaskStatus.readsCancellation else {
        return true
      }
      return Self.status(of: task, at: address).map { !$0.isCancelled && !$0.isOver } ?? false
    }

    /// Whether the sleep has not ended although its end has passed: Dispatch has no thread for the job that ends it.
    var waitsForThread: Bool {
      guard wake.task != 0, end.hasPassed, TaskStatus.isKnownToBeReadable,
        TaskStatus.readsCancellation, Self.status(of: task, at: address)?.isCancelled == false
      else { return false }
      // The task is freed when its job has run.
      return Self.status(of: wake.task, at: wake.address)?.isOver == false
    }

    private static func status(of task: UInt64, at address: UInt) -> TaskStatus? {
      guard let copy = MemoryCopy(ofTask: address), copy.taskID == task else { return nil }
      return TaskStatus(flags: copy.half(TaskABI.Task.status))
    }

    /// Whether the sleep may wake up a test of `other`: as far as is known, it does not belong to another test.
    func mayWake(_ other: TaskOwner) -> Bool {
      guard task != 0 else { return owner == nil || owner == ObjectIdentifier(other) }
      // The process-wide owner owns tasks of earlier tests, too.
      guard task > XCTestFailures.newestTaskAtStart ?? 0 else { return false }
      let owner = TaskOwnership.shared.owner(of: task)
      return owner == nil ? !TestCaseMembership.isMember(task) : owner === other
    }
  }

  /// Guards the variables below. Rank `leaf`.
  private static let lock = Lock(.leaf)
  nonisolated(unsafe) private static var sleeps: [Sleep] = []
  /// The number of sleeps above which those whose end has passed are removed. No sleep is removed earlier, not even a
  /// cancelled one.
  nonisolated(unsafe) private static var limit = 64

  /// Notes that a task begins to sleep. Amortized O(1).
  ///
  /// - Parameter wake: The task whose job ends the sleep, if Dispatch runs that job.
  static func begin(_ task: UnownedTask, for delay: Duration, wake: UnownedTask? = nil) {
    func address(_ task: UnownedTask) -> UInt { unsafeBitCast(task.job, to: UInt.self) }
    add(
      Sleep(
        end: RealTime(in: delay), task: task.id, address: address(task),
        wake: wake.map { ($0.id, address($0)) } ?? (0, 0)))
  }

  #if os(Linux) && canImport(Glibc)
    /// Notes that a block is to begin at an instant of Dispatch. Amortized O(1).
    static func begin(blockAt instant: UInt64, of owner: TaskOwner?) {
      guard let delay = DispatchTimes.delay(until: instant, for: owner) else { return }
      add(Sleep(end: RealTime(in: delay), owner: owner.map(ObjectIdentifier.init)))
    }
  #endif

  private static func add(_ sleep: Sleep) {
    let now = RealTime(in: .zero)
    lock.withLock {
      sleeps.append(sleep)
      guard sleeps.count > limit else { return }
      // Once the pool is blocked, Dispatch gets no further jobs, so the number of sleeps that are kept is limited.
      let isPoolBlocked = RuntimeHooks.isPoolBlocked.load(ordering: .relaxed)
      sleeps.removeAll { $0.end <= now && !(isPoolBlocked && $0.wake.task != 0) }
      limit = max(64, sleeps.count * 2)
    }
  }

  /// Whether a sleep, or a block that is to begin, may wake up a test of the owner. O(sleeps).
  static func mayWake(_ owner: TaskOwner) -> Bool {
    let now = RealTime(in: .zero)
    return lock.withLock { sleeps }.contains { $0.mayWake(owner) && $0.isUnderWay(at: now) }
  }

  /// Whether the task's sleep has not ended although its end has passed. O(sleeps).
  static func waitsForThread(_ task: UInt64) -> Bool {
    lock.withLock { sleeps }.contains { $0.task == task && $0.waitsForThread }
  }

  /// The owner's tasks that sleep, for example `task #12 for 0.9 seconds more`, in the order of their creation.
  /// O(sleeps).
  static func lines(of owner: TaskOwner) -> [String] {
    let now = RealTime(in: .zero)
    let tasks = lock.withLock { sleeps }.filter {
      $0.task != 0 && TaskOwnership.shared.owner(of: $0.task) === owner && $0.mayWake(owner)
        && $0.isUnderWay(at: now)
    }
    return tasks.sorted { $0.task < $1.task }.compactMap { sleep in
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
    Inject this clock there, or use \
    `\(TestLibraries.isXCTestRunning ? "withVirtualTime" : "@Test(.virtualTime)")`, where nothing needs to be \
    injected.
    """
  }
}

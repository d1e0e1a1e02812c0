import ClocksSupport
import Synchronization

/// The external tasks of all tests, and the running jobs that may be executing them.
///
/// These jobs are actor drains, and jobs of unowned tasks that may be adopted while they run.
///
/// Thread A runs a task, and writes into the task's status that it is suspended or over. Thread B reads the
/// status. Thread A may still continue the task, or resume tasks that wait for it. So a task whose status says
/// that it does not run has returned only once its own job has ended, and each actor drain that was running
/// then has ended or runs another task.
enum ExternalTaskRegistry {
  private struct Entry {
    let task: RetainedTask
    let owner: TaskOwner
    let number: UInt64
    /// Whether only the owner can see the task's return.
    let onlyOwnerCanTell: Bool
    /// The next job's number when the status first said that the task does not run; 0 until then. Only jobs with
    /// lower numbers may still run the task.
    var quietSince: UInt64 = 0
    var wasOver = false
  }

  /// A running job: an actor drain, or a job of an unowned task.
  private struct Running {
    let number: UInt64
    /// The only task that runs in the job; 0 for an actor drain.
    let task: UInt64
    /// The runtime's variable for the task that the actor drain runs now.
    ///
    /// `nil` for a job of a task, and where the variable cannot be read.
    let thread: CurrentTaskSlot?
  }

  /// Guards the variables below. Rank `externalTasks`: no function of an owner is called under it.
  private static let lock = Lock(.externalTasks)
  /// The running jobs, by increasing number.
  @exclusivity(unchecked) nonisolated(unsafe) private static var running: [Running] = []
  @exclusivity(unchecked) nonisolated(unsafe) private static var next: UInt64 = 1
  @exclusivity(unchecked) nonisolated(unsafe) private static var entries: [Entry] = []

  /// Notes that a job of `task` begins, or an actor drain if `task` is 0. Returns a number for `endJob`. O(1).
  static func beginJob(of task: UInt64 = 0) -> UInt64 {
    let thread = task == 0 ? CurrentTaskSlot.ofThread : nil
    return lock.withLock {
      defer { next += 1 }
      running.append(Running(number: next, task: task, thread: thread))
      return next
    }
  }

  static func endJob(_ number: UInt64) { look(afterJob: number) }

  /// Finds the tasks that have returned, and notifies their owners. Removes job `number`, which has ended.
  /// O(external tasks).
  static func look(afterJob number: UInt64? = nil) {
    var back: [Entry] = []
    var ownersToRecheck: [TaskOwner] = []
    lock.withLock {
      if let number, let place = running.firstIndex(where: { $0.number == number }) {
        running.remove(at: place)
      }
      guard !entries.isEmpty else { return }
      findBack(&back, &ownersToRecheck)
    }
    // The loops use an index, because a debug build takes ten times as long to iterate over an `Array`.
    for index in 0..<back.count {
      back[index].owner.externalTaskReturned(back[index].task.id, back[index].number)
    }
    for index in 0..<ownersToRecheck.count { ownersToRecheck[index].recheckExternalTasks() }
  }

  /// Removes from `entries` each task that is not external any more, and appends it to `back`.
  ///
  /// Uses pointers, because this runs whenever a job ends, and a debug build copies, retains and releases each
  /// element that it reads from an array.
  private static func findBack(_ back: inout [Entry], _ ownersToRecheck: inout [TaskOwner]) {
    var kept = 0
    let count = entries.count
    entries.withUnsafeMutableBufferPointer { buffer in
      guard let entries = buffer.baseAddress else { return }
      running.withUnsafeBufferPointer { running in
        for index in 0..<count {
          if entries[index].onlyOwnerCanTell {
            if !ownersToRecheck.contains(where: { $0 === entries[index].owner }) {
              ownersToRecheck.append(entries[index].owner)
            }
          } else if isBack(entries + index, running) {
            back.append(entries[index])
            continue
          }
          if kept != index { swap(&entries[kept], &entries[index]) }
          kept += 1
        }
      }
    }
    if kept < count { entries.removeLast(count - kept) }
  }

  /// Whether a task is not external any more, and no thread runs it.
  private static func isBack(
    _ entry: UnsafeMutablePointer<Entry>, _ running: UnsafeBufferPointer<Running>
  ) -> Bool {
    let task = entry.pointee.task.job
    guard !TaskStatus.isAboutToRun(task) else {
      entry.pointee.quietSince = 0
      return false
    }
    let status = TaskStatus(of: task)
    // A task that has ended since the last check, or that prefers an executor, may have run again unseen.
    if entry.pointee.quietSince == 0
      || (!entry.pointee.wasOver && (status.isOver || status.hasPreference))
    {
      entry.pointee.quietSince = next
      entry.pointee.wasOver = status.isOver
    }
    return !mayRun(task, inJobsBefore: entry.pointee.quietSince, running)
  }

  /// Whether a job with a lower number than `limit` may run the task, whose status was read before.
  @_transparent
  private static func mayRun(
    _ task: UnownedJob, inJobsBefore limit: UInt64, _ running: UnsafeBufferPointer<Running>
  ) -> Bool {
    // The threads' current tasks are read only after the task's status.
    atomicMemoryFence(ordering: .acquiring)
    guard var job = running.baseAddress else { return false }
    let id = taskID(of: task)
    let end = job + running.count
    // `running` is sorted by number.
    while job < end, job.pointee.number < limit {
      if job.pointee.task == 0 {
        guard job.pointee.thread?.isAnother(than: task) == true else { return true }
      } else if job.pointee.task == id {
        return true
      }
      job += 1
    }
    return false
  }

  /// Adds a task that may be external, and returns its number; `nil` if the task has returned already.
  /// O(running jobs).
  static func add(_ task: RetainedTask, of owner: TaskOwner, onlyOwnerCanTell: Bool) -> UInt64? {
    lock.withLock {
      let number = next
      next += 1
      var quietSince: UInt64 = 0
      if !onlyOwnerCanTell, !TaskStatus.isAboutToRun(task.job) {
        quietSince = next
        // Nearly always the task has returned, so nothing is retained before this is known.
        guard running.withUnsafeBufferPointer({ mayRun(task.job, inJobsBefore: next, $0) }) else {
          return nil
        }
      }
      entries.append(
        Entry(
          task: task, owner: owner, number: number, onlyOwnerCanTell: onlyOwnerCanTell,
          quietSince: quietSince, wasOver: quietSince != 0 && task.isOver))
      return number
    }
  }

  /// Removes a task. The owner retains the task, so that it is not freed under the lock. O(external tasks).
  static func remove(_ number: UInt64) {
    lock.withLock {
      guard let place = entries.firstIndex(where: { $0.number == number }) else { return }
      entries.swapAt(place, entries.count - 1)
      entries.removeLast()
    }
  }

  /// Whether a job runs that may be executing an external task.
  static var mayRunTasks: Bool { lock.withLock { !running.isEmpty } }

  static var count: Int { lock.withLock { entries.count } }
}

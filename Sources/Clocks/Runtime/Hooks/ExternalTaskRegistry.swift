import ClocksSupport
import Synchronization

/// The external tasks of all tests, and the waits for unowned jobs.
///
/// Thread A runs a task, and writes into the task's status that it is suspended or over. Thread B reads the status.
/// Thread A may still continue the task, or resume tasks that wait for it. So a task whose status says that it does not
/// run has not always returned. It has returned once its own job has ended, and each actor drain that was running then
/// has ended or runs another task.
enum ExternalTaskRegistry {
  private struct Entry {
    /// Not retained here, so that the owner releases the last reference. The owner retains the task while it is in
    /// `entries`.
    let task: UnownedJob
    let id: UInt64
    let owner: TaskOwner
    let number: UInt64
    /// Whether an `async let` of the task is external. Only the owner knows which of these are, so the owner
    /// checks for the task's return itself.
    let onlyOwnerCanTell: Bool
    /// The epoch that began when the status first said that the task does not run; 0 until then. Only jobs that began
    /// before may still run the task.
    var quietSince: UInt64 = 0
    /// Whether the task was over when that epoch began.
    var wasOver = false
    /// The status when the task was last seen to run or to be enqueued; 0 if it was last seen otherwise.
    ///
    /// While the status is still equal, the task cannot have returned.
    var activeStatus: UInt32 = 0
    /// A job that may still run the task. Until the job ends, or its thread runs another task, the task cannot have
    /// returned.
    var blocker: RunningJobs.Found?
  }

  /// A wait for the end of unowned jobs.
  private struct Wait {
    var jobs: UnownedJobs.Present
    /// When the wait is given up.
    let limit: RealTime
    let body: @Sendable () -> Void
  }

  // `RunningJobs.lock` guards the variables below. No function of an owner is called under it.

  nonisolated(unsafe) private static var newestNumber: UInt64 = 0
  /// In the order of their numbers.
  nonisolated(unsafe) private static var entries: [Entry] = []
  nonisolated(unsafe) private static var waits: [Wait] = []
  /// Whether there are entries or waits. Written under the lock, and read without it.
  private static let isEndAwaited = Atomic(false)
  /// The number of calls of `findBack`. An owner notes the latest one that listed it (`newestCheck`).
  nonisolated(unsafe) private static var checks: UInt64 = 0
  /// Whether a thread that runs no job of an owner waits for the lock, to check the external tasks.
  private static let isCheckPending = Atomic(false)

  /// Notes that a job of `task` begins, or an actor drain if `task` is 0. The result is for `endJob`. O(1).
  static func beginJob(of task: UInt64 = 0) -> RunningJob {
    RunningJobs.begin(of: task, on: ThreadState.ofThread)
  }

  /// Notes that a job ended, and calls `checkTasks` if anything waits for that. O(external tasks and waits).
  static func endJob(_ job: RunningJob) {
    RunningJobs.end(job)
    // Thread A sets the flag, and then reads the running jobs. If A still saw this job there, this thread sees the
    // flag.
    if isEndAwaited.load(ordering: .sequentiallyConsistent) { checkTasks() }
  }

  /// Runs `body` as soon as the jobs end, if they end before `limit`.
  static func wait(
    for jobs: UnownedJobs.Present, until limit: RealTime, _ body: @escaping @Sendable () -> Void
  ) {
    RunningJobs.lock.withLock {
      waits.append(Wait(jobs: jobs, limit: limit, body: body))
      awaitedChanged()
    }
    checkTasks(always: true)
  }

  /// Finds the tasks that have returned, and notifies their owners. Ends the waits for jobs that have ended.
  /// O(external tasks and waits).
  ///
  /// Hundreds of threads may call this together, and wait for the same locks. So thread C returns if thread B waits for
  /// the lock: thread B will find what thread C would find. Until then the task's owner waits for the task. A thread
  /// that runs a job of an owner never returns early: in each run of a search, the owner must be notified after the
  /// same job.
  ///
  /// - Parameter always: Whether to check even if another thread is about to.
  static func checkTasks(always: Bool = false) {
    let owner = ThreadContext.current?.pointee.owner
    let isPending = owner == nil && isCheckPending.exchange(true, ordering: .acquiringAndReleasing)
    if isPending, !always { return }
    var back: [Entry] = []
    var ownersToRecheck: [TaskOwner] = []
    var over: [(wait: Wait, isInTime: Bool)] = []
    RunningJobs.lock.withLock {
      if owner == nil { _ = isCheckPending.exchange(false, ordering: .acquiringAndReleasing) }
      if entries.count > 0 { findBack(&back, &ownersToRecheck) }
      if waits.count > 0 { over = takeWaitsThatAreOver() }
    }
    // The loops use an index, because a debug build takes ten times as long to iterate over an `Array`.
    for index in 0..<back.count {
      back[index].owner.externalTaskReturned(
        back[index].id, back[index].number, wasOver: back[index].wasOver)
    }
    for index in 0..<ownersToRecheck.count {
      let found = ownersToRecheck[index]
      if found.mustRecheck() || found === owner || always { found.recheckExternalTasks() }
    }
    // A wait whose limit has passed is only released, which must not happen under the lock.
    for index in 0..<over.count where over[index].isInTime { over[index].wait.body() }
  }

  private static func takeWaitsThatAreOver() -> [(wait: Wait, isInTime: Bool)] {
    var over: [(wait: Wait, isInTime: Bool)] = []
    var kept: [Wait] = []
    for var wait in waits {
      let isInTime = wait.jobs.areOver()
      if isInTime || wait.limit.hasPassed {
        over.append((wait, isInTime))
      } else {
        kept.append(wait)
      }
    }
    waits = kept
    awaitedChanged()
    return over
  }

  /// Removes from `entries` each task that is not external any more, and appends it to `back`.
  ///
  /// Uses pointers, because this runs whenever a job ends, and a debug build copies, retains and releases each
  /// element that it reads from an array.
  private static func findBack(_ back: inout [Entry], _ ownersToRecheck: inout [TaskOwner]) {
    checks += 1
    var kept = 0
    let count = entries.count
    entries.withUnsafeMutableBufferPointer { buffer in
      guard let entries = buffer.baseAddress else { return }
      for index in 0..<count {
        if entries[index].onlyOwnerCanTell {
          if entries[index].owner.newestCheck != checks {
            entries[index].owner.newestCheck = checks
            ownersToRecheck.append(entries[index].owner)
          }
        } else if isBack(entries + index) {
          back.append(entries[index])
          continue
        }
        if kept != index { swap(&entries[kept], &entries[index]) }
        kept += 1
      }
    }
    if kept < count {
      entries.removeLast(count - kept)
      awaitedChanged()
    }
  }

  /// Whether a task is not external any more, and no thread runs it.
  ///
  /// Begins with two comparisons that nearly always show that the task has not returned.
  private static func isBack(_ entry: UnsafeMutablePointer<Entry>) -> Bool {
    let task = entry.pointee.task
    let status = TaskStatus(of: task)
    if entry.pointee.activeStatus != 0, entry.pointee.activeStatus == status.flags { return false }
    if entry.pointee.blocker?.mayStillRun(task) == true { return false }
    entry.pointee.activeStatus = status.isActive ? status.flags : 0
    guard !TaskStatus.isAboutToRun(task) else {
      entry.pointee.quietSince = 0
      entry.pointee.blocker = nil
      return false
    }
    // A task that has ended since the last check, or that prefers an executor, may have run again unseen.
    if entry.pointee.quietSince == 0
      || (!entry.pointee.wasOver && (status.isOver || status.hasPreference))
    {
      entry.pointee.quietSince = RunningJobs.beginEpoch()
      entry.pointee.wasOver = status.isOver
    }
    entry.pointee.blocker = RunningJobs.job(thatMayRun: task, before: entry.pointee.quietSince)
    guard entry.pointee.blocker == nil else { return false }
    // Thread A may have marked the task as suspended, and have continued it because thread B resumed it at that moment.
    // If A's job has ended since, the status now says what the task did last.
    guard !TaskStatus.isAboutToRun(task) else {
      entry.pointee.quietSince = 0
      return false
    }
    return true
  }

  /// Adds a task that may be external, and returns its number; `nil` if the task has returned already. O(threads).
  ///
  /// The owner retains the task until the owner has removed it, or was notified that the task has returned.
  ///
  /// - Parameter onlyOwnerCanTell: Whether an `async let` of the task is external. Then the result is never `nil`. The
  ///   owner checks afterwards whether the task has returned in the meantime.
  static func add(_ task: RetainedTask, of owner: TaskOwner, onlyOwnerCanTell: Bool) -> UInt64? {
    RunningJobs.lock.withLock {
      // Nearly always the task has already returned. The first check comes before anything is retained. As in `isBack`,
      // the status is read once more after the jobs.
      if !onlyOwnerCanTell, !TaskStatus.isAboutToRun(task.job),
        RunningJobs.job(thatMayRun: task.job, before: .max) == nil,
        !TaskStatus.isAboutToRun(task.job)
      {
        return nil
      }
      newestNumber += 1
      entries.append(
        Entry(
          task: task.job, id: task.id, owner: owner, number: newestNumber,
          onlyOwnerCanTell: onlyOwnerCanTell))
      awaitedChanged()
      // Thread A may have ended the task's job after the check above. If it saw no entry, it did not call `checkTasks`.
      let isBack =
        !onlyOwnerCanTell
        && entries.withUnsafeMutableBufferPointer { Self.isBack($0.baseAddress! + $0.count - 1) }
      guard isBack else { return newestNumber }
      entries.removeLast()
      awaitedChanged()
      return nil
    }
  }

  /// Sets the flag. If thread A ends a job and does not see the flag, thread B, which called this, sees what A did.
  private static func awaitedChanged() {
    isEndAwaited.store(!entries.isEmpty || !waits.isEmpty, ordering: .sequentiallyConsistent)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

  /// Removes a task. O(log n) comparisons for n external tasks, and then the later entries move.
  static func remove(_ number: UInt64) {
    RunningJobs.lock.withLock {
      let place = entries.partitioned { $0.number < number }
      guard place < entries.count, entries[place].number == number else { return }
      entries.remove(at: place)
      awaitedChanged()
    }
  }

  /// Whether any running job may be executing an external task. O(threads).
  static var mayRunTasks: Bool { RunningJobs.lock.withLock { RunningJobs.isAny } }
}

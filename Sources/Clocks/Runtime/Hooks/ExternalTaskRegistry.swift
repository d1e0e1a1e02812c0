import ClocksSupport
import Synchronization

/// The external tasks of all tests, and the running jobs that may be executing them.
///
/// These jobs are actor drains, and jobs of unowned tasks that may be adopted while they run.
///
/// Thread A runs a task, and writes into the task's status that it is suspended or over. Thread B reads the status.
/// Thread A may still continue the task, or resume tasks that wait for it. So a task whose status says that it does not
/// run has not always returned. It has returned once its own job has ended, and each actor drain that was running then
/// has ended or runs another task.
enum ExternalTaskRegistry {
  private struct Entry {
    let task: RetainedTask
    let owner: TaskOwner
    let number: UInt64
    /// Whether an `async let` of the task is external. Only the owner knows which of these are, so the owner
    /// checks for the task's return itself.
    let onlyOwnerCanTell: Bool
    /// The next job's number when the status first said that the task does not run; 0 until then. Only jobs with
    /// lower numbers may still run the task.
    var quietSince: UInt64 = 0
    var wasOver = false
    /// The status when the task was last seen to run or to be enqueued; 0 if it was last seen otherwise.
    ///
    /// While the status is still equal, the task cannot have returned.
    var activeStatus: UInt32 = 0
    /// The job that may still run the task, and its number. Until the job ends, or its thread runs another task, the
    /// task cannot have returned.
    var blocker: (job: RunningJob, number: UInt64)?
  }

  /// A running job: an actor drain, or a job of an unowned task.
  struct Running {
    /// 0 after the job's end.
    fileprivate var number: UInt64 = 0
    /// The only task that runs in the job; 0 for an actor drain.
    fileprivate var task: UInt64 = 0
    /// The runtime's variable for the task that the actor drain runs now.
    ///
    /// `nil` for a job of a task, and where the variable cannot be read.
    fileprivate var thread: CurrentTaskSlot?
    fileprivate var previous: RunningJob?
    fileprivate var next: RunningJob?
  }

  typealias RunningJob = UnsafeMutablePointer<Running>

  /// Guards the variables below. Rank `externalTasks`: no function of an owner is called under it.
  private static let lock = Lock(.externalTasks)
  /// The running jobs, by increasing number. A list, because a debug build takes ten times as long for an `Array`.
  @exclusivity(unchecked) nonisolated(unsafe) private static var first: RunningJob?
  @exclusivity(unchecked) nonisolated(unsafe) private static var last: RunningJob?
  /// The memory of jobs that have ended, for the next ones. Linked by `next`.
  @exclusivity(unchecked) nonisolated(unsafe) private static var unused: RunningJob?
  @exclusivity(unchecked) nonisolated(unsafe) private static var next: UInt64 = 1
  @exclusivity(unchecked) nonisolated(unsafe) private static var entries: [Entry] = []
  /// Counts the looks.
  @exclusivity(unchecked) nonisolated(unsafe) private static var looks: UInt64 = 0
  /// Whether a thread that runs no job of an owner waits for the lock, to look.
  private static let isLookPending = Atomic(false)

  /// Notes that a job of `task` begins, or an actor drain if `task` is 0. The result is for `endJob`. O(1).
  static func beginJob(of task: UInt64 = 0) -> RunningJob {
    let thread = task == 0 ? CurrentTaskSlot.ofThread : nil
    return lock.withLock {
      let job = unused ?? .allocate(capacity: 1)
      if unused != nil { unused = job.pointee.next }
      job.initialize(to: Running(number: next, task: task, thread: thread, previous: last))
      if let last { last.pointee.next = job } else { first = job }
      last = job
      next += 1
      return job
    }
  }

  /// Notes that a job has ended, and then does what `look` does. O(external tasks).
  static func endJob(_ job: RunningJob) {
    let areAnyExternal = lock.withLock {
      let (previous, next) = (job.pointee.previous, job.pointee.next)
      if let previous { previous.pointee.next = next } else { first = next }
      if let next { next.pointee.previous = previous } else { last = previous }
      job.pointee.number = 0
      job.pointee.next = unused
      unused = job
      return entries.count > 0
    }
    if areAnyExternal { look() }
  }

  /// Finds the tasks that have returned, and notifies their owners. O(external tasks).
  ///
  /// Hundreds of threads may call this together, and wait for the same locks. So thread C returns if thread B waits for
  /// the lock: thread B will find what thread C would find. Until then the task's owner waits for the task. A thread that
  /// runs a job of an owner always looks for that owner, because in a search the owner must be notified after the same
  /// job in each run.
  ///
  /// - Parameter always: Whether to look even if another thread is about to.
  static func look(always: Bool = false) {
    let owner = ThreadContext.current?.pointee.owner
    let isPending = owner == nil && isLookPending.exchange(true, ordering: .acquiringAndReleasing)
    if isPending, !always { return }
    var back: [Entry] = []
    var ownersToRecheck: [TaskOwner] = []
    lock.withLock {
      if owner == nil { _ = isLookPending.exchange(false, ordering: .acquiringAndReleasing) }
      if entries.count > 0 { findBack(&back, &ownersToRecheck) }
    }
    // The loops use an index, because a debug build takes ten times as long to iterate over an `Array`.
    for index in 0..<back.count {
      back[index].owner.externalTaskReturned(back[index].task.id, back[index].number)
    }
    for index in 0..<ownersToRecheck.count {
      let found = ownersToRecheck[index]
      if found.mustRecheck() || found === owner || always { found.recheckExternalTasks() }
    }
  }

  /// Removes from `entries` each task that is not external any more, and appends it to `back`.
  ///
  /// Uses pointers, because this runs whenever a job ends, and a debug build copies, retains and releases each
  /// element that it reads from an array.
  private static func findBack(_ back: inout [Entry], _ ownersToRecheck: inout [TaskOwner]) {
    looks += 1
    var kept = 0
    let count = entries.count
    entries.withUnsafeMutableBufferPointer { buffer in
      guard let entries = buffer.baseAddress else { return }
      for index in 0..<count {
        if entries[index].onlyOwnerCanTell {
          if entries[index].owner.newestLook != looks {
            entries[index].owner.newestLook = looks
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
    if kept < count { entries.removeLast(count - kept) }
  }

  /// Whether a task is not external any more, and no thread runs it.
  ///
  /// Begins with two comparisons that nearly always tell that the task has not returned.
  private static func isBack(_ entry: UnsafeMutablePointer<Entry>) -> Bool {
    let task = entry.pointee.task.job
    let status = TaskStatus(of: task)
    if entry.pointee.activeStatus != 0, entry.pointee.activeStatus == status.flags { return false }
    if let (job, number) = entry.pointee.blocker, job.pointee.number == number,
      mayRun(task, in: job)
    {
      return false
    }
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
      entry.pointee.quietSince = next
      entry.pointee.wasOver = status.isOver
    }
    let blocker = firstJob(thatMayRun: task, before: entry.pointee.quietSince)
    entry.pointee.blocker = blocker.map { ($0, $0.pointee.number) }
    return blocker == nil
  }

  /// Returns a job with a lower number than `limit` that may run the task, whose status was read before.
  @_transparent
  private static func firstJob(thatMayRun task: UnownedJob, before limit: UInt64) -> RunningJob? {
    // The threads' current tasks are read only after the task's status.
    atomicMemoryFence(ordering: .acquiring)
    var place = first
    while let job = place, job.pointee.number < limit {
      if mayRun(task, in: job) { return job }
      place = job.pointee.next
    }
    return nil
  }

  /// Whether a running job may run the task.
  @_transparent
  private static func mayRun(_ task: UnownedJob, in job: RunningJob) -> Bool {
    job.pointee.task == 0
      ? job.pointee.thread?.isAnother(than: task) != true
      : job.pointee.task == taskID(of: task)
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
        // Nearly always the task has already returned. The check comes first, so that nothing is retained in that case.
        guard firstJob(thatMayRun: task.job, before: next) != nil else { return nil }
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
  static var mayRunTasks: Bool { lock.withLock { first != nil } }
}

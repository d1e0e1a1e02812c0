import ClocksSupport
import Synchronization

/// The tasks of all tests that are away, and the jobs that may bring them back: those of actors' queues,
/// which are no task's, and in which tasks run that belong to anybody; and those of tasks that were nobody's
/// when their jobs began, and may be a test's when they end.
///
/// A task's status says that it is suspended, or over, a moment before whatever runs it has done with
/// it, and may yet resume those who wait for the task. So a task that is found *quiet* is back only
/// when every job of an actor's queue has ended that ran when it was found so, and its own job, too.
enum ExternalTaskRegistry {
  private struct Entry {
    let task: RetainedTask
    let owner: TaskOwner
    let number: UInt64
    /// Whether only the owner can tell whether the task is back.
    let onlyOwnerCanTell: Bool
    /// A number greater than those of all jobs that ran when the task was found quiet; 0 if it has not
    /// been found so.
    var quietSince: UInt64 = 0
    /// Whether it was over then.
    var wasOver = false
  }

  /// Guards what follows. Nothing is called while it is held; it is taken under the locks of owners.
  private static let lock = Lock()
  /// A job of an actor's queue that runs, or one that is a task's and nobody's.
  private struct Running {
    let number: UInt64
    /// The only task that runs in it; 0 in an actor's queue, where others do.
    let task: UInt64
    /// What its thread runs; `nil` if that is known, or cannot be.
    let thread: CurrentTaskSlot?
  }

  /// Those that run, in the order of their numbers.
  @exclusivity(unchecked) nonisolated(unsafe) private static var running: [Running] = []
  /// Greater than the numbers of all jobs and entries so far.
  @exclusivity(unchecked) nonisolated(unsafe) private static var next: UInt64 = 1
  @exclusivity(unchecked) nonisolated(unsafe) private static var entries: [Entry] = []

  // MARK: - Jobs

  /// One begins; the number is for `endJob`. O(1).
  ///
  /// - Parameter task: Whose it is; 0 if it is an actor's queue.
  static func beginJob(of task: UInt64 = 0) -> UInt64 {
    let thread = task == 0 ? CurrentTaskSlot.ofThread : nil
    return lock.withLock {
      defer { next += 1 }
      running.append(Running(number: next, task: task, thread: thread))
      return next
    }
  }

  /// One has ended. O(tasks that are away).
  static func endJob(_ number: UInt64) { look(afterJob: number) }

  /// Looks which tasks have come back, and tells their owners. O(tasks that are away).
  ///
  /// - Parameter number: A job that has just ended.
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
    // By their numbers: a debug build goes through an Array in ten times as long.
    for index in 0..<back.count {
      back[index].owner.externalTaskReturned(back[index].task.id, back[index].number)
    }
    for index in 0..<ownersToRecheck.count { ownersToRecheck[index].recheckExternalTasks() }
  }

  private static func findBack(_ back: inout [Entry], _ ownersToRecheck: inout [TaskOwner]) {
    var kept = 0
    for index in entries.indices {
      if entries[index].onlyOwnerCanTell {
        if !ownersToRecheck.contains(where: { $0 === entries[index].owner }) {
          ownersToRecheck.append(entries[index].owner)
        }
      } else if isBack(&entries[index]) {
        back.append(entries[index])
        continue
      }
      if kept != index { entries.swapAt(kept, index) }
      kept += 1
    }
    if kept < entries.count { entries.removeLast(entries.count - kept) }
  }

  /// Whether a task that was away is so no more, and nothing is at work on it.
  private static func isBack(_ entry: inout Entry) -> Bool {
    let status = TaskStatus(of: entry.task.job)
    guard !status.isActive else {
      entry.quietSince = 0
      return false
    }
    // It may have run again since, if it need not come through the door for that.
    let isNews =
      entry.quietSince == 0 || (!entry.wasOver && (status.isOver || status.hasPreference))
    if isNews {
      entry.quietSince = next
      entry.wasOver = status.isOver
    }
    // What threads run is looked at after the task's status.
    atomicMemoryFence(ordering: .acquiring)
    for index in 0..<running.count where running[index].number < entry.quietSince {
      let job = running[index]
      if job.task == 0 {
        guard job.thread?.isAnother(than: entry.task.job) == true else { return false }
      } else if job.task == entry.task.id {
        return false
      }
    }
    return true
  }

  // MARK: - Tasks

  /// Takes a task that may be away, unless it is back already.
  ///
  /// - Returns: A number for `externalTaskReturned` and `remove`; `nil` if it is back. O(1).
  static func add(_ task: RetainedTask, of owner: TaskOwner, onlyOwnerCanTell: Bool) -> UInt64? {
    lock.withLock {
      var entry = Entry(
        task: task, owner: owner, number: next, onlyOwnerCanTell: onlyOwnerCanTell)
      next += 1
      guard onlyOwnerCanTell || !isBack(&entry) else { return nil }
      entries.append(entry)
      return entry.number
    }
  }

  /// Takes a task out; its owner keeps it in memory. O(tasks that are away).
  static func remove(_ number: UInt64) {
    lock.withLock {
      guard let place = entries.firstIndex(where: { $0.number == number }) else { return }
      entries.swapAt(place, entries.count - 1)
      entries.removeLast()
    }
  }

  /// The number of tasks that are away; for tests.
  static var count: Int { lock.withLock { entries.count } }
}

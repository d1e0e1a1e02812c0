/// The tasks of a test that are away: that run, or are about to, where the scheduler does not start
/// their jobs. They stand in the queue of an actor that is at work for another test, or on an executor
/// of somebody's.
///
/// A task that may be away is a *suspect* at first, and is looked at before the test counts as idle.
/// If it is away then, `ExternalTaskRegistry` tells when it is back; or it comes through the door.
struct ExternalTasks: ~Copyable {
  /// A task that is kept in memory while it may be away.
  private struct Entry: TaskTableEntry {
    static var none: Self { Self(task: nil, mayHaveRun: false, hasAsyncLets: false) }

    var task: RetainedTask?
    /// Whether it may have run elsewhere since it was looked at last.
    var mayHaveRun: Bool
    /// Whether it has begun an `async let`: then it is looked at until it is over.
    var hasAsyncLets: Bool
    /// The number of its absence, while it is away; 0 while it is a suspect.
    var absence: UInt64 = 0

    var isNone: Bool { task == nil }
  }

  private var entries = TaskTable<Entry>()
  /// Those to look at before the test counts as idle.
  private var unverified: [UInt64] = []
  /// Those that are away of which the register cannot tell whether they are back.
  private var awaitingAsyncLets: [UInt64] = []
  /// The tasks that executors of others run at this moment, each with the number of such jobs.
  private var running: [UInt64: Int] = [:]
  /// The tasks whose executors have handed their jobs back, to be run after a while of virtual time:
  /// those wait for time, and nobody waits for them.
  private var delayed: Set<UInt64> = []
  /// Whether the suspects have been looked at since something happened.
  private var isRechecked = true
  /// Counts the tasks that went away and came back: while it stays the same, nothing happens there.
  private(set) var changes: UInt64 = 0
  /// The tasks that were reported, because they did not come back: nobody waits for them any more.
  private var abandoned: Set<UInt64> = []

  /// Whether there is somebody to look at before the test counts as idle.
  @inline(__always)
  var mustLook: Bool { !isRechecked && unverified.count > 0 }

  /// Whether a task is away, or runs on somebody's executor.
  var hasExternalTasks: Bool { entries.count > unverified.count || !running.isEmpty }

  // MARK: - What happens

  /// Notes that something has happened: a suspect may have gone away since it was looked at.
  @inline(__always)
  mutating func somethingHappens() { isRechecked = false }

  /// Notes that a task's job is to run after a while.
  mutating func isDelayed(_ id: UInt64) {
    isRechecked = false
    delayed.insert(id)
  }

  /// Notes that the while is over.
  @inline(__always)
  mutating func isNotDelayed(_ id: UInt64) {
    if !delayed.isEmpty { delayed.remove(id) }
  }

  /// Takes a task that may be away, or may go away without a job of its own having run here.
  mutating func noteMayRunExternally(_ task: RetainedTask, mayHaveRun: Bool, hasAsyncLets: Bool) {
    isRechecked = false
    let id = task.id
    guard !abandoned.contains(id) else { return }
    var entry = entries[id]
    if entry.isNone {
      entry.task = task
      unverified.append(id)
    } else if entry.mayHaveRun || !mayHaveRun, entry.hasAsyncLets || !hasAsyncLets {
      return
    }
    if mayHaveRun { entry.mayHaveRun = true }
    if hasAsyncLets { entry.hasAsyncLets = true }
    entries.set(id, to: entry)
  }

  /// Notes that somebody's executor runs a task now, and says whether that is new.
  mutating func begins(_ task: RetainedTask) -> Bool {
    noteMayRunExternally(task, mayHaveRun: true, hasAsyncLets: false)
    let id = task.id
    guard !abandoned.contains(id) else { return false }
    changes += 1
    running[id, default: 0] += 1
    return running[id] == 1
  }

  /// Notes that it has run a task's job, and says whether that was the last one.
  mutating func ends(_ id: UInt64) -> Bool {
    isRechecked = false
    guard let count = running[id] else { return false }
    running[id] = count == 1 ? nil : count - 1
    return count == 1
  }

  /// Notes that a job of a task has come to the scheduler, and says whether the task was away.
  ///
  /// The task is about to run, so whoever lets go of its handle here is not the last.
  mutating func hasArrived(_ id: UInt64) -> Bool {
    let entry = entries[id]
    guard entry.absence != 0 else { return false }
    ExternalTaskRegistry.remove(entry.absence)
    comeBack(id, entry)
    return true
  }

  /// Notes that an absence is over, and says whether it still was under way. The caller keeps the task.
  mutating func isBack(_ id: UInt64, _ absence: UInt64) -> Bool {
    let entry = entries[id]
    guard entry.absence == absence else { return false }
    comeBack(id, entry)
    return true
  }

  private mutating func comeBack(_ id: UInt64, _ entry: Entry) {
    changes += 1
    if entry.hasAsyncLets { awaitingAsyncLets.removeAll { $0 == id } }
    guard let task = entry.task else { return }
    let status = TaskStatus(of: task.job)
    if !status.isOver, status.isActive || entry.hasAsyncLets || status.hasPreference {
      // What has happened is known up to now.
      var entry = entry
      entry.absence = 0
      entry.mayHaveRun = status.isActive
      entries.set(id, to: entry)
      unverified.append(id)
      if status.isActive { isRechecked = false }
    } else {
      entries.remove(id)
    }
  }

  // MARK: - Looking

  /// Looks at the suspects. O(suspects).
  ///
  /// - Returns: The tasks that went away, and handles to let go of without a lock.
  mutating func look(for owner: TaskOwner) -> (gone: [UInt64], released: [RetainedTask]) {
    isRechecked = true
    var gone: [UInt64] = []
    var released: [RetainedTask] = []
    var kept: [UInt64] = []
    for index in 0..<unverified.count {
      let id = unverified[index]
      var entry = entries[id]
      guard let task = entry.task else { continue }
      if let absence = absence(of: id, task, entry, owner) {
        entry.absence = absence
        entries.set(id, to: entry)
        changes += 1
        gone.append(id)
      } else if mayBecomeExternal(task, entry) {
        if entry.mayHaveRun {
          entry.mayHaveRun = false
          entries.set(id, to: entry)
        }
        kept.append(id)
      } else {
        entries.remove(id)
        released.append(task)
      }
    }
    unverified = kept
    return (gone, released)
  }

  /// Looks at those tasks that are away of which the register cannot tell. O(those).
  ///
  /// - Returns: The tasks that came back, to be let go of without a lock.
  mutating func recheckAsyncLets() -> [RetainedTask] {
    var back: [RetainedTask] = []
    for id in awaitingAsyncLets {
      let entry = entries[id]
      guard let task = entry.task, !TaskStatus(of: task.job).isActive,
        !TaskStatus.awaitsActiveAsyncLet(task.job)
      else { continue }
      ExternalTaskRegistry.remove(entry.absence)
      comeBack(task.id, entry)
      back.append(task)
    }
    if !back.isEmpty { isRechecked = false }
    return back
  }

  /// The number of a task's absence, if it is away.
  private mutating func absence(
    of id: UInt64, _ task: RetainedTask, _ entry: Entry, _ owner: TaskOwner
  ) -> UInt64? {
    guard !delayed.contains(id) else { return nil }
    if entry.hasAsyncLets, TaskStatus.awaitsActiveAsyncLet(task.job) {
      awaitingAsyncLets.append(id)
      return ExternalTaskRegistry.add(task, of: owner, onlyOwnerCanTell: true)
    }
    let status = TaskStatus(of: task.job)
    guard entry.mayHaveRun || status.isActive || status.hasPreference else { return nil }
    return ExternalTaskRegistry.add(task, of: owner, onlyOwnerCanTell: false)
  }

  /// Whether a task that is not away may go away again without a job of its own having run here.
  private func mayBecomeExternal(_ task: RetainedTask, _ entry: Entry) -> Bool {
    let status = TaskStatus(of: task.job)
    return !status.isOver && (status.isActive || entry.hasAsyncLets || status.hasPreference)
  }

  /// Gives up the tasks that are away, so that nobody waits for them any more.
  ///
  /// - Returns: The ids of the tasks that never came to an end, or to a sleep; how often those that are
  ///   given up were counted in sum; and handles to let go of without a lock.
  mutating func abort() -> (ids: [UInt64], count: Int, released: [RetainedTask]) {
    var ids = Set(running.keys)
    var count = running.count
    var released: [RetainedTask] = []
    for entry in entries.all {
      guard let task = entry.task, entry.absence != 0 || running[task.id] != nil else { continue }
      if entry.absence != 0 {
        ExternalTaskRegistry.remove(entry.absence)
        count += 1
        if TaskStatus(of: task.job).isActive || entry.hasAsyncLets { ids.insert(task.id) }
      }
      released.append(task)
      entries.remove(task.id)
    }
    unverified.removeAll { entries[$0].isNone }
    abandoned.formUnion(ids)
    running = [:]
    awaitingAsyncLets = []
    changes += 1
    return (ids.sorted(), count, released)
  }

  /// Stops the program if something is counted wrong; for tests.
  func checkInvariants() {
    let suspected = entries.all.filter { $0.absence == 0 }.compactMap(\.task?.id)
    precondition(Set(suspected) == Set(unverified), "a task that nobody looks at")
    precondition(suspected.count == unverified.count, "a task that is looked at twice")
    let absent = Set(entries.all.filter { $0.absence != 0 }.compactMap(\.task?.id))
    precondition(
      Set(awaitingAsyncLets).count == awaitingAsyncLets.count
        && absent.isSuperset(of: awaitingAsyncLets), "a task that is not away, or twice")
  }
}

/// The tasks of a test that are away: that run, or are about to, where the scheduler does not start
/// their jobs. They stand in the queue of an actor that is at work for another test, or on an executor
/// of somebody's.
///
/// A task that may be away is a *suspect* at first, and is looked at before the test counts as idle.
/// If it is away then, it is looked at again at the end of every job of the process that the package
/// sees, until it has come back.
struct AwayTasks {
  /// A task that is kept in memory while it may be away.
  private struct Entry {
    let task: TaskHandle
    /// Whether it has begun an `async let`: then it is looked at until it is over.
    var hasAsyncLets = false
    /// The number that every anonymous job had to be below which ran when the task was first found to
    /// be neither running nor enqueued; 0 if it has not been found so.
    var quietSince: UInt64 = 0
  }

  /// The tasks to look at before the test counts as idle.
  private var suspects: [UInt64: Entry] = [:]
  /// The tasks that were away when they were last looked at.
  private var away: [UInt64: Entry] = [:]
  /// The tasks that executors of others run at this moment, each with the number of such jobs.
  private var running: [UInt64: Int] = [:]
  /// The tasks whose executors have handed their jobs back, to be run after a while of virtual time:
  /// those wait for time, and nobody waits for them.
  private var delayed: Set<UInt64> = []
  /// Whether the suspects have been looked at since something happened.
  private(set) var isLookedAt = true
  /// Counts the tasks that went away and came back: while it stays the same, nothing happens there.
  private(set) var changes: UInt64 = 0
  /// The tasks that were reported, because they did not come back: nobody waits for them any more.
  private var givenUp: Set<UInt64> = []

  /// Whether there is somebody to look at before the test counts as idle.
  @inline(__always)
  var mustLook: Bool { !isLookedAt && !suspects.isEmpty }

  /// Whether a task is away, or runs on somebody's executor.
  var isAnyAway: Bool { !away.isEmpty || !running.isEmpty }

  /// Whether no task was away when it was last looked at.
  var isEmpty: Bool { away.isEmpty }

  /// Notes that something has happened: a suspect may have gone away since it was looked at.
  @inline(__always)
  mutating func somethingHappens() { isLookedAt = false }

  /// Notes that a task's job is to run after a while.
  mutating func isDelayed(_ id: UInt64) {
    isLookedAt = false
    delayed.insert(id)
  }

  /// Notes that the while is over.
  @inline(__always)
  mutating func isNotDelayed(_ id: UInt64) {
    if !delayed.isEmpty { delayed.remove(id) }
  }

  mutating func suspect(_ task: TaskHandle, hasAsyncLets: Bool) {
    isLookedAt = false
    let id = task.id
    guard !givenUp.contains(id) else { return }
    if away[id] != nil {
      if hasAsyncLets { away[id]?.hasAsyncLets = true }
    } else if suspects[id] == nil {
      suspects[id] = Entry(task: task, hasAsyncLets: hasAsyncLets)
    } else if hasAsyncLets {
      suspects[id]?.hasAsyncLets = true
    }
  }

  /// Notes that somebody's executor runs a task now, and says whether that is new.
  mutating func begins(_ task: TaskHandle) -> Bool {
    suspect(task, hasAsyncLets: false)
    let id = task.id
    guard !givenUp.contains(id) else { return false }
    changes += 1
    running[id, default: 0] += 1
    return running[id] == 1
  }

  /// Notes that it has run a task's job, and says whether that was the last one.
  mutating func ends(_ id: UInt64) -> Bool {
    isLookedAt = false
    guard let count = running[id] else { return false }
    running[id] = count == 1 ? nil : count - 1
    return count == 1
  }

  /// Looks at the suspects. O(suspects).
  ///
  /// - Returns: The tasks that went away, and handles to let go of without a lock.
  mutating func lookAtSuspects() -> (gone: [UInt64], released: [TaskHandle]) {
    isLookedAt = true
    var gone: [UInt64] = []
    var released: [TaskHandle] = []
    for (id, entry) in suspects {
      var entry = entry
      if isAway(&entry, id) {
        away[id] = entry
        suspects[id] = nil
        changes += 1
        gone.append(id)
        continue
      }
      if !mayGoAway(entry) {
        suspects[id] = nil
        released.append(entry.task)
      }
    }
    return (gone, released)
  }

  /// Looks whether tasks have come back. O(tasks that are away).
  ///
  /// - Returns: The tasks that came back, and handles to let go of without a lock.
  mutating func takeBack() -> (back: [UInt64], released: [TaskHandle]) {
    var back: [UInt64] = []
    var released: [TaskHandle] = []
    for (id, entry) in away {
      var entry = entry
      if isAway(&entry, id) {
        away[id] = entry
        continue
      }
      remove(id)
      back.append(id)
      entry.quietSince = 0
      if mayGoAway(entry) { suspects[id] = entry } else { released.append(entry.task) }
    }
    if !back.isEmpty { isLookedAt = false }
    return (back, released)
  }

  /// Notes that a job of a task has come to the scheduler, and says whether the task was away.
  ///
  /// The task is about to run, so whoever lets go of its handle here is not the last.
  mutating func hasArrived(_ id: UInt64) -> Bool {
    guard let entry = away[id] else { return false }
    remove(id)
    if entry.hasAsyncLets { suspects[id] = Entry(task: entry.task, hasAsyncLets: true) }
    return true
  }

  /// Gives up the tasks that are away, so that nobody waits for them any more.
  ///
  /// - Returns: The ids of the tasks, how often they were counted in sum, and handles to let go of
  ///   without a lock.
  mutating func giveUp() -> (ids: [UInt64], count: Int, released: [TaskHandle]) {
    let ids = Set(away.keys).union(running.keys)
    let count = away.count + running.count
    let known = Array(away.values) + suspects.filter { ids.contains($0.key) }.values
    let released = known.map(\.task)
    for id in ids {
      givenUp.insert(id)
      suspects[id] = nil
    }
    away = [:]
    running = [:]
    changes += 1
    return (ids.sorted(), count, released)
  }

  private mutating func remove(_ id: UInt64) {
    away[id] = nil
    changes += 1
  }

  /// Whether a task runs or is enqueued elsewhere, or may still be doing something in a job in which it
  /// was suspended or came to its end.
  private func isAway(_ entry: inout Entry, _ id: UInt64) -> Bool {
    if delayed.contains(id) { return false }
    let job = entry.task.job
    guard !TaskStatus(of: job).isActive,
      !(entry.hasAsyncLets && TaskStatus.awaitsActiveAsyncLet(job))
    else {
      entry.quietSince = 0
      return true
    }
    // What runs it is known: then its end is waited for, and nothing else.
    if running[id] != nil { return true }
    if entry.quietSince == 0 { entry.quietSince = AnonymousJobs.nextNumber }
    return AnonymousJobs.firstRunning < entry.quietSince
  }

  /// Whether a task that is not away may go away again without a job of its own having run here.
  private func mayGoAway(_ entry: Entry) -> Bool {
    let status = TaskStatus(of: entry.task.job)
    return !status.isOver && (status.isActive || entry.hasAsyncLets || status.hasPreference)
  }
}

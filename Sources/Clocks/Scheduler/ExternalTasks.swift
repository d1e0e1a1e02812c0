import ClocksSupport

/// The tasks of a test that run, or may run, where the scheduler does not start their jobs.
///
/// They run in an actor drain that works for another test, or on a custom executor.
/// `ExternalTasks.Entry.become` says which changes of state are legal.
struct ExternalTasks: ~Copyable {
  private let isPassedByAddress = PassedByAddress()
  private var entries = TaskTable<Entry>()
  private var unverified = ScratchBuffer<UInt64>()
  private var awaitingAsyncLets: [UInt64] = []
  /// Whether the unverified tasks were checked after the last moment at which one could have become external.
  private var isVerified = true
  /// The number of external tasks that the test waits for.
  private(set) var external = 0
  /// The number of tasks with jobs on custom executors that the test waits for.
  private(set) var running = 0
  private var stopped = 0
  /// Counts how often tasks became external or returned: while this stays the same, there is no progress.
  private(set) var changes: UInt64 = 0

  /// Whether tasks have to be checked before the test counts as idle.
  @_transparent
  var mustVerify: Bool { !isVerified && areAnyUnverified }

  @_transparent
  var areAnyUnverified: Bool { unverified.count > 0 }

  @_transparent
  var areOutstanding: Bool { (external > 0 || running > 0) && !areLeftOut }

  /// Whether the tasks are disregarded while time moves by one step, because the process is idle (`IdleProcess`).
  var areLeftOut = false

  /// Whether the arrival of a job has to be passed to `jobArrived`.
  @_transparent
  var areArrivalsAwaited: Bool { external > 0 || stopped > 0 }

  /// Replaces an entry. Only this function writes entries, so that the counts agree with them.
  private mutating func replace(_ id: UInt64, by new: Entry) {
    areLeftOut = false
    let old = entries[id]
    external += (new.isOutstanding ? 1 : 0) - (old.isOutstanding ? 1 : 0)
    running += (new.isRunning ? 1 : 0) - (old.isRunning ? 1 : 0)
    stopped += (new.state == .stopped ? 1 : 0) - (old.state == .stopped ? 1 : 0)
    if new.isNone { entries.remove(id) } else { entries.set(id, to: new) }
  }

  @_transparent
  mutating func mayHaveChanged() { isVerified = false }

  /// Notes that a task may be external, or may become external before the scheduler runs a job of it.
  mutating func noteMayRunExternally(
    _ task: RetainedTask, mayHaveRun: Bool = true, hasAsyncLets: Bool = false
  ) {
    isVerified = false
    let id = task.id
    var entry = entries[id]
    switch entry.state {
    case .abandoned, .stopped:
      return
    case .none:
      entry.become(.unverified)
      entry.task = task
      unverified.append(id)
    case .unverified, .external, .awaitingAsyncLet:
      if entry.mayHaveRun || !mayHaveRun, entry.hasAsyncLets || !hasAsyncLets { return }
    }
    if mayHaveRun { entry.mayHaveRun = true }
    if hasAsyncLets { entry.hasAsyncLets = true }
    replace(id, by: entry)
  }

  /// Notes that a job of a task begins on a custom executor. Returns whether no other job of the task runs on one.
  mutating func externalJobBegan(_ task: RetainedTask) -> Bool {
    noteMayRunExternally(task)
    var entry = entries[task.id]
    // An abandoned or stopped task has no `task` in its entry.
    guard entry.task != nil else { return false }
    changes += 1
    entry.runs += 1
    replace(task.id, by: entry)
    return entry.runs == 1
  }

  /// Notes that a job of a task ended on a custom executor. Returns whether no other job of the task runs on one.
  mutating func externalJobEnded(_ id: UInt64) -> Bool {
    isVerified = false
    var entry = entries[id]
    guard entry.runs > 0 else { return false }
    entry.runs -= 1
    replace(id, by: entry)
    return entry.runs == 0
  }

  /// Notes that a job that holds its thread begins to wait in virtual time, or continues.
  mutating func setPaused(_ isPaused: Bool, _ id: UInt64) {
    var entry = entries[id]
    guard entry.isPaused != isPaused, entry.isExternal || entry.runs > 0 else { return }
    entry.isPaused = isPaused
    replace(id, by: entry)
  }

  enum Arrival: Equatable {
    case ofKnownTask
    case ofReturningTask(wasSeenExternal: Bool)
    case ofStoppedTask
  }

  /// Notes that a job became ready. Its task is about to run, so releasing the entry's reference does not free the
  /// task.
  mutating func jobArrived(of id: UInt64) -> Arrival {
    let entry = entries[id]
    if entry.state == .stopped { return .ofStoppedTask }
    guard entry.absence != 0 else { return .ofKnownTask }
    ExternalTaskRegistry.remove(entry.absence)
    taskReturned(id, entry)
    return .ofReturningTask(wasSeenExternal: entry.isSeenExternal)
  }

  /// Returns the reference to an external task that is over, which the caller releases without a lock. Until
  /// `absenceEnded`, the task stays external.
  mutating func takeIfOver(_ id: UInt64, _ absence: UInt64) -> RetainedTask? {
    var entry = entries[id]
    guard entry.absence == absence, entry.runs == 0, entry.task?.isOver == true else { return nil }
    let task = entry.task.take()
    replace(id, by: entry)
    return task
  }

  func task(of id: UInt64) -> RetainedTask? { entries[id].task }

  /// Notes that an absence is over. Returns `nil` if it was not under way, otherwise `isSeenExternal`.
  mutating func absenceEnded(_ absence: UInt64, of id: UInt64, wasOver: Bool = true) -> Bool? {
    let entry = entries[id]
    guard entry.absence == absence, absence != 0 else { return nil }
    taskReturned(id, entry, wasOver: wasOver)
    return entry.isSeenExternal
  }

  private mutating func taskReturned(_ id: UInt64, _ old: Entry, wasOver: Bool = true) {
    changes += 1
    // All that the task did before it returned is accounted for. Only what it did since then matters.
    let status = old.task.map { TaskStatus(of: $0.job) }
    var mayHaveRun = status.map { $0.isActive || $0.isOver && !wasOver } ?? false
    if case .awaitingAsyncLet = old.state {
      awaitingAsyncLets.removeAll { $0 == id }
      // The task's own job may still run.
      if old.mayHaveRun { mayHaveRun = true }
    }
    guard mayHaveRun || old.mayBecomeExternal || old.runs > 0 else { return replace(id, by: .none) }
    var entry = old
    entry.become(.unverified)
    entry.mayHaveRun = mayHaveRun
    entry.isSeenExternal = false
    replace(id, by: entry)
    unverified.append(id)
    if mayHaveRun { isVerified = false }
  }

  /// Keeps all further jobs of a task from running. The caller retains the task.
  mutating func stop(_ id: UInt64) {
    ExternalTaskRegistry.remove(entries[id].absence)
    unverified.removeAll(where: { $0 == id })
    awaitingAsyncLets.removeAll { $0 == id }
    var entry = Entry()
    entry.become(.stopped)
    replace(id, by: entry)
  }

  /// Finds the unverified tasks that are external, and forgets the tasks that cannot become external.
  /// O(unverified tasks).
  ///
  /// - Parameter isHeldBack: Returns whether a task only waits until its executor runs it at an instant of
  ///   virtual time.
  /// - Returns: The tasks that are seen to be external now, for a recording; and tasks to release without a lock.
  mutating func verify(
    for owner: TaskOwner, isHeldBack: (UInt64) -> Bool
  ) -> (external: [UInt64], released: [RetainedTask]) {
    isVerified = true
    var external: [UInt64] = []
    var released: [RetainedTask] = []
    var kept = 0
    // The statuses are read before and after the jobs, as in `ExternalTaskRegistry.add`.
    let areAllBack =
      isNoneAboutToRun && !ExternalTaskRegistry.mayRunTasks && isNoneAboutToRun
    for index in 0..<unverified.count {
      let id = unverified[index]
      // In an explored test, each check visits each task, and nearly all are unchanged.
      if areAllBack, let entry = entries.address(of: id), entry.pointee.isSettled {
        unverified[kept] = id
        kept += 1
        continue
      }
      var entry = entries[id]
      guard let task = entry.task else { continue }
      if entry.runs > 0 {
        unverified[kept] = id
        kept += 1
      } else if !isHeldBack(id), let state = externalState(of: entry, task, owner, isHeldBack) {
        entry.become(state)
        if case .awaitingAsyncLet = state { awaitingAsyncLets.append(id) }
        changes += 1
        entry.isSeenExternal = state.isSeen(of: task)
        if entry.isSeenExternal { external.append(id) }
        replace(id, by: entry)
      } else {
        let isChanged = entry.wasChecked()
        let isKept = entry.mayBecomeExternal
        if isChanged || !isKept { replace(id, by: isKept ? entry : .none) }
        if isKept {
          unverified[kept] = id
          kept += 1
        } else {
          released.append(task)
        }
      }
    }
    unverified.keepFirst(kept)
    return (external, released)
  }

  /// Whether no unverified task runs, or is in the queue of an executor.
  private var isNoneAboutToRun: Bool {
    for index in 0..<unverified.count {
      guard let entry = entries.address(of: unverified[index]), let task = entry.pointee.task,
        !TaskStatus.isAboutToRun(task.job)
      else { return false }
    }
    return true
  }

  /// Returns the tasks that have no external `async let` any more. The caller releases them without a lock.
  mutating func recheckAsyncLets(isHeldBack: (UInt64) -> Bool) -> [RetainedTask] {
    var returned: [RetainedTask] = []
    for id in awaitingAsyncLets {
      let entry = entries[id]
      guard let task = entry.task, !TaskStatus(of: task.job).isActive,
        !TaskStatus.hasActiveAsyncLet(task.job, isHeldBack: isHeldBack)
      else { continue }
      ExternalTaskRegistry.remove(entry.absence)
      taskReturned(id, entry)
      returned.append(task)
    }
    if !returned.isEmpty { isVerified = false }
    return returned
  }

  /// The state of an unverified task that is external; `nil` if it is not.
  private func externalState(
    of entry: Entry, _ task: RetainedTask, _ owner: TaskOwner, _ isHeldBack: (UInt64) -> Bool
  ) -> State? {
    if entry.hasAsyncLets, TaskStatus.hasActiveAsyncLet(task.job, isHeldBack: isHeldBack),
      let absence = ExternalTaskRegistry.add(task, of: owner, onlyOwnerCanTell: true)
    {
      // The last job of the `async let` may have ended before the registry knew the task. Then no thread checks the
      // task.
      if TaskStatus.hasActiveAsyncLet(task.job, isHeldBack: isHeldBack) {
        return .awaitingAsyncLet(absence: absence)
      }
      ExternalTaskRegistry.remove(absence)
    }
    let status = TaskStatus(of: task.job)
    guard entry.mayHaveRun || status.mayRunExternally else { return nil }
    return ExternalTaskRegistry.add(task, of: owner, onlyOwnerCanTell: false)
      .map { .external(absence: $0) }
  }

  /// Stops waiting for all external tasks.
  ///
  /// Returns the ids of the tasks that have neither ended nor begun to sleep, in order; and tasks to release
  /// without a lock.
  mutating func abandon() -> (ids: [UInt64], released: [RetainedTask]) {
    var ids: [UInt64] = []
    var released: [RetainedTask] = []
    for old in entries.all {
      guard let task = old.task, old.isExternal || old.runs > 0 else { continue }
      ExternalTaskRegistry.remove(old.absence)
      var entry = Entry()
      if old.runs > 0 || TaskStatus.isAboutToRun(task.job) || old.hasAsyncLets {
        ids.append(task.id)
        entry = old
        entry.become(.abandoned)
        entry.task = nil
        entry.runs = 0
      }
      replace(task.id, by: entry)
      released.append(task)
    }
    unverified.removeAll { entries[$0].state != .unverified }
    awaitingAsyncLets = []
    changes += 1
    return (ids.sorted(), released)
  }

  /// Whether a task has an entry, and is over. O(1).
  func isOver(_ id: UInt64) -> Bool { entries[id].task?.isOver ?? false }

  /// Returns the state of a task. O(1).
  func state(of id: UInt64) -> State { entries[id].state }

  /// Stops the program if a count or a list contradicts the entries; for tests.
  func checkInvariants() {
    let all = entries.all
    let tasks = Set(all.filter { $0.state == .unverified }.compactMap(\.task?.id))
    precondition(tasks == Set(unverified.all), "an unverified task that is not checked")
    precondition(tasks.count == unverified.count, "a task that is checked twice")
    precondition(external == all.count(where: \.isOutstanding), "miscounted external tasks")
    precondition(running == all.count(where: \.isRunning), "miscounted running tasks")
    precondition(stopped == all.count { $0.state == .stopped }, "miscounted stopped tasks")
    let awaiting = all.filter { if case .awaitingAsyncLet = $0.state { true } else { false } }
    precondition(
      Set(awaiting.compactMap(\.task?.id)) == Set(awaitingAsyncLets)
        && awaiting.count == awaitingAsyncLets.count, "an async let that is not checked, or twice")
  }
}

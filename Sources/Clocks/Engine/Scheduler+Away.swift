/// Tasks of the test that are away.
extension Scheduler {
  /// Has a task looked at before the test counts as idle; it is in memory now.
  func suspect(_ task: TaskReference, hasAsyncLets: Bool = false) {
    guard let task = task.watchableHandle else { return }
    change { $0.awayTasks.suspect(task, hasAsyncLets: hasAsyncLets) }
  }

  /// Has a task looked at that is about to be resumed, if it may go on elsewhere.
  @inline(__always)
  func willResume(_ task: TaskReference) {
    if TaskStatus.isReadable, TaskStatus(of: task.job).hasPreference { suspect(task) }
  }

  /// Somebody's executor runs a task now.
  func runsElsewhere(_ task: TaskReference) {
    guard let task = task.watchableHandle else { return }
    change { state in
      if state.awayTasks.begins(task) { state.taskWentAway(task.id) }
    }
  }

  /// Somebody's executor has run a task.
  func ranElsewhere(_ task: UInt64) {
    // What the job left behind is looked at before the task counts as back.
    change { state in
      if state.awayTasks.ends(task) { state.taskCameBack(task) }
    }
  }

  /// The tasks that have been away for longer than `limit`, if there are some that were not known yet;
  /// nobody waits for them any more then. To be asked again and again. O(tasks that are away).
  func newAbsence(after limit: Duration) -> Absence? {
    // One may have come back where nobody saw it.
    takeBackTasks()
    return change { state in state.findAbsence(after: limit) }?.absence
  }

  /// Looks at the tasks that may be away.
  func lookAtSuspects() {
    // Whoever lets go of a task's last handle frees it: not under the lock.
    _ = change { state in
      AwayOwners.add(self)
      let released = state.lookAtSuspects()
      if state.awayTasks.isEmpty { AwayOwners.remove(self) }
      return released
    }
  }

  /// Looks whether tasks that were away have come back.
  func takeBackTasks() {
    _ = change { state in
      let released = state.takeBackTasks()
      if state.awayTasks.isEmpty { AwayOwners.remove(self) }
      return released
    }
  }
}

extension SchedulerState {
  fileprivate mutating func findAbsence(
    after limit: Duration
  ) -> (absence: Absence, released: [TaskHandle])? {
    let changes = awayTasks.isAnyAway ? awayTasks.changes : nil
    guard activity.findAbsence(after: limit, changes: changes) else { return nil }
    let (ids, count, released) = awayTasks.giveUp()
    idleness.away -= count
    return (Absence(tasks: ids), released)
  }

  fileprivate mutating func lookAtSuspects() -> [TaskHandle] {
    let (gone, released) = awayTasks.lookAtSuspects()
    for task in gone { taskWentAway(task) }
    return released
  }

  fileprivate mutating func takeBackTasks() -> [TaskHandle] {
    let (back, released) = awayTasks.takeBack()
    for task in back { taskCameBack(task) }
    return released
  }
}

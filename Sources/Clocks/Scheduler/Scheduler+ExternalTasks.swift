/// Tasks of the test that are away.
extension Scheduler {
  /// Has a task looked at before the test counts as idle; it is in memory now.
  ///
  /// - Parameter mayHaveRun: Whether it may have run elsewhere already.
  func noteMayRunExternally(
    _ task: UnownedTask, mayHaveRun: Bool = true, hasAsyncLets: Bool = false
  ) {
    guard let task = task.retainedIfReadable else { return }
    change {
      $0.externalTasks.noteMayRunExternally(
        task, mayHaveRun: mayHaveRun, hasAsyncLets: hasAsyncLets)
    }
  }

  /// Has a task looked at that is about to be resumed, if it may go on elsewhere.
  @inline(__always)
  func willResume(_ task: UnownedTask) {
    if TaskStatus.isKnownToBeReadable, TaskStatus(of: task.job).hasPreference {
      noteMayRunExternally(task)
    }
  }

  /// Somebody's executor runs a task now.
  func runsExternally(_ task: UnownedTask) {
    guard let task = task.retainedIfReadable else { return }
    change { state in
      if state.externalTasks.begins(task) { state.taskBecameExternal(task.id) }
    }
  }

  /// Somebody's executor has run a task.
  func ranExternally(_ task: UInt64) {
    // What the job left behind is looked at before the task counts as back.
    change { state in
      if state.externalTasks.ends(task) { state.taskReturned(task) }
    }
  }

  /// The tasks and the work that have been away for longer than `limit`, if there are some that were not known yet;
  /// then nobody waits for them any more, and the test goes on with `continueAfterAbsence`, so that it is not over
  /// before this is reported. To be asked again and again. O(tasks that are away).
  ///
  /// - Parameter isAnyRunning: Whether another test has something to run.
  func newAbsence(after limit: Duration, isAnyRunning: Bool = false) -> Absence? {
    // One may have come back where nobody saw it.
    ExternalTaskRegistry.look()
    return change { $0.findAbsence(after: limit, isAnyRunning: isAnyRunning) }.absence
  }

  /// What `newAbsence` has returned is reported.
  func continueAfterAbsence() { change { $0.idleness.away -= 1 } }

  /// Looks at the tasks that may be away.
  func recheckUnverifiedTasks() {
    // Whoever lets go of a task's last handle frees it: not under the lock.
    _ = change { state in
      let (gone, released) = state.externalTasks.look(for: self)
      for index in 0..<gone.count { state.taskBecameExternal(gone[index]) }
      return released
    }
  }
}

extension SchedulerState {
  /// What is given up, and handles to let go of without a lock.
  ///
  /// A task that is only quiet is not reported: it has come to its end, or to a sleep, long ago, and an
  /// actor's queue that has nothing to do with it takes its time.
  fileprivate mutating func findAbsence(
    after limit: Duration, isAnyRunning: Bool
  ) -> (absence: Absence?, released: [RetainedTask]) {
    // Work on queues keeps only those who wait.
    let isWorkAwaited = !work.isEmpty && (!requests.isEmpty || scope?.isOver == false)
    let changes =
      externalTasks.hasExternalTasks || isWorkAwaited ? externalTasks.changes &+ work.changes : nil
    guard activity.findAbsence(after: limit, changes: changes, isAnyRunning: isAnyRunning) else {
      return (nil, [])
    }
    let (ids, count, released) = externalTasks.abort()
    let queues = work.abort()
    idleness.away -= count + queues.count
    let isNews = !ids.isEmpty || !queues.isEmpty
    // In the place of all that was given up, until that is reported.
    if isNews { idleness.away += 1 }
    return (isNews ? Absence(tasks: ids, queues: queues) : nil, released)
  }
}

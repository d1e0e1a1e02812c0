import ClocksSupport

/// What a scheduler does only if it is that of a scope.
extension Scheduler {
  // MARK: - The scope's life

  /// The scope begins; the current task runs its body, and each job of it starts the counting of
  /// wakes anew.
  func beginScope() {
    let task = UnownedTask.current?.handle
    change { state in
      state.scope?.body.begin(task)
      state.runaway.rootTask = task?.id ?? 0
    }
  }

  /// The body has returned: time does not jump any more. Returns what went wrong.
  func endScope() -> ScopeProblem? {
    let end = change { $0.scope?.body.end() }
    return end?.problem
  }

  /// Waits until a report that is under way has been made.
  nonisolated(nonsending) func waitForReport() async {
    if change({ $0.scope?.body.isDone() ?? true }) { return }
    await withUnsafeContinuation { waiter in
      if change({ $0.scope?.body.isDone(waiter) ?? true }) { waiter.resume() }
    }
  }

  /// Reports what went wrong while the body still runs, although it was cancelled; and cancels all tasks
  /// that are known, so that what it awaits may end.
  func reportOverdue(_ problem: ScopeProblem) {
    if let isLeft = scope?.isLeft {
      change { $0.isAbandoned = true }
      return isLeft(problem)
    }
    report.runInTest { [self] in
      report.record(describe(problem, isOverdue: true))
    }
    change { $0.scope?.body.tell() }?.resume()
    cancelSleepingTasks()
    for task in tasks { task.cancel() }
  }

  /// Notes that the scope's jobs have run for a while of real time.
  func ran(for duration: Duration) {
    let problem: ScopeProblem? = change { state in
      guard case .acting = state.idleness.thread else { return nil }
      return state.scope?.ran(for: duration)
    }
    if let problem { reportOverdue(problem) }
  }

  /// The scope has ended, and so have its tasks, as far as they could. What is left lives on in real
  /// time: tasks sleep on the runtime's clocks as they do elsewhere.
  func closeScope() {
    isVirtual = false
    change { $0.scope?.end() }
  }

  /// Remembers where the scope's tasks are, if something has gone wrong: before they are cancelled
  /// because of it.
  func noteProblem() {
    let isNeeded = change { state in
      state.scope.map { $0.body.beginDump(at: $0.virtualClock.now) } ?? false
    }
    guard isNeeded else { return }
    let dump = "".with(dumpUnlessOneOfMany)
    change { $0.scope?.noteProblem(dump) }
  }

  /// A report for the test's author.
  ///
  /// - Parameter isOverdue: Whether the operation was cancelled, and is not over yet.
  func describe(_ problem: ScopeProblem, isOverdue: Bool = false) -> String {
    let (now, dump) = change {
      ($0.scope?.body.problemTime ?? $0.scope?.virtualClock.now ?? .zero, $0.scope?.body.dump)
    }
    let text = problem.description(at: "\(now)")
    return (isOverdue ? text + "\n" + ScopeProblem.isOverdue : text) + (dump ?? "") + explanation
  }

  /// Keeps time from jumping, until `endHold`.
  ///
  /// - Parameter isUnlimited: Whether nobody else sees to it that it comes to an end.
  func beginHold(isUnlimited: Bool = false) {
    change { state in
      state.scope?.pace.holds += 1
      if isUnlimited {
        state.scope?.pace.unlimitedHolds += 1
        state.order.chooser?.asked(.outsideWork)
      }
    }
  }

  func endHold(isUnlimited: Bool = false) {
    change { state in
      state.scope?.pace.holds -= 1
      if isUnlimited { state.scope?.pace.unlimitedHolds -= 1 }
    }
  }

  // MARK: - The runtime's clocks

  /// Takes over a sleep of the current task on a clock of the runtime's; or a task on its way to run,
  /// which an executor of somebody's delays.
  func sleepVirtually(_ delayed: DelayedJob) {
    guard let scope else { return }
    let job = ReadyJob(
      job: delayed.job, taskID: taskID(of: delayed.job), executor: .pool)
    let task = UnownedTask(job: delayed.task)
    let taskID = task.id
    // If the job is the task itself, an executor delays it; else the job is to wake the task.
    let isDelay = job.taskID == taskID
    let handle = isDelay ? nil : task.handle
    let details = SleepQueue<Duration>.Details(
      registered: .zero, task: task, taskID: taskID, clock: delayed.clock, tolerance: nil)
    let name = taskID == UnownedTask.currentID ? UnownedTask.currentName : nil
    if ThreadContext.current?.pointee.owner == nil {
      waitForCurrentJobAndTask()
    } else if ThreadContext.current?.pointee.owner !== self {
      // In the queue of an actor that is at work for another test.
      taskMayRunExternally(delayed.task)
    }
    let (fulfilled, news): ([SleepsWaiter], SleepNews<Duration>?) = change { state in
      let virtualClock = scope.virtualClock
      let deadline = saturatingSum(virtualClock.now, delayed.delay)
      guard deadline > virtualClock.now else {
        state.jobIsReady(job, isFromOutside: false)
        return ([], nil)
      }
      var details = details
      details.registered = virtualClock.now
      let sleep = virtualClock.sleeps.add(
        .job(job), until: deadline, name: name, details: details)
      if let handle {
        state.scope?.runtimeSleeps.begin(sleep, of: handle)
      } else {
        state.scope?.runtimeSleeps.beginDelay(sleep, of: taskID)
        state.externalTasks.isDelayed(taskID)
      }
      state.order.chooser?.sleepBegins(sleep.number, of: taskID)
      if state.listener != nil {
        state.note(.sleepRegistered(number: sleep.number, task: taskID, until: deadline))
      }
      let news =
        virtualClock.listeners.isEmpty || isDelay
        ? nil
        : SleepNews(
          sleep: .init(deadline: deadline, number: sleep.number, taskName: name, details: details),
          listeners: virtualClock.listeners)
      return (virtualClock.takeFulfilledWaiters(), news)
    }
    news?.tell()
    for waiter in fulfilled { waiter.succeed() }
  }

  /// What the system's clocks read for the scope's tasks at this moment; `nil` if that is what they
  /// read for all.
  var systemClocks: SystemClocks? {
    guard let scope, isVirtual else { return nil }
    let (now, dateOffset) = change { (scope.virtualClock.now, $0.scope?.dateOffset ?? .zero) }
    return scope.start.advanced(by: now, andDateBy: dateOffset)
  }

  /// What a clock of the system reads for the scope's tasks; `nil` if that is what it reads for all.
  func virtualReading(of clock: clockid_t, isDate: Bool) -> timespec? {
    guard let scope, isVirtual, !isDate || scope.options.freezesDate else { return nil }
    let (now, dateOffset) = change { (scope.virtualClock.now, $0.scope?.dateOffset ?? .zero) }
    return scope.start.reading(
      of: clock, after: isDate ? saturatingSum(now, dateOffset) : now)
  }

  /// What `Date()` reads for the scope's tasks, as the time since 1970.
  var date: Duration {
    get {
      guard let scope else { return .zero }
      let passed = change { scope.virtualClock.now + ($0.scope?.dateOffset ?? .zero) }
      return scope.start.sinceEpoch + passed
    }
    set {
      guard let scope else { return }
      change { state in
        state.scope?.dateOffset = newValue - scope.start.sinceEpoch - scope.virtualClock.now
      }
    }
  }

  // MARK: - Left-over sleeps

  /// The sleeps that are pending, in the order in which they would wake.
  var pendingSleeps: [SleepQueue<Duration>.Pending] {
    guard let virtualClock = scope?.virtualClock else { return [] }
    return change { _ in virtualClock.sleeps }.pending
  }

  /// Cancels every task that sleeps.
  func cancelSleepingTasks() {
    guard let virtualClock = scope?.virtualClock else { return }
    // A task that sleeps is not over while the lock is held: then it is kept.
    let tasks = change { _ in virtualClock.sleeps.pending.compactMap(\.details.task?.handle) }
    for task in tasks {
      task.cancel()
      change { state in
        guard let job = state.scope?.runtimeSleeps.endDelay(of: task.id, on: virtualClock) else {
          return
        }
        state.externalTasks.isNotDelayed(task.id)
        state.jobIsReady(job, isFromOutside: false)
      }
    }
  }

  /// Runs the jobs of sleeps whose tasks were cancelled before they were suspended, and have gone on.
  func runEndedSleeps() {
    change { state in
      for job in state.scope?.runtimeSleeps.takeEnded() ?? [] {
        state.jobIsReady(job, isFromOutside: false)
      }
    }
  }

  // MARK: - Acting

  /// Ends the sleeps whose tasks were cancelled before they were suspended.
  func inspect(_ sleeps: [BegunSleep]) {
    let cancelled = sleeps.filter(\.task.isCancelled)
    guard !cancelled.isEmpty, let virtualClock = scope?.virtualClock else { return }
    change { state in
      for sleep in cancelled { state.scope?.runtimeSleeps.endCancelled(sleep, on: virtualClock) }
    }
  }

  func setAlarm(_ alarm: Action.Alarm) {
    scope?.alarmClock.set(alarm.number, in: alarm.duration)
  }

  func alarmRings(_ number: Int) {
    let isAnyBusy = Scheduler.isAnyBusy
    switch change({ $0.alarmRings(number, isAnyBusy: isAnyBusy) }) {
    case .nothing: break
    case .again(let alarm): setAlarm(alarm)
    case .report(let problem): reportOverdue(problem)
    }
  }
}

import ClocksSupport

extension Scheduler {
  /// Waits for a report that the body does not return, and for an inspection of the tasks, if either is due.
  nonisolated(nonsending) func waitForReport() async {
    await withUnsafeContinuation { waiter in
      if change({ $0.scope?.body.isDone(waiter) ?? true }) { waiter.resume() }
    }
  }

  /// Reports the problem of a scope whose body was cancelled and still runs.
  ///
  /// Then abandons the scope if it is explored. Otherwise cancels all known tasks, so that the body's wait may end.
  func reportOverdue(_ problem: ScopeProblem) {
    // The thread that would have inspected the tasks may be blocked, so they are inspected here.
    noteProblem()
    if scope?.options.isExplored == true {
      report.record(describe(problem))
      abandonScope()
      // A test of XCTest cannot be abandoned. If its method returns after all, its scope ends.
      change { $0.isAbandoned ? nil : $0.scope?.body.deliverReport() }?.resume()
      return
    }
    report.runInTest { [self] in
      report.record(describe(problem, isOverdue: true))
    }
    noteReport()
    change { $0.scope?.body.deliverReport() }?.resume()
    // The thread of the scheduler may run meanwhile, and an `async let` is freed when it ends. Its parent is among
    // `tasks`.
    cancelSleepingTasks { !TaskStatus.isAsyncLet($0.job) }
    for task in tasks { task.cancel() }
    // If the body does not end even now, the next alarm makes the scheduler abandon it.
    change { $0.scope?.mustSetAlarm = true }
  }

  /// Abandons this scope and those around it, up to the first whose caller can continue without the body. Does nothing
  /// if there is none.
  func abandonScope() {
    let outward = Array(sequence(first: self) { $0.parent })
    guard let last = outward.firstIndex(where: { $0.scope?.whenAbandoned != nil }) else { return }
    for scheduler in outward[...last] {
      scheduler.change { $0.abandon() }?.isResumed.signal()
      scheduler.leaveTestAround()
    }
    outward[last].scope?.whenAbandoned?()
  }

  /// Adds `duration` to the time for which the scope has run.
  func ran(for duration: Duration) {
    var mustInspect = false
    let action: Action? = change { state in
      guard let scope = state.scope, !scope.isOver else { return nil }
      guard scope.body.isRunning else { return state.endWait(after: duration) }
      guard scope.body.isToBeCancelledForTime else { return scope.ran(for: duration) }
      // The scope was not idle since the last check, so the tasks were not cancelled.
      mustInspect = scope.body.beginDump(at: scope.virtualClock.now)
      return .cancel(scope.body.takeToCancel())
    }
    if mustInspect { inspectAtProblem() }
    perform(action)
  }

  /// Performs an action that any thread may perform.
  func perform(_ action: Action?) {
    switch action {
    case .rest(let alarm?): setAlarm(alarm)
    case .report(let problem): reportOverdue(problem)
    case .abandon: abandonScope()
    case .cancel(let tasks): cancel(tasks)
    case .finish(let continuation, let isOwn):
      if isOwn { willResume(UnownedTask(continuation)) }
      continuation.resume()
    default: break
    }
  }

  /// Cancels the tasks that are to be cancelled because of a problem.
  func cancel(_ tasks: [RetainedTask]) {
    noteProblem()
    for task in tasks { task.cancel() }
  }

  /// Ends the scope. Its leftovers sleep in real time, or belong to the next test whose job resumes them.
  func closeScope() {
    isOver = true
    change { $0.scope?.isOver = true }
    leaveTestAround()
    ThreadWaits.testIsOver(of: self)
    // Other threads may have added callbacks and sleeps since the leftovers were ended.
    handBack()
  }

  /// Returns the text of a failure. `isOverdue` says whether the body was cancelled and has not returned.
  func describe(_ problem: ScopeProblem, isOverdue: Bool = false) -> String {
    let (now, isReady, dump) = change {
      (
        $0.scope?.body.problemTime ?? $0.scope?.virtualClock.now ?? .zero,
        $0.scope?.body.hadReadyTask == true, $0.scope?.body.dump
      )
    }
    let text = problem.description(
      at: "\(now)", hasReadyTask: isReady, isUnedited: scope?.options.isUnedited == true)
    return (isOverdue ? text + "\n" + ScopeProblem.isOverdue : text) + (dump ?? "") + explanation
  }

  /// Keeps time from jumping until `endHold`. `isUnlimited` says whether no deadline ends the operation.
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
      guard let scope = state.scope else { return }
      scope.pace.holds -= 1
      if isUnlimited { scope.pace.unlimitedHolds -= 1 }
      // During the hold, no alarm was set, or one rang without effect, or the alarm is for the hold. A thread outside
      // the scope may end the hold while the scope is idle, so an alarm is needed now.
      if state.isAlarmMissing { scope.mustSetAlarm = true }
    }
  }

  /// Takes over an un-injected sleep of the current task, or a task that an executor delays.
  func sleepVirtually(_ delayed: DelayedJob) {
    guard let scope else { return }
    let job = ReadyJob(job: delayed.job, taskID: taskID(of: delayed.job), executor: .pool)
    let task = UnownedTask(job: delayed.task)
    let taskID = task.id
    // If the job is the task itself, an executor delays it; otherwise the job wakes the task.
    let isDelay = job.taskID == taskID
    // The job that ends a `Task.sleep(_:)` belongs to no task. Cancelling the sleeping task does not end such a sleep.
    let endsOnlyByJob = isDelay || job.taskID == 0
    let name = !task.isKnownToBeNameless && task.isCurrent ? UnownedTask.currentName : nil
    let context = ThreadContext.current
    if context?.pointee.owner == nil {
      waitForCurrentJobAndTask()
    } else if context?.pointee.owner !== self {
      // The task runs in an actor drain that works for another test.
      taskMayRunExternally(delayed.task)
    }
    var isOver = false
    let notify: (() -> Void)? = change { state in
      // Another thread may have closed the scope after the hooks had found that the task's time is virtual.
      guard state.scope?.isOver == false else {
        isOver = true
        return nil
      }
      let virtualClock = scope.virtualClock
      let deadline = saturatingSum(virtualClock.now, delayed.delay)
      guard deadline > virtualClock.now else {
        state.jobIsReady(job, isFromOutside: false)
        return nil
      }
      let details = SleepQueue.Details(
        registered: virtualClock.now, task: task, taskID: taskID, clock: delayed.clock)
      let sleep = virtualClock.sleeps.add(
        .job(job), until: deadline, name: name, details: details)
      let over: ReadyJob?
      if endsOnlyByJob {
        state.idleness.externalTasks.mayHaveChanged()
        over = state.scope?.runtimeSleeps.beginDelay(sleep, of: taskID)
      } else {
        over = state.scope?.runtimeSleeps.begin(sleep, of: task, taskID)
      }
      if let over { state.makeReady(over) }
      if state.isObserved { state.sleepBegan(sleep.number, of: taskID, until: deadline) }
      guard virtualClock.isAwaited else { return nil }
      return virtualClock.news(
        of: isDelay
          ? nil
          : .init(deadline: deadline, number: sleep.number, taskName: name, details: details))
    }
    notify?()
    if isOver { RuntimeHooks.runElsewhere(delayed.job, after: delayed.delay) }
  }

  /// A line for each pending sleep of the scope. Those on one clock are in wake order.
  var pendingLines: [String] {
    change { $0.virtualClocks.map { $0.lines(ofTasksOf: self) } }.flatMap { lines in lines() }
  }

  /// Cancels the tasks that sleep on the scope's clock, and the scope's tasks that sleep on another clock made in it.
  ///
  /// - Parameter isIncluded: Must leave out each `async let`, which cannot be retained, if other threads may run jobs
  ///   of the scheduler meanwhile.
  func cancelSleepingTasks(where isIncluded: (UnownedTask) -> Bool = { _ in true }) {
    guard let virtualClock = scope?.virtualClock else { return }
    // A task that sleeps is not over while the lock is held, so it can be retained.
    let tasks = change {
      $0.virtualClocks.flatMap {
        $0.sleeps(ofTasksOf: self).compactMap(\.details.task).filter(isIncluded).map(\.handle)
      }
    }
    for task in tasks {
      task.cancel()
      change { state in
        if let job = state.scope?.runtimeSleeps.endDelay(of: task.id, on: virtualClock) {
          state.jobIsReady(job, isFromOutside: false)
        }
      }
    }
  }

  /// Makes the jobs ready that `RuntimeSleeps` keeps for tasks that were cancelled early and have continued.
  func runEndedSleeps() {
    change { state in
      for job in state.scope?.runtimeSleeps.takeCancelledEarly() ?? [] {
        state.jobIsReady(job, isFromOutside: false)
      }
    }
  }

  /// Takes over a callback, which begins when the scope's time has moved by `delay`. Returns whether it does.
  ///
  /// Returns `false` when the scope is over, and during a `holding` without a deadline, because the held operation may
  /// wait for the callback.
  func begin(_ callback: TimedCallback, after delay: Duration) -> Bool {
    guard let scope else { return false }
    let fulfilled: [SleepsWaiter]? = change { state in
      guard state.scope?.isOver == false, state.scope?.pace.unlimitedHolds == 0 else { return nil }
      let virtualClock = scope.virtualClock
      // Thread B may set the date after thread A has read it to find the delay.
      let date = callback.date.map { saturatingDifference($0, scope.start.sinceEpoch) }
      let deadline =
        date.flatMap { state.scope?.instant(of: $0) } ?? saturatingSum(virtualClock.now, delay)
      let details = SleepQueue.Details(
        registered: virtualClock.now, task: nil, clock: .dispatch)
      let sleep = virtualClock.sleeps.add(
        .work(callback), until: deadline, name: callback.name, details: details)
      state.scope?.timedCallbacks[ObjectIdentifier(callback)] = PendingCallback(
        sleep: sleep, details: details, date: date)
      state.order.chooser?.timedCallbackWaits(sleep.number, callback.name)
      return virtualClock.takeFulfilledWaiters()
    }
    guard let fulfilled else { return false }
    if !fulfilled.isEmpty {
      // The waiters are resumed on another thread, because the caller may hold a lock.
      RuntimeHooks.startThread(on: .pool) {
        for waiter in fulfilled { waiter.succeed() }
      }
    }
    return true
  }

  /// Lets timed callbacks and un-injected sleeps end in real time, after the rest of their durations. O(n²).
  ///
  /// - Parameter onlyCallbacks: Whether un-injected sleeps stay pending in virtual time.
  func handBack(onlyCallbacks: Bool = false) {
    guard let virtualClock = scope?.virtualClock else { return }
    let taken = change { state in
      state.scope?.timedCallbacks = [:]
      return virtualClock.sleeps.pending.compactMap { sleep -> (Sleeper, rest: Duration)? in
        let clock = sleep.details.clock
        guard clock == .dispatch || (!onlyCallbacks && clock != .test) else { return nil }
        return virtualClock.sleeps.remove(sleep.number).map {
          ($0, max(.zero, sleep.deadline - virtualClock.now))
        }
      }
    }
    for (sleeper, rest) in taken {
      switch sleeper {
      case .work(let callback): callback.handBack(rest)
      case .job(let job): RuntimeHooks.runElsewhere(job.job, after: rest)
      case .continuation: break
      }
    }
  }

  func setAlarm(_ alarm: Action.Alarm) {
    scope?.alarmClock.set(alarm.number, in: alarm.duration)
  }

  func alarmRings(_ number: Int) {
    let isThreadAwaited = isThreadAwaitedInTest
    var others = AutoAdvance.Others(
      areBusy: !isThreadAwaited && Scheduler.isAnyBusy, awaitThread: isThreadAwaited,
      isAbandonedBlockRunning: scope?.options.isUnedited == true
        && OutsideWork.isAnyRunning(abandonedThreads))
    if let parent {
      others.progressAround = sequence(first: parent, next: \.parent).reduce(0) { sum, scheduler in
        sum &+ scheduler.change { $0.activity.count }
      }
    }
    let action = change { state in
      others.withheld = state.scope?.pace.alarm?.set.withheld ?? .zero
      return state.alarmRings(number, others)
    }
    perform(action)
  }

  /// Whether any scheduler of this test has a job but no thread yet: the test's own, or that of a scope within it.
  private var isThreadAwaitedInTest: Bool {
    let test = outermost
    return Scheduler.all.contains {
      $0.outermost === test && $0.change { $0.idleness.isThreadRequested }
    }
  }

  /// The scheduler of the test that the scope is a part of, which is not itself a part of another.
  var outermost: Scheduler { parent?.outermost ?? self }
}

import ClocksDrawing

extension SchedulerState {
  /// Takes a job that became ready.
  ///
  /// The other arguments say whether something outside the scope, or outside the whole test, made it ready, and whether
  /// its task is cancelled.
  @_transparent
  mutating func jobIsReady(
    _ job: ReadyJob, isFromOutside: Bool, isFromOutsideTest: Bool = false,
    isOfCancelledTask: Bool = false
  ) {
    if isAbandoned { return }
    if idleness.externalTasks.areArrivalsAwaited {
      switch idleness.externalTasks.jobArrived(of: job.taskID) {
      case .ofKnownTask: break
      case .ofReturningTask(let wasSeen): taskReturned(job.taskID, wasSeenExternal: wasSeen)
      case .ofStoppedTask: return
      }
    }
    if let scope {
      if endSleep(of: job.taskID) {
        // The task was cancelled, so it does not matter what made it ready.
      } else if isFromOutsideTest {
        scope.jobArrivedFromOutside(job)
      } else if isOfCancelledTask {
        scope.jobOfCancelledTaskArrived(job)
      }
      scope.pace.somethingHappens()
      if isFromOutside { idleWaiters.jobCameFromOutside() }
    }
    makeReady(job, isFromOutside: isFromOutside)
  }

  /// Ends the un-injected sleep of a task that runs or is ready, if the task still counts as asleep. Returns whether it
  /// did.
  @discardableResult
  @_transparent
  mutating func endSleep(of task: UInt64) -> Bool {
    guard let scope, let over = scope.runtimeSleeps.taskBecameReady(task, on: scope.virtualClock)
    else { return false }
    makeReady(over)
    scope.waitsForTime(task)
    return true
  }

  /// Takes the job of a task that the scheduler's thread just resumed. Amortized O(1).
  @_transparent
  mutating func take(_ job: ReadyJob) {
    if isObserved { note(RecordedEvent(.enqueued, task: job.taskID)) }
    jobIsReady(job, isFromOutside: false)
  }

  @_transparent
  mutating func makeReady(_ job: ReadyJob, isFromOutside: Bool = false) {
    idleness.ready.append(job)
    if isObserved { order.chooser?.jobIsReady(job, isFromOutside: isFromOutside) }
  }

  /// Makes a job ready again that was about to start.
  ///
  /// The job becomes the first ready one, because jobs of the main thread keep their order. But if there is a chooser,
  /// the job becomes the last one: the chooser noted that the job began.
  @inline(never)
  mutating func putBack(_ job: ReadyJob) {
    if order.chooser == nil { idleness.ready.prepend(job) } else { makeReady(job) }
  }

  mutating func append(_ waiter: IdleWaiter) {
    idleWaiters.append(waiter)
    runaway.testIsIdle()
  }

  /// Moves a clock's time while a job runs, if the test is idle apart from that job and no sleep is due by then.
  /// Returns whether it does.
  ///
  /// Never does so in a scope, in a recorded test, or while a task waits until the test is idle. Does so at most 64
  /// times in one job. Then the job has to end, so that other tests run and the watchdog sees progress. A job that was
  /// abandoned moves no time, because it runs beside the others.
  mutating func moveTime(
    of virtualClock: VirtualClock, by duration: Duration, inJobOf task: UInt64
  ) -> Bool {
    guard movesInJob < 64, scope == nil, !isObserved, idleWaiters.isEmpty,
      idleness.isIdleApartFromJob, activity.running?.task == task
    else { return false }
    let target = virtualClock.instant(after: duration)
    guard !virtualClock.sleeps.isAnyDue(by: target) else { return false }
    virtualClock.move(to: target)
    movesInJob += 1
    return true
  }

  /// - Parameter isProgress: `false` for a thread that pauses again and again while it waits in a run loop.
  mutating func externallyStartedJobEnded(isProgress: Bool = true) {
    idleness.externallyStartedJobEnded(
      isOnMain: idleness.mayEndOnMain && RuntimeHooks.isOnMainQueue)
    if isProgress { activity.externallyStartedJobEnded() }
    // Without progress, an alarm that is under way continues. If each pause set it again, it would never ring.
    if isProgress || isAlarmMissing { scope?.mustSetAlarm = true }
  }

  /// Whether an alarm has to be set: there is none, or its purpose is no longer the current one. An alarm for a pause
  /// is left: it is short.
  var isAlarmMissing: Bool {
    guard let scope, let alarm = scope.pace.alarm else { return true }
    guard alarm.reason != .pause, let reason = scope.alarmReason(isAwaited: isTimeAwaited) else {
      return false
    }
    return alarm.reason != reason
  }

  /// Whether a sleep or an observer waits for the scope's time to move.
  var isTimeAwaited: Bool {
    scope.map { $0.virtualClock.sleeps.count > 0 } == true || !idleWaiters.observers.isEmpty
  }

  mutating func dispatchedBlockBegan(on queue: BlockQueue, isBarrier: Bool = false) -> UInt64 {
    scope?.pace.somethingHappens()
    // The block runs in parallel with the test's jobs. An isolated deinit does so only if a thread of another test runs
    // it.
    if queue != .isolatedDeinit, let chooser = order.chooser { chooser.asked(.outsideWork) }
    let number = idleness.dispatchedBlocks.begin(on: queue, isBarrier: isBarrier)
    if let scope, scope.scope.options.isUnedited, runaway.blockBegins() {
      runaway.testIsIdle()
      if scope.passTime(runaway.pauses) { leaveOutBlocks() }
    }
    return number
  }

  /// Lets time move by one step, if only blocks and external tasks keep it from moving.
  @inline(never)
  private mutating func leaveOutBlocks() {
    idleness.leaveOutParallelWork()
    if !idleness.isQuiet { idleness.countEverything() }
  }

  /// Notes that a requested thread arrived. Returns the number with which it acts; `nil` if it must not act.
  mutating func requestedThreadBegins(
    on executor: ExecutorKind, after nanoseconds: UInt64
  ) -> Int? {
    guard let number = idleness.requestedThreadBegins(on: executor) else { return nil }
    activity.waitedForThread(nanoseconds: nanoseconds)
    guard isAbandoned else { return number }
    // The test was abandoned since the request.
    idleness.thread = .none
    return nil
  }

  /// Returns the record of the block for the next owner of the test case; `nil` if there is none.
  @discardableResult
  mutating func dispatchedBlockEnded(_ number: UInt64) -> UnownedBlock? {
    let unowned = idleness.dispatchedBlocks.unowned(number)
    idleness.dispatchedBlockEnds(number)
    idleness.externalTasks.mayHaveChanged()
    scope?.pace.somethingHappens()
    scope?.mustSetAlarm = true
    return unowned
  }

  func taskBecameExternal(_ task: UInt64) {
    if recorder != nil { note(RecordedEvent(.becameExternal, task: task)) }
  }

  func taskReturned(_ task: UInt64, wasSeenExternal: Bool = true) {
    scope?.mustSetAlarm = true
    if wasSeenExternal, recorder != nil { note(RecordedEvent(.returned, task: task)) }
  }

  /// Does nothing while the test is not idle: a new alarm is set when the test is idle again.
  mutating func alarmRings(_ number: Int, _ others: AutoAdvance.Others) -> Action? {
    guard let scope else { return nil }
    guard idleness.isIdle else {
      scope.pace.alarmIsMissed(number)
      return nil
    }
    var others = others
    others.mayAwaitScope = idleness.isMainTaken || !scope.pausedTasks.isEmpty
    return scope.alarmRings(number, others)
  }

  // MARK: - When the test cannot continue

  /// Aborts the next wait, or else the scope's body: the test never becomes idle. Returns `nil` if the test continues.
  @inline(never)
  mutating func abort(_ reason: Runaway, because culprit: ReadyJob? = nil) -> Action? {
    runaway.testIsIdle()
    if let scope, scope.scope.options.isUnedited {
      if case .jobs = reason { return scope.passTime(runaway.pauses) ? jump() : nil }
      if case .steps = reason {
        // Each step that a chooser orders takes memory. From here on, the test runs first in, first out.
        order = Order()
        return nil
      }
    }
    runaway.waitEnds()
    let next = idleWaiters.first(scopeMovesTime: scope?.movesTime ?? false)
    if let waiter = next ?? idleWaiters.observers.first {
      waiter.culprit = culprit?.task
      return end(waiter, reason)
    }
    guard let scope else { return nil }
    return scope.body.abort(.runaway(reason), culprit: culprit?.task)
      ?? (scope.body.toCancel.isEmpty ? nil : .cancel(scope.body.takeToCancel()))
  }

  /// Cancels the body of an explored scope that is deadlocked. If that was done before, reports the first problem.
  @inline(never)
  mutating func endDeadlock() -> Action {
    guard let scope else { return .rest(nil) }
    return scope.body.abort(.deadlock(pending: scope.virtualClock.pendingLines))
      ?? .cancel(scope.body.takeToCancel())
  }

  /// Abandons the test: from now on none of its jobs runs. Returns the main thread, if it is parked.
  mutating func abandon() -> ParkedThread? {
    isAbandoned = true
    heldThreadWhenAbandoned = activity.isRunningReportedJob(idleness)
    activity.jobHasEnded()
    idleness.changeMainQueueOrder { $0.submitAll() }
    idleness.abandonRunning()
    return scope?.parkedThreads.values.first(where: \.isMain)
  }

  // MARK: - Notifications

  @_transparent
  func note(_ event: RecordedEvent) { recorder?.record(event) }

  /// Notes that a task was created. If `isSuspended`, it has not begun to run, so its name can be read.
  @inline(never)
  func taskWasCreated(_ task: UnownedJob, by creator: UInt64, isSuspended: Bool) {
    let id = taskID(of: task)
    order.chooser?.taskWasCreated(id)
    note(RecordedEvent(.created, task: id, other: creator))
    if isSuspended { recorder?.see(task, id) }
  }

  /// Notes that a sleep began; the deadline is `nil` if the clock's durations are of a custom type.
  @inline(never)
  func sleepBegan(_ number: UInt64, of task: UInt64, until deadline: Duration?) {
    order.chooser?.sleepBegins(number, of: task)
    if recorder != nil { note(RecordedEvent(.slept, task: task, time: deadline)) }
  }

  @inline(never)
  func sleepWoke(_ number: UInt64, of task: UInt64) {
    order.chooser?.sleepWakes(number, of: task)
    note(RecordedEvent(.woken, task: task))
  }

  func sleepWasCancelled(of task: UInt64) {
    if recorder != nil { note(RecordedEvent(.cancelled, task: task)) }
    scope?.waitsForTime(task)
  }

  /// Notes that the time of a clock was `before`, and whether a sleep was removed because it wakes.
  @inline(never)
  func noteTime(since before: Duration?, on virtualClock: VirtualClock?, hasWoken: Bool) {
    let now = virtualClock?.time
    if now != before { note(RecordedEvent(.timeMoved, time: now)) }
    if hasWoken, let removed = virtualClock?.sleeps.removed {
      sleepWoke(removed.number, of: removed.task)
    }
  }

  /// Stops the program if a part of the state is inconsistent; for tests.
  func checkInvariants() {
    idleness.checkInvariants()
    idleWaiters.checkInvariants()
    scope?.pace.checkInvariants()
    scope?.virtualClock.sleeps.checkInvariants()
  }
}

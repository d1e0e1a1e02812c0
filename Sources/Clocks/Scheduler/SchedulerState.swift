import ClocksDrawing
import ClocksSupport

/// All that a scheduler knows, and its decisions on what comes next.
///
/// The state starts no thread, runs no job and resumes no task. It takes only locks that rank above the scheduler's,
/// such as that of `Recorder`. Virtual clocks, scopes and waiters are parts of it. Neither the state nor a large part
/// is ever copied: a debug build would make a copy for each query.
struct SchedulerState: ~Copyable {
  var idleness = Idleness()
  var liveTasks = LiveTasks()
  var idleWaiters = IdleWaiters()
  var runaway = RunawayGuard()
  var activity = ProgressTracker()
  var runningTime = RunningTime()
  var testLifetime = TestLifetime()
  /// The virtual clocks of the test, apart from that of a scope.
  var clocks = ClockRegistry()
  /// The state that a scope adds; `nil` unless the test's time is virtual throughout.
  let scope: ScopeState?
  /// Whether the scope was abandoned although its body has not ended. Then none of its jobs runs any more.
  var isAbandoned = false
  var nesting = Nesting()
  var formerJob: FormerJob?
  /// Whether a reported job held its thread when the scope was abandoned.
  var heldThreadWhenAbandoned = false
  /// The latest failure that was recorded because the test does not continue.
  var stuckReport: StuckReport?
  var forgottenAdvances = ForgottenAdvances()
  /// Where an XCTest test last made or used a clock, and in which test.
  var latestUse: (place: CallSite, xcTest: UInt64)?
  var order = Order() {
    didSet { isObserved = recorder != nil || order.chooser != nil }
  }
  /// How often the running job has moved time.
  var movesInJob = 0
  /// The candidates of the latest decision, kept for their memory.
  var keptCandidates = ScratchBuffer<Candidate>()
  /// Records the test's events; `nil` nearly always.
  var recorder: Recorder? {
    didSet { isObserved = recorder != nil || order.chooser != nil }
  }
  /// Whether there is a recorder or a chooser. Stored, because a debug build retains both to compare them with `nil`.
  private(set) var isObserved = false

  init(scope: Scope? = nil) {
    self.scope = scope.map(ScopeState.init)
    if let scope { runaway.limits = scope.options.limits }
  }

  /// Decides what the scheduler's thread does next.
  ///
  /// - Parameters:
  ///   - mayStay: Whether the thread may continue with this test; if not, it lets other tests run first.
  ///   - runsWoken: Whether `Action.wakeAndRun` may be returned, if no other job can come first and events are not
  ///     observed.
  mutating func next(
    on executor: ExecutorKind, mayStay: Bool, thread number: Int = 0, runsWoken: Bool = false
  ) -> Action {
    // This thread no longer acts, because its job was abandoned, became parallel or paused.
    guard number == idleness.threadNumber else {
      idleness.abandonedJobEnded(on: number)
      parallelJobEnded(on: number)
      return .rest(nil)
    }
    idleness.thread = .none  // The calling thread no longer keeps the test from being idle.
    endJob()
    let action = decide(on: executor, mayStay: mayStay, runsWoken: runsWoken)
    switch action {
    case .rest: break
    case .move(let executor): idleness.requestThread(on: executor)
    case .verify: idleness.thread = .acting
    default:
      idleness.thread = .acting
      idleness.externalTasks.mayHaveChanged()
    }
    return action
  }

  @_transparent
  private mutating func decide(on executor: ExecutorKind, mayStay: Bool, runsWoken: Bool) -> Action
  {
    guard idleness.mayStartJob else { return .rest(nil) }
    if scope?.runtimeSleeps.haveBegun == true, let released = endCancelledSleeps() {
      return .release(released)
    }
    if !idleness.ready.isEmpty { return startJob(on: executor, mayStay: mayStay) }
    guard idleness.isQuiet else { return .rest(nil) }
    if mustVerify {
      idleness.isAsked = false
      return .verify
    }
    runaway.testIsIdle()
    switch turn {
    case .cancellation: return .cancel(scope!.body.takeToCancel())
    case .waiter(let waiter): return serve(waiter, runsWoken: mayStay && runsWoken)
    case .jump: return jump()
    case nil:
      if scope?.isDeadlocked == true { return endDeadlock() }
      return .rest(scope?.setAlarm(isAwaited: isTimeAwaited))
    }
  }

  /// Requests a thread if one is needed and there is none: the caller starts one on the returned executor kind.
  @_transparent
  mutating func claimThread() -> ExecutorKind? {
    guard idleness.mayStartJob else { return nil }
    return claimNeededThread()
  }

  @inline(never)
  private mutating func claimNeededThread() -> ExecutorKind? {
    guard !isAbandoned, !idleness.ready.isEmpty || (idleness.isQuiet && canAct) else { return nil }
    // A parked job keeps its thread, which may be the main thread.
    let executor =
      idleness.ready.isEmpty || idleness.ready.withholdsMain
        || scope?.parkedThreads.isEmpty == false
      ? .pool : idleness.ready[0].executor
    idleness.requestThread(on: executor)
    return executor
  }

  /// Whether a thread has something to do when `Idleness.isQuiet` is true.
  private var canAct: Bool {
    turn != nil || mustVerify || scope?.isDeadlocked == true || scope?.mustSetAlarm == true
  }

  /// Whether unverified tasks are checked now.
  ///
  /// Only waits, scopes and `askWhetherIdle` need to know whether the test is idle. At other times a check could
  /// only do harm: a task whose job is about to end would be noted as external.
  @_transparent
  private var mustVerify: Bool {
    idleness.externalTasks.mustVerify && (scope != nil || idleness.isAsked || turn != nil)
  }

  /// Ends the sleeps of tasks that were cancelled before they were suspended. Returns these tasks, if any.
  @inline(never)
  private mutating func endCancelledSleeps() -> [RetainedTask]? {
    guard let scope, let ended = scope.runtimeSleeps.endCancelled(on: scope.virtualClock)
    else { return nil }
    for job in ended.jobs { makeReady(job) }
    return ended.tasks
  }

  @_transparent
  private mutating func startJob(on executor: ExecutorKind, mayStay: Bool) -> Action {
    isObserved && order.chooser != nil
      ? startChosen(on: executor, mayStay: mayStay)
      : startJob(at: 0, on: executor, mayStay: mayStay)
  }

  @inline(never)
  private mutating func startChosen(on executor: ExecutorKind, mayStay: Bool) -> Action {
    var position = 0
    if idleness.ready.count > 1 || mayOfferSleep {
      switch firstCandidate() {
      case .job(let chosen, _, _): position = chosen
      case .sleep(let number, let task):
        if let action = wakeDueSleep(number, of: task) { return action }
      case .early: return jump()
      case nil: break
      }
    }
    return startJob(at: position, on: executor, mayStay: mayStay)
  }

  @_transparent
  private mutating func startJob(at position: Int, on executor: ExecutorKind, mayStay: Bool)
    -> Action
  {
    let next = idleness.ready[position]
    // A parked job has a thread of its own.
    guard
      next.isParked || mayStay && next.executor == executor && !idleness.ready.isWithheld(position)
    else {
      return idleness.ready.isWithheld(position)
        ? startFirst(on: executor, mayStay: mayStay) : .move(to: next.executor)
    }
    let job = idleness.ready.remove(at: position)
    if isObserved { order.chooser?.jobBegins(job, at: position) }
    var reason = runaway.jobBegins(of: job.taskID)
    if isObserved, reason == nil { reason = order.chooser?.newRunaway() }
    if let reason, let action = abort(reason, because: job) {
      putBack(job)
      return action
    }
    if job.isParked { return resume(job) }
    if case .main = job.executor { idleness.mainJobBegins() }
    return start(job)
  }

  @inline(never)
  private mutating func startFirst(on executor: ExecutorKind, mayStay: Bool) -> Action {
    startJob(at: idleness.ready.first, on: executor, mayStay: mayStay)
  }

  @_transparent
  mutating func start(_ job: ReadyJob) -> Action {
    activity.jobBegins(of: job.taskID)
    scope?.jobBegins(of: job.taskID)
    if isObserved {
      note(RecordedEvent(.began, actor: job.executor == .main ? 1 : 0, task: job.taskID))
    }
    return .run(job)
  }

  mutating func endJob() {
    if isObserved, let task = activity.running?.task { note(RecordedEvent(.ended, task: task)) }
    activity.jobHasEnded()
    movesInJob = 0
  }

  // MARK: - When the test is idle

  enum Turn {
    /// The scheduler cancels the tasks in `ScopeBody.toCancel`.
    case cancellation
    case waiter(IdleWaiter)
    case jump
  }

  /// The next thing to do when the test is idle; `nil` if there is nothing. In this order:
  ///
  /// 1. tasks of a scope that are to be cancelled;
  /// 2. the waiters, in the order of `IdleWaiters.first`;
  /// 3. if time may jump in a scope: the first observer, or if there is none, the earliest sleep.
  @_transparent
  var turn: Turn? {
    if let scope, scope.body.toCancel.count > 0 { return .cancellation }
    if let waiter = idleWaiters.first(scopeMovesTime: scope?.movesTime ?? false) {
      return .waiter(waiter)
    }
    guard let scope, mayJump(in: scope) else { return nil }
    if idleWaiters.observers.count > 0 { return .waiter(idleWaiters.observers[0]) }
    return scope.virtualClock.hasSleeps ? .jump : nil
  }

  @_transparent
  private mutating func serve(_ waiter: IdleWaiter, runsWoken: Bool) -> Action {
    // `IdleProcess` may have left out parallel work so that time jumps once. The wait takes the place of that jump.
    if scope != nil { idleness.countEverything() }
    if case .advance = waiter.kind, let reason = runaway.tooManyWakes { return end(waiter, reason) }
    let before = isObserved ? waiter.movedClock?.time : nil
    // An observer moves time up to its limit. A task may wait for external work meanwhile, as before a jump.
    let start = if case .observe = waiter.kind { scope?.virtualClock.now } else { nil as Duration? }
    let waited = activity.nanosecondsWithoutThread
    let sleeper =
      idleWaiters.moveSeveralClocks
      ? idleWaiters.takeSleeperInStep(waiter, order, nanosecondsWithoutThread: waited)
      : waiter.takeSleeper(order, nanosecondsWithoutThread: waited)
    if isObserved { noteTime(since: before, on: waiter.movedClock, hasWoken: sleeper != nil) }
    if let start, let scope, start < scope.virtualClock.now { scope.timeHasJumped() }
    guard let sleeper else { return end(waiter) }
    if runsWoken, case .continuation(let continuation, true) = sleeper, mayRunWoken {
      return wakeAndRun(continuation)
    }
    return wake(sleeper)
  }

  mutating func jump() -> Action {
    var reason = runaway.tooManyWakes
    // A callback that repeats makes steps without a job.
    if isObserved, reason == nil { reason = order.chooser?.newRunaway() }
    if let reason, let action = abort(reason) { return action }
    if let task = scope!.taskToCancel() { return .cancel([task]) }
    let virtualClock = scope!.virtualClock
    let before = isObserved ? virtualClock.time : nil
    scope!.sleepPlaces?.timeJumps(on: virtualClock)
    guard let sleeper = virtualClock.popEarliest(dueBy: nil, order) else { return .rest(nil) }
    scope!.timeHasJumped()
    idleness.countEverything()
    if isObserved { noteTime(since: before, on: virtualClock, hasWoken: true) }
    return wake(sleeper)
  }

  /// Whether the woken task may run immediately: its job comes next, and events are not observed.
  @_transparent
  private var mayRunWoken: Bool { scope == nil && !isObserved && runaway.limits.jobs > 0 }

  @_transparent
  private mutating func wakeAndRun(_ continuation: UnsafeContinuation<Void, any Error>) -> Action {
    runaway.sleepWakes()
    let task = UnownedTask(continuation).id
    // This is the first job since the test was idle, so it never passes the limit.
    _ = runaway.jobBegins(of: task)
    activity.jobBegins(of: task)
    return .wakeAndRun(continuation, task: task)
  }

  mutating func wake(_ sleeper: Sleeper) -> Action {
    runaway.sleepWakes()
    scope?.pace.somethingHappens()
    switch sleeper {
    case .continuation(let continuation, let isOwn): return .wake(continuation, isOwn: isOwn)
    case .job(let job):
      let task = scope?.virtualClock.sleeps.removed?.task ?? 0
      guard task == job.taskID || task == 0 else {
        // From now on, the task is about to run. If it prefers an executor, no hook sees its job.
        if job.taskID == 0 { scope?.runtimeSleeps.delayEnded(of: task) }
        _ = start(job)
        return .runWaking(job, task: task)
      }
      scope?.runtimeSleeps.delayEnded(of: task)
      return start(job)
    case .work(let callback):
      _ = scope?.timedCallbacks.removeValue(forKey: ObjectIdentifier(callback))
      return .begin(callback)
    }
  }

  mutating func end(_ waiter: IdleWaiter, _ reason: Runaway? = nil) -> Action {
    // The waiting task reads `runaway` without the lock. If it is resumed before it suspends, ThreadSanitizer does not
    // see that this write happens before the read. So nothing is written unless there is a reason.
    if let reason { waiter.runaway = reason }
    idleWaiters.remove(waiter)
    runaway.waitEnds()
    return .finish(waiter.continuation.unsafelyUnwrapped, isOwn: waiter.isOwn)
  }
}

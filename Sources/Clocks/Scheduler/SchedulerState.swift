import ClocksSupport

/// All that a scheduler knows; it decides what comes next.
///
/// It starts no thread, runs no job, resumes nothing and takes no lock: `Scheduler` guards it and does
/// what it decides. It is never copied, a part of it neither: there is one of each, and a debug build
/// would make a copy whenever something is asked of it. Timelines, scopes and those who wait are objects
/// that belong to it, and the same lock guards them.
struct SchedulerState: ~Copyable {
  /// What keeps the test from being idle.
  var idleness = Idleness()
  /// The tasks that keep it from being so elsewhere.
  var externalTasks = ExternalTasks()
  /// The tasks that are not over.
  var liveTasks = LiveTasks()
  /// The work that does so on queues.
  var work = OutstandingDispatchWork()
  /// Those who wait for the test to be idle.
  var requests = IdleWaiters()
  /// Notices that the test never comes to rest.
  var runaway = RunawayGuard()
  /// What the watchdog asks.
  var activity = ProgressTracker()
  /// The tasks that tell whether the test is over.
  var testLifetime = TestLifetime()
  /// The sleeps on clocks that nobody has injected.
  var realSleeps = RealSleeps()
  /// The times of the test's clocks, but for that of a scope.
  var clocks = ClockRegistry()
  /// What a scope adds; `nil` unless the test's time is virtual throughout.
  let scope: ScopeState?
  /// The tasks whose jobs do not run any more: they never came to rest although their scope has ended
  /// and they were cancelled. They stay suspended for good.
  var dropped: Set<UInt64> = []
  /// Whether no job runs any more: the scope was left although its body has not ended.
  var isAbandoned = false
  /// What comes first where that is open.
  var order = Order()
  /// Is told what happens; `nil` nearly always. Set by `add` and `remove`.
  var listener: (any EventListener)?

  init(scope: Scope? = nil) {
    self.scope = scope.map(ScopeState.init)
    if let scope { runaway.limits = scope.options.limits }
  }

  // MARK: - What comes next

  /// Decides what the scheduler's thread does next.
  ///
  /// - Parameters:
  ///   - lane: Where the thread is.
  ///   - mayStay: Whether it may go on, or is to let others have their turn first.
  ///   - number: The thread's number.
  ///   - runsWoken: Whether a task that is woken is to run at once, if nothing can come before it and
  ///     nobody is told of what happens; then its job counts as begun.
  mutating func next(
    on executor: ExecutorKind, mayStay: Bool, thread number: Int = 0, runsWoken: Bool = false
  ) -> Action {
    // The thread was given up while it ran a job.
    guard number == idleness.threadNumber else { return .rest(nil) }
    // The thread that asks runs no job now, so it does not count.
    idleness.thread = .none
    endJob()
    let action = decide(on: executor, mayStay: mayStay, runsWoken: runsWoken)
    switch action {
    case .rest: break
    case .move: idleness.thread = .requested
    case .look: idleness.thread = .acting
    default:
      idleness.thread = .acting
      externalTasks.somethingHappens()
    }
    return action
  }

  @inline(__always)
  private mutating func decide(on executor: ExecutorKind, mayStay: Bool, runsWoken: Bool) -> Action
  {
    guard idleness.mayStartJob else { return .rest(nil) }
    if let begun = takeBegunSleeps() { return .inspect(begun) }
    if !idleness.ready.isEmpty { return startJob(on: executor, mayStay: mayStay) }
    guard idleness.isIdle else { return .rest(nil) }
    if externalTasks.mustLook, turn != nil || scope != nil { return .look }
    runaway.isAtRest()
    switch turn {
    case .cancellation: return .cancel(scope!.body.takeToCancel())
    case .waiter(let waiter): return serve(waiter, runsWoken: mayStay && runsWoken)
    case .jump: return jump()
    case nil: return scope?.isDeadlocked == true ? endDeadlock() : .rest(setAlarm())
    }
  }

  // MARK: - Ready jobs

  @inline(__always)
  private mutating func takeBegunSleeps() -> [BegunSleep]? {
    guard let scope, scope.runtimeSleeps.haveBegun else { return nil }
    return scope.runtimeSleeps.takeBegun()
  }

  /// Starts a ready job; or wakes a sleep that is due, if a chooser wants that first.
  @inline(__always)
  private mutating func startJob(on executor: ExecutorKind, mayStay: Bool) -> Action {
    order.chooser == nil
      ? startJob(at: 0, on: executor, mayStay: mayStay)
      : startChosen(on: executor, mayStay: mayStay)
  }

  @inline(never)
  private mutating func startChosen(on executor: ExecutorKind, mayStay: Bool) -> Action {
    let due = dueSleeps()
    // Nothing is to be decided, which is the usual thing.
    if idleness.ready.count == 1, due.count == 0 {
      return startJob(at: 0, on: executor, mayStay: mayStay)
    }
    var candidates = idleness.ready.candidates
    for index in 0..<due.count { candidates.append(due[index]) }
    switch order.first(among: candidates) {
    case .job(let position, _, _):
      return startJob(at: position, on: executor, mayStay: mayStay)
    case .sleep(let number, let task):
      if let action = wakeDueSleep(number, of: task) { return action }
    case nil: break
    }
    return startJob(at: 0, on: executor, mayStay: mayStay)
  }

  @inline(__always)
  private mutating func startJob(at position: Int, on executor: ExecutorKind, mayStay: Bool)
    -> Action
  {
    let wanted = idleness.ready[position].executor
    if !mayStay || (wanted == .main && executor != .main) { return .move(to: wanted) }
    let job = idleness.ready.remove(at: position)
    if let chooser = order.chooser { chooser.jobBegins(job, at: position) }
    if let reason = runaway.jobBegins(of: job.taskID), let action = abort(reason, because: job) {
      makeReady(job)
      return action
    }
    return start(job)
  }

  /// Where the next job wants to run.
  @inline(__always)
  private var nextExecutor: ExecutorKind {
    idleness.ready.isEmpty ? .pool : idleness.ready[0].executor
  }

  @inline(__always)
  private mutating func start(_ job: ReadyJob) -> Action {
    activity.jobBegins(of: job.taskID)
    scope?.jobBegins(of: job.taskID)
    if listener != nil { note(.jobBegan(task: job.taskID, job.executor)) }
    return .run(job)
  }

  private mutating func endJob() {
    if listener != nil, let task = activity.running?.task { note(.jobEnded(task: task)) }
    activity.jobHasEnded()
  }

  // MARK: - When the test is idle

  /// Whose turn it is when the test is idle.
  private enum Turn {
    /// Tasks of a scope are to be cancelled.
    case cancellation
    /// Somebody has waited for it.
    case waiter(IdleWaiter)
    /// Time jumps to the next deadline.
    case jump
  }

  /// Whose turn it is when the test is idle; `nil` if there is nothing to do. In this order:
  ///
  /// 1. tasks of a scope that are to be cancelled;
  /// 2. those who wait, in the order of `IdleWaiters.first`;
  /// 3. if time may jump in a scope: the first observer, and else the earliest sleep.
  @inline(__always)
  private var turn: Turn? {
    if let scope, scope.body.toCancel.count > 0 { return .cancellation }
    if let waiter = requests.first(scopeMovesTime: scope?.movesTime ?? false) {
      return .waiter(waiter)
    }
    guard let scope, scope.mayJump else { return nil }
    if requests.observers.count > 0 { return .waiter(requests.observers[0]) }
    return scope.virtualClock.hasSleeps ? .jump : nil
  }

  /// Notes that a thread is asked for, if one is needed and there is none, and returns where it should
  /// be.
  @inline(__always)
  mutating func claimThread() -> ExecutorKind? {
    guard idleness.mayStartJob else { return nil }
    return claimNeededThread()
  }

  @inline(never)
  private mutating func claimNeededThread() -> ExecutorKind? {
    guard
      !idleness.ready.isEmpty
        || (idleness.isIdle
          && (turn != nil || scope?.isDeadlocked == true || scope?.mustSetAlarm == true))
    else { return nil }
    idleness.thread = .requested
    return nextExecutor
  }

  /// Does the next thing for somebody whose turn it is.
  @inline(__always)
  private mutating func serve(_ waiter: IdleWaiter, runsWoken: Bool) -> Action {
    if waiter.kind == .advance, let reason = runaway.tooManyWakes { return end(waiter, reason) }
    let before = listener == nil ? nil : waiter.trace.now
    let sleeper = waiter.takeSleeper(
      order, nanosecondsWithoutThread: activity.nanosecondsWithoutThread)
    if listener != nil { noteTime(since: before, waiter.trace, hasWoken: sleeper != nil) }
    if let chooser = order.chooser, sleeper != nil, let woken = waiter.trace.removed {
      chooser.sleepWakes(woken.number, of: woken.task)
    }
    guard let sleeper else { return end(waiter) }
    if runsWoken, case .continuation(let continuation, true) = sleeper, mayRunWoken {
      return wakeAndRun(continuation)
    }
    return wake(sleeper)
  }

  /// Moves time to the next deadline of the scope.
  private mutating func jump() -> Action {
    if let reason = runaway.tooManyWakes, let action = abort(reason) { return action }
    if let task = scope!.taskToCancel() { return .cancel([task]) }
    let virtualClock = scope!.virtualClock
    let before = listener == nil ? nil : virtualClock.time
    guard let sleeper = virtualClock.popEarliest(dueBy: nil, order) else { return .rest(nil) }
    scope!.timeHasJumped()
    if let chooser = order.chooser, let woken = virtualClock.sleeps.removed {
      chooser.sleepWakes(woken.number, of: woken.task)
    }
    if listener != nil {
      noteTime(since: before, (virtualClock.time, virtualClock.sleeps.removed), hasWoken: true)
    }
    return wake(sleeper)
  }

  /// Whether the next job is that of the task that is woken now, and nobody is told of what happens.
  @inline(__always)
  private var mayRunWoken: Bool {
    scope == nil && listener == nil && order.chooser == nil && runaway.limits.jobs > 0
  }

  @inline(__always)
  private mutating func wakeAndRun(_ continuation: UnsafeContinuation<Void, any Error>) -> Action {
    runaway.sleepWakes()
    let task = UnownedTask(continuation).id
    // The test is idle, so this is the first job of many that it may run.
    _ = runaway.jobBegins(of: task)
    activity.jobBegins(of: task)
    return .wakeAndRun(continuation, task: task)
  }

  private mutating func wake(_ sleeper: Sleeper) -> Action {
    runaway.sleepWakes()
    scope?.pace.somethingHappens()
    switch sleeper {
    case .continuation(let continuation, let isOwn): return .wake(continuation, isOwn: isOwn)
    case .job(let job):
      externalTasks.isNotDelayed(job.taskID)
      return start(job)
    case .work(let work):
      _ = self.work.endDelay(work)
      return .begin(work)
    }
  }

  /// Ends somebody's wait, because it has what it waits for, or never will.
  mutating func end(_ waiter: IdleWaiter, _ reason: Runaway? = nil) -> Action {
    if let reason { waiter.abort(reason) }
    requests.remove(waiter)
    runaway.waitEnds()
    return waiter.end
  }

  // MARK: - Choosing and observing

  /// The sleeps that are due now, if whoever has the next turn moves time.
  private func dueSleeps() -> ScratchBuffer<Candidate> {
    // The usual thing, which is asked for each job.
    if requests.isEmpty, let scope, !scope.virtualClock.isAnyDue { return ScratchBuffer() }
    switch turn {
    case .waiter(let waiter): return waiter.dueSleeps()
    case .jump: return scope!.virtualClock.dueSleeps()
    case .cancellation, nil: return ScratchBuffer()
    }
  }

  private mutating func wakeDueSleep(_ number: UInt64, of task: UInt64) -> Action? {
    let sleeper: Sleeper?
    switch turn {
    case .waiter(let waiter): sleeper = waiter.takeDueSleeper(number)
    case .jump: sleeper = scope!.virtualClock.sleeps.remove(number)
    case .cancellation, nil: sleeper = nil
    }
    guard let sleeper else { return nil }
    order.chooser?.sleepWakes(number, of: task)
    note(.sleepWoken(number: number, task: task))
    return wake(sleeper)
  }

  @inline(__always)
  func note(_ event: SchedulerEvent) { listener?.hear(event) }

  @inline(never)
  private func noteTime(
    since before: Duration?,
    _ trace: (now: Duration?, removed: (number: UInt64, task: UInt64)?), hasWoken: Bool
  ) {
    if trace.now != before { note(.timeMoved(to: trace.now)) }
    if hasWoken, let removed = trace.removed {
      note(.sleepWoken(number: removed.number, task: removed.task))
    }
  }
}

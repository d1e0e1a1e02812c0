/// One action of a scheduler: `SchedulerState` chooses it, and `Scheduler.perform` performs it.
enum Action {
  case run(ReadyJob)
  /// Runs the runtime's job that resumes a task of the scheduler, whose un-injected sleep woke.
  case runWaking(ReadyJob, task: UInt64)
  /// Resumes a task whose sleep woke. `isOwn` says whether the task belongs to the scheduler.
  case wake(UnsafeContinuation<Void, any Error>, isOwn: Bool)
  /// Like `wake` for a task of the scheduler, and then runs the task's job, which already counts as begun.
  case wakeAndRun(UnsafeContinuation<Void, any Error>, task: UInt64)
  /// Lets a parked thread continue with its job. From then on, that thread performs the scheduler's actions.
  case resume(ParkedThread)
  /// Resumes a task that waited for the test to be idle.
  case finish(UnsafeContinuation<Void, Never>, isOwn: Bool)
  case begin(TimedCallback)
  case cancel([RetainedTask])
  /// Reports the problem of a scope whose body continues although it was cancelled.
  case report(ScopeProblem)
  /// Abandons a scope whose body continues although all its tasks were cancelled.
  case abandon
  case verify
  case release([RetainedTask])
  case move(to: ExecutorKind)
  /// Does nothing until something happens, or until the alarm rings, if there is one.
  case rest(Alarm?)

  /// Whether a job that the thread kept may wait for the action: it runs no job, and is soon over.
  var mayDelayKept: Bool {
    switch self {
    case .rest, .move, .release, .verify: true
    default: false
    }
  }

  /// An alarm that rings after `duration` if nothing happens before.
  struct Alarm: Sendable, Equatable {
    var number: Int
    var duration: Duration
  }
}

extension Scheduler {
  /// The number of jobs after which a thread lets other tests run.
  private static let jobsPerTurn = 1_000

  /// Performs actions until there is nothing to do, or another thread takes over.
  ///
  /// - Parameter number: The `Idleness.threadNumber` of the thread.
  /// - Returns: An unowned job that the last job made ready, for the thread to run next; `nil` if there is none.
  func pump(on executor: ExecutorKind, _ number: Int) -> ReadyJob? {
    noteActingThread()
    if scope?.crashed != nil { SignalStack.prepareThread() }
    var context = ThreadContext(owner: self, isOfPump: true, number: number)
    context.run { context in
      threadMark.store(UInt(bitPattern: context), ordering: .relaxed)
      var turn = Turn(executor: executor)
      while true {
        let action = nextAction(
          on: executor, mayStay: turn.jobs < Self.jobsPerTurn, thread: number, ended: turn.ended,
          taken: context.pointee.taken)
        if context.pointee.hasKept, !action.mayDelayKept, let job = context.pointee.takeKept() {
          UnownedJobs.submit(job)
        }
        context.pointee.taken = nil
        turn.ended = 0
        guard perform(action, context, &turn) else { return }
      }
    }
    return context.takeKept()
  }

  /// Notes that the current thread acts. `IdleProcess` needs this, so only unedited suites do it.
  func noteActingThread() {
    guard let scope, scope.options.isUnedited else { return }
    scope.actingThread.store(OutsideWork.currentThread, ordering: .relaxed)
  }

  /// One turn of a thread that acts for the scheduler, with the number of the jobs that it has run.
  private struct Turn {
    let executor: ExecutorKind
    var jobs = 0
    /// The task that came to its end in the last job; 0 if none has.
    var ended: UInt64 = 0
  }

  /// Performs an action, and returns whether the thread continues.
  @_transparent
  private func perform(
    _ action: Action, _ context: UnsafeMutablePointer<ThreadContext>, _ turn: inout Turn
  ) -> Bool {
    switch action {
    case .run(let job):
      turn.jobs += 1
      turn.ended = run(job, context)
    case .runWaking(let job, let task):
      turn.jobs += 1
      context.pointee.wakingTask = task
      turn.ended = run(job, context)
      context.pointee.wakingTask = 0
    case .wakeAndRun(let continuation, let task):
      willResume(UnownedTask(continuation))
      context.pointee.beginWaking(true)
      continuation.resume()
      context.pointee.endWaking()
      // A job that was not captured, or that is for another executor, becomes ready as usual.
      guard let job = context.pointee.taken, job.taskID == task, job.executor == turn.executor
      else { break }
      context.pointee.taken = nil
      turn.jobs += 1
      turn.ended = run(job, context)
    case .wake(let continuation, let isOwn):
      if isOwn { willResume(UnownedTask(continuation)) }
      context.pointee.beginWaking(isOwn)
      continuation.resume()
      context.pointee.endWaking()
    case .finish(let continuation, let isOwn):
      if isOwn { willResume(UnownedTask(continuation)) }
      context.pointee.beginWaking(isOwn)
      continuation.resume()
      context.pointee.endWaking()
    case .resume(let thread):
      thread.isResumed.signal()
      return false
    case .begin(let work):
      work.begin()
    case .cancel, .report, .abandon:
      perform(action)
    case .release(let tasks):
      withExtendedLifetime(tasks) {}
    case .verify:
      verifyExternalTasks()
    case .move(let executor):
      startThread(on: executor)
      return false
    case .rest(let alarm):
      if let alarm { setAlarm(alarm) }
      return false
    }
    return true
  }

  @_transparent
  private func run(_ job: ReadyJob, _ context: UnsafeMutablePointer<ThreadContext>) -> UInt64 {
    // The task is retained until its job ends and its status is read.
    let task = job.taskID == 0 ? nil : UnownedTask(job: job.job).retainedIfReadable
    context.pointee.taskID = job.taskID
    context.pointee.arrivedTask = 0
    if areJobsWatched.load(ordering: .relaxed) {
      runWatched(job, context)
    } else {
      context.pointee.isInJob = true
      RuntimeHooks.run(job.job, job.taskID, on: job.executor)
      context.pointee.isInJob = false
      // The job may have stated the first invariant, or freed the last clock of the test.
      if areJobsWatched.load(ordering: .acquiring) { watchedJobHasRun(job, from: nil, context) }
    }
    context.pointee.runLoops = TimeInRunLoops()
    context.pointee.taskID = 0
    var ended: UInt64 = 0
    if let task, context.pointee.arrivedTask != job.taskID {
      let status = TaskStatus(of: task.job)
      if status.isOver {
        ended = job.taskID
      } else if status.mayRunExternally {
        taskMayRunExternally(task.job)
      }
    }
    if context.pointee.isAwaited { ThreadContext.resumeWaiter(of: context) }
    guard context.pointee.ownersAwaitingEnd.count > 0 else { return ended }
    ExternalTaskRegistry.checkTasks()
    context.pointee.waits?.jobEnds()
    for owner in context.pointee.ownersAwaitingEnd { owner.externallyStartedJobEnded(on: nil) }
    context.pointee.ownersAwaitingEnd = []
    return ended
  }

  /// Runs a job of a test that states invariants, or of a scheduler that has leftovers.
  ///
  /// Not inlined, so that other tests do not pay for the `JobPlace` of each job.
  @inline(never)
  private func runWatched(_ job: ReadyJob, _ context: UnsafeMutablePointer<ThreadContext>) {
    let place =
      hasInvariants.load(ordering: .relaxed) ? JobPlace(job, change { $0.scope?.placeReader }) : nil
    // Another scheduler may have adopted a leftover, and waits for it as it waits for the tasks of an actor drain. So
    // the task's owner is looked up, as in a drain.
    let id = hasLeftovers.load(ordering: .relaxed) ? 0 : job.taskID
    context.pointee.taskID = id
    context.pointee.isInJob = true
    RuntimeHooks.run(job.job, id, on: job.executor)
    context.pointee.isInJob = false
    watchedJobHasRun(job, from: place, context)
  }

  /// Checks the invariants, and lets the owners of leftovers see that the job ended.
  @inline(never)
  private func watchedJobHasRun(
    _ job: ReadyJob, from place: JobPlace?, _ context: UnsafeMutablePointer<ThreadContext>
  ) {
    if hasInvariants.load(ordering: .relaxed) {
      checkInvariants(after: place, on: job.executor, context)
    }
    // A task may have become a leftover while the job ran.
    if hasLeftovers.load(ordering: .relaxed) { ExternalTaskRegistry.checkTasks() }
  }

  func verifyExternalTasks() {
    // The tasks are released without the lock, and before the test may count as idle: see `nextAction`.
    _ = change { state in
      let (scope, withheld) = (state.scope, state.idleness.ready.withheldTasks)
      let (external, checked) = state.idleness.externalTasks.verify(for: self) {
        withheld.contains($0) || scope?.isHeldBack($0) ?? false
      }
      for index in 0..<external.count { state.taskBecameExternal(external[index]) }
      var released = checked
      for index in 0..<checked.count {
        if let ended = state.liveTasks.removeIfOver(checked[index].id) { released.append(ended) }
      }
      return released
    }
  }

  func recheckAsyncLets() {
    // The tasks are released without the lock.
    _ = change { state in
      recheckBegins()
      let (scope, withheld) = (state.scope, state.idleness.ready.withheldTasks)
      let returned = state.idleness.externalTasks.recheckAsyncLets {
        withheld.contains($0) || scope?.isHeldBack($0) ?? false
      }
      for task in returned { state.taskReturned(task.id) }
      return returned
    }
  }

  func endAbsence(_ absence: UInt64, of task: UInt64, wasOver: Bool) {
    // A task that is over is released without the lock, and before the test may count as idle: see `nextAction`.
    // Without a variable, which would keep it until the end of this function.
    if wasOver {
      _ = changeWithoutThread {
        ($0.liveTasks.removeIfOver(task), $0.idleness.externalTasks.takeIfOver(task, absence))
      }
    }
    // A task that is not checked any more is released without the lock as well.
    _ = change { state in
      let kept = state.idleness.externalTasks.task(of: task)
      if let wasSeen = state.idleness.externalTasks.absenceEnded(
        absence, of: task, wasOver: wasOver)
      {
        state.taskReturned(task, wasSeenExternal: wasSeen)
      }
      return kept
    }
  }
}

extension Scheduler {
  /// Called before a task is resumed. On a preferred executor, the task may run externally then.
  @_transparent
  func willResume(_ task: UnownedTask) {
    if TaskStatus.isKnownToBeReadable, TaskStatus(of: task.job).hasPreference {
      taskMayRunExternally(task.job)
    }
  }
}

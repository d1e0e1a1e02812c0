import ClocksSearch
import Testing

@testable import Clocks

/// The decisions of a scheduler, tested as a function: without threads, tasks and locks.
@Suite struct SchedulerStateTests {
  @Test func jobsRunInTheOrderInWhichTheyBecameReady() {
    var state = SchedulerState()
    for task in 1...3 { state.jobIsReady(ReadyJob(of: UInt64(task)), isFromOutside: false) }
    #expect(state.claimThread() == .pool)
    #expect(state.steps() == ["run 1", "run 2", "run 3", "rest"])
  }

  @Test func aThreadIsRequestedOnceAndOnlyIfNeeded() {
    var state = SchedulerState()
    #expect(state.claimThread() == nil)
    state.jobIsReady(ReadyJob(of: 1, executor: .main), isFromOutside: false)
    #expect(state.claimThread() == .main)
    #expect(state.claimThread() == nil)
    #expect(state.step(on: .main) == "run 1")
    // The job makes another one ready; the thread that runs it will see it.
    state.jobIsReady(ReadyJob(of: 2, executor: .main), isFromOutside: false)
    #expect(state.claimThread() == nil)
    #expect(state.steps(on: .main) == ["run 2", "rest"])
    #expect(state.claimThread() == nil)
  }

  /// The last job of a scope resumes the test around it, which must not become idle before.
  @Test func aScopeThatIsOverIsBusyWhileAJobOfItRuns() {
    let scheduler = Scheduler(origin: .here())
    var state = SchedulerState(scope: Scope(.standard))
    state.scope?.isOver = true
    #expect(scheduler.takeNestingChange(&state) == nil)
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    #expect(scheduler.takeNestingChange(&state)?.busy == 1)
    #expect(state.claimThread() == .pool)
    #expect(state.step() == "run 1")
    #expect(scheduler.takeNestingChange(&state) == nil)
    #expect(state.step() == "rest")
    #expect(scheduler.takeNestingChange(&state)?.busy == -1)
  }

  @Test func anAbortLeavesARequestedThread() {
    var state = SchedulerState()
    state.jobIsReady(ReadyJob(of: 1, executor: .main), isFromOutside: false)
    #expect(state.claimThread() == .main)
    state.idleness.externallyStartedJobsBegan()
    state.idleness.abandonRunning()
    #expect(state.claimThread() == nil)
    #expect(state.steps(on: .main) == ["run 1", "rest"])
  }

  /// A block of the main queue sleeps while the main thread is requested.
  @Test func aRequestOfTheMainThreadIsWithdrawnWhenAJobHoldsIt() {
    var state = SchedulerState()
    state.jobIsReady(ReadyJob(of: 1, executor: .main), isFromOutside: false)
    #expect(state.claimThread() == .main)
    state.idleness.isMainTaken = true
    #expect(state.claimThread() == nil)
    #expect(state.idleness.isIdle == true)
    #expect(state.idleness.ready.withheldTasks == [1])
    state.jobIsReady(ReadyJob(of: 2), isFromOutside: false)
    #expect(state.claimThread() == .pool)
    #expect(state.idleness.requestedThreadBegins(on: .pool) == 0)
    #expect(state.steps() == ["run 2", "rest"])
    state.idleness.isMainTaken = false
    #expect(state.idleness.ready.withheldTasks == [])
    #expect(state.claimThread() == .main)
    // The main thread comes twice, and acts once.
    #expect(state.idleness.requestedThreadBegins(on: .main) == 0)
    #expect(state.idleness.requestedThreadBegins(on: .main) == nil)
    #expect(state.steps(on: .main) == ["run 1", "rest"])
    #expect(state.idleness.requestedThreadBegins(on: .main) == nil)
    state.checkInvariants()
  }

  @Test func aRequestIsNotWithdrawnWhenTheMainThreadHasCome() {
    var state = SchedulerState()
    state.jobIsReady(ReadyJob(of: 1, executor: .main), isFromOutside: false)
    #expect(state.claimThread() == .main)
    #expect(state.idleness.requestedThreadBegins(on: .main) == 0)
    state.idleness.isMainTaken = true
    #expect(state.claimThread() == nil)
    #expect(state.steps(on: .main) == ["rest"])
    state.idleness.isMainTaken = false
    #expect(state.claimThread() == .main)
    #expect(state.idleness.requestedThreadBegins(on: .main) == 0)
    #expect(state.steps(on: .main) == ["run 1", "rest"])
    state.checkInvariants()
  }

  @Test func aRequestOfThePoolIsNotWithdrawn() {
    var state = SchedulerState()
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    #expect(state.claimThread() == .pool)
    state.idleness.isMainTaken = true
    #expect(state.claimThread() == nil)
    #expect(state.idleness.requestedThreadBegins(on: .pool) == 0)
    #expect(state.steps() == ["run 1", "rest"])
    // No thread is requested now.
    #expect(state.idleness.requestedThreadBegins(on: .pool) == nil)
    #expect(state.idleness.requestedThreadBegins(on: .main) == nil)
  }

  /// A run that has given up its order, while a job of the main thread is at a checkpoint.
  @Test func aParkedJobOfTheMainThreadGoesOnBeforeOthersOfThatThread() {
    var state = SchedulerState(scope: Scope(.standard))
    state.jobIsReady(ReadyJob(of: 1, executor: .main), isFromOutside: false)
    var parked = ReadyJob(of: 2, executor: .main)
    parked.isParked = true
    state.makeReady(parked)
    let number = state.idleness.threadParks()
    state.scope?.parkedThreads[2] = ParkedThread(number: number, isMain: true)
    #expect(state.claimThread() == .pool)
    #expect(state.idleness.requestedThreadBegins(on: .pool) == 1)
    #expect(state.step(thread: 1) == "resume thread 0")
    #expect(state.steps(on: .main) == ["run 1", "rest"])
    state.checkInvariants()
  }

  @Test func anAbandonedJobMovesNoTime() {
    var state = SchedulerState()
    let virtualClock = VirtualClock(now: .zero)
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    #expect(state.claimThread() == .pool)
    #expect(state.step() == "run 1")
    #expect(state.moveTime(of: virtualClock, by: .seconds(1), inJobOf: 1) == true)
    state.abandonJob(1)
    state.jobIsReady(ReadyJob(of: 2), isFromOutside: false)
    #expect(state.claimThread() == .pool)
    #expect(state.step(thread: 1) == "run 2")
    #expect(state.moveTime(of: virtualClock, by: .seconds(1), inJobOf: 1) == false)
    #expect(virtualClock.now == .seconds(1))
    #expect(state.moveTime(of: virtualClock, by: .seconds(1), inJobOf: 2) == true)
    #expect(virtualClock.now == .seconds(2))
  }

  @Test func eachJobRunsOnItsExecutor() {
    var state = SchedulerState()
    state.jobIsReady(ReadyJob(of: 1, executor: .main), isFromOutside: false)
    state.jobIsReady(ReadyJob(of: 2), isFromOutside: false)
    #expect(state.step() == "move to main")
    #expect(state.claimThread() == nil)
    #expect(state.step(on: .main) == "run 1")
    #expect(state.step(on: .main) == "move to pool")
    #expect(state.claimThread() == nil)
    #expect(state.steps() == ["run 2", "rest"])
  }

  @Test func aThreadThatMayNotStayMovesOn() {
    var state = SchedulerState()
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    #expect(state.step(mayStay: false) == "move to pool")
    #expect(state.steps() == ["run 1", "rest"])
  }

  @Test func nothingIsStartedBesideAnExternallyStartedJob() {
    var state = SchedulerState()
    state.idleness.externallyStartedJobsBegan()
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    state.append(waiter())
    #expect(state.claimThread() == nil)
    #expect(state.step() == "rest")
    #expect(state.idleness.isIdle == false)
    #expect(state.activity.count == 0)
    state.externallyStartedJobEnded()
    #expect(state.activity.count == 1)
    #expect(state.claimThread() == .pool)
    #expect(state.steps() == ["run 1", "finish", "rest"])
    #expect(state.idleness.isIdle == true)
  }

  @Test func readyJobsRunWhileExternalWorkIsOutstandingButTheTestIsNotIdle() {
    var state = SchedulerState()
    let block = state.dispatchedBlockBegan(on: BlockQueue(label: "queue"))
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    state.append(waiter())
    #expect(state.claimThread() == .pool)
    #expect(state.steps() == ["run 1", "rest"])
    #expect(state.idleness.isIdle == false)
    #expect(state.claimThread() == nil)
    state.dispatchedBlockEnded(block)
    #expect(state.claimThread() == .pool)
    #expect(state.steps() == ["finish", "rest"])
  }

  @Test func aThreadThatComesAfterTheTestWasAbandonedRunsNothing() {
    var state = SchedulerState(scope: Scope(.standard))
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    #expect(state.claimThread() == .pool)
    _ = state.abandon()
    #expect(state.requestedThreadBegins(on: .pool, after: 0) == nil)
    #expect(state.claimThread() == nil)
    #expect(state.idleness.isThreadRequested == false)
  }

  @Test func anAbandonedJobThatTheSchedulerHasNotStartedHoldsTheMainThread() {
    var state = SchedulerState()
    state.idleness.externallyStartedJobsBegan(isOnMain: true)
    state.idleness.abandonRunning()
    #expect(state.idleness.isExternalJobAbandonedOnMain == true)
    #expect(state.idleness.isMainTaken == true)
    state.idleness.externallyStartedJobEnded()
    #expect(state.idleness.isExternalJobAbandonedOnMain == false)
    #expect(state.idleness.isMainTaken == false)
    #expect(state.idleness.externallyStartedJobs == 0)
  }

  /// Two tests share a clock, and so a scheduler. The job of the first one is abandoned and never ends.
  @Test func aJobThatEndsBesideAnAbandonedOneNoLongerCounts() {
    var state = SchedulerState()
    state.idleness.externallyStartedJobsBegan(isOnMain: true)
    state.idleness.abandonRunning()
    state.idleness.externallyStartedJobsBegan()
    #expect(state.idleness.mayStartJob == false)
    state.externallyStartedJobEnded()
    #expect(state.idleness.mayStartJob == true)
    #expect(state.idleness.isMainTaken == true)
    state.externallyStartedJobEnded()
    #expect(state.idleness.isMainTaken == false)
    #expect(state.idleness.externallyStartedJobs == 0)
  }

  @Test func anAbandonedJobThatEndsOnTheMainThreadFreesItBesideAnother() {
    var state = SchedulerState()
    state.idleness.externallyStartedJobsBegan(isOnMain: true)
    state.idleness.abandonRunning()
    state.idleness.externallyStartedJobsBegan()
    state.idleness.externallyStartedJobEnded(isOnMain: true)
    #expect(state.idleness.isMainTaken == false)
    #expect(state.idleness.mayStartJob == false)
    state.idleness.externallyStartedJobEnded()
    #expect(state.idleness.mayStartJob == true)
    #expect(state.idleness.externallyStartedJobs == 0)
  }

  @Test func theMainThreadIsFreeWhenItsJobHasEndedBesideAnother() {
    var state = SchedulerState()
    state.idleness.externallyStartedJobsBegan(isOnMain: true)
    state.idleness.externallyStartedJobsBegan()
    state.idleness.externallyStartedJobEnded(isOnMain: true)
    #expect(state.idleness.isRunningOnMain == false)
    state.idleness.abandonRunning()
    #expect(state.idleness.isMainTaken == false)
  }

  @Test func aBlockMayAwaitItsThreadAtTheEndOfTime() {
    var state = SchedulerState(scope: Scope(.standard))
    state.scope?.virtualClock.move(to: Duration(attoseconds: .max))
    _ = state.dispatchedBlockBegan(on: BlockQueue(label: "queue", isConcurrent: true))
    #expect(state.awaitsThreadOfDispatch() == true)
  }

  @Test func aSettlingWaiterComesBeforeAnAdvance() {
    var state = SchedulerState()
    let virtualClock = VirtualClock(now: .zero)
    state.append(advance(virtualClock, to: .seconds(1)))
    state.append(waiter(isOwn: false))
    #expect(state.steps() == ["finish another's", "finish", "rest"])
    #expect(virtualClock.now == .seconds(1))
  }

  @Test func anAdvanceWakesOneSleepAfterAnotherAndEachAtItsDeadline() {
    var state = SchedulerState()
    let virtualClock = VirtualClock(now: .zero)
    for second in [3, 1, 2] { sleep(on: virtualClock, until: .seconds(second)) }
    state.append(advance(virtualClock, to: .seconds(2)))
    #expect(state.step() == "wake")
    #expect(virtualClock.now == .seconds(1))
    // What the wake has made ready comes before the next wake.
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    #expect(state.step() == "run 1")
    #expect(virtualClock.now == .seconds(1))
    #expect(state.steps() == ["wake", "finish", "rest"])
    #expect(virtualClock.now == .seconds(2))
    #expect(virtualClock.sleeps.count == 1)
  }

  @Test func observersCheckEachInstantBeforeTimeMovesOn() {
    var state = SchedulerState()
    let virtualClock = VirtualClock(now: .zero)
    for second in 1...2 { sleep(on: virtualClock, until: .seconds(second)) }
    state.append(advance(virtualClock, to: .seconds(2)))
    state.append(observer(virtualClock, after: .zero))
    #expect(state.step() == "wake")
    #expect(state.step() == "finish another's")
    #expect(virtualClock.now == .seconds(1))
    #expect(state.steps() == ["wake", "finish", "rest"])
  }

  @Test func jobsWithoutEndAbortTheWait() {
    var state = SchedulerState()
    state.runaway.limits = RunawayLimits(jobs: 3)
    let waiter = waiter()
    state.append(waiter)
    // The aborted wait retains the task that caused the abort, so a task has to exist.
    let task = Task {}
    let job = ReadyJob(job: unsafeBitCast(task, to: UnownedJob.self), taskID: 5, executor: .pool)
    for _ in 1...3 {
      state.jobIsReady(job, isFromOutside: false)
      #expect(state.step() == "run 5")
    }
    state.jobIsReady(job, isFromOutside: false)
    #expect(state.step() == "finish")
    guard case .jobs(3, task: 5) = waiter.runaway else {
      Issue.record("\(String(describing: waiter.runaway))")
      return
    }
    #expect(waiter.culprit != nil)
    // The job is not lost.
    #expect(state.steps() == ["run 5", "rest"])
    withExtendedLifetime(task) {}
  }

  /// In a suite that was written for real time, time passes before a job if the scope is busy for very long.
  @Test func aJobBeforeWhichTimePassesKeepsItsPlace() {
    var options = ScopeOptions.standard
    options.goesOnWithout = { _ in }
    options.limits.jobs = 1
    var state = SchedulerState(scope: Scope(options))
    state.beginBody()
    if let scope = state.scope { sleep(on: scope.virtualClock, until: .zero) }
    for task in 1...3 {
      state.jobIsReady(ReadyJob(of: UInt64(task), executor: .main), isFromOutside: false)
    }
    #expect(state.step(on: .main) == "run 1")
    #expect(state.step(on: .main) == "wake")
    #expect(state.step(on: .main) == "run 2")
    state.checkInvariants()
  }

  @Test func endlessWakesDoNotAbortASettlingWaiter() {
    var state = SchedulerState()
    state.runaway.limits = RunawayLimits(wakes: 2)
    let virtualClock = VirtualClock(now: .zero)
    for second in 1...3 { sleep(on: virtualClock, until: .seconds(second)) }
    state.append(advance(virtualClock, to: .seconds(9)))
    #expect(state.step() == "wake")
    #expect(state.step() == "wake")
    let waiter = waiter()
    state.append(waiter)
    #expect(state.step() == "finish")
    #expect(waiter.runaway == nil)
    #expect(state.steps() == ["wake", "finish", "rest"])
  }

  @Test func anAbandonedThreadDecidesNothing() {
    var state = SchedulerState()
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: false)
    #expect(state.step() == "run 1")
    state.idleness.externallyStartedJobsBegan()
    state.jobIsReady(ReadyJob(of: 2), isFromOutside: false)
    #expect(state.claimThread() == nil)
    state.idleness.abandonRunning()
    #expect(state.claimThread() == .pool)
    // The job ends after all, and its thread asks what comes next.
    #expect(state.step(thread: 0) == "rest")
    #expect(state.step(thread: 1) == "run 2")
    // The externally started job ends after all.
    state.externallyStartedJobEnded()
    state.checkInvariants()
    #expect(state.step(thread: 1) == "rest")
    #expect(state.idleness.isIdle == true)
  }

  @Test func jobsAreCountedAnewWhenAWaitBegins() {
    var state = SchedulerState()
    state.runaway.limits = RunawayLimits(jobs: 3)
    let virtualClock = VirtualClock(now: .zero)
    for waiter in [
      waiter(), advance(virtualClock, to: .zero), observer(virtualClock, after: .seconds(1)),
    ] {
      for _ in 1...3 {
        state.jobIsReady(ReadyJob(of: 5), isFromOutside: false)
        #expect(state.step() == "run 5")
      }
      state.append(waiter)
      for _ in 1...3 {
        state.jobIsReady(ReadyJob(of: 5), isFromOutside: false)
        #expect(state.step() == "run 5")
      }
      #expect(state.step().hasPrefix("finish"))
      #expect(state.step() == "rest")
    }
  }

  @Test func theJobsOfAStoppedTaskDoNotRun() {
    var state = SchedulerState()
    state.idleness.externalTasks.stop(5)
    for task: UInt64 in [4, 5, 6] { state.jobIsReady(ReadyJob(of: task), isFromOutside: false) }
    #expect(state.steps() == ["run 4", "run 6", "rest"])
  }

  // MARK: - A scope

  @Test func timeJumpsIfItIsNotHeld() {
    let scope = Scope(ScopeOptions())
    var state = SchedulerState(scope: scope)
    state.beginBody()
    sleep(on: scope.virtualClock, until: .seconds(5))
    state.scope?.pace.holds = 1
    #expect(state.claimThread() == nil)
    #expect(state.step() == "rest")
    state.scope?.pace.holds = 0
    #expect(state.claimThread() == .pool)
    #expect(state.step() == "wake")
    #expect(scope.virtualClock.now == .seconds(5))
    #expect(state.step() == "rest, alarm 1 in 5.0 seconds")
  }

  @Test func theJobOfASleepWakesTheTaskThatSleeps() {
    let scope = Scope(ScopeOptions())
    var state = SchedulerState(scope: scope)
    state.beginBody()
    for (job, task, deadline) in [(7, 3, Duration.seconds(1)), (4, 4, .seconds(2))] {
      scope.virtualClock.sleeps.add(
        .job(ReadyJob(of: UInt64(job))), until: deadline,
        details: .init(registered: .zero, taskID: UInt64(task), clock: .continuous))
    }
    #expect(state.step() == "run 7 to wake 3")
    // A job that an executor delays is the task itself, so it wakes no other task.
    #expect(state.step() == "run 4")
  }

  @Test func timeJumpsAfterThePauseOnlyAndOnlyIfNothingHappens() {
    let scope = Scope(ScopeOptions(jumpsAfter: .seconds(1)))
    var state = SchedulerState(scope: scope)
    state.beginBody()
    sleep(on: scope.virtualClock, until: .seconds(5))
    #expect(state.step() == "rest, alarm 1 in 1.0 seconds")
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: true)
    _ = state.alarmRings(1, AutoAdvance.Others())
    #expect(state.steps() == ["run 1", "rest, alarm 2 in 1.0 seconds"])
    _ = state.alarmRings(1, AutoAdvance.Others())
    #expect(state.claimThread() == nil)
    _ = state.alarmRings(2, AutoAdvance.Others())
    #expect(state.claimThread() == .pool)
    #expect(state.steps() == ["wake", "rest, alarm 3 in 5.0 seconds"])
  }

  @Test func aStuckScopeIsPatientWithBusyTestsAndThenCancelsItsBody() {
    let scope = Scope(ScopeOptions())
    var state = SchedulerState(scope: scope)
    state.beginBody()
    #expect(state.step() == "rest, alarm 1 in 5.0 seconds")
    var number = 1
    for _ in 1...12 {
      guard case .rest(let alarm?) = state.alarmRings(number, AutoAdvance.Others(areBusy: true))
      else {
        Issue.record("it has lost its patience")
        return
      }
      number = alarm.number
    }
    _ = state.alarmRings(number, AutoAdvance.Others(areBusy: true))
    #expect(state.claimThread() == .pool)
    #expect(state.step() == "cancel 1")
    #expect(state.step() == "rest, alarm 14 in 5.0 seconds")
    guard case .report = state.alarmRings(14, AutoAdvance.Others()) else {
      Issue.record("it is not reported that the body is not over")
      return
    }
  }

  @Test func cancellationsComeBeforeWaiters() {
    var state = SchedulerState(scope: Scope(ScopeOptions()))
    state.beginBody()
    state.append(waiter())
    _ = state.scope?.body.abort(.runaway(.jobs(1, task: 0)))
    #expect(state.step() == "cancel 1")
    #expect(state.step() == "finish")
    #expect(state.step() == "rest, alarm 1 in 5.0 seconds")
  }

  @Test func aRunawayTaskOfAScopeIsCancelledWithTheBody() {
    let scope = Scope(ScopeOptions(limits: RunawayLimits(jobs: 3)))
    var state = SchedulerState(scope: scope)
    state.beginBody()
    let task = Task {}
    let job = ReadyJob(job: unsafeBitCast(task, to: UnownedJob.self), taskID: 5, executor: .pool)
    for _ in 1...3 {
      state.jobIsReady(job, isFromOutside: false)
      #expect(state.step() == "run 5")
    }
    state.jobIsReady(job, isFromOutside: false)
    #expect(state.step() == "cancel 2")
    #expect(state.step() == "run 5")
    #expect(state.step() == "rest, alarm 1 in 5.0 seconds")
    guard case .runaway(.jobs(3, task: 5))? = state.scope?.body.problem else {
      Issue.record("\(String(describing: state.scope?.body.problem))")
      return
    }
    withExtendedLifetime(task) {}
  }

  @Test func anAlarmThatRingsWhileSomethingHappensMeansNothing() {
    var state = SchedulerState(scope: Scope(ScopeOptions()))
    state.beginBody()
    #expect(state.step() == "rest, alarm 1 in 5.0 seconds")
    state.idleness.externallyStartedJobsBegan()
    _ = state.alarmRings(1, AutoAdvance.Others())
    #expect(state.scope?.body.toCancel.count == 0)
    state.externallyStartedJobEnded()
    #expect(state.step() == "rest, alarm 2 in 5.0 seconds")
    _ = state.alarmRings(2, AutoAdvance.Others())
    #expect(state.scope?.body.toCancel.count == 1)
  }

  /// A thread that waits in a run loop pauses a hundred times a second.
  @Test func pausesWithoutProgressDoNotSetTheAlarmAgain() {
    var state = SchedulerState(scope: Scope(ScopeOptions()))
    state.beginBody()
    state.idleness.externallyStartedJobsBegan()
    state.externallyStartedJobEnded(isProgress: false)
    #expect(state.scope?.mustSetAlarm == true)
    #expect(state.step() == "rest, alarm 1 in 5.0 seconds")
    state.idleness.externallyStartedJobsBegan()
    state.externallyStartedJobEnded(isProgress: false)
    #expect(state.scope?.mustSetAlarm == false)
    // An alarm that rings between two pauses is lost, so the next pause sets another one.
    state.idleness.externallyStartedJobsBegan()
    _ = state.alarmRings(1, AutoAdvance.Others())
    state.externallyStartedJobEnded(isProgress: false)
    #expect(state.scope?.mustSetAlarm == true)
    #expect(state.step() == "rest, alarm 2 in 5.0 seconds")
    _ = state.alarmRings(2, AutoAdvance.Others())
    #expect(state.scope?.body.toCancel.count == 1)
  }

  /// The thread has set a timeout between two pauses. The alarm is that of a scope that may be stuck.
  @Test func aPauseWithoutProgressLetsTimeJumpForASleepThatIsNew() {
    let scope = Scope(ScopeOptions(jumpsAfter: .seconds(1)))
    var state = SchedulerState(scope: scope)
    state.beginBody()
    #expect(state.step() == "rest, alarm 1 in 5.0 seconds")
    state.idleness.externallyStartedJobsBegan()
    sleep(on: scope.virtualClock, until: .seconds(3))
    state.externallyStartedJobEnded(isProgress: false)
    #expect(state.claimThread() == .pool)
    #expect(state.step() == "rest, alarm 2 in 1.0 seconds")
    // The alarm is short, and the next pause does not set it again.
    state.idleness.externallyStartedJobsBegan()
    state.externallyStartedJobEnded(isProgress: false)
    #expect(state.claimThread() == nil)
    _ = state.alarmRings(2, AutoAdvance.Others())
    #expect(state.step() == "wake")
    #expect(scope.virtualClock.now == .seconds(3))
  }

  /// The scope may be stuck without the job, or may need a pause before time jumps.
  @Test func aScopeThatHasAbandonedAJobSetsAnAlarm() {
    var state = SchedulerState(scope: Scope(ScopeOptions()))
    state.beginBody()
    state.jobIsReady(ReadyJob(of: 1), isFromOutside: true)
    #expect(state.step() == "run 1")
    state.abandonJob(2)
    #expect(state.claimThread() == nil)
    state.abandonJob(1)
    #expect(state.claimThread() == .pool)
    #expect(state.step(thread: 1) == "rest, alarm 1 in 5.0 seconds")
    // The thread of the job comes back.
    #expect(state.step(thread: 0) == "rest")
  }

  /// Other jobs of the main thread cannot begin meanwhile, so they do not keep the scope from being idle.
  @Test func anAbandonedJobHoldsTheMainThread() {
    var state = SchedulerState(scope: Scope(ScopeOptions()))
    state.beginBody()
    for task: UInt64 in 1...2 {
      state.jobIsReady(ReadyJob(of: task, executor: .main), isFromOutside: true)
    }
    state.jobIsReady(ReadyJob(of: 3), isFromOutside: true)
    #expect(state.claimThread() == .main)
    #expect(state.idleness.requestedThreadBegins(on: .main) == 0)
    #expect(state.step(on: .main) == "run 1")
    state.abandonJob(1)
    #expect(state.claimThread() == .pool)
    #expect(state.idleness.requestedThreadBegins(on: .pool) == 1)
    #expect(state.step(thread: 1) == "run 3")
    #expect(state.step(thread: 1) == "rest, alarm 1 in 5.0 seconds")
    // The job ends after all.
    #expect(state.step(on: .main) == "rest")
    #expect(state.claimThread() == .main)
    #expect(state.step(on: .main, thread: 1) == "run 2")
    state.checkInvariants()
  }

  @Test func aScopeWhoseLastSleepEndsInThePauseMayBeStuck() {
    let scope = Scope(ScopeOptions(jumpsAfter: .seconds(1)))
    var state = SchedulerState(scope: scope)
    state.beginBody()
    sleep(on: scope.virtualClock, until: .seconds(5))
    #expect(state.step() == "rest, alarm 1 in 1.0 seconds")
    _ = scope.virtualClock.removeAllSleeps()
    _ = state.alarmRings(1, AutoAdvance.Others())
    #expect(state.claimThread() == .pool)
    #expect(state.step() == "rest, alarm 2 in 5.0 seconds")
  }

  @Test func eachJumpHasAPauseOfItsOwn() {
    let scope = Scope(ScopeOptions(jumpsAfter: .seconds(1)))
    var state = SchedulerState(scope: scope)
    state.beginBody()
    for second in 5...6 { sleep(on: scope.virtualClock, until: .seconds(second)) }
    #expect(state.step() == "rest, alarm 1 in 1.0 seconds")
    _ = state.alarmRings(1, AutoAdvance.Others())
    #expect(state.steps() == ["wake", "rest, alarm 2 in 1.0 seconds"])
    #expect(scope.virtualClock.now == .seconds(5))
  }

  @Test func aPacedObserverWaitsForAPauseAndIsNotStuck() {
    let scope = Scope(ScopeOptions(jumpsAfter: .seconds(1)))
    var state = SchedulerState(scope: scope)
    state.beginBody()
    state.append(observer(scope.virtualClock, after: .zero, isPaced: true))
    #expect(state.step() == "rest, alarm 1 in 1.0 seconds")
    _ = state.alarmRings(1, AutoAdvance.Others())
    #expect(state.step() == "finish another's")
    #expect(scope.virtualClock.now == .seconds(9))
  }

  @Test func wakesAreCountedAnewWhenTheBodyIsCancelledForThem() {
    let scope = Scope(ScopeOptions(limits: RunawayLimits(wakes: 2)))
    var state = SchedulerState(scope: scope)
    state.beginBody()
    for second in 1...6 { sleep(on: scope.virtualClock, until: .seconds(second)) }
    let steps = (1...6).map { _ in state.step() }
    #expect(steps == ["wake", "wake", "cancel 1", "wake", "wake", "report"])
  }

  @Test func aRunawayAbortsAnObserverOfTheScope() {
    let scope = Scope(ScopeOptions(limits: RunawayLimits(jobs: 1)))
    var state = SchedulerState(scope: scope)
    state.beginBody()
    let observer = observer(scope.virtualClock, after: .zero, isPaced: true)
    state.append(observer)
    let task = Task {}
    let job = ReadyJob(job: unsafeBitCast(task, to: UnownedJob.self), taskID: 5, executor: .pool)
    state.jobIsReady(job, isFromOutside: false)
    #expect(state.step() == "run 5")
    state.jobIsReady(job, isFromOutside: false)
    #expect(state.step() == "finish another's")
    guard case .jobs(1, task: 5) = observer.runaway else {
      Issue.record("\(String(describing: observer.runaway))")
      return
    }
    withExtendedLifetime(task) {}
  }

  /// Without an alarm the body would wait forever, and no failure would say so.
  @Test func aScopeThatIsStuckWhenABlockHasRunSetsTheAlarm() {
    var state = SchedulerState(scope: Scope(ScopeOptions()))
    state.beginBody()
    let block = state.dispatchedBlockBegan(on: BlockQueue(label: "queue"))
    #expect(state.step() == "rest")
    #expect(state.claimThread() == nil)
    state.dispatchedBlockEnded(block)
    #expect(state.claimThread() == .pool)
    #expect(state.step() == "rest, alarm 1 in 5.0 seconds")
    #expect(state.claimThread() == nil)
  }

  @Test func aTestIsIdleOnlyWhenItsTasksAreVerified() async {
    let over = Task {}
    await over.value
    let task = RetainedTask.retaining(over)
    for scope in [nil, Scope(ScopeOptions())] {
      var state = SchedulerState(scope: scope)
      state.idleness.externalTasks.noteMayRunExternally(
        task, mayHaveRun: false, hasAsyncLets: false)
      #expect(state.idleness.isQuiet == true)
      #expect(state.idleness.isIdle == false)
      if scope == nil {
        // No check for idleness comes before this point: it would note a task whose job is about to end.
        #expect(state.claimThread() == nil)
        #expect(state.step() == "rest")
        #expect(state.idleness.askWhetherIdle() == false)
      }
      #expect(state.claimThread() == .pool)
      #expect(state.step() == "verify")
      _ = state.idleness.externalTasks.verify(for: Scheduler(origin: .here())) { _ in false }
      #expect(state.step() == "rest")
      #expect(state.idleness.askWhetherIdle() == true)
      #expect(state.idleness.isIdle == true)
      #expect(state.claimThread() == nil)
      state.checkInvariants()
    }
  }

  // MARK: - At random

  /// After random events there is at most one thread. It rests only if there is nothing to do, and is requested
  /// otherwise.
  @Test(.repeated(20)) func noThreadTooManyAndNoneTooFew() {
    let seed = UInt64(RepeatedTrait.number)
    var random = Mixer(seed: seed)
    var state = SchedulerState()
    let virtualClock = VirtualClock(now: .zero)
    var model = (ready: 0, externallyStartedJobs: 0, blocks: 0, waiters: 0, hasThread: false)
    var blocks: [UInt64] = []
    for step in 0..<20_000 {
      switch UInt8.random(in: 0..<10, using: &random) {
      case 0, 1:
        state.jobIsReady(ReadyJob(of: UInt64(step)), isFromOutside: false)
        model.ready += 1
      case 2:
        state.idleness.externallyStartedJobsBegan()
        model.externallyStartedJobs += 1
      case 3 where model.externallyStartedJobs > 0:
        state.externallyStartedJobEnded()
        model.externallyStartedJobs -= 1
      case 4:
        blocks.append(state.dispatchedBlockBegan(on: BlockQueue(label: "queue")))
        model.blocks += 1
      case 5 where model.blocks > 0:
        state.dispatchedBlockEnded(blocks.removeFirst())
        model.blocks -= 1
      case 6:
        state.append(Bool.random(using: &random) ? waiter() : advance(virtualClock, to: .zero))
        model.waiters += 1
      default:
        if model.hasThread {
          let action = state.step()
          if action.hasPrefix("run") { model.ready -= 1 }
          if action.hasPrefix("finish") {
            #expect(model.ready == 0 && model.externallyStartedJobs == 0 && model.blocks == 0)
            model.waiters -= 1
          }
          model.hasThread = action != "rest"
        }
      }
      let canAct =
        model.externallyStartedJobs == 0
        && (model.ready > 0 || (model.blocks == 0 && model.waiters > 0))
      let claimed = state.claimThread() != nil
      #expect(claimed == (!model.hasThread && canAct))
      if claimed { model.hasThread = true }
      let isIdle =
        !model.hasThread && model.ready == 0 && model.externallyStartedJobs == 0
        && model.blocks == 0
      #expect(state.idleness.isIdle == isIdle)
      if step % 1_000 == 0 { state.checkInvariants() }
    }
  }

  // MARK: - Support

  private func waiter(isOwn: Bool = true) -> IdleWaiter {
    let waiter = IdleWaiter(isOwn: isOwn)
    waiter.continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, Never>.self)
    return waiter
  }

  private func advance(_ virtualClock: VirtualClock, to target: Duration) -> IdleWaiter {
    let advance = Advance(virtualClock, isOwn: true, .instant(target))
    advance.continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, Never>.self)
    return advance
  }

  private func observer(
    _ virtualClock: VirtualClock, after known: Duration, isPaced: Bool = false
  ) -> VirtualClockObserver {
    let observer = VirtualClockObserver(
      virtualClock, isOwn: false, isPaced: isPaced, after: known, jobsFromOutside: 0,
      upTo: .seconds(9))
    observer.continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, Never>.self)
    return observer
  }

  private func sleep(on virtualClock: VirtualClock, until deadline: Duration) {
    let continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, any Error>.self)
    virtualClock.sleeps.add(
      .continuation(continuation, isOwn: true), until: deadline,
      details: .init(registered: virtualClock.now, clock: .test))
  }
}

extension SchedulerState {
  /// Decides what comes next, and says what that is.
  fileprivate mutating func step(
    on executor: ExecutorKind = .pool, mayStay: Bool = true, thread: Int = 0
  ) -> String {
    switch next(on: executor, mayStay: mayStay, thread: thread) {
    case .abandon: "abandon"
    case .run(let job): "run \(job.taskID)"
    case .runWaking(let job, let task): "run \(job.taskID) to wake \(task)"
    case .wake(_, let isOwn): isOwn ? "wake" : "wake another's"
    case .wakeAndRun: "wake and run"
    case .finish(_, let isOwn): isOwn ? "finish" : "finish another's"
    case .begin(let work): "begin \(work.name)"
    case .cancel(let tasks): "cancel \(tasks.count)"
    case .report: "report"
    case .verify: "verify"
    case .resume(let thread): "resume thread \(thread.number)"
    case .release(let tasks): "release \(tasks.count)"
    case .move(let executor): "move to \(executor)"
    case .rest(nil): "rest"
    case .rest(let alarm?): "rest, alarm \(alarm.number) in \(alarm.duration)"
    }
  }

  /// Decides what comes next until the thread rests, and says what that is.
  fileprivate mutating func steps(on executor: ExecutorKind = .pool) -> [String] {
    var steps: [String] = []
    repeat { steps.append(step(on: executor)) } while !steps[steps.count - 1].hasPrefix("rest")
    return steps
  }

  /// The body of a scope begins; any task will do.
  func beginBody() {
    scope?.body.begin(.any())
  }
}

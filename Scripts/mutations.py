"""The mutations that Scripts/mutate makes by default: one or two for each guarantee of the package.

An entry names a function (`Type.name`; functions of one name count as one) and replaces a fragment
that occurs there exactly once. Entries are numbered in order. `Scripts/mutate --generate` makes
mutations of all other code.
"""

from typing import NamedTuple


class Mutation(NamedTuple):
    guarantee: str
    # The tests that probably notice, as a regular expression. They run first.
    likely: str
    place: str
    old: str
    new: str


MUTATIONS = []


def guarantee(text, likely, *entries):
    MUTATIONS.extend(Mutation(text, likely, *entry) for entry in entries)


# --- Idleness and threads

guarantee(
    "Limits for what seems to hang are measured without the time in which the machine was busy",
    "ServedTimeTests|StuckTestsTests",
    ("ServedTime.lasts", "duration + Self.withheld(since: withheldBefore)", "duration"),
    ("ServedTime.lasts", "duration <= .zero || ", ""),
    ("Interval.withheld", "max(real / 16, UInt64(served))", "UInt64(served)"),
    ("Interval.withheld", "if !isQuiet, !hasServedBlock { share = 0 }", ""),
)

guarantee(
    "A lost wake-up is reported, and a wait for a thread, a process or a timer is not",
    "StuckTestsTests",
    ("Scheduler.newStandstill", "RealSleeps.mayWake(self) || ", ""),
    ("Sleep.isUnderWay", "!status.isCancelled && ", ""),
    ("MachineLoad.mayOutsideAct", "guard haveNoChildren, ", "guard "),
)

guarantee(
    "A test is idle only while no job is ready or running and no task runs outside",
    "SchedulerStateTests|SeamTests",
    ("Idleness.isQuiet", "mayStartJob && ", ""),
    ("Idleness.isNothingOutstanding", "ready.isEmpty && ", ""),
    ("Idleness.isNothingOutstanding", " && dispatchedBlocks.count == 0", ""),
    ("Idleness.isNothingOutstanding", " && !externalTasks.areOutstanding", ""),
    ("Idleness.isNothingOutstanding", " && !busyScopes.areAny", ""),
    ("SchedulerState.takeBusyChange", "scope.isOver ? idleness.mayRun : !idleness.isIdle", "!scope.isOver && !idleness.isIdle"),
    ("SchedulerState.decide", "guard idleness.isQuiet else { return .rest(nil) }", ""),
    ("Idleness.externallyStartedJobEnded", "if abandonedExternalJobs > 0 { abandonedExternalJobs -= 1 } else { externallyStartedJobs -= 1 }",
     "externallyStartedJobs -= 1"),
    ("Idleness.isIdle", " && !externalTasks.mustVerify", ""),
    ("SchedulerState.externallyStartedJobEnded", "if isProgress || scope?.pace.alarm == nil { scope?.mustSetAlarm = true }",
     "scope?.mustSetAlarm = true"),
    ("SkippedExternalWait.jobBegins", "noteRun(of: task, at: now)", "lastRuns[slot] = LastRun(task: task, time: now)"),
    ("SchedulerState.decide", "if mustVerify {", "if false {"),
    ("Idleness.askWhetherIdle", "isAsked = isQuiet && externalTasks.mustVerify", ""),
    ("SchedulerState.mustVerify", " && (scope != nil || idleness.isAsked || turn != nil)", ""),
)
guarantee(
    "At most one thread runs jobs of a scheduler, and one is started when it is needed",
    "SchedulerStateTests|SeamTests|SchedulerTests",
    ("Idleness.mayStartJob", "externallyStartedJobs == 0 } else {", "true } else {"),
    ("SchedulerState.decide", "guard idleness.mayStartJob else { return .rest(nil) }", ""),
    ("SchedulerState.next", "guard number == idleness.threadNumber else {", "guard true else {"),
    ("SchedulerState.next", "case .move(let executor): idleness.requestThread(on: executor)",
     "case .move: idleness.thread = .none"),
    ("SchedulerState.claimNeededThread", "!idleness.ready.isEmpty", "false"),
    ("Scheduler.change", "if let executor { startThread(on: executor) }", "_ = executor"),
    ("Idleness.abandonRunning", "threadParks()", "thread = .none"),
    ("Idleness.requestedThreadBegins", "withdrawnRequests > 0", "false"),
    ("Scheduler.pump", "turn.jobs < Self.jobsPerTurn", "true"),
)
guarantee(
    "A task that runs outside the scheduler is waited for until it returns or ends",
    "SchedulerStateTests|SeamTests|OtherExecutorTests|AsyncLetOnExecutorTests|YieldOnExecutorTests|SharedLoopTests|SharedActorInParallelTests",
    ("ExternalTaskRegistry.isBack", "guard !TaskStatus.isAboutToRun(task) else", "guard true else"),
    ("TaskStatus.isAboutToRun", "yieldFunction != 0", "false"),
    ("ExternalTasks.externalState", "if entry.hasAsyncLets,", "if false,"),
    ("TaskStatus.hasActiveAsyncLet", "return !TaskStatus(of: task).isActive", "return false && !TaskStatus(of: task).isActive"),
    ("TaskOwnership.adopt", "guard test != nil else { return false }", "guard false else { return false }"),
    ("TaskOwnership.adopt", "guard prior.isOver, !owner.isOver else", "guard false else"),
    ("ExternalTasks.externalState", "guard entry.mayHaveRun || ", "guard "),
    ("Scheduler.taskMayRunExternally", "noteMayRunExternally(UnownedTask(job: task))", "_ = task"),
    ("LiveTasks.removeEnded", "over.compactMap", "over.prefix(0).compactMap"),
)

# --- Order

guarantee(
    "Ready jobs run first in, first out, each on its executor, or as a chooser decides",
    "SchedulerStateTests|SeamTests|JobOrderTests",
    ("SchedulerState.startJob", "mayStay && next.executor == executor", "mayStay"),
    ("SchedulerState.startJob", "makeReady(job)", ""),
    ("SchedulerState.startJob", "idleness.ready.remove(at: position)",
     "idleness.ready.remove(at: idleness.ready.count > 1 ? 1 : 0)"),
    ("JobQueue.grow", "head = 0", ""),
    ("JobQueue.appendCandidates", "isFirstOnMain = false", "isFirstOnMain = true"),
    ("Order.first", "index >= 0 && index < candidates.count ? index : 0", "index"),
)
guarantee(
    "At idle, observers that are behind come first, then settles, then advances, then jumps",
    "SchedulerStateTests|AdvanceUntilTests|SemanticsTests|TestClockTests",
    ("SchedulerState.turn", "scope.body.toCancel.count > 0", "scope.body.toCancel.count < 0"),
    ("SchedulerState.turn", "idleWaiters.observers.count > 0", "idleWaiters.observers.count < 0"),
    ("SchedulerState.turn", "scope.virtualClock.hasSleeps ? .jump : nil", ".jump"),
    ("IdleWaiters.first", "observers.count > 0, let", "observers.count < 0, let"),
    ("IdleWaiters.first", "if let settle = settles.first { return settle }", ""),
    ("IdleWaiters.first", "if let advance = advances.first { return moveSeveralClocks ? firstInStep : advance }",
     ""),
    ("IdleWaiters.first", "!($0.isPaced && scopeMovesTime)", "!$0.isPaced"),
    ("IdleWaiters.append", "settles.append(waiter)", "advances.append(waiter)"),
)
guarantee(
    "Clocks that are advanced together move in step",
    "TwoClocksTests",
    ("IdleWaiters.append", "first.movedClock !== waiter.movedClock", "false"),
    ("IdleWaiters.firstInStep", "$0.distance < $1.distance", "$0.distance > $1.distance"),
    ("IdleWaiters.takeSleeperInStep", "other.follow(passed", "other.follow(.zero"),
    ("Advance.nextInstant", "deadline ?? $0", "$0"),
)
guarantee(
    "Failures name the place that a helper passes on, and sleeps that no clock was injected for",
    "SourceLocationTests|FirstHourTests",
    ("PermanentTexts.text", "isASCII ? 0b10 : 0", "0b10"),
    ("TestClock.fail", "noteOnRealSleeps, ", ""),
)
guarantee(
    "A probe's end names each event that was not taken, and a diagram's cancellation comes first",
    "ProbeTests|ExpectTimelineTests",
    ("Probe.finish", "case .error: index < before", "case .error: false"),
    ("Diagram.earlyCancellation", "cancellation > 0, ", "cancellation < 0, "),
)
guarantee(
    "Sleeps wake by deadline, and sleeps of one deadline in the order of registration",
    "TimelineTests|SleepQueueTests|SchedulerStateTests|TestClockTests",
    ("SleepQueue.comesFirst", "left < right ||", "left > right ||"),
    ("SleepQueue.comesFirst", "left == right && lhs.number < rhs.number",
     "left == right && lhs.number > rhs.number"),
    ("SleepQueue.siftDown", "firstChild + 4", "firstChild + 3"),
    ("SleepQueue.remove", "if position > 0, comesFirst", "if position < 0, comesFirst"),
    ("SleepQueue.place", "positions[Int(entry.slot)] = Int32(truncatingIfNeeded: position)", ""),
    ("VirtualClock.popEarliest", "if let target, sleeps.isLater(deadline, than: target)",
     "if let target, !sleeps.isLater(target, than: deadline)"),
    ("VirtualClock.move", "if sleeps.isLater(instant, than: now) { now = instant }", "now = instant"),
    ("CustomDurationTable.isLater", "value(of: a) > value(of: b)", "a > b"),
)
guarantee(
    "An advance ends exactly at its target, and time never goes back",
    "TestClockTests|SemanticsTests|AdvanceUntilTests|SchedulerStateTests",
    ("Advance.takeSleeper", "virtualClock.move(to: target)", ""),
    ("Advance.targetFromNow", "virtualClock.isFuture($0) ? $0 : virtualClock.now", "$0"),
    ("Advance.targetFromNow", "virtualClock.instant(after: duration)", "duration"),
    ("VirtualClockObserver.isBehind", " || virtualClock.sleeps.isLater(virtualClock.now, than: known)", ""),
    ("VirtualClockObserver.takeSleeper", "isBehind ? virtualClock.now : limit", "limit"),
)

# --- Cancellation and ends

guarantee(
    "A sleep is resumed exactly once, and cancellation ends it immediately",
    "TestClockTests|SemanticsTests|SchedulerTests|SleepQueueTests",
    ("TestClock.newSleep", "try task.checkCancellation()", ""),
    ("Scheduler.sleep", "self.cancelSleep(at: &place, on: virtualClock)", "_ = sleep"),
    ("Scheduler.begin", "if place.isCancelled { return .cancelled }", ""),
    ("SleepQueue.cancel", "slots[Int(token.slot)].number == token.number, ", ""),
    ("Scheduler.cancelAllSleeps", "sleeper.cancel()", "_ = sleeper"),
)
guarantee(
    "A sleep until now does not wait, and arrivals are told",
    "TestClockTests|SemanticsTests|SchedulerTests|SleepRegistrationTests",
    ("VirtualClock.isFuture", "sleeps.isLater(deadline, than: now)",
     "!sleeps.isLater(now, than: deadline)"),
    ("Scheduler.begin", "if virtualClock.isAwaited", "if false"),
    ("VirtualClock.news", "for waiter in fulfilled { waiter.succeed() }", ""),
)
guarantee(
    "The end of a clock or of an owner releases everything that is registered for it",
    "OwnershipTests|TaskTableTests|LifetimeTests",
    ("TestClock.deinit", "scheduler.release()", ""),
    ("TaskOwnership.release", "owners.remove(tasks[index], of: owner)", "_ = index"),
    ("TaskOwnership.release", "guard owner.registration.clocks == 0 else { return false }", ""),
    ("TaskTable.removeBlock", ">= (next &- place) & mask", "< 0"),
    ("TaskSet.contains", "& 1 << (id & 63) != 0", "!= 0"),
)

# --- Limits and reports

guarantee(
    "A test that never becomes idle is ended, and the task at fault is named and cancelled",
    "SchedulerStateTests|SchedulerTests|VirtualTimeTests|LeftoverTests",
    ("RunawayGuard.jobBegins", "jobs += 1", ""),
    ("RunawayGuard.jobBegins", "if task == rootTask, rootTask != 0 { wakes = 0 }", "wakes = 0"),
    ("RunawayGuard.tooManyWakes", "wakes >= limits.wakes", "wakes > limits.wakes"),
    ("SchedulerState.decide", "runaway.testIsIdle()", ""),
    ("SchedulerState.serve", "case .advance = waiter.kind, let reason", "let reason"),
    ("SchedulerState.abort", "culprit: culprit?.task)", "culprit: nil)"),
    ("Advance.takeUntilLimit", "ranOutOfTime = true", "ranOutOfTime = false"),
)
guarantee(
    "Time jumps in a scope only while nothing holds it and after the pause",
    "SchedulerStateTests|VirtualTimeTests|VirtualTimeTraitTests|EventuallyTests",
    ("AutoAdvance.mayPass", "autoAdvance && ", ""),
    ("AutoAdvance.mayPass", " && holds == 0", ""),
    ("AutoAdvance.isPauseOver", "jumpsAfter == nil || pauseIsOver", "true"),
    ("AutoAdvance.somethingHappens", "pauseIsOver = false", ""),
    ("Scheduler.beginHold", "state.scope?.pace.holds += 1", ""),
    ("Scheduler.endHold", "scope.pace.holds -= 1", ""),
)
guarantee(
    "Unowned jobs run where they would run without the package, and a reported blockage stops none",
    "UnownedJobsTests|OwnershipTests",
    ("InternalDispatch.cooperativeQueue", "setWidth(queue, -3)", ""),
    ("UnownedJobs.useMoreThreads", "isQueueBlocked = true", ""),
    ("Scheduler.pump", "!action.mayDelayKept", "false"),
    ("UnownedJobs.useMoreThreads", "for _ in 0..<count { startThread(isQueueBlocked: true) }",
     "_ = count"),
)
guarantee(
    "A task on an executor of the user belongs to the test from its first job on",
    "EagerExecutorTests|AsyncLetOnExecutorTests",
    ("JobRuns.owner", "guard StatusProbe.here.readsChildren,", "guard !StatusProbe.here.readsChildren,"),
    ("CreationsOnExecutors.postpone", "($0.executor == executor || $0.executor == other) &&", "false &&"),
    ("CreationsOnExecutors.end", "taskID(of: postponed.job) == task || isLast &&", "isLast &&"),
    ("CustomExecutor.learn", "TaskOption.kind(of: executor, in: options) ?? serialKind", "serialKind"),
    ("CreationsOnExecutors.end", "for (job, executor) in jobs { executor.enqueue(job) }", "_ = jobs"),
)
guarantee(
    "A wait for a test's clock in a scope lets the scope run as far as it can, before and after",
    "ForeignUseTests",
    ("Scheduler.waitFromScope", "isWithin(self) == true", "isWithin(self) == nil"),
)
guarantee(
    "A scope that makes no progress is reported after its limit, not before",
    "SchedulerStateTests|ScopeStateTests|AlarmClockTests|HangTests",
    ("AutoAdvance.somethingHappens", "alarm = nil", ""),
    ("ScopeState.setAlarm", "patience: 12", "patience: 0"),
    ("ScopeState.alarmRings", "(others == .areBusy && patience > 0)",
     "(others == .areBusy && patience < 0)"),
    ("ScopeState.alarmRings", "others == .awaitThread || ", ""),
    ("SchedulerState.alarmRings", "guard idleness.isIdle else {", "guard true else {"),
    ("ScopeState.ran", "runningTime += duration", "runningTime = duration"),
    ("Scheduler.endHold", "if scope.pace.alarm == nil { scope.mustSetAlarm = true }", ""),
    ("AlarmClock.set", "guard number >= newest else { return false }", ""),
    ("AlarmClock.timerCame", "guard timer == instant else { return (nil, nil) }", ""),
)
guarantee(
    "The watchdog reports a blocked thread or a test at a standstill once, and ends the wait",
    "WatchdogTests|StandstillTests|ProgressTrackerTests|HangTests|SchedulerStateTests",
    ("ProgressTracker.findBlockage", "othersWait ? running(idleness) : nil", "running(idleness)"),
    ("ProgressTracker.isDue", "guard !found.isReported, found.since", "guard found.since"),
    ("SchedulerState.abandonJob", "guard activity.isRunning(number, idleness) else { return }", ""),
    ("SchedulerState.findStandstill", " && idleWaiters.isEmpty", ""),
    ("TestLifetime.areOver", "tasks.allSatisfy(", "tasks.contains(where: "),
    ("Watchdog.check", "scheduler.abort(blockage)", ""),
)
guarantee(
    "Each problem is reported once, to the test that it belongs to, before its scope ends",
    "StandstillTests|WatchdogTests|LifetimeTests|LeftoverTests|OverdueBodyTests",
    ("ScopeBody.abort", "report = .due(waiter: nil)", ""),
    ("ScopeBody.abort", "if let task { toCancel.append(task) }", ""),
    ("ScopeBody.end", "(isReported ? nil : problem,", "(problem,"),
    ("ScopeBody.end", "(isReported ? nil : problem,", "(nil,"),
    ("ScopeBody.isDone", "report = .due(waiter: waiter)", ""),
    ("Scheduler.reportOverdue", "report.record(describe(problem, isOverdue: true))", ""),
    ("Scheduler.reportOverdue", "change { $0.scope?.body.deliverReport() }?.resume()", ""),
    ("VirtualTime.end", "scheduler.report.record(scheduler.describe(problem))", "_ = problem"),
    ("TestReport.runInTest", "if let context { context.run(body) } else { body() }", "body()"),
    ("TestContext.deinit", "next?.run()", ""),
)
guarantee(
    "What the package relies on and does not find is listed, and no failure is lost for it",
    "RecordFailureTests|LostSecretTests",
    ("recordFailure", "guard case .lost(let library) = delivery else { return }",
     "guard false, case .lost(let library) = delivery else { return }"),
    ("SwiftTesting.record", "if let compiled = CompiledSwiftTesting.registered {",
     "if false, let compiled = CompiledSwiftTesting.registered {"),
    ("XCTest.isLoaded", "canFail || isLibraryLoaded", "canFail"),
    ("SchedulingSelfTest.init", "if !TaskCreation.isSeen {", "if false {"),
    ("SchedulingSelfTest.init", "if !TaskCreation.seesAsyncLets {", "if false {"),
    ("SchedulingSelfTest.init", "if !JobRuns.areSeen {", "if false {"),
)

# --- Scopes

guarantee(
    "The end of a scope ends its sleeps and tasks, and the clocks are real again",
    "VirtualTimeTests|LeftoverTests|ExactnessTests",
    ("Scheduler.closeScope", "isVirtual = false", ""),
    ("VirtualTime.end", "await endLeftovers()", ""),
    ("VirtualTime.endLeftovers", "neverIdles.cancel()", ""),
    ("VirtualTime.endLeftovers", "scheduler.cancelSleepingTasks()", ""),
    ("Scheduler.cancelSleepingTasks", "task.cancel()", ""),
    ("ExternalTasks.jobArrived", "entry.state == .stopped", "false"),
)
guarantee(
    "A sleep on the runtime's clocks is virtual in a scope, exact, and ends when cancelled",
    "VirtualTimeTests|ExactnessTests|LeftoverTests|RuntimeHooksTests|ThreadContextTests|SchedulerStateTests",
    ("RuntimeHooks.virtualOwner", "isVirtual == true", "isVirtual == nil"),
    ("ThreadContext.takes", "|| id == wakingTask", "|| id != 0"),
    ("SchedulerState.wake", "task == job.taskID || task == 0", "true"),
    ("RuntimeSleeps.begin", "begun.append(Begun(task: task.handle.asWord, sleep: sleep))", ""),
    ("RuntimeSleeps.replace", "entries.replace(task, by: entry)", "entries[task]"),
    ("RuntimeSleeps.endCancelled", "cancelledEarly.append(task.id)", ""),
    ("Scheduler.sleepVirtually", "notify?()", ""),
    ("Duration.roundedUpAfterReadingTheClockTwice", "attoseconds - remainder + unit", "attoseconds - remainder"),
    ("Scheduler.reading", "isDate ? saturatingSum(now, dateOffset) : now", "now"),
)

# --- Ownership and hooks

guarantee(
    "A task belongs to the test that made it, and no other test takes it over",
    "OwnershipTests|EarlyTaskTests|SharedClockTests|RuntimeHooksTests",
    ("TaskOwnership.claimed", "if let other = owners[id] { return (other === owner, false) }", ""),
    ("TaskOwnership.claimed", "register(id, of: owner)", ""),
    ("TaskOwnership.owner", "if unowned.contains(id) { return", "if false { return"),
    ("TaskOwnership.retain", "{ setWatermark(of: owner, newestTask) }", "{}"),
    ("TaskOwnership.registerUnowned", "watermark).min()", "watermark).max()"),
    ("Scheduler.admitCurrentTask", "return isOwn", "return true"),
    ("Scheduler.retainForNewClock", "scheduler.adoptTestCase(of: task)", ""),
    ("ThreadContext.owner", "return TaskOwnership.shared.owner(of: task, on: owner)",
     "return owner"),
)
guarantee(
    "The hooks hand each job to its owner, tell it of the job's end, and leave others alone",
    "RuntimeHooksTests|OwnershipTests|SchedulerTests|HookStrategyTests",
    ("Scheduler.waitForCurrentJob", "context.pointee.ownersAwaitingEnd.append(self)", ""),
    ("Scheduler.run", "context.pointee.ownersAwaitingEnd = []", ""),
    ("Scheduler.run", "isInJob = true", "isInJob = false"),
    ("RuntimeHooks.runJobs", "owners.last?.externallyStartedJobEnded(on: ready.executor)", "ReadyJob?.none"),
    ("SPIDefaultExecutor.enqueue", "after: delay, tolerance", "after: .zero, tolerance"),
    ("RetainedTask.isOver", "TaskStatus(of: job).isOver", "false"),
    ("RetainedTask.cancel", "task.cancel()", ""),
)

# --- Other clocks

guarantee(
    "Other clocks honour cancellation, keep their ticks on the grid, and never go back",
    "ImmediateClockTests|AnyClockTests|TimerTests|GreatestMultipleTests|ClockSleepTests",
    ("ImmediateClock.sleep", "max(latest, deadline)", "deadline"),
    ("ImmediateClock.sleep", "try Task.checkCancellation()", ""),
    ("Iterator.next", "next.advanced(by: missed)", "next"),
    ("Iterator.next", "guard !hasEnded, !Task.isCancelled,", "guard !hasEnded,"),
    ("endOfRange", "< 0 ? .min : .max", "< 0 ? .max : .min"),
)

# --- Exploration and recordings

guarantee(
    "The search tries each order once, within its limits, and shards divide it",
    "ScheduleSearchTests|WaitingLoopTests|ScheduleRequestTests|KnownBugTests",
    ("ScheduleSearch.expand", "limits.shard.count != limits.shard.index { continue }",
     "limits.shard.count < 0 { continue }"),
    ("ScheduleSearch.note",
     "if isMine(reversal) { reversals.append(reversal) }", "_ = reversal"),
    ("ScheduleSearch.isMine", "== UInt64(limits.shard.index)", ">= UInt64(limits.shard.index)"),
    ("Strategy.firstFree", "kept[number] < Self.patience", "kept[number] < .max"),
    ("ScheduleRun.choose", "record.steps.count < longest", "record.steps.count >= 0"),
    ("RunRecord.reversals", "if cause >= 0 { effects[cause] = second }", ""),
)
guarantee(
    "A failing order is replayed, made small, and kept only if it is the same failure",
    "ScheduleSearchTests|TokenFolderTests|ScheduleTokenTests|WithSchedulesTests|DivergenceTests",
    ("ScheduleShrinker.leaveOutEach", "await attempt(test, { $0[keyPath: parts].remove(at: index) })", "runs < 0"),
    ("ScheduleShrinker.leaveOutEach", "needed = 0", "needed += 0"),
    ("ScheduleShrinker.shrink", "if (constraints, choices) == known", "if true"),
    ("Exploration.examine", "outcome.key == finding.key ?", "outcome.hasFailed ?"),
    ("Exploration.callAsFunction", "search.tried == 2, let first", "search.tried == 0, let first"),
    ("TokenFolder.add", "guard !known.contains(token) else { return }", ""),
    ("IssueGate.handle", "return .isKept", "return .passes"),
    ("CrashHandler.handle", "crashed(signal)", "_ = crashed"),
    ("RuntimeClocks.areVirtual", "owner.isExplored || ", ""),
)
guarantee(
    "Choices, faults, stalls and random numbers are in the record, in the token and in what is made small",
    "ChoiceTests|StallTests|InvariantTests|ScheduleTokenTests|CheckpointTests|HostileSimulationTests|SimulationRecordTests",
    ("ScheduleRun.faultStrikes", "faults < bounds.faults ||", "true ||"),
    ("ScheduleRun.stallLimit", "stalls < bounds.stalls ?", "true ?"),
    ("ScheduleRun.stall", "stalls < bounds.stalls ?", "true ?"),
    ("ScheduleRun.stall", "decided = nil", ""),
    ("ScheduleRun.decide", "|| name.isStep", ""),
    ("ScheduleShrinker.reduceChoices", "await leaveOut(test) { $0.isFault }", ""),
    ("ScheduleSearch.expand", "{ hasGaps = true }", "{}"),
    ("Scheduler.judge", "isDecided && remove(invariant)", "isDecided"),
    ("Scheduler.isInOwnJob", " && !context.pointee.isInCondition", ""),
    ("Scheduler.leave", "{ scheduler.change { $0.abandon() }?.isResumed.signal() }", "{ _ = scheduler.change { $0.abandon() } }"),
    ("ScheduleShrinker.reduceChoices", "await reduce(at: index, test)", "_ = index"),
    ("Strikes.init", "mixer.below(min(most, range) + 1)", "mixer.below(most + 1)"),
)
guarantee(
    "A recording tells each event once, and only of runs that count",
    "RecordedScheduleTests|WithSchedulesTests|TimelineTraitTests",
    ("Scheduler.endRecording", "if !isOnTrial { recorder", "do { recorder"),
    ("SchedulerState.noteTime", "now != before", "now == before"),
)

# --- ClocksTestKit

guarantee(
    "A timed expectation fails if it is fulfilled too late, too rarely or too often",
    "TimedExpectationTests|ConfirmationTests|EventuallyTests|VirtualTimeTraitTests",
    ("TimedExpectation.follow", "guard !expectedCount", "guard outcome == .limitReached, !expectedCount"),
    ("TimedExpectation.follow", "guard !expectedCount", "guard outcome == .holds, !expectedCount"),
    ("ExpectedCount.isDecided", "count > most", "count >= most"),
    ("TestClock.eventually", "isPaced: true", "isPaced: false"),
    ("TestClock.never", "return true", "return false"),
)

guarantee(
    "A simulated crash loses what is on its way to the node and what is not synced, and what it left reaches nothing",
    "NodeTests|SimulatedNetworkTests|ExploredNetworkTests|ConnectionTests",
    ("SimulatedNodes.presentLife", "own.number != crashes { return nil }", "false { return nil }"),
    ("SimulatedNetwork.arrive", "== life", "!= nil"),
    ("SimulatedLinks.carry", "arrival = max(arrival, links[link].lastArrival)", ""),
    ("SimulatedDisk.sync", "guard try presentLife == life else", "guard true else"),
    ("SimulatedDisk.crash", "options += torn(values[before], values[before + 1]).map {", "_ = torn(values[before], values[before + 1]).map {"),
    ("SimulatedByteStream.parts", ": [count, 1, count / 2]", ": [count, 1]"),
    ("SimulatedNetwork.arrive", 'nodes.time.mark("arrives: \\(envelope.payload)")', ""),
)

# --- TimeoutTask

guarantee(
    "A race has one outcome, and each waiter is resumed once, in the order of arrival",
    "RaceTests|WaiterQueueTests|TimeoutTaskTests|CancellationTests",
    ("OutcomeState.decide", "phase = .decided", ""),
    ("OutcomeState.announce", "defer { waiters = WaiterQueue() }", ""),
    ("WaiterQueue.all", "$0.ticket.number < $1.ticket.number",
     "$0.ticket.number > $1.ticket.number"),
    ("WaiterQueue.remove", "others.removeValue(forKey: ticket)", "others[ticket]"),
    ("SharedOutcome.enter", "if isTooLate { return waiter.resume() }", ""),
)
guarantee(
    "The last waiter's cancellation cancels the work, and the end removes the timer",
    "CancellationTests|TimeoutTaskTests|LeakTests",
    ("SharedOutcome.announce", "running.timer?.cancel()", ""),
    ("SharedOutcome.leave", "waiter != nil && state.waiters.isEmpty", "waiter != nil"),
    ("SharedOutcome.leave", "decision?.work?.cancel()", ""),
    ("TimeoutTask.cancel", "?.work?.cancel()", ""),
)
guarantee(
    "A deadline interrupts its operation exactly once, at its instant and not after the end",
    "DeadlineTests|WithDeadlineTests|InterruptibleOperationTests|ActiveDeadlineTests",
    ("InterruptibleOperation.interrupt", "if reference.task.isCancelled { return nil }", ""),
    ("InterruptibleOperation.cancelled", "return waiting", "return nil"),
    ("OperationDeadline.pass", "state.timerNumber == number", "true"),
    ("OperationDeadline.pass", "task.cancel()", ""),
    ("InterruptibleOperation.end", "phase = .settled", ""),
    ("ClockDeadline.move", "move.replaced?.cancel()", ""),
    ("ActiveDeadline.governs", "&& place == self.place", ""),
)
guarantee(
    "Shared timers fire in the order of their deadlines, never early, and not when removed",
    "TimerOrderTests|SharedTimers|TimerHeap",
    ("TimerHeap.push", "if entries[parent].latest <= entry.latest { break }", "break"),
    ("TimerHeap.remove", "places[index].alarm = nil", ""),
    ("TimerHeap.remove", "places[index].number == ticket.number,", ""),
    ("SharedTimers.add", "deadline + slack < state.latest ?", "state.latest == .max ?"),
    ("SharedTimers.end", "max(now(), sleep.deadline)", "now()"),
    ("SharedTimers.end", "guard state.lastNumber == sleep.number else { return ([], nil) }", ""),
)
guarantee(
    "Retries stop at their limits, their budget and cancellation",
    "WithRetryTests|AsyncTimeoutSequenceTests",
    ("withRetry", "guard failures < attempts,", "guard failures <= attempts,"),
    ("withRetry", "!Task.isCancelled, shouldRetry(error)", "shouldRetry(error)"),
    ("withRetry", "if let end, end <= next", "if let end, end < next"),
    ("withRetry", "Task.isCancelled, ActiveDeadline.current?.hasPassed != true,",
     "ActiveDeadline.current?.hasPassed != true,"),
    ("withRetry", "ActiveDeadline.current?.hasPassed != true,", ""),
    ("Backoff.delay", "min(delay, end)", "delay"),
)

# --- The environment, and other readers of time

guarantee(
    "A test process does not run with a variable whose value is not accepted",
    "EnvironmentTests|DumpSignalTests",
    ("Environment.check", "if !errors.isEmpty { _exit(2) }", ""),
    ("Environment.problems", "!known.accepts(value)", "false"),
)
guarantee(
    "Time stands still until a dispatch source is registered, and no longer",
    "SourceTests",
    ("TestDispatchSource.goOn", "count(&registration)", ""),
    ("TestDispatchSource.end", "stopCounting(&registration)", ""),
    ("TestDispatchSource.pause", "stopCounting(&registration)", ""),
)
guarantee(
    "Instants that Dispatch does not represent do not trap",
    "FarFutureTests",
    ("DispatchTimes.read", "guard reading.tv_sec < latest else { return UInt64(latest) * 1_000_000_000 }", ""),
)

guarantee(
    "Orders that differ only in the order of independent steps are one class, and no others are",
    "OrderClassTests",
    ("RunRecord.classHash", "toucher[actor] = Int32(truncatingIfNeeded: step)", ""),
    ("ScheduleSearch.hasNoNewClass", "guard limits.endsWithClasses, !isComplete || hasGaps else { return false }",
     "return false"),
)

# --- Suites that do not know of virtual time

guarantee(
    "Each test of a suite that does not ask for it runs in a scope of its own, with its waits",
    "PlainSuiteTests|ProgressTrackerTests",
    ("ThreadWaits.wakeUp", "resume()", ""),
    ("ThreadWaits.leavesOut", " - .milliseconds(250)", ""),
    ("ThreadWaits.paused", "holdsMain && (work != .method || !inRunLoop)", "isMain && work != .method"),
    ("Idleness.isMainTaken", "withdrawRequest() }", "}"),
    ("ThreadWaits.cover", "pause.cover({ owner.pause(job, nil) }, endParallel)", "pause.cover({}, endParallel)"),
    ("Scheduler.verifyExternalTasks", "withheld.contains($0) || ", ""),
    ("ThreadWaits.startThread", "owner.jobBegins()", ""),
    ("ScopeState.isHeldBack", " || pausedTasks.contains(task)", ""),
    ("DispatchedBlocks.countAgain", "isMainTaken && ", "false && "),
    ("ScopeState.passTime", "guard pace.mayPass, body.isRunning else { return false }", "return false"),
    ("EverywhereSettings.plan", "guard seed != 0 else", "guard replay != nil else"),
)
guarantee(
    "Time stands still while a thread that the test has started or a block runs, and moves while it sleeps",
    "PlainSuiteTests|ProgressTrackerTests",
    ("TestThread.run", "owner.workEnded(waits.block)", ""),
    ("ThreadWaits.blockBecomesJob", "owner.workEnded(block)", ""),
    ("ThreadWaits.jobBecomesBlock", "beginBlock()", ""),
    ("DispatchedBlocks.countAgain", "return block.thread != nil || !isStopped(number, block, summaries)", "return true"),
    ("ThreadWaits.ofBlock", "(waits.block, waits.queue, waits.stop) = (number, queue, queue.stop(by: isBarrier))", "(waits.queue, waits.stop) = (queue, queue.stop(by: isBarrier))"),
)
guarantee(
    "A test goes on whose threads wait for each other, and is exact again when they do",
    "PlainSuiteTests|JobPauseTests|ThreadWaitsTests|BlockQueueTests",
    ("IdleProcess.look", "test.makeJobsParallel(before.job)", ""),
    ("Idleness.leaveOutParallelWork", "dispatchedBlocks.areLeftOut = true", ""),
    ("ThreadWaits.becomeParallel", "block = owner.workBegan(on: .parallelJob)", "block = 0"),
    ("ThreadWaits.endParallel", "owner.workEnded(block)", ""),
    ("ThreadWaits.becomeParallel", "setHold(false)", ""),
    ("ThreadWaits.paused", "if context != nil { Self.lock.withLock { Self.externalJobs.append(self) } }", ""),
    ("Scheduler.run", "context.pointee.waits?.jobEnds()", ""),
    ("LimitedWait.wait", "guard owner.enqueue(callback, after: delay)", "guard owner.enqueue(callback, after: delay * 2)"),
    ("DispatchedBlocks.firstThatMayBegin", "block.queue.isConcurrent && !block.isBarrier", "false"),
    ("DispatchedBlocks.firstThatMayBegin", "stops[block.queue].map({ $0.syncs == 0 }) ?? true", "true"),
    ("DispatchedBlocks.isStopped", "stop.barriers > 0 && ", "false && "),
    ("DispatchedBlocks.run", "if isAbandoned || stop(of: block.queue) != nil { countAgain() }", "if stop(of: block.queue) != nil { countAgain() }"),
    ("SuspendedQueues.wasSuspended", "owner.noteStop(.ofAll, of: suspension.queue, 1)", ""),
    ("SuspendedQueues.wasMade", "wasSuspended(queue, of: owner)", ""),
    ("IsolatedDeinits.deinitOnExecutor", "!TaskOwnership.shared.isEmpty, let owner", "false, let owner"),
    ("SchedulerState.awaitsThreadOfDispatch", "since + .seconds(1)", "since + .seconds(0)"),
    ("SchedulerState.awaitsThreadOfDispatch", "scope.blockWithoutThread?.number != block", "scope.blockWithoutThread == nil"),
    ("SchedulerState.isHeld", "|| idleness.externalTasks.areOutstanding", ""),
    ("IdleProcess.mayOutsideAct", "outside?.since.lasts(.milliseconds(200)) == false", "true"),
    ("ExternalTasks.setPaused", "replace(id, by: entry)", "_ = entry"),
    ("Idleness.countEverything", "externalTasks.areLeftOut = false", ""),
    ("ThreadWaits.holdsMain", "case .job: isJobOnMain", "case .job: isMain"),
    ("JobRuns.withWaits", "return body(ThreadWaits.ofThread)", "return body(nil)"),
    ("JobRuns.withWaits", "DispatchedBlock.run(on: .executor, of: owner) { body(ThreadWaits.ofThread) }", "body(nil)"),
    ("SynchronousBody.run", "JobHook.ofOtherCode == nil", "true"),
    ("PatchedDefaultExecutor.enqueue", "RuntimeHooks.isOnlyPreferred, let hook", "false, let hook"),
    ("Notifications.itemHasRun", "countAll(OpaquePointer(item))", ""),
    ("DispatchCalls.owner", "HandedBlock(block).library != .ofTests", "HandedBlock(block).library == nil"),
    ("ThreadWaits.ofAnyKind", "waits.owner.pausedWaits == .all", "waits.owner.pausedWaits == .all, waits.work != .block"),
    ("EverywhereRecords.begin", "Environment.everywhereRecorder != nil", "false"),
    ("SchedulerState.isPatient", "&+ idleness.dispatchedBlocks.changes", "&+ 0"),
    ("OutsideWork.waitsForever", "watchedFiles(words)?.allSatisfy { !isArmedTimer($0) } ?? false", "true"),
    ("SuspendedQueues.willResume", "suspension.owner?.noteStop(.ofAll, of: suspension.queue, -1)", ""),
    ("ThreadWaits.noteSyncs", "owner.noteStop(sync.stop, of: sync.queue, change)", ""),
    ("ThreadWaits.holders", "all.filter { $0.work != .job } + externalJobs", "all.filter { $0.work == .method } + externalJobs"),
    ("ThreadWaits.endHolds", "wait.setHold(false)", "_ = wait"),
    ("ThreadWaits.paused", "holdsTime: instant == 0 && polls < Self.mostPolls, ", ""),
    ("SchedulerState.externallyStartedJobEnded", "if isProgress { activity", "do { activity"),
    ("JobPause.hasBegun", "case .running, .parallel, .over: false", "case .running, .over: false"),
    ("JobPause.init", "isOfBlock ? .over : .running", ".running"),
    ("ThreadWaits.jobBecomesBlock", "pause.jobEnds(endParallel)", ""),
    ("DispatchedBlock.run", "let waits = ThreadWaits.ofBlock(number, on: queue, isBarrier: isBarrier, of: owner)", "let waits: ThreadWaits? = nil"),
    ("LimitedWait.mayEnd", "wait.wake.signal()", "_ = wait"),
    ("LimitedWait.wait", "observe { limited.wake.signal() }", ""),
    ("JobPause.becomeParallel", "phase == .running || phase == .resumed", "phase == .running"),
    ("SchedulerState.startedJobPauses", "scope?.mustSetAlarm = true", ""),
    ("ThreadWaits.testIsOver", "thread.standing = .outside", ""),
    ("BlockQueue.init", "Self.classes.concurrent.contains(Self.classOfObject(queue))", "false"),
    ("BlockQueue.init", "address: UInt(bitPattern: queue)", "address: 0"),
)
guarantee(
    "A thread that waits for a semaphore keeps no time from jumping, and from its signal on it does",
    "AwaitedSemaphoresTests|PlainSuiteTests",
    ("AwaitedSemaphores.wait", "thread.owner.workEnded(thread.block)", ""),
    ("AwaitedSemaphores.willSignal", "state.signals.append(state.owner.workBegan(on: .thread))", ""),
    ("AwaitedSemaphores.willSignal", ", state.signals.count < state.count", ""),
    ("AwaitedSemaphores.waiterGoesOn", "state.signals.count > state.count", "false"),
)

"""The mutations that Scripts/mutate makes by default: one or two for each guarantee of the package.

An entry names a function (`Type.name`; functions of one name count as one) and replaces a fragment
that occurs there exactly once. Entries are numbered in order. `Scripts/mutate --generate` makes all
other mutations by operators; what an operator makes is in this table only if it guards the
definition of idle, or if its guarantee had no other entry.
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
    ("ServedTime.lasts", "real - withheld(of: real)", "real"),
    ("ServedTime.withheld", "total + sinceCheckIsMissing", "total"),
    ("Interval.withheld", "max(ServedTime.leastServed(of: real), UInt64(served))", "UInt64(served)"),
)

guarantee(
    "A blocked job takes no thread from other jobs, and keeps nothing else in memory",
    "ExtraThreadsTests|UnownedJobsTests|CheckpointTests",
    ("ExtraThreads.changeBlocked", "most += change", "_ = change"),
    ("ExtraThreads.removeFirst", "work.next = nil", ""),
)

guarantee(
    "The return of an external task is found, whatever another thread does at the same moment",
    "ExternalTaskRegistryTests|RunningJobsTests",
    ("ExternalTaskRegistry.add", "!onlyOwnerCanTell\n        && entries",
     "false\n        && entries"),
    ("RunningJobs.threadEnds", "withoutThread = record", "withoutThread = nil"),
    ("TaskOwner.recheckBegins", "exchange(false", "exchange(true"),
)

guarantee(
    "A run of a search in which only callbacks repeat ends after many steps",
    "StuckTestsTests",
    ("SchedulerState.jump", "if isObserved, reason == nil { reason = order.chooser?.newRunaway() }", ""),
)

guarantee(
    "A lost wake-up is reported, and a wait for a thread, a process or a timer is not",
    "StuckTestsTests",
    ("Scheduler.newStandstill", "RealSleeps.mayWake(self) || ", ""),
)

guarantee(
    "A wait for external work counts as skipped only if a task has waited for it",
    "SkippedExternalWaitStateTests",
    ("SkippedExternalWait.jump", "task != 0, ", ""),
)

guarantee(
    "A test is idle only while no job is ready or running and no task runs outside",
    "SchedulerStateTests|SchedulerClientTests|SchedulerTests|NestedScopesTests|SkippedExternalWaitStateTests",
    ("Idleness.isQuiet", "mayStartJob && ", ""),
    ("Idleness.isNothingOutstanding", "ready.isEmpty && ", ""),
    ("Idleness.isNothingOutstanding", " && dispatchedBlocks.count == 0", ""),
    ("Idleness.isNothingOutstanding", " && !externalTasks.areOutstanding", ""),
    ("Idleness.isNothingOutstanding", " && !busyScopes.areAny", ""),
    ("SchedulerState.isBusyScope", "return idleness.mayRun", "return false"),
    ("SchedulerState.decide", "guard idleness.isQuiet else { return .rest(nil) }", ""),
    ("Idleness.externallyStartedJobEnded", "externallyStartedJobs == 0 && abandonedExternalJobs > 0", "abandonedExternalJobs > 0"),
    ("Idleness.isIdle", " && !externalTasks.mustVerify", ""),
    ("SchedulerState.externallyStartedJobEnded", "if isProgress || isAlarmMissing { scope?.mustSetAlarm = true }",
     "scope?.mustSetAlarm = true"),
    ("SkippedExternalWait.jobBegins", "noteRun(of: task, at: now)", "lastRuns[slot] = LastRun(task: task, time: now)"),
    ("SchedulerState.decide", "if mustVerify {", "if false {"),
    ("Idleness.askWhetherIdle", "isAsked = isQuiet && externalTasks.mustVerify", ""),
    ("SchedulerState.mustVerify", " && (scope != nil || idleness.isAsked || turn != nil)", ""),
)
guarantee(
    "At most one thread runs jobs of a scheduler, and one is started when it is needed",
    "SchedulerStateTests|SchedulerClientTests|SchedulerTests|SchedulerPumpTests",
    ("Idleness.mayStartJob", "externallyStartedJobs == 0 } else {", "true } else {"),
    ("SchedulerState.decide", "guard idleness.mayStartJob else { return .rest(nil) }", ""),
    ("SchedulerState.next", "case .move(let executor): idleness.requestThread(on: executor)",
     "case .move: idleness.thread = .none"),
    ("Scheduler.change", "if let executor { startThread(on: executor) }", "_ = executor"),
    ("Idleness.abandonRunning", "threadParks()", "thread = .none"),
    ("Idleness.abandonRunning", "abandonedOnMain = threadNumber", ""),
    ("Idleness.abandonRunning", "isExternalJobAbandonedOnMain = true", ""),
    ("SchedulerState.requestedThreadBegins", "guard isAbandoned", "guard false"),
    ("Scheduler.pump", "turn.jobs < Self.jobsPerTurn", "true"),
)
guarantee(
    "A task that runs outside the scheduler is waited for until it returns or ends",
    "SchedulerStateTests|SchedulerClientTests|OtherExecutorTests|AsyncLetOnExecutorTests|YieldOnExecutorTests|SharedLoopTests|SharedActorInParallelTests|LiveTasksTests",
    ("TaskStatus.isAboutToRun", "isYielding(task)", "false"),
    ("TaskStatus.hasActiveAsyncLet", "return !TaskStatus(of: task).isActive", "return false && !TaskStatus(of: task).isActive"),
    ("TaskOwnership.adopt", "guard prior.isOver, !owner.isOver else", "guard false else"),
    ("Scheduler.taskMayRunExternally", "guard let task =", "guard false, let task ="),
    ("LiveTasks.removeEnded", "over.compactMap", "over.prefix(0).compactMap"),
)

# --- Order

guarantee(
    "Ready jobs run first in, first out, each on its executor, or as a chooser decides",
    "SchedulerStateTests|SchedulerClientTests|JobOrderTests",
    ("SchedulerState.startJob", "idleness.ready.remove(at: position)",
     "idleness.ready.remove(at: idleness.ready.count > 1 ? 1 : 0)"),
    ("Order.first", "index >= 0 && index < candidates.count ? index : 0", "index"),
)
guarantee(
    "At idle, observers that are behind come first, then settles, then advances, then jumps",
    "SchedulerStateTests|AdvanceUntilTests|SemanticsTests|TestClockTests|IdleWaitersTests",
    ("SchedulerState.turn", "scope.virtualClock.hasSleeps ? .jump : nil", ".jump"),
    ("IdleWaiters.first", "!($0.isPaced && scopeMovesTime)", "!$0.isPaced"),
    ("IdleWaiters.append", "settles.append(waiter)", "advances.append(waiter)"),
)
guarantee(
    "Clocks that are advanced together move in step",
    "TwoClocksTests",
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
    ("Probe.nextEvent", "events[number].time <= end", "true"),
    ("TimelineExpectation.events", ", !events[place].symbol.isValue", ""),
)
guarantee(
    "Sleeps wake by deadline, and sleeps of one deadline in the order of registration",
    "TimelineTests|SleepQueueTests|SchedulerStateTests|TestClockTests|VirtualClockTests",
    ("SleepQueue.siftDown", "firstChild + 4", "firstChild + 3"),
    ("VirtualClock.popEarliest", "if let target, sleeps.isLater(deadline, than: target)",
     "if let target, !sleeps.isLater(target, than: deadline)"),
    ("VirtualClock.move", "guard sleeps.isLater(instant, than: now) else { return }", ""),
    ("CustomDurationTable.isLater", "value(of: a) > value(of: b)", "a > b"),
)
guarantee(
    "An advance ends exactly at its target, and time never goes back",
    "TestClockTests|SemanticsTests|AdvanceUntilTests|SchedulerStateTests|VirtualClockTests",
    ("Advance.targetFromNow", "virtualClock.isFuture($0) ? $0 : virtualClock.now", "$0"),
    ("Advance.targetFromNow", "virtualClock.instant(after: duration)", "duration"),
    ("VirtualClockObserver.takeSleeper", "isBehind ? virtualClock.now : limit", "limit"),
)

# --- Cancellation and ends

guarantee(
    "A sleep is resumed exactly once, and cancellation ends it immediately",
    "TestClockTests|SemanticsTests|SchedulerTests|SleepQueueTests|StandstillTests",
    ("Scheduler.begin", "if place.pointee.isCancelled { return .cancelled }", ""),
    ("Scheduler.cancelAllSleeps", "cancel(sleeper, isOwn: isOwn)", "_ = sleeper"),
)
guarantee(
    "A sleep until now does not wait, and arrivals are told",
    "TestClockTests|SemanticsTests|SchedulerTests|SleepRegistrationTests",
    ("VirtualClock.isFuture", "sleeps.isLater(deadline, than: now)",
     "!sleeps.isLater(now, than: deadline)"),
    ("VirtualClock.news", "for waiter in fulfilled { waiter.succeed() }", ""),
)
guarantee(
    "The result of an ended task is freed before time moves",
    "SchedulerPumpTests|LifetimeTests",
    ("Scheduler.nextAction", "UnownedTask.isReferencedOnce(reference)", "false"),
    ("Scheduler.verifyExternalTasks", "{ released.append(ended) }", "{ _ = ended }"),
)
guarantee(
    "The end of a clock or of an owner releases everything that is registered for it",
    "OwnershipTests|TaskTableTests|LifetimeTests",
    ("TaskOwnership.release", "guard owner.registration.clocks == 0 else { return false }", ""),
    ("TaskTable.removeBlock", ">= (next &- place) & mask", "< 0"),
    ("TaskSet.contains", "& 1 << (id & 63) != 0", "!= 0"),
)

# --- Limits and reports

guarantee(
    "A test that never becomes idle is ended, and the task at fault is named and cancelled",
    "SchedulerStateTests|SchedulerTests|VirtualTimeTests|LeftoverTests",
    ("RunawayGuard.jobBegins", "if task == rootTask, rootTask != 0 { wakes = 0 }", "wakes = 0"),
    ("SchedulerState.serve", "case .advance = waiter.kind, let reason", "let reason"),
    ("SchedulerState.abort", "culprit: culprit?.task)", "culprit: nil)"),
)
guarantee(
    "Time in a scope waits for the jobs of the tests around it",
    "NestedScopesTests",
    ("AutoAdvance.isTestAroundRunning", "couldTestAroundRun && ", "false && "),
    ("SchedulerState.isBusyScope", " || isJumpWithheld", ""),
    ("Scheduler.canAnyRun", " || parent?.canAnyRun == true", ""),
    ("AutoAdvance.patienceLeft", "ignoresTestAround = patience == 0", "ignoresTestAround = false"),
)
guarantee(
    "Time jumps in a scope only while nothing holds it and after the pause",
    "SchedulerStateTests|VirtualTimeTests|VirtualTimeTraitTests|EventuallyTests",
    ("AutoAdvance.isPauseOver", "jumpsAfter == nil && !isTestAroundRunning", "true"),
    ("Scheduler.beginHold", "state.scope?.pace.holds += 1", ""),
)
guarantee(
    "Unowned jobs run where they would run without the package, and a reported blockage stops none",
    "UnownedJobsTests|OwnershipTests",
    ("UnownedJobs.useMoreThreads", "for _ in 0..<count { startExtraThread(for: jobs) }",
     "_ = count"),
)
guarantee(
    "A task on an executor of the user belongs to the test from its first job on",
    "EagerExecutorTests|AsyncLetOnExecutorTests",
    ("JobRuns.owner", "guard StatusProbe.here.readsChildren,", "guard !StatusProbe.here.readsChildren,"),
    ("CreationsOnExecutors.postpone", "($0.executor == executor || $0.executor == other) &&", "false &&"),
    ("TaskOption.learn", "preferenceKind != serialKind", "preferenceKind == serialKind"),
    ("CreationsOnExecutors.end", "for (job, executor) in jobs { executor.enqueue(job) }", "_ = jobs"),
)
guarantee(
    "A scope that makes no progress is reported after its limit, not before",
    "SchedulerStateTests|ScopeStateTests|AlarmClockTests|HangTests",
    ("ScopeState.setAlarm", "case .stuck: 12", "case .stuck: 0"),
    ("ScopeState.isTooLong", "runningTime += duration", "runningTime = duration"),
    ("AlarmClock.timerCame", "guard setting.due.hasPassed else {", "guard true else {"),
)
guarantee(
    "A test that runs without end is reported after its limit, and abandoned",
    "RunningTimeTests|EndlessWorkTests",
    ("SchedulerState.hasRun", "case .requested: isChanged", "case .requested: true"),
    ("SchedulerState.hasRun", "case .none: isChanged && isWorkAwaited", "case .none: false"),
    ("SchedulerState.isWorkAwaited", " && scope.pace.unlimitedHolds == 0", ""),
    ("MachineLoad.Interval.runningTime", "let share = min(", "let share = max("),
    ("Watchdog.noteRunningTime", "_ = scheduler.change { $0.abandon() }", ""),
    ("SchedulerState.isExternalWorkLeft", "&& isAnyWorkOutstanding", "&& false"),
)
guarantee(
    "The watchdog reports a blocked thread or a test at a standstill once, and ends the wait",
    "WatchdogTests|StandstillTests|ProgressTrackerTests|HangTests|SchedulerStateTests",
    ("Scheduler.newBlockage", "othersWait ? job?.number : nil", "job?.number"),
    ("SchedulerState.abandonJob", "guard activity.running(idleness)?.number == number else { return }", ""),
    ("TestLifetime.areOver", "tasks.allSatisfy(", "tasks.contains(where: "),
)
guarantee(
    "Each problem is reported once, to the test that it belongs to, before its scope ends",
    "StandstillTests|WatchdogTests|LifetimeTests|LeftoverTests|OverdueBodyTests",
    ("ScopeBody.abort", "report = .due", ""),
    ("ScopeBody.end", "(isReported ? nil : problem,", "(problem,"),
    ("ScopeBody.end", "(isReported ? nil : problem,", "(nil,"),
    ("Scheduler.reportOverdue", "report.record(describe(problem, isOverdue: true))", ""),
    ("Scheduler.reportOverdue", "change { $0.scope?.body.deliverReport() }?.resume()", ""),
    ("TestReport.runInTest", "if let context { context.run(body) } else { body() }", "body()"),
)
guarantee(
    "What the package relies on and does not find is listed, and no failure is lost for it",
    "RecordFailureTests|LostSecretTests",
    ("recordFailure", "guard case .lost(let library) = delivery else { return }",
     "guard false, case .lost(let library) = delivery else { return }"),
    ("SwiftTesting.record", "if let compiled = CompiledSwiftTesting.registered {",
     "if false, let compiled = CompiledSwiftTesting.registered {"),
)

# --- Scopes

guarantee(
    "The end of a scope ends its sleeps and tasks, and the clocks are real again",
    "VirtualTimeTests|LeftoverTests|ExactnessTests",
    ("Scheduler.closeScope", "isOver = true\n", "\n"),
)
guarantee(
    "A sleep on the runtime's clocks is virtual in a scope, exact, and ends when cancelled",
    "VirtualTimeTests|ExactnessTests|LeftoverTests|RuntimeHooksTests|ThreadContextTests|SchedulerStateTests|VirtualClockTests|DateTests",
    ("RuntimeHooks.virtualOwner", "isVirtual == true", "isVirtual == nil"),
    ("ThreadContext.takes", "|| id == wakingTask", "|| id != 0"),
    ("RuntimeSleeps.replace", "entries.replace(task, by: entry)", "entries[task]"),
    ("Duration.roundedUpAfterReadingTheClockTwice", "attoseconds - remainder + unit", "attoseconds - remainder"),
    ("PublishedTime.time", "isDate ? saturatingSum(now.value, dateOffset.value) : now.value", "now.value"),
)
guarantee(
    "A reading of the time is exact, and in a signal handler it does not wait for the thread that it has interrupted",
    "SignalHandlerTests|PublishedTimeTests",
    ("Lock.lock", "mutex.pointee.__data.__owner == Self.currentThread", "false"),
    ("Lock.lock", "waits = canHolderRun ? 0 : waits + 1", "waits += 1"),
    ("VirtualClock.move", "if let published { published.now.write(instant) }", ""),
    ("PublishedDuration.value", "if writes.load(ordering: .relaxed) == number { return value }", "return value"),
    ("TaskOwnership.ownerIfAvailable", "lock.withLockIfAvailable { lookUp(id, running) } ?? running",
     "lock.withLock { lookUp(id, running) }"),
)

# --- Ownership and hooks

guarantee(
    "A task belongs to the test that made it, and no other test takes it over",
    "OwnershipTests|EarlyTaskTests|BetweenClocksTests|SharedActorTests|SharedClockTests|RuntimeHooksTests|LifetimeTests|OtherThreadTests|UnfinishedCreationsTests",
    ("UnfinishedCreations.awaitEnd", ".milliseconds(100) : .seconds(10)", ".milliseconds(100) : .milliseconds(1)"),
    ("UnfinishedCreations.Creation.endsByItself", "!runsUserCode || ", "true || "),
    ("TestCaseMembership.awaitCreation", "!isMember(id)", "false"),
    ("UnfinishedCreations.awaitTestCase", "if let own, own.maker < task { return own.maker }", ""),
    ("UnfinishedCreations.awaitUnknown", "!$0.runsUserCode", "true"),
    ("TaskOwnership.registerUnowned", "watermarks.min()", "watermarks.max()"),
    ("TaskOwnership.registerUnowned", "!watermarks.contains(.max)", "true"),
    ("TaskOwnership.owner", "isFirst || ", ""),
    ("RuntimeHooks.isNoted", "return TestCaseMembership.noteMadeWithoutOwner(job, isCertain: false)",
     "return true"),
    ("TaskCreation.create", "id == taskID(of: made.task)", "id != 0"),
    ("TaskOwnership.adopt", ", orMadeFor: owner.maker", ""),
    ("TestCaseMembership.hasMade", "isCertain || members[id].isNone", "true"),
    ("TestCaseMembership.insert", "!TaskStatus(of: task).isOver", "true"),
    ("SchedulerState.leftovers", "formerJob == nil, running", "formerJob != nil, running"),
    ("TestCaseMembership.insert", "|| mayRun", "|| false"),
    ("TestCaseMembership.adopt", "UnownedBlock.adoptAll(of: testCase, by: owner)", ""),
    ("Scheduler.release", "leaveBlocks(of: testCase)", ""),
    ("TaskOwner.blockBegan", "isWithoutClock.load(ordering: .relaxed)", "false"),
    ("UnownedBlock.submit", "count(for: owner)", ""),
    ("UnownedBlock.stopWaiting", "older?.newer = newer", ""),
    ("UnownedBlock.end", "hasEnded = true", ""),
    ("DispatchCalls.sourceCreate", "kind.isMerged ? test : owner.map({ .owner($0) })", "owner.map({ .owner($0) })"),
    ("DispatchedBlock.Test.workBegan", "owner.blockBegan(", "owner.workBegan("),
    ("Scheduler.retain", "change { $0.idleness.dispatchedBlocks.noteSuspensions() }", ""),
    ("JobRuns.run", "return RuntimeHooks.runWithoutOwner(job, body)", "return body()"),
    ("TaskOwnership.lookUp", "|| id > running.registration.watermark", "|| true"),
    ("TaskCreation.hasMade", "return TaskOwnership.shared.register(newUnownedTask: id)", "return"),
    ("Scheduler.init", "Scheduler.running", "Scheduler.ofThread"),
    ("Scheduler.admitCurrentTask", "return isOwn", "return true"),
    ("ThreadContext.owner", "return TaskOwnership.shared.owner(of: task, on: owner)",
     "return owner"),
)
guarantee(
    "The hooks hand each job to its owner, tell it of the job's end, and leave others alone",
    "RuntimeHooksTests|OwnershipTests|SchedulerTests|HookStrategyTests",
    ("RuntimeHooks.runJobs", "owners.last?.externallyStartedJobEnded(on: ready.executor)", "ReadyJob?.none"),
    ("SPIDefaultExecutor.enqueue", "after: delay, tolerance", "after: .zero, tolerance"),
    ("RetainedTask.isOver", "TaskStatus(of: job).isOver", "false"),
)

# --- Other clocks

guarantee(
    "Other clocks honour cancellation, keep their ticks on the grid, and never go back",
    "ImmediateClockTests|AnyClockTests|TimerTests|GreatestMultipleTests|ClockSleepTests",
    ("ImmediateClock.move", "guard known < deadline else { return }", ""),
    ("Iterator.next", "next.advanced(by: missed)", "next"),
    ("endOfRange", "< 0 ? .min : .max", "< 0 ? .max : .min"),
)

# --- Exploration and recordings

guarantee(
    "A search orders the hops of each task, whatever executor its creation names",
    "EmptyPreferenceTests",
    ("Hops.withPreference", "if let preferred = TaskOption.emptyPreference(in: options) {", "if false, let preferred = TaskOption.emptyPreference(in: options) {"),
    ("CustomExecutor.first", "} else if executor.object != 0 {", "} else {"),
)

guarantee(
    "The search tries each order once, within its limits, and shards divide it",
    "ScheduleSearchTests|WaitingLoopTests|ScheduleRequestTests|KnownBugTests",
    ("ScheduleSearch.expand", "limits.shard.count != limits.shard.index { continue }",
     "limits.shard.count < 0 { continue }"),
    ("ScheduleSearch.isMine", "== UInt64(limits.shard.index)", ">= UInt64(limits.shard.index)"),
    ("Strategy.firstFree", "kept[number] < profile.patience", "kept[number] < .max"),
    ("ScheduleRun.choose", "record.steps.count < longest", "record.steps.count >= 0"),
)
guarantee(
    "A failing order is replayed, made small, and kept only if it is the same failure",
    "ScheduleSearchTests|TokenFolderTests|ScheduleTokenTests|WithSchedulesTests|DivergenceTests|"
    "NonFailuresInSearchTests",
    ("ScheduleShrinker.leaveOutEach", "await attempt(test, { $0[keyPath: parts].remove(at: index) })", "runs < 0"),
    ("ScheduleShrinker.leaveOutEach", "needed = 0", "needed += 0"),
    ("Exploration.examine", "outcome.key == finding.key ?", "outcome.hasFailed ?"),
    ("NondeterminismHooks.prepare", "RealTime.originalRead = ", "_ = "),
    ("Exploration.callAsFunction", "search.tried == 2, let first", "search.tried == 0, let first"),
    ("TokenFolder.add", "guard !known.contains(token) else { return }", ""),
    ("IssueGate.handle", "return .isKept", "return .passes"),
    ("IssueGate.passes", "count > passed[key, default: 0]", "true"),
    ("CrashHandler.handle", "crashed(signal)", "_ = crashed"),
)
guarantee(
    "Choices, faults, stalls and random numbers are in the record, in the token and in what is made small",
    "ChoiceTests|StallTests|InvariantTests|ScheduleTokenTests|CheckpointTests|HostileSimulationTests|SimulationRecordTests",
    ("ScheduleRun.faultStrikes", "faults < bounds.faults ||", "true ||"),
    ("ScheduleRun.stallLimit", "stalls < bounds.stalls ?", "true ?"),
    ("ScheduleRun.stall", "stalls < bounds.stalls ?", "true ?"),
    ("ScheduleShrinker.reduceChoices", "await leaveOut(test) { $0.isFault }", ""),
    ("Scheduler.abandonScope", "scheduler.change { $0.abandon() }?.isResumed.signal()", "_ = scheduler.change { $0.abandon() }"),
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
)

guarantee(
    "A simulated crash loses what is on its way to the node and what is not synced, and what it left reaches nothing",
    "NodeTests|SimulatedNetworkTests|ExploredNetworkTests|ConnectionTests",
    ("SimulatedNetwork.inboxes", "== life", ">= life"),
    ("SimulatedDisk.crash", "options += torn(values[before], values[before + 1]).map {", "_ = torn(values[before], values[before + 1]).map {"),
    ("SimulatedByteStream.parts", ": [count, 1, count / 2]", ": [count, 1]"),
)

# --- TimeoutTask

guarantee(
    "A race has one outcome, and each waiter is resumed once, in the order of arrival",
    "RaceTests|WaiterQueueTests|TimeoutTaskTests|CancellationTests",
    ("OutcomeState.announce", "defer { waiters = WaiterQueue() }", ""),
    ("WaiterQueue.remove", "others.removeValue(forKey: ticket)", "others[ticket]"),
)
guarantee(
    "The last waiter's cancellation cancels the work, and the end removes the timer",
    "CancellationTests|TimeoutTaskTests|LeakTests",
    ("TimeoutTask.cancel", "?.work?.cancel()", ""),
)
guarantee(
    "A deadline interrupts its operation exactly once, at its instant and not after the end",
    "DeadlineTests|WithDeadlineTests|InterruptibleOperationTests|ActiveDeadlineTests",
    ("InterruptibleOperation.cancelled", "return waiting", "return nil"),
    ("OperationDeadline.pass", "state.timerNumber == number", "true"),
)
guarantee(
    "A deadline that has passed cancels what runs under it before that begins, on any clock",
    "ParallelTests|TimeoutLengthTests|OtherClockTests",
    ("TimeoutTask.startOnAnyClock", "isTooLate || outcome.isDecided", "isTooLate"),
    ("Clock.withinReach", "instant.advanced(by: step) >= now", "now.advanced(by: .zero - step) <= instant"),
)
guarantee(
    "Shared timers fire in the order of their deadlines, never early, and not when removed",
    "SharedTimers|TimerHeap",
    ("TimerHeap.push", "if entries[parent].latest <= entry.latest { break }", "break"),
    ("SharedTimers.add", "deadline + slack < state.latest ?", "state.latest == .max ?"),
    ("SharedTimers.end", "max(now(), sleep.deadline)", "now()"),
    ("SharedTimers.end", "guard state.lastNumber == sleep.number else { return ([], nil) }", ""),
)
guarantee(
    "Retries stop at their limits, their budget and cancellation",
    "WithRetryTests|AsyncTimeoutSequenceTests",
    ("Backoff.delay", "min(delay, end)", "delay"),
)

# --- The environment, and other readers of time

guarantee(
    "A test process does not run with a variable whose value is not accepted",
    "EnvironmentTests|DumpSignalTests",
    ("Environment.check", "if !errors.isEmpty { _exit(2) }", ""),
)
guarantee(
    "Time stands still until a dispatch source is registered, and no longer",
    "SourceTests",
    ("TestDispatchSource.goOn", "count(&registration)", ""),
)
guarantee(
    "Instants that Dispatch does not represent do not trap",
    "FarFutureTests",
    ("DispatchTimes.read", "guard reading.tv_sec < latest else { return UInt64(latest) * 1_000_000_000 }", ""),
)

guarantee(
    "Orders that differ only in the order of independent steps are one class, and no others are",
    "OrderClassTests",
    ("ScheduleSearch.hasNoNewClass", "guard limits.endsWithClasses, !isComplete || hasGaps else { return false }",
     "return false"),
)

# --- Suites that do not know of virtual time

guarantee(
    "Each test of a suite that does not ask for it runs in a scope of its own, with its waits",
    "EverywhereSampleTests|ProgressTrackerTests",
    ("ThreadWaits.leavesOut", " - .milliseconds(250)", ""),
    ("ThreadWaits.paused", "holdsMain && (work != .method || !inRunLoop)", "isMain && work != .method"),
    ("Idleness.isMainTaken", "{ thread = .none }", "{}"),
    ("ScopeState.passTime", "guard pace.mayPass, body.isRunning else { return false }", "return false"),
    ("EverywhereSettings.plan", "guard seed != 0 else", "guard replay != nil else"),
)
guarantee(
    "Jobs of the main actor and blocks of the main queue run in the order in which they were enqueued",
    "MainQueueOrderTests|MainActorAndMainQueueTests",
    ("MainQueueOrder.blockIsReady", "begunJobs + jobs", "begunJobs"),
    ("Idleness.changeMainQueueOrder", "mainQueueOrder.areBlocksAhead", "false"),
    ("Watchdog.check", "scheduler.submitMainBlocksIfHeld()", ""),
)
guarantee(
    "Time stands still while a thread that the test has started or a block runs, and moves while it sleeps",
    "EverywhereSampleTests|ProgressTrackerTests",
    ("DispatchedBlocks.countAgain", "} else if queue.isStopped {", "} else if false {"),
    ("ThreadWaits.ofBlock", "(waits.block, waits.queue, waits.stop) = (number, queue, queue.stop(by: isBarrier))", "(waits.queue, waits.stop) = (queue, queue.stop(by: isBarrier))"),
)
guarantee(
    "Timers and waits of run loops are those of one test, and end with the run loop",
    "ThreadWaitsTests|EverywhereSampleTests",
    ("ThreadWaits.timeouts", "$1.owner === owner ?", "true ?"),
    ("RunLoopTimers.takeOverdue", "knownFirings(of: owner).isOverdue", "firings.values.contains { $0.isOverdue }"),
    ("RunLoopTimers.close", "forget($0)", ""),
    ("ThreadWaits.runInnerLoop", "!(isHeld && mayPoll)", "!isHeld"),
    ("ThreadWaits.runInnerLoop", "endsAfterSource && seconds <= Self.longestPoll", "endsAfterSource"),
)
guarantee(
    "A thread that was abandoned, and that virtual time wakes, continues before time jumps again",
    "ScopeStateTests|ProcFileSystemTests|EverywhereSampleTests",
    ("ScopeState.mayJump", "&& abandoned == 0", ""),
    ("AutoAdvance.blocksAreAbandoned", "if jumpsAfter == nil { jumpsAfter = Self.pauseForOutsideWork }", ""),
    ("AutoAdvance.patienceLeft", "if others.isAbandonedBlockRunning, patience > 0 { return patience - 1 }", ""),
    ("ThreadWaits.mayBeForRealWork", " || owner.hasAbandonedBlock", ""),
    ("OutsideWork.turnsIfAllWait", "isAbandoned && call.first != \"running\"", "false"),
)
guarantee(
    "A test that was abandoned on the only processor keeps no other test from continuing",
    "StuckTestsTests",
    ("RuntimeHooks.passOn", "isPoolBlocked.load(ordering: .acquiring)", "false"),
    ("StuckTests.awaitedTasks", "guard isAnyThreadHeld, RealSleeps.waitsForThread(task.id) else { return nil }", "return nil"),
)
guarantee(
    "Tests in an order share no temporary files, and leave none to the next run",
    "EverywhereCommandTests",
    ("EverywhereSettings.salt", " ^ Mixer.hash(String(record.number))", ""),
    ("SuiteRunner.repeat", "if let folder = temporary[run][process] {", "if let folder = temporary[0][0] {"),
)
guarantee(
    "A test goes on whose threads wait for each other, and is exact again when they do",
    "EverywhereSampleTests|JobPauseTests|ThreadWaitsTests|BlockQueueTests|IdleProcessTests|ClockReadingsTests",
    ("ThreadWaits.becomeParallel", "block = owner.workBegan(on: .parallelJob)", "block = 0"),
    ("LimitedWait.wait", "guard owner.enqueue(callback, after: delay)", "guard owner.enqueue(callback, after: delay * 2)"),
    ("DispatchedBlocks.firstThatMayBegin", "!taken.contains(ObjectIdentifier(queue))", "true"),
    ("IsolatedDeinits.deinitOnExecutor", "!TaskOwnership.shared.isEmpty, let owner", "false, let owner"),
    ("SchedulerState.awaitsThreadOfDispatch", "saturatingSum(since.inFullSeconds, .seconds(1))", "saturatingSum(since, .seconds(1))"),
    ("IsolatedDeinits.deinitOnExecutor", "!isDefaultActor(object, executor),", ""),
    ("SchedulerState.awaitsThreadOfDispatch", "scope.blockWithoutThread?.number != block", "scope.blockWithoutThread == nil"),
    ("IdleProcess.mayOutsideAct", "outside?.since.lasts(.milliseconds(200)) == false", "true"),
    ("SchedulerState.pollWaits", "isAnyReady || isOtherJobRunning || scope.isAnySleepDue", "isAnyReady || isOtherJobRunning"),
    ("SchedulerState.pollWaits", "isAnyReady || isOtherJobRunning || scope.isAnySleepDue", "scope.isAnySleepDue"),
    ("ThreadWaits.paused", "ClockReadings.threadWaits()", ""),
    ("ExternalTasks.setPaused", "replace(id, by: entry)", "_ = entry"),
    ("ThreadWaits.holdsMain", "case .job: isJobOnMain", "case .job: isMain"),
    ("JobRuns.withWaits", "return body(ThreadWaits.ofThread)", "return body(nil)"),
    ("JobRuns.withWaits", "DispatchedBlock.run(on: .executor, of: owner) { body(ThreadWaits.ofThread) }", "body(nil)"),
    ("DispatchCalls.owner", "HandedBlock(block).library != .ofTests", "HandedBlock(block).library == nil"),
    ("ThreadWaits.ofAnyKind", "waits.owner.pausedWaits == .all", "waits.owner.pausedWaits == .all, waits.work != .block"),
    ("EverywhereRecords.file", "Environment.everywhereRecorder == nil, ", ""),
    ("SchedulerState.isPatient", "&+ idleness.dispatchedBlocks.changes", "&+ 0"),
    ("SchedulerState.awaitsThreadOfDispatch", "idleness.ready.isEmpty,", ""),
    ("OutsideWork.waitsForever", "watchedFiles(words)?.allSatisfy { !isArmedTimer($0) } ?? false", "true"),
    ("ThreadWaits.holders", "all.filter { $0.work != .job } + externalJobs", "all.filter { $0.work == .method } + externalJobs"),
    ("ThreadWaits.paused", "holdsTime: instant == 0 && polls < Self.mostPolls, ", ""),
    ("SchedulerState.externallyStartedJobEnded", "if isProgress { activity", "do { activity"),
    ("JobPause.hasBegun", "isInWait || isCovered", "isCovered"),
    ("JobPause.init", "isOfBlock ? .nothing : .running", ".running"),
    ("DispatchedBlock.run", "let waits = ThreadWaits.ofBlock(number, on: queue, isBarrier: isBarrier, of: owner)", "let waits: ThreadWaits? = nil"),
    ("LimitedWait.wait", "observe? { limited.wakeUp() }", ""),
    ("OutsideWork.begins", "LimitedWait.outsideWorkBegins()", ""),
    ("BlockQueue.init", "kind == $0.concurrent || kind == $0.global", "kind == $0.global"),
    ("BlockQueue.target", "canBeSuspended(target) || target == dispatch_get_main_queue() ? target : nil", "nil"),
    ("BlockQueue.init", "address: UInt(bitPattern: queue)", "address: 0"),
)
guarantee(
    "A thread that waits for a semaphore keeps no time from jumping, and from its signal on it does",
    "AwaitedObjectsTests|EverywhereSampleTests",
    ("AwaitedObjects.wait", "thread.owner.workEnded(thread.block)", ""),
    ("AwaitedObjects.signalWasTaken", "max(0, $0.signals - 1)", "$0.signals"),
)
guarantee(
    "A timer of a run loop that is due fires before its thread pauses again",
    "ThreadWaitsTests|EverywhereSampleTests",
    ("RunLoopTimers.fire", "$0.value.thread == thread", "$0.value.thread == thread && false"),
)
guarantee(
    "A thread that holds the lock of the allocator can be interrupted",
    "RunningThreadTests",
    ("RunningThread.stack", "lock.withLock({ isPrepared })", "true"),
)

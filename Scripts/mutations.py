"""The mutations that Scripts/mutate makes.

Each says what it breaks, and the text that is replaced, which must occur exactly once in the place that
is named: a function or a property (`Type.name`; several of one name count as one), or a file of the
module. They are numbered in the order in which they stand here.
"""

from typing import NamedTuple, Optional


class Mutation(NamedTuple):
    module: str
    place: str
    what: str
    old: str
    new: str
    # The tests that are likely to notice, as a regular expression.
    likely: Optional[str]


MUTATIONS = []

# Why a mutation changes nothing that a test could see.
EQUIVALENT = {
    "a timer that was cancelled lets the deadline pass":
        "an operation whose task is cancelled is not interrupted; this is for the moment before it begins",
    "consecutive tasks stand in one run":
        "the table is slow and right; the benchmark of cancelling shows it, at 1,000,000 tasks",
}

_module = "Clocks"
_likely = None


def module(name):
    """The mutations from here on are of this module."""
    global _module
    _module = name
    likely(None)


def likely(tests):
    """The mutations from here on are likely to be noticed by these tests."""
    global _likely
    _likely = tests


def of(place, *mutations):
    """The mutations of a place: what each breaks, the old text and the new one."""
    for what, old, new in mutations:
        MUTATIONS.append(Mutation(_module, place, what, old, new, _likely))


# === Clocks: the engine ==========================================================================

module("Clocks")

# --- What comes next

likely("SchedulerStateTests|SeamTests")
of(
    "SchedulerState.next",
    ("a thread that was given up goes on deciding",
     "    guard number == idleness.threadNumber else { return .rest(nil) }\n", "    _ = number\n"),
    ("a thread that rests counts as one that acts", "case .rest: break", "case .rest where lane == .main: break"),
    ("a thread that moves is not waited for", "case .move: idleness.thread = .requested",
     "case .move: idleness.thread = .none"),
    ("a thread that acts is forgotten", "default:\n      idleness.thread = .acting",
     "default:\n      idleness.thread = .none"),
    ("what has gone away since is not looked for", "      externalTasks.somethingHappens()\n", ""),
)
of(
    "ExternalTaskRegistry.isBack",
    ("a task that runs elsewhere is back", "guard !status.isActive else", "guard true else"),
    ("a task is back before its own job has ended", "} else if job.task == entry.task.id {", "} else if job.task == 1 {"),
    ("a task is back before its job has done with it", "== true else { return false }", "== true else { return true }"),
)
of(
    "ExternalTasks.absence",
    ("an async let that is away is not waited for", "if entry.hasAsyncLets, TaskStatus", "if false, TaskStatus"),
    ("a task that may have run elsewhere is not looked at", "guard entry.mayHaveRun || ", "guard "),
)
of(
    "ExternalTasks.hasArrived",
    ("a task that comes through the door stays away", "comeBack(id, entry)\n    return true", "return false"),
)
of(
    "LiveTasks.removeEnded",
    ("tasks that are over are kept", "over.compactMap { remove($0.id) }", "over.prefix(0).compactMap { remove($0.id) }"),
)
of("LiveTasks.remove", ("a task that is over is kept until later", "tasks.remove(task).takenOver", "nil"))
of(
    "ClockUsers.add",
    ("a clock that is shared is not reported", "guard tasks.count > 1, !isReported", "guard tasks.count > 9, !isReported"),
)
of("Scheduler.taskMayRunExternally", ("nobody goes away", "suspect(UnownedTask(job: task))", "_ = task"))
of("Scheduler.externalJobBegan", ("others' executors run nothing", "runsExternally(UnownedTask(job: task))", "_ = task"))
of("Scheduler.externalJobEnded", ("others' executors never end a job", "ranExternally(task)", "_ = task"))
of(
    "CurrentTaskSlot.isAnother",
    ("a thread that runs nothing has done with a task", "running != 0 && ", ""),
)
of(
    "SchedulerState.decide",
    ("a job is started beside a visitor",
     "guard idleness.mayStartJob else { return .rest(nil) }\n    if", "if"),
    ("time moves although jobs are ready",
     "    if !idleness.ready.isEmpty { return startJob(on: lane, mayStay: mayStay) }\n"
     "    guard idleness.isIdle else { return .rest(nil) }\n",
     "    if !idleness.ready.isEmpty, requests.isEmpty { return startJob(on: lane, mayStay: mayStay) }\n"),
    ("time moves although a task is away", "    guard idleness.isIdle else { return .rest(nil) }\n", ""),
    ("jobs are counted on although time has moved", "    runaway.isAtRest()\n", ""),
    ("sleeps that have just begun are looked at when the test is idle",
     "    if let begun = takeBegunSleeps() { return .inspect(begun) }\n"
     "    if !idleness.ready.isEmpty { return startJob(on: lane, mayStay: mayStay) }\n",
     "    if !idleness.ready.isEmpty { return startJob(on: lane, mayStay: mayStay) }\n"
     "    if let begun = takeBegunSleeps() { return .inspect(begun) }\n"),
)
of(
    "SchedulerState.startJob",
    ("jobs of the main actor run anywhere", "!mayStay || (wanted == .main && lane != .main)", "!mayStay"),
    ("a thread stays for ever", "!mayStay || (wanted == .main && lane != .main)",
     "wanted == .main && lane != .main"),
    ("pool jobs run on the pool only", "(wanted == .main && lane != .main)", "(wanted != lane)"),
    ("the job that the test gives up at is lost", "      makeReady(job)\n", ""),
    ("endless yields are not noticed",
     "if let reason = runaway.jobBegins(of: job.taskID), let action = abort(reason, because: job) {",
     "if runaway.jobBegins(of: job.taskID) != nil, let action = Action?.none {"),
    ("the task that never rests is not named", "abort(reason, because: job)", "abort(reason)"),
    ("a chooser of jobs is not asked", "order.chooser == nil\n      ? startJob(at: 0, on: lane, mayStay: mayStay)",
     "true\n      ? startJob(at: 0, on: lane, mayStay: mayStay)"),
    ("the second job that is ready runs first", "idleness.ready.remove(at: position)",
     "idleness.ready.remove(at: idleness.ready.count > 1 ? 1 : 0)"),
)
of(
    "SchedulerState.startChosen",
    ("a chooser has no choice between jobs and sleeps", "for index in 0..<due.count { candidates.append(due[index]) }",
     ""),
    ("the chosen job is not the one that runs", "return startJob(at: position, on: lane, mayStay: mayStay)",
     "return startJob(at: position * 0, on: lane, mayStay: mayStay)"),
    ("the chosen sleep does not wake",
     "if let action = wakeDueSleep(number, of: task) { return action }", "_ = (number, task)"),
)
of(
    "SchedulerState.nextLane",
    ("a thread is started on the pool for a job of the main actor",
     "idleness.ready.isEmpty ? .pool : idleness.ready[0].lane", ".pool"),
)
of(
    "SchedulerState.start",
    ("nobody knows which job runs", "    activity.jobBegins(of: job.taskID)\n", ""),
    ("nobody knows who has run since time jumped", "    scope?.jobBegins(of: job.taskID)\n", ""),
)
of(
    "SchedulerState.endJob",
    ("a job that has ended counts as running", "    activity.jobHasEnded()\n", ""),
    ("nobody observes a job's end", "note(.jobEnded(task: task))", "_ = task"),
)

# --- Whose turn it is

of(
    "SchedulerState.turn",
    ("nobody is cancelled", "scope.body.toCancel.count > 0", "scope.body.toCancel.count < 0"),
    ("cancellation waits for those who wait", "scope.body.toCancel.count > 0 {",
     "scope.body.toCancel.count > 0, requests.isEmpty {"),
    ("time jumps before those who wait have their turn",
     "requests.first(scopeMovesTime: scope?.movesTime ?? false)",
     "(scope?.mayJump == true ? nil : requests.first(scopeMovesTime: false))"),
    ("paced observers move time in a scope that moves it", "scope?.movesTime ?? false", "false"),
    ("time jumps while it may not", "guard let scope, scope.mayJump else { return nil }",
     "guard let scope, scope.body.task != nil else { return nil }"),
    ("time jumps although somebody looks at each instant",
     "    if requests.observers.count > 0 { return .waiter(requests.observers[0]) }\n", ""),
    ("time jumps to nowhere", "scope.timeline.hasSleeps ? .jump : nil", ".jump"),
)
of(
    "SchedulerState.claimThread",
    ("a thread is asked for beside a visitor",
     "    guard idleness.mayStartJob else { return nil }\n", ""),
)
of(
    "SchedulerState.claimNeededThread",
    ("no thread is asked for when somebody waits",
     "idleness.isIdle\n", "false\n"),
    ("no thread is asked for when a job is ready",
     "!idleness.ready.isEmpty", "false"),
    ("a thread is asked for while a task is away", "(idleness.isIdle\n", "(true\n"),
    ("a thread is asked for again and again", "    idleness.thread = .requested\n", ""),
)
of(
    "SchedulerState.serve",
    ("endless sleeps in an advance are not noticed",
     "    if waiter.kind == .advance, let reason = runaway.tooManyWakes { return end(waiter, reason) }\n", ""),
    ("whoever only looks is told of endless wakes", "waiter.kind == .advance, let reason", "let reason"),
)
of(
    "SchedulerState.jump",
    ("endless sleeps in a scope are not noticed",
     "    if let reason = runaway.tooManyWakes, let action = abort(reason) { return action }\n", ""),
    ("nobody observes a jump", "if listener != nil {\n", "if listener != nil, before == timeline.time {\n"),
)
of(
    "SchedulerState.wake",
    ("wakes are not counted", "    runaway.sleepWakes()\n", ""),
    ("a wake is not what happens in a scope", "    scope?.pace.somethingHappens()\n", ""),
    ("a stranger's sleep is taken for the scheduler's own", ".wake(continuation, isOwn: isOwn)",
     ".wake(continuation, isOwn: isOwn || !isOwn)"),
)
of(
    "SchedulerState.end",
    ("whoever gives up does not know why", "if let reason { waiter.abort(reason) }", "_ = reason"),
    ("whoever has got what it waits for keeps its turn", "    requests.remove(waiter)\n", ""),
    ("wakes are counted on although a wait has ended", "    runaway.waitEnds()\n", ""),
)
of(
    "SchedulerState.abort",
    ("jobs are counted on although the test was given up", "    runaway.isAtRest()\n", ""),
    ("wakes are counted on although the test was given up", "    runaway.waitEnds()\n", ""),
    ("whoever looks is not told that the test never comes to rest", " ?? requests.observers.first", ""),
    ("whoever gives up does not know because of whom", "      waiter.culprit = culprit?.task\n", ""),
    ("a task that never rests is not cancelled", "culprit: culprit?.task)", "culprit: nil)"),
    ("it is not reported that a body goes on that was given up", "      return .report(problem)\n",
     "      _ = problem\n"),
)
of(
    "SchedulerState.setAlarm",
    ("whoever looks at each instant awaits nothing", " || !requests.observers.isEmpty", ""),
    ("a scope in which tasks sleep awaits nothing",
     "scope.timeline.sleeps.count > 0 || !requests.observers.isEmpty", "!requests.observers.isEmpty"),
)
of(
    "SchedulerState.dueSleeps",
    ("a chooser does not know what an advance may wake",
     "case .waiter(let waiter): return waiter.dueSleeps()", "case .waiter: return ScratchBuffer()"),
    ("a chooser does not know what a jump may wake", "case .jump: return scope!.timeline.dueSleeps()", "case .jump: return ScratchBuffer()"),
)
of(
    "SchedulerState.wakeDueSleep",
    ("a sleep that a chooser wants does not wake in a jump",
     "case .jump: sleeper = scope!.timeline.sleeps.remove(number)", "case .jump: sleeper = nil"),
    ("nobody observes a wake that was chosen", "    note(.sleepWoken(number: number, task: task))\n",
     "    _ = task\n"),
)
of(
    "SchedulerState.noteTime",
    ("nobody observes time", "trace.now != before", "trace.now == before"),
    ("nobody observes a wake", "if hasWoken, let removed", "if !hasWoken, let removed"),
)
of(
    "SchedulerState.jobIsReady",
    ("a task that was dropped runs on",
     "    if !dropped.isEmpty, dropped.contains(job.taskID) { return }\n", ""),
    ("the job of a sleep that was cancelled is not run", "        makeReady(over)\n", "        _ = over\n"),
    ("a job that becomes ready is not what happens in a scope", "      scope.pace.somethingHappens()\n", ""),
    ("what has come from outside is not looked at", "requests.jobCameFromOutside()", "_ = isFromOutside"),
    ("every job comes from outside", "if isFromOutside {", "if isFromOutside || scope.isAwaited {"),
    ("a sleep on the runtime's clocks is work outside", "        scope.sleepWasCancelled(of: job.taskID)\n",
     "        if isFromOutsideTest { scope.arrives(job) }\n"),
)
of(
    "SchedulerState.append",
    ("jobs are counted on although somebody begins to wait",
     "    requests.append(waiter)\n    runaway.isAtRest()\n", "    requests.append(waiter)\n"),
    ("jobs are counted on although somebody begins to look",
     "    requests.append(observer: observer)\n    runaway.isAtRest()\n",
     "    requests.append(observer: observer)\n"),
)
of(
    "SchedulerState.externallyStartedJobBegan",
    ("a visitor is not counted", "idleness.externallyStartedJobs += 1", "idleness.externallyStartedJobs += 0"),
)
of(
    "SchedulerState.externallyStartedJobEnded",
    ("a visitor's end is nothing that happens", "    activity.externallyStartedJobEnded()\n", ""),
    ("a visitor never leaves", "    idleness.externallyStartedJobEnded()\n", ""),
)
of(
    "SchedulerState.taskBecameExternal",
    ("a task that is away is not counted", "    idleness.away += 1\n", ""),
    ("nobody observes that a task goes away", "note(.taskBecameExternal(task))", "_ = task"),
)
of(
    "SchedulerState.taskReturned",
    ("a task never comes back", "    idleness.away -= 1\n", ""),
    ("nobody observes that a task comes back", "note(.taskReturned(task))", "_ = task"),
)
of(
    "SchedulerState.alarmRings",
    ("an alarm counts although something happens", "guard idleness.isIdle, let scope", "guard let scope"),
)

# --- When a test is idle

of(
    "Idleness.isIdle",
    ("a test is idle while its thread acts", "thread == .none && ready", "ready"),
    ("a test is idle while jobs are ready", " && ready.isEmpty", ""),
    ("a test is idle while a visitor runs", " && externallyStartedJobs == 0", ""),
    ("a test is idle while a task is away", " && away == 0", ""),
)
of(
    "Idleness.mayStartJob",
    ("two threads act at once", "externallyStartedJobs == 0 } else { false }", "externallyStartedJobs == 0 } else { externallyStartedJobs == 0 }"),
    ("the scheduler goes on while a visitor runs", "externallyStartedJobs == 0 } else", "true } else"),
)
of(
    "Idleness.externallyStartedJobEnded",
    ("a visitor that was given up leaves twice", "if abandonedExternalJobs > 0 { abandonedExternalJobs -= 1 } else { externallyStartedJobs -= 1 }",
     "externallyStartedJobs -= 1"),
    ("the first visitor that leaves was given up", "if abandonedExternalJobs > 0 { abandonedExternalJobs -= 1 }",
     "if abandonedExternalJobs > 0 { _ = abandonedExternalJobs }"),
)
of(
    "Idleness.abandonRunning",
    ("a thread that was given up keeps its number", "    threadNumber += 1\n", ""),
    ("a thread that was given up is still waited for", "    thread = .none\n", ""),
    ("externallyStartedJobs that were given up are forgotten", "    abandonedExternalJobs += externallyStartedJobs\n", ""),
    ("externallyStartedJobs are never given up", "    externallyStartedJobs = 0\n", ""),
)

# --- Who waits

likely("SchedulerStateTests|AdvanceUntilTests|SemanticsTests|TestClockTests")
of(
    "IdleWaiters.first",
    ("an observer that is behind misses an instant",
     "if observers.count > 0, let behind = observers.first(where: \\.isBehind) { return behind }", ""),
    ("observers come after those who only want to know",
     "if observers.count > 0, let behind = observers.first(where: \\.isBehind) { return behind }",
     "if settles.first == nil, let behind = observers.first(where: \\.isBehind) { return behind }"),
    ("observers come after advances",
     "if observers.count > 0, let behind = observers.first(where: \\.isBehind) { return behind }",
     "if isEmpty || advances.first == nil, let behind = observers.first(where: \\.isBehind) { return behind }"),
    ("advances come before settles",
     "    if let settle = settles.first { return settle }\n"
     "    if let advance = advances.first { return advance }\n",
     "    if let advance = advances.first { return advance }\n"
     "    if let settle = settles.first { return settle }\n"),
    ("a settle never has its turn", "    if let settle = settles.first { return settle }\n", ""),
    ("an advance never has its turn", "    if let advance = advances.first { return advance }\n", ""),
    ("time moves for paced observers while it is held", "!($0.isPaced && scopeMovesTime)", "$0 === $0"),
    ("time moves for no observer in a scope", "!($0.isPaced && scopeMovesTime)",
     "!($0 === $0 && scopeMovesTime)"),
    ("time never moves for a paced observer", "!($0.isPaced && scopeMovesTime)", "!$0.isPaced"),
)
of(
    "IdleWaiters.append",
    ("a settle waits for the advance under way",
     "if waiter.kind == .settle { settles.append(waiter) } else { advances.append(waiter) }",
     "advances.append(waiter)"),
    ("an observer overlooks what came while it was not there",
     "if observer.jobsFromOutside != jobsFromOutside { observer.mustLook = true }", ""),
)
of(
    "IdleWaiters.jobCameFromOutside",
    ("jobs from outside are not counted", "    jobsFromOutside += 1\n", ""),
    ("observers do not look at what has come from outside",
     "for observer in observers { observer.mustLook = true }", ""),
)
of(
    "IdleWaiters.remove",
    ("an observer keeps its turn", "observers.removeAll { $0 === waiter }", "observers.removeAll { $0 !== waiter }"),
)
of(
    "IdleWaiters.isEmpty",
    ("an observer is nobody who waits", " && observers.count == 0", ""),
    ("an advance is nobody who waits", " && advances.isEmpty", ""),
    ("a settle is nobody who waits", "settles.isEmpty && ", ""),
)
of(
    "WaiterQueue.removeFirst",
    ("a long queue of requests loses its place", "waiters.removeFirst(head)\n      head = 0",
     "waiters.removeFirst(head)"),
    ("an empty queue of requests loses its place",
     "waiters.removeAll(keepingCapacity: waiters.count < 16)\n      head = 0",
     "waiters.removeAll(keepingCapacity: waiters.count < 16)"),
)
of(
    "TimelineWaiter.dueSleeps",
    ("nobody knows what is due", "timeline.dueSleeps()", "ScratchBuffer()"),
)
of(
    "TimelineWaiter.takeDueSleeper",
    ("a sleep that is chosen cannot be taken", "timeline.sleeps.remove(number)", "nil"),
)
of(
    "Advance.takeNext",
    ("an advance's target is determined at every step", "if !hasBegun {", "if hasBegun || !hasBegun {"),
    ("time stays at the last deadline", "    if knownTarget > timeline.now { timeline.now = knownTarget }\n", ""),
    ("an advance to the past takes time back", "if knownTarget > timeline.now { timeline.now = knownTarget }",
     "timeline.now = knownTarget"),
)
of(
    "RunUntilEmpty.takeNext",
    ("time without a thread counts for run()",
     "limit.hasPassed(by: nanosecondsWithoutThread &- waitedAtStart)", "limit.hasPassed(by: 0)"),
    ("what the test waited before counts for run()", "nanosecondsWithoutThread &- waitedAtStart",
     "nanosecondsWithoutThread"),
    ("run() ends after one wake", "guard !ranOutOfTime, let sleeper",
     "guard !ranOutOfTime, wakes < 1, let sleeper"),
    ("run() has no limit", "ranOutOfTime = true", "ranOutOfTime = false"),
    ("run() gives up before many wakes", "wakes >= 100_000, ", ""),
    ("run() gives up when no sleep is left", " timeline.sleeps.count > 0,\n", "\n"),
    ("run() does not know where it began", "      start = timeline.now\n", ""),
)
of(
    "TimelineObserver.isBehind",
    ("an instant to which somebody else moves time is missed",
     "mustLook || wakes > 0 || timeline.now > known", "mustLook || wakes > 0"),
    ("an observer moves past the instant at which it woke somebody",
     "mustLook || wakes > 0 || timeline.now > known", "mustLook || timeline.now > known + known"),
    ("an observer does not look when it must", "mustLook || wakes > 0 || timeline.now > known",
     "wakes > 0 || timeline.now > known"),
    ("an observer has no beginning", "guard let known else { return true }",
     "guard let known else { return false }"),
)
of(
    "TimelineObserver.takeSleeper",
    ("an observer looks before all that is due has happened",
     "    if let sleeper = timeline.popEarliest(dueBy: target, order) {\n",
     "    if !isBehind, let sleeper = timeline.popEarliest(dueBy: target, order) {\n"),
    ("an observer stays at the last deadline", "    if target > timeline.now { timeline.now = target }\n", ""),
    ("an observer that is behind moves time", "isBehind ? timeline.now : limit", "limit"),
)

# --- Time, and sleeps

likely("TimelineTests|SleepQueueTests|SchedulerStateTests|SeamTests|TestClockTests")
of(
    "Timeline.popEarliest",
    ("a sleep due exactly at the target stays", "deadline > target", "deadline >= target"),
    ("now is not set at a wake", "if deadline > now { now = deadline }", ""),
    ("time goes back to a deadline in the past", "if deadline > now { now = deadline }", "now = deadline"),
    ("a chooser of sleeps is not asked", "return sleeps.remove(number)", "_ = number"),
)
of(
    "Timeline.dueSleeps",
    ("what is due later may be chosen", "dueBy: timeline.now)", "dueBy: timeline.now + .seconds(1_000))"),
)
of(
    "Timeline.add",
    ("enough sleeps are not enough", "sleeps.count < waiter.count", "sleeps.count <= waiter.count"),
    ("all who wait for sleeps are the same", "    nextWaiter += 1\n    waiter.number", "    waiter.number"),
    ("all who listen to sleeps are the same", "    nextWaiter += 1\n    listeners", "    listeners"),
)
of(
    "Timeline.takeFulfilledWaiters",
    ("whoever waits for sleeps waits for one more", "$0.value.count <= count", "$0.value.count < count"),
    ("whoever has got the sleeps stays on the list",
     "for number in fulfilled.keys { waiters.removeValue(forKey: number) }", ""),
    ("who waits for sleeps is told in the wrong order", "$0.key < $1.key", "$0.key > $1.key"),
)
of(
    "Timeline.removeAllSleeps",
    ("one sleep of a clock that stands still stays", "(0..<sleeps.count)", "(1..<max(1, sleeps.count))"),
)
of(
    "Pending.line",
    ("a pending sleep does not say when it began", "since \\(details.registered)", "since \\(deadline)"),
)
of(
    "SleepsWaiter.wait",
    ("an arrival before the wait is lost", "if case .ended(let result) = state { return result }", ""),
)
of(
    "SleepQueue.comesFirst",
    ("the latest deadline wakes first", "left < right ||", "left > right ||"),
    ("the latest deadline of other durations wakes first", "lhs.deadline < rhs.deadline\n",
     "lhs.deadline > rhs.deadline\n"),
    ("of equal deadlines the last registered wakes first",
     "(left == right && lhs.number < rhs.number)", "(left == right && lhs.number > rhs.number)"),
    ("equal deadlines are in no order", "(left == right && lhs.number < rhs.number)", "left == right"),
    ("of equal deadlines in other durations the last registered wakes first",
     "(lhs.deadline == rhs.deadline && lhs.number < rhs.number)",
     "(lhs.deadline == rhs.deadline && lhs.number > rhs.number)"),
)
of(
    "SleepQueue.suspend",
    ("a sleep that was cancelled while announced is registered",
     "if positions[slot] == Position.cancelled {", "if positions[slot] == Position.free {"),
    ("the slot of a sleep that was cancelled while announced is lost", "      release(token.slot)\n", ""),
    ("a sleep has the name of another one", "if name != nil || !names.isEmpty { names[token.slot] = name }",
     "if name != nil { names[token.slot] = name }"),
    ("sleeps have no names", "{ names[token.slot] = name }", "{ names[token.slot] = nil }"),
)
of(
    "SleepQueue.cancel",
    ("a cancel ends whatever sleep has the slot now",
     "guard slots[slot].number == token.number else { return nil }", ""),
)
of(
    "SleepQueue.candidates",
    ("a chooser does not know whose sleep it is", "task: task)", "task: 0)"),
    ("what is due now is not due", "&& heap[child].deadline.attoseconds <= instant", "&& heap[child].deadline.attoseconds < instant"),
    ("a fourth child is not due", "..<children + 4", "..<children + 3"),
    ("what is due is in no order", "while place > 0, Self.comesFirst(heap[due[place]], heap[due[place - 1]]) {", "while place > 0 {"),
)
of(
    "SleepQueue.remove",
    ("the wrong sleep is removed", "heap[position].number == number {",
     "heap[position].number >= number || heap.count > 0 {"),
    ("a cancel in the heap only sifts down",
     "if position > 0, Self.comesFirst(last, heap[(position - 1) >> 2]) {", "if position < 0 {"),
    ("a cancel in the heap only sifts up",
     "if position > 0, Self.comesFirst(last, heap[(position - 1) >> 2]) {", "if position > 0 {"),
)
of(
    "SleepQueue.removed",
    ("nobody knows whose sleep was removed", "details[Int($0)]?.taskID ?? 0", "UInt64(0)"),
)
of("SleepQueue.release", ("a slot is never used again", "freeSlots.append(slot)", ""))
of(
    "SleepQueue.siftDown",
    ("the heap overlooks a fourth child", "min(firstChild + 4, count)", "min(firstChild + 3, count)"),
)
of(
    "SleepQueue.place",
    ("a sleep's position in the heap is not kept",
     "positions[Int(entry.slot)] = Int32(truncatingIfNeeded: position)", ""),
)

# --- What comes first where that is open

likely("SeamTests|JobOrderTests|SleepQueueTests")
of(
    "Order.first",
    ("a chooser is asked about one candidate", ", candidates.count > 1 else", " else"),
    ("a silly answer stops the program", "index >= 0 && index < candidates.count ? index : 0", "index"),
    ("a silly answer stands for the last", "? index : 0", "? index : candidates.count - 1"),
    ("what a chooser says has no influence", "let index = chooser.choose(among: candidates)",
     "let index = chooser.choose(among: candidates) * 0"),
)
of(
    "JobQueue.candidates",
    ("every job of the main actor is a candidate", "isFirstOnMain = false", "isFirstOnMain = true"),
    ("no job of the main actor is a candidate", "var isFirstOnMain = true", "var isFirstOnMain = count < 0"),
)
of(
    "JobQueue.grow",
    ("growing forgets where the queue begins", "(16, capacity * 2)\n    head = 0", "(16, capacity * 2)"),
)
of(
    "JobQueue.remove",
    ("a job from the middle is replaced by the wrong one", "places[(head + hole - 1) & mask]\n",
     "places[head]\n"),
    ("a removed job is counted", "    count -= 1\n", "    count -= hole < 0 ? 1 : (count > 1 ? 1 : 0)\n"),
)

# --- Never coming to rest

likely("SchedulerStateTests|SchedulerTests|VirtualTimeTests|LeftoverTests")
of(
    "RunawayGuard.jobBegins",
    ("jobs are not counted", "    jobs += 1\n", ""),
    ("wakes are counted on although the root has run",
     "    if task == rootTask, rootTask != 0 { wakes = 0 }\n", ""),
    ("every job starts the counting of wakes anew", "if task == rootTask, rootTask != 0 { wakes = 0 }",
     "wakes = 0"),
    ("a nameless job is blamed", "guard jobs > limits.jobs, task != 0 || jobs > 2 * limits.jobs",
     "guard jobs > limits.jobs"),
    ("nameless jobs never end", "task != 0 || jobs > 2 * limits.jobs", "task != 0"),
    ("one job too many is allowed", "guard jobs > limits.jobs", "guard jobs > limits.jobs + 1"),
)
of("RunawayGuard.sleepWakes", ("wakes are never counted", "wakes += 1", "wakes += 0"))
of("RunawayGuard.tooManyWakes", ("one wake too many is allowed", "wakes >= limits.wakes", "wakes > limits.wakes"))

# --- How time moves in a scope

likely("SchedulerStateTests|VirtualTimeTests|VirtualTimeTraitTests|EventuallyTests")
of(
    "AutoAdvance.mayJump",
    ("time jumps although it moves by hand only", "autoAdvance && ", ""),
    ("time jumps while it is held", " && holds == 0", ""),
    ("the pause before a jump is left out", " && (jumpsAfter == nil || pauseIsOver)", ""),
)
of(
    "AutoAdvance.somethingHappens",
    ("an alarm means something after something has happened", "    alarm = nil\n", ""),
    ("one pause is enough", "    pauseIsOver = false\n", ""),
)
of("AutoAdvance.setAlarm", ("all alarms are the same", "    alarms += 1\n", ""))
of(
    "AutoAdvance.reason",
    ("any alarm will do", "guard let alarm, alarm.number == number", "guard let alarm"),
)
of("AutoAdvance.endPause", ("a pause never ends", "pauseIsOver = true", "pauseIsOver = false"))
of(
    "ScopeState.movesTime",
    ("time moves by itself where it is moved by hand", "pace.autoAdvance && body.task != nil", "body.task != nil"),
)
of(
    "ScopeState.mayJump",
    ("time jumps after the body has returned", "pace.mayJump && body.task != nil", "pace.mayJump"),
)
of(
    "ScopeState.isAwaited",
    ("a scope that is over is awaited", "!isOver && timeline", "timeline"),
    ("a scope in which tasks sleep is not awaited", "!isOver && timeline.sleeps.count > 0", "false"),
)
of(
    "ScopeState.setAlarm",
    ("a scope whose body has returned gets stuck", "    guard body.task != nil else { return nil }\n", ""),
    ("a scope counts as stuck while it is held", "if pace.holds > 0 {", "if pace.holds < 0 {"),
    ("a sleep in what holds time is not noticed",
     "guard pace.unlimitedHolds == pace.holds, isAwaited else { return nil }", "guard isAwaited == !isAwaited else { return nil }"),
    ("holding without a sleep counts as stuck", "pace.unlimitedHolds == pace.holds, isAwaited",
     "pace.unlimitedHolds == pace.holds"),
    ("a hold that comes to an end counts as one that does not", "pace.unlimitedHolds == pace.holds, isAwaited",
     "isAwaited"),
    ("there is no pause before a jump", "if movesTime, isAwaited, let pause", "if movesTime, !isAwaited, let pause"),
    ("there is a pause before nothing", "if movesTime, isAwaited, let pause", "if movesTime, let pause"),
    ("there is a pause where time is moved by hand", "if movesTime, isAwaited, let pause", "if isAwaited, let pause"),
    ("a stuck scope has no patience", "in: scope.options.stuckAfter, patience: 12",
     "in: scope.options.stuckAfter, patience: 0"),
    ("a held scope has no patience", "patience: 2", "patience: 0"),
)
of(
    "ScopeState.alarmRings",
    ("a scope that waits for a busy test is stuck", "if isAnyBusy, patience > 0 {", "if isAnyBusy, patience < 0 {"),
    ("a busy test is waited for without end", "patience: patience - 1", "patience: patience"),
    ("patience is for the wrong time", "reason == .held ? scope.options.heldFor : scope.options.stuckAfter",
     "reason == .held ? scope.options.stuckAfter : scope.options.heldFor"),
    ("a scope is stuck that was held since", "    guard reason == .held || pace.holds == 0 else { return .nothing }\n", ""),
    ("a scope that is held never gives up", "guard reason == .held || pace.holds == 0", "guard pace.holds == 0"),
    ("an alarm that rang counts on", "    pace.somethingHappens()\n", ""),
    ("the pause is never over", "      pace.endPause()\n", ""),
)
of(
    "ScopeState.ran",
    ("a scope may run after its body has returned", "guard body.task != nil, !body", "guard !body"),
    ("the time in which it is found out where tasks are is a body's", ", !body.isBeingDumped else", " else"),
    ("the time in which jobs run is not summed up", "runningTime += duration", "runningTime = duration"),
    ("a body that was cancelled has as much time as before", "isCancelled ? scope.options.stuckAfter : limit",
     "limit"),
    ("a body that is yet to be cancelled has less time", " && !body.lacksDump", ""),
    ("a body that was cancelled has no time", "    runningTime = .zero\n", ""),
    ("a scope may run for ever", "return body.abort(.tooLong(limit, pending: timeline.pendingLines))", "return nil"),
)
of(
    "ScopeBody.beginDump",
    ("a scope has given up when it is reported", "    problemTime = now\n", "    _ = now\n"),
    ("it is found out twice where tasks are", "guard lacksDump, !isBeingDumped else", "guard lacksDump else"),
)
of(
    "ScopeState.taskToCancel",
    ("whoever sleeps is woken when a body does not end", "guard body.reportDelivered, let", "guard !body.reportDelivered, body.reportDelivered, let"),
    ("whoever sleeps is cancelled though the body may end", "guard body.reportDelivered, let", "guard let"),
    ("a sleep is cancelled again and again", ", number != cancelledSleep", ""),
)
of("ScopeState.end", ("a scope is never over", "isOver = true", "isOver = false"))
of(
    "ScopeBody.abort",
    ("a task that never comes to rest is not cancelled", "    if let culprit { toCancel.append(culprit) }\n", ""),
    ("the body is not cancelled when the scope is stuck", "    if let task { toCancel.append(task) }\n", ""),
    ("the last problem replaces the first", "      self.problem = problem\n      return nil\n    }\n",
     "      self.problem = problem\n      return nil\n    }\n    self.problem = problem\n"),
    ("a problem is reported again and again", "    guard !isReported else { return nil }\n", ""),
    ("what was reported is reported at the end as well", "    isReported = true\n", ""),
    ("the body is not asked to end first",
     "    guard let first = self.problem else {\n      self.problem = problem\n      return nil\n    }\n",
     "    let first = self.problem ?? problem\n    self.problem = first\n"),
)
of(
    "ScopeBody.takeToCancel",
    ("what was cancelled is cancelled again and again", "    defer { toCancel = [] }\n", ""),
)
of(
    "ScopeBody.end",
    ("a body that has returned goes on", "    defer { task = nil }\n", ""),
    ("what was reported is reported twice", "(isReported ? nil : problem,", "(problem,"),
    ("what went wrong is forgotten at the end", "(isReported ? nil : problem,", "(nil,"),
)

# --- Sleeps that nobody injected

likely("VirtualTimeTests|ExactnessTests|LeftoverTests")
of(
    "RuntimeSleeps.begin",
    ("a sleep that begins is not looked at", "    begun.append(BegunSleep(task: task, sleep: sleep))\n", ""),
    ("a cancelled sleep on the runtime's clocks stays", "    sleeps.set(task.id, to: SleepOfTask(token: sleep))\n", ""),
)
of("RuntimeSleeps.beginDelay", ("a delay is not known", "delays[task] = delay", "_ = (task, delay)"))
of("RuntimeSleeps.takeBegun", ("a task that has slept stays in memory", "    defer { begun = [] }\n", ""))
of(
    "RuntimeSleeps.endCancelled",
    ("the job of a sleep that was cancelled before is lost", "{ ended[sleep.task.id] = job }", "{ _ = job }"),
)
of(
    "RuntimeSleeps.taskBecameReady",
    ("the job of a sleep that was over before its task was suspended stays",
     "    if !ended.isEmpty, let job = ended.removeValue(forKey: id) { return job }\n", ""),
    ("the job of a cancelled sleep is not run", "    return job\n", "    return job.taskID == .max ? job : nil\n"),
)
of(
    "RuntimeSleeps.endDelay",
    ("a delayed task waits for ever after the end of its scope", "    return job\n",
     "    return job.taskID == .max ? job : nil\n"),
)
of(
    "RuntimeSleeps.takeEnded",
    ("the job of a sleep that its task has passed by is never run", "return Array(ended.values)", "return []"),
    ("the job of a sleep that its task has passed by is run again", "    defer { ended = [:] }\n", ""),
)
of(
    "Duration.roundedUpAfterReadingTheClockTwice",
    ("a sleep on the runtime's clocks is a little too short", "(quotient + 1) * unit", "quotient * unit"),
    ("an exact sleep is rounded up", "    guard remainder > 0 else { return self }\n", ""),
    ("a sleep is rounded to too many digits", "unit * 10_000 <= attoseconds", "unit * 1_000_000 <= attoseconds"),
)

# --- What the watchdog asks

likely("WatchdogTests|StandstillTests|HangTests|SchedulerTests")
of(
    "ProgressTracker.jobBegins",
    ("jobs have no numbers", "    count &+= 1\n", ""),
    ("nobody knows what runs", "    running = (count, task)\n", ""),
)
of("ProgressTracker.externallyStartedJobEnded", ("a visitor's end changes nothing", "count &+= 1", "count &+= 0"))
of(
    "ProgressTracker.waitedForThread",
    ("nobody counts the time without a thread", "nanosecondsWithoutThread &+= nanoseconds", "_ = nanoseconds"),
)
of(
    "ProgressTracker.running",
    ("a blocked visitor is not noticed", "running ?? (idleness.externallyStartedJobs > 0 ? (.max - count, 0) : nil)", "running"),
)
of(
    "ProgressTracker.findBlockage",
    ("a thread that nobody waits for counts as blocked", "guard othersWait, let running", "guard let running"),
    ("a blockage that is over is remembered", "      blockage = nil\n", ""),
)
of(
    "ProgressTracker.findStandstill",
    ("a test that waits for nothing stands still", "guard isWaiting else {", "guard isWaiting || !isWaiting else {"),
    ("a rest that is over is remembered", "      rest = nil\n", ""),
    ("a test that waits for a busy test stands still", "isPatient: isAnyBusy", "isPatient: false"),
)
of(
    "ProgressTracker.isDue",
    ("what has changed is the same", "guard let found = watched, found.number == number", "guard let found = watched"),
    ("a blockage is reported again and again", "guard !found.isReported, found.since", "guard found.since"),
    ("nothing takes too long", "found.since.lasts(limit) else", "!found.since.lasts(limit) else"),
    ("a busy test is waited for longer than three times", "patience: found.patience - 1", "patience: found.patience"),
)
of(
    "Scheduler.newBlockage",
    ("a job is blocked only if others are ready",
     "waiting > 0 || !state.requests.isEmpty || state.scope?.isAwaited == true", "waiting > 0"),
    ("whoever waits for idleness waits for no job", " || !state.requests.isEmpty", ""),
    ("a scope in which tasks sleep waits for no job", " || state.scope?.isAwaited == true", ""),
)
of(
    "Scheduler.abort",
    ("a job that blocks its thread is waited for", "change { $0.abortJob(blockage.number) }", "_ = blockage"),
)
of(
    "SchedulerState.abortJob",
    ("a job is given up that has ended", "    guard activity.isRunning(number, idleness) else { return }\n", ""),
    ("a job that was given up counts as running", "    activity.jobHasEnded()\n", ""),
)
of(
    "Scheduler.newStandstill",
    ("a test that is over stands still", "$0.testLifetime.areOver\n        ? nil :", "false\n        ? nil :"),
)
of(
    "SchedulerState.findStandstill",
    ("a test in whose scope nothing happens stands still", " && !hasScope", ""),
    ("a test of which a job runs stands still", "idleness.isIdle && requests", "requests"),
    ("whoever waits for idleness stands still", " && requests.isEmpty", ""),
    ("a scope stands still", " && (scope?.isOver ?? true)", ""),
    ("whoever waits for sleeps stands still", " && !timelines.contains(where: \\.isAwaitingSleeps)", ""),
    ("clocks without sleeps are told of",
     "timelines.filter(\\.hasSleeps)", "timelines.filter { $0.hasSleeps || !$0.hasSleeps }"),
)
of(
    "Scheduler.cancelAllSleeps",
    ("a test that stands still never ends",
     "case .continuation(let sleeper, _): sleeper.resume(throwing: CancellationError())",
     "case .continuation: break"),
)
of("SchedulerState.timelines", ("a scope's time is no clock's", "clocks.all + (scope.map { [$0.timeline] } ?? [])", "clocks.all"))
of(
    "ClockRegistry.all",
    ("clocks are told of in no order", "$0.number < $1.number", "$0.number > $1.number"),
)
of(
    "TestLifetime.areOver",
    ("a test that nobody knows is over", "isKnown && tasks", "tasks"),
    ("a test is never over", "isKnown && tasks.allSatisfy(\\.isOver)", "false"),
    ("a test is over when one of its tasks is", "tasks.allSatisfy(\\.isOver)", "tasks.contains(where: \\.isOver)"),
)
of(
    "TestLifetime.add",
    ("a test is never known", "    isKnown = true\n", ""),
    ("tasks that are over stay in memory", "tasks.removeAll { $0.isOver || $0 == task }",
     "tasks.removeAll { $0 == task }"),
    ("a task is noted again and again", "tasks.removeAll { $0.isOver || $0 == task }", "tasks.removeAll { $0.isOver }"),
    ("whoever uses a clock does not keep the test going", "isKnown && !areOver ? [] : add(maker: task)", "[]"),
    ("whoever uses a clock keeps the test going", "isKnown && !areOver ? [] : add(maker: task)", "add(maker: task)"),
)
of(
    "Watchdog.look",
    ("the watchdog knows no scopes", "haveScopes.contains(ObjectIdentifier(scheduler))",
     "haveScopes.isEmpty && limit < .zero"),
    ("what was reported is not given up", "          scheduler.abort(blockage)\n", ""),
    ("a blockage is not reported", "          scheduler.report.record(description)\n          scheduler.abort(blockage)",
     "          _ = description\n          scheduler.abort(blockage)"),
    ("whoever is away is waited for although that is reported", "          scheduler.continueAfterAbsence()\n", ""),
    ("a scope may run for ever, for all the watchdog knows",
     "      if scheduler.scope != nil { scheduler.ran(for: interval) }\n", "      _ = interval\n"),
)
of(
    "Watchdog.report",
    ("a test that stands still never ends, for all the watchdog does", "      scheduler.cancelAllSleeps()\n", ""),
    ("a standstill of no known test is a failure", ", scheduler.change({ $0.testLifetime.isKnown }) else", " else"),
    ("a standstill of no test process is a failure", "guard TestLibraries.isTestProcess, scheduler", "guard scheduler"),
)

# --- What the scheduler does

likely("SchedulerTests|OwnershipTests|SemanticsTests|SeamTests")
of(
    "Scheduler.change",
    ("no thread is started", "if let lane { startThread(on: lane) }", "_ = lane"),
)
of(
    "Scheduler.startThread",
    ("the time without a thread is not noted",
     "        state.activity.waitedForThread(nanoseconds: start.nanosecondsSince)\n", "        _ = start\n"),
    ("every thread is the first", "self.pump(on: lane, number)", "self.pump(on: lane, number * 0)"),
)
of(
    "Turn.mayGoOn",
    ("a thread never lets others have their turn", "jobs < Scheduler.jobsPerTurn && poolJobsOnMain", "poolJobsOnMain"),
    ("the main thread keeps jobs of the pool for ever", " && poolJobsOnMain < Scheduler.poolJobsPerMainTurn", ""),
)
of(
    "Scheduler.perform",
    ("isWaking is left on after a wake at once",
     "context.pointee.endWaking()\n      // If", "// If"),
    ("isWaking is left on after a wake",
     "continuation.resume()\n      context.pointee.endWaking()\n    case .finish",
     "continuation.resume()\n    case .finish"),
    ("isWaking is left on after a request",
     "continuation.resume()\n      context.pointee.endWaking()\n    case .begin",
     "continuation.resume()\n    case .begin"),
    ("a stranger's sleep is resumed as the scheduler's own",
     "case .wake(let continuation, let isOwn):\n      if isOwn { willResume(UnownedTask(continuation)) }\n"
     "      context.pointee.beginWaking(isOwn)",
     "case .wake(let continuation, _):\n      context.pointee.beginWaking(true)"),
    ("a stranger's wait is resumed as the scheduler's own",
     "case .finish(let continuation, let isOwn):\n      if isOwn { willResume(UnownedTask(continuation)) }\n"
     "      context.pointee.beginWaking(isOwn)",
     "case .finish(let continuation, _):\n      context.pointee.beginWaking(true)"),
    ("nobody is cancelled who should be", "for task in tasks { task.cancel() }", "_ = tasks"),
    ("nothing is reported of a body that goes on", "reportOverdue(problem)", "_ = problem"),
    ("sleeps that have begun are not inspected", "inspect(sleeps)", "_ = sleeps"),
    ("no alarm is set", "if let alarm { setAlarm(alarm) }", "_ = alarm"),
)
of(
    "Scheduler.run",
    ("clocks of the system are real in a job", "context.pointee.isInJob = true", "context.pointee.isInJob = false"),
    ("a job's task is not known", "    context.pointee.taskID = job.taskID\n", ""),
    ("a job's task is known for ever", "    context.pointee.taskID = 0\n", ""),
    ("a visitor that changed over in a job of another test is forgotten",
     "for owner in context.pointee.ownersAwaitingEnd { owner.externallyStartedJobEnded(on: nil) }", ""),
    ("a visitor leaves again and again", "    context.pointee.ownersAwaitingEnd = []\n", ""),
)
of(
    "Scheduler.inspect",
    ("a sleep stays that was cancelled before its task was suspended", "sleeps.filter(\\.task.isCancelled)",
     "sleeps.filter { $0.task.isCancelled && $0.task.id == .max }"),
    ("every sleep that has begun is ended", "sleeps.filter(\\.task.isCancelled)",
     "sleeps.filter { $0.task.isCancelled || $0.task.id > 0 }"),
)
of(
    "Scheduler.alarmRings",
    ("an alarm is not set again", "setAlarm(alarm)", "_ = alarm"),
    ("nothing is reported of a body that is stuck", "reportOverdue(problem)", "_ = problem"),
)
of(
    "Scheduler.enqueue",
    ("nothing comes from outside", "scope != nil && ThreadContext.current?.pointee.runsJob(of: self) != true",
     "scope == nil && ThreadContext.current?.pointee.owner !== self"),
    ("nobody observes that a task is made", "state.note(.taskCreated(job.taskID, by: creator))",
     "_ = creator"),
)
of(
    "Scheduler.externallyStartedJobEnded",
    ("the thread of the last visitor does not go on", "if let number, let lane { pump(on: lane, number) }",
     "_ = number"),
)
of(
    "Scheduler.observe",
    ("cancellation is not heard while time is held", "observer.mustLook = true", "observer.mustLook = false"),
)
of(
    "Scheduler.resume",
    ("isWaking is left on after a cancellation",
     "    sleeper.resume(throwing: error)\n    context.pointee.isWaking = false\n",
     "    sleeper.resume(throwing: error)\n"),
)
of(
    "Scheduler.settleUnlessNeverIdle",
    ("a neverIdles task is not known", "return waiter.culprit", "return nil"),
)

# --- Which scheduler

likely("OwnershipTests|SchedulerTests|LifetimeTests|TestClockXCTests")
of(
    "Scheduler.admitCurrentTask",
    ("any task in a job of the test's counts as the test's",
     "      return isOwn\n", "      return true\n"),
    ("a test case in the queue of an actor shares a clock in silence", "      if isNew, let users {", "      if isNew, users == nil {"),
    ("a task of another test is taken over by a sleep",
     "guard TaskOwnership.shared.claim(task, for: self) else { return false }",
     "TaskOwnership.shared.transfer(task, to: self)"),
    ("whoever uses a clock is not known", "    _ = change { $0.testLifetime.add(user: user) }\n", "    _ = user\n"),
    ("a visitor is not waited for", "if !isInJobOfOtherTest || TestCaseMembership.isOn { waitForCurrentJobAndTask() }", "if TestCaseMembership.isOn, isInJobOfOtherTest { waitForCurrentJobAndTask() }"),
    ("whoever uses a clock of the whole process does not wake it", "    wakeIfProcessWide()\n", ""),
    ("a visitor's thread does not run for the test", "    context?.pointee.owner = self\n", ""),
)
of(
    "Scheduler.retainForNewClock",
    ("a clock that a test's work on a queue makes is not the test's", "guard let scheduler = ofThread else {", "guard let scheduler = ofThread, scheduler.isProcessWide else {"),
    ("a clock of a thread owns what is nobody's, of all tests", "TestCaseMembership.isOn ? retainOfThreads(at: origin) : retainProcessWide(at: origin)", "retainProcessWide(at: origin)"),
    ("a clock of a thread owns no more, in XCTest, too", "TestCaseMembership.isOn ? retainOfThreads(at: origin) : retainProcessWide(at: origin)", "retainOfThreads(at: origin)"),
    ("a clock made in setUp is not the whole process's", "if known == nil, TestLibraries.isXCTestRunning {",
     "if known == nil, TestLibraries.isXCTestRunning, task == 0 {"),
    ("whoever makes a clock in XCTest is not known",
     "      scheduler.admitCurrentTask()\n      scheduler.addMaker()\n", "      scheduler.admitCurrentTask()\n"),
    ("whoever makes a clock is not known", "      scheduler.addMaker()\n      // What", "      // What"),
    ("what a test has started before its first clock is nobody's", "        scheduler.adoptTestCase(of: task)\n", ""),
    ("a task whose clocks are gone is nobody's", "    _ = TaskOwnership.shared.claim(task, for: scheduler)\n", ""),
    ("a test is not known to its failures", "isTestKnown: true", "isTestKnown: false"),
)
of(
    "Scheduler.waitForCurrentJob",
    ("a visitor in a job is not counted", "      change { $0.externallyStartedJobBegan() }\n    } else", "      // When"),
    ("a visitor's end is not told", "      context.pointee.ownersAwaitingEnd.append(self)\n", ""),
    ("a job from before the door is not waited for", "else if RuntimeHooks.isOnMainQueue {",
     "else if RuntimeHooks.isOnMainQueue, isVirtual {"),
    ("a job from before the door never ends",
     "      RuntimeHooks.afterCurrentMainJob { self.externallyStartedJobEnded(on: .main) }\n", ""),
)
of(
    "Scheduler.isWithin",
    ("the task of a scope within the test is foreign", "scheduler = inner.parent", "scheduler = nil"),
)
of(
    "Scheduler.takeOverCurrentTask",
    ("a task that is taken over is not waited for", "    waitForCurrentJobAndTask()\n", ""),
    ("a task that is taken over stays another's", "    TaskOwnership.shared.transfer(task, to: self)\n", "    _ = task\n"),
)
of(
    "Scheduler.isAnyBusy",
    ("no test is ever busy", "!$0.idleness.isIdle", "$0.idleness.isIdle && $0.idleness.externallyStartedJobs < 0"),
)

# --- A scope

likely("VirtualTimeTests|LeftoverTests|HangTests|ExactnessTests")
of(
    "Scheduler.beginScope",
    ("the root is not known", "      state.runaway.rootTask = task?.id ?? 0\n", ""),
    ("a scope has no body", "      state.scope?.body.begin(task)\n", ""),
)
of(
    "Scheduler.reportOverdue",
    ("what is overdue is not reported", "      report.record(describe(problem, isOverdue: true))\n",
     "      _ = problem\n"),
    ("whoever sleeps sleeps on when a body is overdue", "    cancelSleepingTasks()\n", ""),
    ("a scope never ends whose failure was reported", "    change { $0.scope?.body.tell() }?.resume()\n", ""),
)
of(
    "Scheduler.ran",
    ("time counts in which nothing of the scope runs",
     "      guard case .acting = state.idleness.thread else { return nil }\n", ""),
    ("a body that goes on is not reported", "if let problem { reportOverdue(problem) }", "_ = problem"),
)
of(
    "Scheduler.closeScope",
    ("sleeps are virtual after the end of their scope", "    isVirtual = false\n", ""),
    ("a scope that has ended is not over", "    change { $0.scope?.end() }\n", ""),
)
of(
    "Scheduler.beginHold",
    ("holding does not hold", "      state.scope?.pace.holds += 1\n", ""),
    ("a hold without limit is one that ends", "        state.scope?.pace.unlimitedHolds += 1\n", ""),
)
of(
    "Scheduler.endHold",
    ("time is never let go", "      state.scope?.pace.holds -= 1\n", ""),
    ("a hold without limit never ends", "      if isUnlimited { state.scope?.pace.unlimitedHolds -= 1 }\n",
     "      _ = isUnlimited\n"),
)
of(
    "Scheduler.sleepVirtually",
    ("a delayed task bears the name of who made it",
     "taskID == UnownedTask.currentID ? UnownedTask.currentName : nil", "UnownedTask.currentName"),
    ("a sleep in an actor's queue is nobody's waitForCurrentJobAndTask",
     "owner == nil {\n      waitForCurrentJobAndTask()", "owner == nil {\n      _ = 0"),
    ("a sleep in another's queue does not tell that its task may go on there",
     "      taskMayRunExternally(delayed.task)\n", ""),
    ("a sleep until now waits in a scope",
     "      guard deadline > timeline.now else {\n        state.jobIsReady(job, isFromOutside: false)\n"
     "        return ([], nil)\n      }\n", ""),
    ("nobody hears of a sleep that nobody injected", "    news?.tell()\n", ""),
    ("a sleep is a delay", "isDelay ? nil : task.handle", "isDelay || !isDelay ? nil : task.handle"),
    ("a sleep does not say since when", "      details.registered = timeline.now\n", ""),
    ("nobody observes a sleep that nobody injected", "if state.listener != nil {", "if state.listener != nil, sleep.number == .max {"),
)
of(
    "Scheduler.systemClocks",
    ("an inner scope begins when the outer one began", "advanced(by: now,", "advanced(by: .zero,"),
    ("the date of an inner scope is not the outer one's", "andDateBy: dateOffset", "andDateBy: .zero"),
    ("the clocks of a scope that has ended go on", "guard let scope, isVirtual else", "guard let scope else"),
)
of(
    "Scheduler.virtualReading",
    ("the clocks of a scope stand still", "isDate ? saturatingSum(now, dateOffset) : now", "isDate ? dateOffset : .zero"),
    ("the date cannot be set", "isDate ? saturatingSum(now, dateOffset) : now", "now"),
    ("every clock is set with the date", "isDate ? saturatingSum(now, dateOffset) : now", "saturatingSum(now, dateOffset)"),
    ("the date is frozen though it should not be", "!isDate || scope.options.freezesDate", "isDate || !isDate"),
    ("the clocks of a scope read its time after its end", "guard let scope, isVirtual, !isDate", "guard let scope, !isDate"),
)
of(
    "Scheduler.cancelSleepingTasks",
    ("leftover sleeps are not cancelled", "      task.cancel()\n", ""),
    ("a delayed task is not run when its scope ends",
     "        state.jobIsReady(job, isFromOutside: false)\n", "        _ = job\n"),
)
of(
    "Scheduler.runEndedSleeps",
    ("the jobs of sleeps that were passed by are lost", "state.jobIsReady(job, isFromOutside: false)", "_ = job"),
)
of(
    "VirtualTime.run",
    ("an outer scope's time jumps while the inner one runs",
     "    outer?.scheduler.beginHold()\n    defer { outer?.scheduler.endHold() }\n", "    _ = outer\n"),
)
of(
    "SkippedExternalWait.jobBegins",
    ("an actor's queue may run nobody", "      lastQueue = now\n", "      _ = now\n"),
    ("who has run is not known", "LastRun(task: task, time: now)", "LastRun()"),
)
of(
    "SkippedExternalWait.arrives",
    ("the last one is named", "guard first == nil, let jump", "guard let jump"),
)
of(
    "SkippedExternalWait.forget",
    ("whoever was cancelled while it slept has waited for work", "lastRuns[place] = LastRun()", "_ = place"),
)
of(
    "SchedulerState.sleepWasCancelled",
    ("a sleep on a test's clock is work outside", "    scope?.sleepWasCancelled(of: sleep.task)\n", ""),
    ("nobody observes a cancellation", "if listener != nil", "if listener == nil"),
)
of(
    "ScopeState.arrives",
    ("whoever cancels a body ends its work", "body.task?.isCancelled != true", "true"),
)
of(
    "SkippedExternalWait.jump",
    ("who has run at the end of the jump has slept through it", "last.time < end", "last.time <= end"),
    ("whoever has a place is the task", "last.task == task", "last.task != 0"),
    ("an actor's queue has run nobody", "if let lastQueue, lastQueue >= end { return nil }\n", ""),
)
of(
    "SchedulerState.jump",
    ("time does not jump", "    scope!.timeHasJumped()\n", ""),
)
of(
    "Scheduler.isCallerOfOtherTest",
    ("whoever resumes a task is of the test", "Self.running?.isWithin(self) != true", "false"),
)
of(
    "VirtualTime.noteOnSkippedWait",
    ("who sleeps may wait for anything", "$0.sleep == nil && ", ""),
    ("any failure is a timeout", "    guard isTimeout else { return nil }\n", ""),
)
of(
    "VirtualTime.child",
    ("work that was skipped is not spoken of", "        self.warnOfSkippedWait()\n", ""),
)
of(
    "InternalDispatch.poolQueue",
    ("jobs that hold their threads leave none for others", "isPoolExhausted.load(ordering: .relaxed) ? 2 : 0", "0"),
)
of(
    "TestCaseMembership.letGo",
    ("what a task of a test returned is kept", "    guard isOn else { return }\n", "    if isOn { return }\n"),
)
of(
    "SleepsWaiter.whenTooLate",
    ("whoever waits for sleeps does not wait for those on their way", "if mayRepeat > 0, end.lasts", "if mayRepeat < 0, end.lasts"),
)
of(
    "Scheduler.dumpInDescription",
    ("everybody who prints a clock gets the dump", "UnownedTask.current != nil && isCallerOfOtherTest ? nil : ", ""),
    ("a debugger gets no dump", "UnownedTask.current != nil && ", ""),
)
of(
    "ScopeBody.tell",
    ("whoever waits for the report waits for good", "    return waiter\n", "    return nil\n"),
)
of(
    "ScopeBody.isDone",
    ("a scope ends before its failure is known", "if reportDelivered || !isReported { return true }", "if reportDelivered || isReported { return true }"),
)
of(
    "VirtualTime.join",
    ("a scope within begins beside the job that opens it", "      scheduler.waitForCurrentJob()\n", ""),
)
of(
    "VirtualTime.begin",
    ("the root of a scope is not known", "    scheduler.beginScope()\n", ""),
    ("a body on a busy actor is not the scope's", "    scheduler.takeOverCurrentTask()\n", ""),
    ("a body on a busy actor begins there", "    await scheduler.settleAsOwn()\n", ""),
)
of(
    "VirtualTime.end",
    ("leftovers are left", "    await endLeftovers()\n", ""),
    ("a scope is not closed", "    scheduler.closeScope()\n", ""),
    ("what went wrong is not reported", "if let problem { scheduler.report.record(scheduler.describe(problem)) }",
     "_ = problem"),
)
of(
    "VirtualTime.endLeftovers",
    ("whoever never comes to rest is waited for long",
     "scheduler.change { $0.runaway.limits.jobs = min($0.runaway.limits.jobs, 100_000) }", ""),
    ("a neverIdles task is dropped at once", "if cancelled.insert(neverIdles.id).inserted {",
     "if cancelled.insert(neverIdles.id).inserted, fails {"),
    ("a neverIdles task is not cancelled at the end", "          neverIdles.cancel()\n", ""),
    ("a neverIdles task is never dropped", "scheduler.change { _ = $0.dropped.insert(neverIdles.id) }", ""),
    ("nothing is said of a task that was dropped",
     "          record(LeftoverFailure.ignoresCancellation(neverIdles.id))\n", ""),
    ("a neverIdles task is no failure", "        if fails, !isReported {\n          isReported = true\n"
     "          record(LeftoverFailure.neverIdles", "        if !fails, !isReported {\n"
     "          isReported = true\n          record(LeftoverFailure.neverIdles"),
    ("leftover sleeps are always a failure", "      if fails, !isReported {\n        isReported = true\n"
     "        record(LeftoverFailure.asleep", "      if !isReported {\n        isReported = true\n"
     "        record(LeftoverFailure.asleep"),
    ("the jobs of sleeps that were passed by are not run", "        scheduler.runEndedSleeps()\n", ""),
    ("whoever still sleeps at the end is left", "      scheduler.cancelSleepingTasks()\n", ""),
    ("it is not said that tasks sleep again and again",
     "    record(LeftoverFailure.endless(pending: pending))\n", "    _ = pending\n"),
)
of(
    "VirtualTime.holding",
    ("holding keeps nothing from jumping",
     "    scheduler.beginHold(isUnlimited: true)\n    defer { scheduler.endHold(isUnlimited: true) }\n", ""),
    ("holding ends by itself, for all the scope knows",
     "    scheduler.beginHold(isUnlimited: true)\n    defer { scheduler.endHold(isUnlimited: true) }\n",
     "    scheduler.beginHold()\n    defer { scheduler.endHold() }\n"),
)
of(
    "VirtualTime.waitForSleeps",
    ("time jumps while sleeps are waited for",
     "    scheduler.beginHold()\n    defer { scheduler.endHold() }\n", ""),
    ("a wait for sleeps may take for ever",
     "    scheduler.beginHold()\n    defer { scheduler.endHold() }\n",
     "    scheduler.beginHold(isUnlimited: true)\n    defer { scheduler.endHold(isUnlimited: true) }\n"),
)
of(
    "VirtualTime.init",
    ("an inner scope begins in real time", "startingAt: start ?? Scheduler.running?.systemClocks", "startingAt: start"),
    ("a scope has no face", "    scope.face = self\n", ""),
)

# === Clocks: owners, and the door to the runtime =================================================

likely("OwnershipTests|TaskTableTests|LifetimeTests|RuntimeHooksTests")
of(
    "TaskOwnership.release",
    ("a test's tasks stay in the register", "owners.remove(registration.tasks[index], of: owner)", "_ = index"),
    ("the process-wide scheduler lives for ever", "        processWide = nil\n", ""),
    ("a scheduler of threads that is gone is used", "      if ofThreads === owner { ofThreads = nil }\n", ""),
    ("a process-wide scheduler that is gone is looked for", "        hasProcessWide.store(false, ordering: .relaxed)\n", ""),
    ("what is known of foreign tasks is known for ever", "        foreign.removeAll()\n", ""),
    ("an owner is gone with its first clock", "      guard registration.clocks == 0 else { return }\n", ""),
)
of(
    "RuntimeHooks.jobEnqueued",
    ("a test case is known when its maker goes on", "if case .testCase = context.pointee.purpose, taskID(of: job) != 0 {",
     "if case .testCase = context.pointee.purpose, taskID(of: job) == 0 {"),
    ("all that is made then is a test case", "        context.pointee.purpose = .nothing\n", ""),
)
of(
    "TaskOwnership.addClock",
    ("of two threads one goes on before it is known how old the owner is", "return registration.watermark == .max",
     "return registration.watermark == .max && registration.clocks == 1"),
)
of(
    "TaskOwnership.retain",
    ("the newest task is asked for before there is an owner", "    if lock.withLock({ addClock(to: owner) }) { setWatermark(of: owner, newestTask) }",
     "    let newest = newestTask()\n    if lock.withLock({ addClock(to: owner) }) { setWatermark(of: owner, { newest }) }"),
    ("all tasks are older than their owner", "{ setWatermark(of: owner, newestTask) }", "{}"),
)
of(
    "TaskOwnership.owner",
    ("a task older than the scheduler becomes its own",
     "        guard id > registration.watermark else {\n"
     "          return (processWide?.ownerIfAwake, false)\n        }\n", ""),
    ("strangers are not remembered", "      registerUnowned(id)\n      return (nil, true)", "      return (nil, true)"),
    ("a stranger is the test's that resumes it", "      if foreign.contains(id) { return (processWide?.ownerIfAwake, false) }\n", ""),
    ("a stranger's actor is the test's", "foreign.contains(id)\n        ? processWide?.ownerIfAwake : running",
     "running"),
    ("an actor's queue belongs to nobody", "(registered(running) ?? processWide?.ownerIfAwake, false)",
     "(processWide?.ownerIfAwake, false)"),
    ("a new task belongs to nobody", "        register(id, of: running)\n        return (running, true)",
     "        return (processWide?.ownerIfAwake, false)"),
    ("a new task is not new", "return (running, true)", "return (running, false)"),
    ("what runs for the whole process is registered", "        if running === processWide?.owner { return (running, false) }\n", ""),
)
of(
    "TaskOwnership.claimed",
    ("a task can be claimed from another test", "      if let other = owners[id] { return (other === owner, false) }\n", ""),
    ("a claim is not noted", "      register(id, of: owner)\n", ""),
)
of(
    "TaskOwnership.register",
    ("the whole process's tasks are registered", "    guard owner !== processWide?.owner else { return }\n", ""),
    ("tasks of an owner that is gone are registered",
     "    guard let registration = owner.registration else { return }\n",
     "    let registration = owner.registration ?? OwnerRegistration(owner: owner)\n"),
    ("an owner's tasks are not known at its end", "    registration.tasks.append(id)\n", "    _ = registration\n"),
)
of(
    "TaskOwnership.registerUnowned",
    ("what is known of foreign tasks only grows", "if oldest != .max { foreign.removeChunks(upTo: oldest) }", "_ = oldest"),
    ("foreign tasks are forgotten before it is known how old an owner is", "if oldest != .max { foreign", "do { foreign"),
    ("foreign tasks are forgotten too early", "watermark).min() ?? .max", "watermark).max() ?? .max"),
    ("the limit of foreign tasks stays", "    unownedLimit = max(8, foreign.chunkCount * 2)\n", "    unownedLimit = .max\n"),
)
of("TaskSet.insert", ("a task is put into the wrong word", "[Self.word(of: id)] |=", "[Self.word(of: id) ^ 1] |="))
of("TaskSet.contains", ("a neighbour is taken for the task", "& 1 << (id & 63) != 0", "!= 0"))
of(
    "TaskSet.remove",
    ("a task in the latest chunk cannot be removed", "latest!.words[Self.word(of: id)] &= ~(1 << (id & 63))", "_ = id"),
    ("a task in another chunk cannot be removed", "chunks[number]?[Self.word(of: id)] &= ~(1 << (id & 63))", "_ = id"),
)
of(
    "TaskSet.makeLatest",
    ("the chunk before the latest is lost", "if let latest { chunks[latest.number] = latest.words }", ""),
    ("a chunk begins anew", "chunks.removeValue(forKey: number) ?? empty", "empty"),
)
of(
    "TaskSet.removeChunks",
    ("the chunk of a task is removed with earlier ones", "- 1 > id", "- 1 > id + (1 << Self.chunkBits)"),
    ("chunks are never removed", "chunks = chunks.filter { isYounger($0.key) }", ""),
    ("the latest chunk is never removed", "if let latest, !isYounger(latest.number) { self.latest = nil }", ""),
    ("a chunk is kept whose last id is the given one", "- 1 > id", "> id"),
)
of("TaskSet.word", ("all tasks share a word", "Int(truncatingIfNeeded: id >> 6) & (1 << Int(chunkBits) / 64 - 1)", "Int(id & 0)"))
of(
    "TaskTable.removeBlock",
    ("what stands behind a removed block is lost",
     "if (next &- home(of: blocks[next])) & mask >= (next &- place) & mask {", "if next < 0 {"),
    ("what stands behind a removed block moves before its home",
     "if (next &- home(of: blocks[next])) & mask >= (next &- place) & mask {", "if next >= 0 {"),
)
of(
    "TaskTable.moveBlock",
    ("a block moves without its owners",
     "= entries[old << Int(Self.blockBits) | slot]", "= .none"),
    ("a block moves without its count", "    known[new] = known[old]\n", ""),
)
of(
    "TaskTable.remove",
    ("a removed task is counted on", "    count -= 1\n", ""),
)
of("TaskTable.home", ("consecutive tasks stand in one run", "block &* 0x9E37_79B9_7F4A_7C15", "block << 32"))
of("TaskTable.grow", ("a block grows without its count", "      known[new] = oldKnown[place]\n", ""))

likely("RuntimeHooksTests|OwnershipTests|ExactnessTests|VirtualTimeTests")
of(
    "RuntimeHooks.quality",
    ("what is nobody's gets another priority", "case 25...: 25", "case 25...: 21"),
)
of(
    "RuntimeHooks.runUnowned",
    ("the end of a test's first job is not noticed", "    context.ownersAwaitingEnd.last?.externallyStartedJobEnded(on: waiting == nil ? lane : nil)\n", ""),
    ("the whole process's scheduler does not hear of a job's end", "    waiting?.externallyStartedJobEnded(on: lane)\n", ""),
    ("of several schedulers one is told of a job's end",
     "    for owner in context.ownersAwaitingEnd.dropLast() { owner.externallyStartedJobEnded(on: nil) }\n", ""),
)
of(
    "RuntimeHooks.jobEnqueued",
    ("a task that wakes is looked up", "if context.pointee.isWaking, let owner", "if context.pointee.isWaking, !context.pointee.isWaking, let owner"),
    ("a task that is to be held runs", "        context.pointee.holding = .job(job)\n        return\n", ""),
    ("a new task is seen as known", "if let owner {\n        owner.enqueue(ReadyJob(job: job, taskID: id, lane: lane), isNew: isNew)",
     "if let owner {\n        owner.enqueue(ReadyJob(job: job, taskID: id, lane: lane), isNew: false)"),
    ("who makes a task before the clock is touched is not remembered", "isNew ? TestCaseMembership.hasMade(job)",
     "isNew ? nil"),
    ("a yield before the clock is touched is not remembered", ": TestCaseMembership.hasYielded(job)", ": nil"),
)
of(
    "ThreadContext.owner",
    ("an actor's queue works for its thread's test",
     "return TaskOwnership.shared.owner(of: task, on: owner)", "_ = task; return owner"),
    ("a job from before the door is nobody's",
     "return UnownedTask.currentID.flatMap { TaskOwnership.shared.owner(of: $0) }", "return nil"),
)
of(
    "RuntimeHooks.runElsewhere",
    ("a job of nobody's on the main thread goes to the pool",
     "? dispatch_get_main_queue() : Own", "? dispatch_get_global_queue(21, 0) : Own"),
    ("executors of somebody else's do not get their jobs", "guard PriorExecutors.areDispatch else {",
     "guard PriorExecutors.areDispatch || taskID(of: job) != 0 else {"),
)
of(
    "RuntimeHooks.virtualOwner",
    ("a sleep on the runtime's clocks is real in a scope", "return owner?.isVirtual == true ? owner : nil",
     "return owner?.isVirtual == false ? nil : nil"),
    ("an actor's sleep is its thread's", "task.id == UnownedTask.currentID\n      ? running :",
     "task.id == UnownedTask.currentID\n      ? ThreadContext.current?.pointee.owner :"),
)
of(
    "RuntimeHooks.delayVirtually",
    ("a delayed task is taken for a sleep of who made it", "delayedTask(job) ?? UnownedTask.current",
     "UnownedTask.current ?? delayedTask(job)"),
    ("a task on its way to an executor is not delayed virtually",
     "guard let task = UnownedTask.current ?? delayedTask(job), let owner = virtualOwner(of: task)\n"
     "      else", "guard let task = UnownedTask.current, let owner = virtualOwner(of: task)\n      else"),
)
of(
    "SPIMainExecutor.checkIsolated",
    ("the main executor knows no thread", "RuntimeHooks.priorMain.checkIsolated()", ""),
)
of("SPIMainExecutor.stop", ("the main executor does not stop", "RuntimeHooks.priorMain.stop()", ""))
of(
    "SPIDefaultExecutor.enqueue",
    ("a delay outside a scope is lost", "ExecutorJob($1), after: delay, tolerance", "ExecutorJob($1), after: .zero, tolerance"),
)
of(
    "WatchedTask.current",
    ("the task of an async let is kept", "!TaskStatus.isAsyncLet(task.job),\n      ", "\n      "),
)
of(
    "WatchedTask.currentChild",
    ("a task that is no child counts as the test", "TaskStatus.isChild(task.job)", "!TaskStatus.isAsyncLet(task.job)"),
)
of("WatchedTask.isOver", ("no task is ever over", "TaskStatus(of: task.job).isOver", "false"))
of("RetainedTask.cancel", ("no task is cancelled", "task.cancel()", ""))
of("RetainedTask.isCancelled", ("no task was cancelled", "task.isCancelled", "false"))
of(
    "read",
    ("clocks of the system are virtual between jobs", ", context.pointee.isInJob,", ","),
    ("everything that Foundation reads is virtual", "!isDate || clock == CLOCK_REALTIME,", "clock == clock,"),
)
of(
    "UnstartedTask.init",
    ("a held task is lost", "self.job = job", "self.job = job; guard unsafeBitCast(job, to: Int.self) == 0 else { return nil }"),
)

# === Clocks: failures, and what supports all of it ===============================================

likely("StandstillTests|WatchdogTests|HangTests|LifetimeTests")
of(
    "TestReport.runInTest",
    ("what is found elsewhere is an unknown test's failure",
     "if let context { context.run(body) } else { body() }", "body()"),
)
of(
    "TestContext.run",
    ("a test's context is used twice", "      defer { self.waiting = nil }\n", ""),
    ("what is to be reported is lost", "      report()\n", ""),
    ("a test's second report is nobody's", "      self.lock.withLock { self.waiting = next }\n", "      next?.run()\n"),
)
of("TestContext.deinit", ("a task that was held is never let go", "    waiting?.run()\n", ""))
of(
    "Collection.listed",
    ("a long list is not cut", "if count > limit {", "if count > limit + 1_000 {"),
)

likely("ExactnessTests|VirtualTimeTests|SchedulerStateTests")
of(
    "AlarmClock.set",
    ("an alarm that is set later is not", "      setting = (due, number)\n", "      if setting == nil { setting = (due, number) }\n"),
    ("a timer is started for each alarm", "      if let timer, timer <= due { return false }\n", ""),
    ("no earlier timer is started", "if let timer, timer <= due { return false }", "if timer != nil { return false }"),
)
of(
    "AlarmClock.timerCame",
    ("a timer that was replaced counts", "      guard timer == instant else { return .nothing }\n", ""),
    ("a timer that has come is still under way", "      timer = nil\n", ""),
    ("an alarm rings too early", "guard setting.due.hasPassed else {", "guard setting.due.hasPassed || true else {"),
    ("an alarm rings twice", "      self.setting = nil\n", ""),
    ("the rest is not waited for", "case .wait(let due): startTimer(due)", "case .wait: break"),
    ("an alarm does not ring", "case .ring(let number): ring(number)", "case .ring: break"),
)
of(
    "RealTime.hasPassed",
    ("nobody is given more time", "hasPassed && nanosecondsSince >= extra", "hasPassed"),
)
of(
    "SystemClocks.advanced",
    ("the date of an inner scope goes back", "    later.realTime = realTime.advanced(by: saturatingSum(duration, dateOffset))\n", ""),
    ("the suspending clock of an inner scope goes back", "    later.monotonic = monotonic.advanced(by: duration)\n", ""),
    ("the continuous clock of an inner scope goes back", "    later.sinceBoot = sinceBoot.advanced(by: duration)\n", ""),
)
of(
    "SystemClocks.reading",
    ("the date stands still", "realTime.advanced(by: duration)", "realTime"),
    ("the suspending clock stands still", "monotonic.advanced(by: duration)", "monotonic"),
    ("the continuous clock stands still", "sinceBoot.advanced(by: duration)", "sinceBoot"),
)
of(
    "timespec.advanced",
    ("nanoseconds are lost", "tv_nsec + Int(attoseconds", "Int(attoseconds"),
    ("a clock runs over", "sum < Int.max / 2 ? sum : Int.max / 2", "sum"),
    ("a nanosecond too many", "nanoseconds >= 1_000_000_000 ? 1", "nanoseconds > 1_000_000_000 ? 1"),
    ("a date before 1970 has nanoseconds below zero", "nanoseconds < 0 ? -1 : 0", "0"),
)
of("saturating", ("an overflow ends at the wrong end", "a < 0 ? .min : .max", "a < 0 ? .max : .min"))

# === Clocks: what users see ======================================================================

likely("TestClockTests|SemanticsTests|SchedulerTests|SeamTests")
of(
    "TestClock.standardDurationSleep",
    ("a cancelled task may sleep to a past deadline the fast way", "    try UnownedTask.checkCancellation()\n", ""),
    ("a foreign sleep is not noticed the fast way",
     "    if !isOwn { checkUseByOtherTest(\"TestClock.sleep(until:)\", at: origin) }\n", ""),
)
of(
    "Scheduler.sleep",
    ("a cancel is forgotten the fast way", "self.cancel(sleep, at: &place)", "_ = sleep"),
)
of(
    "Scheduler.begin",
    ("a sleep until now waits the fast way", "sleep.deadline.attoseconds > timeline.now.attoseconds",
     "sleep.deadline.attoseconds >= timeline.now.attoseconds"),
    ("nobody hears of a sleep's arrival the fast way",
     "timeline.isAwaited ? .awaited : .suspended", ".suspended"),
    ("a sleep the fast way has no name", "token, .continuation(continuation, isOwn: sleep.isOwn), until: sleep.deadline, name: name,",
     "token, .continuation(continuation, isOwn: sleep.isOwn), until: sleep.deadline, name: nil,"),
)
of(
    "Scheduler.cancel",
    ("nobody is told of a cancellation the fast way", "state.sleepWasCancelled(removed)", "_ = removed"),
)
of(
    "SchedulerState.wakeAndRun",
    ("wakes are not counted the fast way", "    runaway.sleepWakes()\n", ""),
    ("nobody knows which job runs the fast way", "    activity.jobBegins(of: task)\n", ""),
)
of(
    "SchedulerState.mayRunWoken",
    ("nobody is told of a wake the fast way", "listener == nil && ", ""),
    ("a chooser is not told of a wake the fast way", "order.chooser == nil && ", ""),
)
of(
    "TestClock.sleepInGeneral",
    ("a cancelled task may sleep to a past deadline", "    try UnownedTask.checkCancellation()\n    let isOwn", "    let isOwn"),
    ("a cancel is forgotten", "cancelSleep(token)\n    } _:", "_ = token\n    } _:"),
    ("a foreign sleep is not noticed", "    if !isOwn { checkUseByOtherTest(\"TestClock.sleep(until:)\", at: origin) }\n", ""),
)
of(
    "TestClock.announceSleep",
    ("a sleep until now waits", "deadline.offset > timeline.now ?", "deadline.offset >= timeline.now ?"),
)
of(
    "TestClock.beginSleep",
    ("a cancelled announcement is forgotten",
     "if case .cancelled = outcome { resumeCancelled(sleeper) }", "_ = outcome"),
    ("nobody hears of a sleep's arrival", "for waiter in fulfilled { waiter.succeed() }", "_ = fulfilled"),
)
of(
    "TestClock.cancelSleep",
    ("nobody is told of a cancellation", "state.sleepWasCancelled(removed)", "_ = removed"),
)
of(
    "TestClock.resumeCancelled",
    ("a cancelled sleep returns normally",
     "scheduler.resume(continuation, isOwn: isOwn, throwing: CancellationError())",
     "_ = isOwn; continuation.resume()"),
)
of(
    "TestClock.deinit",
    ("a clock never ends", "    scheduler.release()\n", ""),
    ("a clock's time never ends", "    scheduler.remove(timeline)\n", ""),
)
of(
    "TestClock.init",
    ("a clock of a scope that has ended reads its time", "scheduler.isVirtual ? scheduler.scope?.timeline : nil",
     "scheduler.scope?.timeline"),
)
of(
    "TestClock.checkUseByOtherTest",
    ("foreign use is reported each time",
     "    guard !useByOtherTestIsKnown.exchange(true, ordering: .relaxed) else { return }\n", ""),
)
of(
    "TestClock.newAdvance",
    ("advances at once do not add up", "return StandardDurationAdvance(timeline, isOwn: isOwn, .duration, duration)",
     "return StandardDurationAdvance(timeline, isOwn: isOwn, .instant, timeline.now + duration)"),
    ("an advance by nothing is an error", "guard duration >= .zero else", "guard duration > .zero else"),
    ("a foreign advance is not noticed",
     "    if !isOwn { checkUseByOtherTest(\"TestClock.advance(by:)\", at: callSite) }\n", ""),
)
of(
    "TestClock.advance",
    ("an advance to now is an error", "guard deadline >= now else", "guard deadline > now else"),
)
of(
    "TestClock.checkSuspension",
    ("checkSuspension() does not settle",
     "    await settle(fileID: fileID, filePath: filePath, line: line, column: column)\n", ""),
)
of(
    "Advance.findTarget",
    ("advanceToNextSleep() goes back to a deadline in the past",
     "knownTarget = max(deadline, timeline.now)", "knownTarget = deadline"),
)
of(
    "TestClock.waitForSleeps",
    ("a cancelled wait for sleeps goes on", "abort { _ in CancellationError() }", "_ = abort"),
    ("a wait for sleeps has no limit", "waiter.whenTooLate(timeout,", "waiter.whenTooLate(timeout * 1_000,"),
)
likely("AdvanceUntilTests|EventuallyTests|TimedExpectationTests")
of(
    "TestClock.follow",
    ("endless wakes within a limit are not noticed", "wakes > enough ?", "wakes < 0 ?"),
    ("what happens beyond the limit counts", "      guard now <= end else { return .limitReached }\n", ""),
    ("an answer that comes too late counts", "self.now <= end ? .holds", "self.now >= now ? .holds"),
    ("a cancelled observer goes on", "      if Task.isCancelled { return .cancelled }\n", ""),
    ("a negative limit is none", "guard limit >= .zero else {", "guard limit == limit else {"),
    ("a clock of another time waits for the scope", "isPaced && timeline === scheduler.scope?.timeline", "isPaced"),
)
likely("ImmediateClockTests|AnyClockTests|TimerTests|GreatestMultipleTests|ClockSleepTests|SaturatingTests")
of(
    "ImmediateClock.sleep",
    ("time goes back", "latest = max(latest, deadline)", "latest = deadline"),
    ("a cancelled task sleeps on an immediate clock", "    try Task.checkCancellation()\n", ""),
    ("an immediate clock never gives way", "if givesWay { await Task.yield() }", "_ = givesWay"),
    ("a task gives way although another one has slept", "streak.task == task ? streak.sleeps + 1 : 1", "streak.sleeps + 1"),
    ("a task gives way once only", "      streak.sleeps = 0\n", ""),
)
of("Instant.duration", ("a distance is measured backwards", "return base.duration(to: other)", "return other.duration(to: base)"))
of("AnyClock.init", ("a boxed clock is boxed again", "base = (clock as? Self)?.base ?? clock", "base = clock"))
of(
    "AnyClock.sleep",
    ("cancellation is not checked before a foreign instant", "      try Task.checkCancellation()\n      throw", "      throw"),
    ("the tolerance is lost", "try await clock.sleep(until: deadline, tolerance: tolerance)",
     "try await clock.sleep(until: deadline, tolerance: nil)"),
)
of(
    "Iterator.next",
    ("missed ticks are made up for", "let tick = next.advanced(by: missed)", "_ = missed\n      let tick = next"),
    ("a timer drifts", "self.latest = tick", "self.latest = clock.now"),
    ("a cancelled task gets a tick", "guard !hasEnded, !Task.isCancelled,", "guard !hasEnded,"),
)
of("Iterator.end", ("a timer goes on after its end", "      hasEnded = true\n", ""))
of("Clock.timer", ("an interval of zero is accepted", "guard interval > .zero else", "guard interval >= .zero else"))
of("greatestMultiple", ("a tick missed exactly now is not counted", "guard unit <= limit else", "guard unit < limit else"))
of("Clock.sleep", ("a sleep for NaN seconds returns", "    guard !seconds.isNaN else { throw InvalidDurationError() }\n", ""))

# === Clocks: schedules, timelines and dumps ======================================================

likely("ScheduleSearchTests|WaitingLoopTests|ScheduleRequestTests|KnownBugTests")
of(
    "ScheduleSearch.note",
    ("what comes behind an order that chance has found is not tried", "if isComplete { expand(record, current) }",
     "if isNew, isComplete { expand(record, current) }"),
    ("a long search grows", "min(200, Self.mostReversals - reversals.count)", "200"),
    ("no reversal is tried", "reversals.append(Reversal(constraints: constraints, last: found[index]))", "_ = index"),
)
of(
    "ScheduleSearch.expand",
    ("shards try the same orders", "if choices.isEmpty, number % limits.shard.count != limits.shard.index { continue }",
     "_ = number"),
    ("a prefix leaves out the last candidate", ".indices.dropFirst(1)", ".indices.dropFirst(1).dropLast()"),
    ("a loop that yields has orders without end", "where !record.candidates[other].isOther {", "{"),
    ("it is said of a loop that all its orders were tried", "record.decisions[index].step < profile.longest",
     "record.decisions[index].step >= 0"),
    ("more orders wait than can be tried", "prefixes.count < limits.count - tried", "prefixes.count >= 0"),
)
of("ScheduleRun.choose", ("a loop waits for ever for what an order keeps back", "record.steps.count < longest",
                          "record.steps.count >= 0"))
of("ScheduleSearch.mine", ("a shard tries the reversals of the others", "== UInt64(limits.shard.index)",
                           ">= UInt64(limits.shard.index)"))
of("ScheduleSearch.nextRandom", ("shards throw the same dice", "chance * limits.shard.count + limits.shard.index",
                                   "chance + limits.shard.index"))
of("ScheduleSearch.begin", ("shards hold the same steps back", "$0.offset % limits.shard.count == limits.shard.index",
                            "$0.offset % limits.shard.count <= limits.shard.index"))
of("Strategy.firstFree", ("a step is kept back for ever", "kept[number] < Self.patience", "kept[number] < .max"))
of("Strategy.choose", ("whoever yields does not let others go first", "if yielding == 0 { return",
                       "if yielding >= 0 { return"))
of("RunRecord.reversals", ("what comes from a step is turned round with it", "if cause >= 0 { effects[cause] = second }", ""))
of("ScheduleShrinker.leaveOutEach", ("a constraint that is not needed stays",
                                     "if await fails(fewer, test) { constraints = fewer } else { index += 1 }",
                                     "_ = fewer\n      index += 1"))
of("ScheduleRequest.shard", ("there is a shard 0", "(1...count).contains(index)", "(0...count).contains(index)"))
of("ScheduleRequest.countOfEnvironment", ("no schedules at all are accepted", "count > 0", "count >= 0"))

likely("TokenFolderTests|ScheduleTokenTests|WithSchedulesTests|ExploredChildTests|DivergenceTests")
of("RuntimeClocks.areVirtual", ("an explored test reads real time", "owner.isExplored || ", ""))
of("TokenFolder.tokens", ("the token that came first is tried first", ".reversed()", ""))
of("TokenFolder.add", ("a token is kept twice", "guard !known.contains(token) else { return }", ""))
of("IssueGate.handle", ("issues of a search get through", "return .isKept", "return .passes"))
of("ScheduledTest.run", ("one order alone is run where hops are not seen", "if let missing = Hops.missing {",
                         "if let missing = Hops.missing, missing.isEmpty {"))
of("Exploration.callAsFunction", ("two runs that are not the same go unnoticed", "search.tried == 2, let first",
                                  "search.tried == 0, let first"))
of("Exploration.examine", ("another failure counts as the same when it is made small",
                           "outcome.key == finding.key ? run.record : nil", "outcome.hasFailed ? run.record : nil"))

likely("RecordedScheduleTests|WithSchedulesTests|EventListenersTests|TimelineTraitTests")
of("EventListeners.hear", ("only the first listener is told", "for listener in all {", "for listener in all.prefix(1) {"))
of("SchedulerState.add", ("the last listener is told first", "listen(listeners + [listener])",
                          "listen([listener] + listeners)"))
of(
    "Scheduler.mayBeRecorded",
    ("every run of a search is recorded", "refusals.note()\n        return false", "refusals.note()\n        return true"),
    ("an explored test that passes has no timeline", "refusals.note()", "_ = refusals"),
    ("what is within a run on trial is recorded", "case .onTrial where scheduler !== self: return false",
     "case .onTrial where scheduler !== self: return true"),
)
of("Scheduler.endRecording", ("each run on trial is delivered", "if !isOnTrial { recorder?.deliver() }",
                              "recorder?.deliver()"))
of("StepDetails.begins", ("the lanes name no functions", "detail.functions = functions(of: job.job)", ""))
of("Symbols.place", ("a library's function counts as the user's", "!function.isThunk, !function.isLibrarys", "!function.isThunk"))
of("FunctionName.nameAlone", ("the name has its type before it", ".map { name.index(after: $0) } ?? name.startIndex",
                              ".map { _ in name.startIndex } ?? name.startIndex"))
of("HistoryBuilder.begins", ("whoever runs when it is created needs a line", "justReady != task ||", "justReady == task ||"))
of("TaskDump.circles", ("a circle is not closed", "circles.append(way[position...].map { entries[$0.task] })", "_ = position"))

# === ClocksTestKit ===============================================================================

module("ClocksTestKit")
likely("TimedExpectationTests|ConfirmationTests|EventuallyTests|VirtualTimeTraitTests")
of(
    "TimedExpectation.follow",
    ("what is fulfilled beyond the limit counts", "    let time = start.duration(to: clock.now)",
     "    seen = count\n    let time = start.duration(to: clock.now)"),
    ("too often is often enough", "case .holds where !expectedCount.contains(seen):", "case .holds where seen < 0:"),
    ("too rarely is often enough", "case .limitReached where !expectedCount.contains(seen):",
     "case .limitReached where seen < 0:"),
    ("an expectation is not paced", "isPaced: true", "isPaced: false"),
)
of(
    "ExpectedCount.isDecided",
    ("one too many is not too many", "count > most", "count > most + 1"),
    ("what may still be too many is decided", "count > most", "count >= most"),
    ("enough is not enough", "count >= least", "count > least"),
)
of("ExpectedCount.contains", ("too few are enough", "count >= least && ", ""), ("too many are as expected", " && count <= most ?? .max", ""))
of("ExpectedCount.init", ("a half-open range is closed", "most = range.upperBound - 1", "most = range.upperBound"))
of(
    "TestClock.eventually",
    ("what did not hold in time is no failure",
     'fail("The condition did not hold at any time within \\(limit).", comment, at: callSite)', "break"),
    ("eventually() is not paced", "isPaced: true", "isPaced: false"),
)
of(
    "TestClock.never",
    ("never() is content with what holds", "return true", "return false"),
    ("never() is not paced", "isPaced: true", "isPaced: false"),
)
of(
    "VirtualTimeTrait.provideScope",
    ("a failure of a scope has no place", "Issue.record(Comment(rawValue: $0), sourceLocation: location)",
     "_ = (location, $0)"),
    ("the trait keeps its options to itself", "autoAdvance: autoAdvance,", "autoAdvance: true,"),
    ("the trait does not pass on what becomes of leftovers", "leftoverSleeps: leftoverSleeps,", "leftoverSleeps: .cancel,"),
    ("the trait does not pass on how long a test may run", "runningLimit: runningLimit,", "runningLimit: .seconds(60),"),
)
of("confirm", ("confirmation() does not wait", "  _ = await expectation.wait(\n    within: limit, on: clock, as: \"confirmation(within:)\", at: callSite)\n", ""))

# === TimeoutTask =================================================================================

module("TimeoutTask")
of(
    "Race.swift",
    ("a second outcome replaces the first", "    if isDecided { return nil }\n", ""),
    ("waiters stay in the queue after they were told", "    defer { waiters = WaiterQueue() }\n", ""),
)
of(
    "Contest.swift",
    ("the timer stays on the clock", "    running.timer?.cancel()\n", ""),
    ("one cancelled waiter cancels all",
     "waiter != nil && race.waiters.isEmpty", "waiter != nil"),
    ("the last waiter's cancellation cancels nothing",
     "waiter != nil && race.waiters.isEmpty", "waiter == nil && waiter != nil"),
    ("a shared task ends with its last waiter",
     "let isLast = endsWithLastWaiter && waiter", "let isLast = waiter"),
    ("waiters are told before the timer has left the clock",
     "    running.timer?.cancel()\n    let waiters = race.withLock { $0.announce(outcome) }\n"
     "    waiters.resumeAll { $0.resume() }\n",
     "    let waiters = race.withLock { $0.announce(outcome) }\n"
     "    waiters.resumeAll { $0.resume() }\n    running.timer?.cancel()\n"),
    ("a waiter that is cancelled already waits", "    if Task.isCancelled { leave(with: ticket) }\n", ""),
    ("a waiter that comes too late waits for ever", "if isTooLate { return waiter.resume() }", ""),
    ("the work goes on after its last waiter has left", "    decision?.work?.cancel()\n", "    _ = decision\n"),
)
of(
    "TimeoutTask+Tasks.swift",
    ("a timeout of zero waits", "timeout <= .zero || instant <= clock.now", "instant < clock.now"),
    ("on a clock that does not wait the work begins",
     "timeout <= .zero || instant <= clock.now", "timeout <= .zero"),
    ("work without any time begins before it is cancelled",
     "beginsCancelled: isTooLate,", "beginsCancelled: false,"),
    ("a timer that is known too late is not cancelled",
     "    if isInTime { return }\n    timer?.cancel()\n", "    if isInTime { return }\n"),
    ("the work is cancelled before its waiters are told",
     "if decision.hadWaiters { Task { work.cancel() } } else { work.cancel() }", "work.cancel()"),
    ("the work is not cancelled at the timeout",
     "if decision.hadWaiters { Task { work.cancel() } } else { work.cancel() }", "_ = work"),
    ("a result in time counts as late",
     "if contest.decide(.failure(failure)) == nil {", "if contest.decide(.failure(failure)) != nil {"),
    ("work leaves its actor and comes back",
     "ActiveDeadline.governing(deadline) {\n          _ = isolation\n", "ActiveDeadline.governing(deadline) {\n"),
)
of(
    "Task+Starting.swift",
    ("the timer keeps its priority", "    timer?.escalatePriority(to: priority)\n", ""),
    ("the work keeps its priority", "    work?.escalatePriority(to: priority)\n", ""),
)
of(
    "TimeoutTask.swift",
    ("cancel() leaves the work alone",
     "decide(.failure(CancellationError()))?.work?.cancel()", "decide(.failure(CancellationError()))"),
)
of(
    "WaiterQueue.swift",
    ("waiters are told in the wrong order", "$0.ticket.number < $1.ticket.number", "$0.ticket.number > $1.ticket.number"),
    ("waiters are told in any order",
     "all.sorted { $0.ticket.number < $1.ticket.number }.map(\\.waiter)", "all.map(\\.waiter)"),
    ("a waiter that has left is told", "others.removeValue(forKey: ticket)", "others[ticket]"),
)
of(
    "InterruptibleOperation.swift",
    ("an operation is interrupted after its end",
     "    phase = .done\n    return false\n", "    return false\n"),
    ("the operation of a cancelled caller is interrupted",
     "      if task.isCancelled { return nil }\n", ""),
    ("an operation does not wait for the end of its cancellation",
     "if case .cancelling = phase { return true }", ""),
    ("what waits for the end of its cancellation is not resumed",
     "    phase = .done\n    return waiting\n", "    phase = .done\n    return nil\n"),
)
of(
    "CancellingDeadline.swift",
    ("a deadline at now is not over", "if instant <= clock.now { return pass(number, .deadlinePassed) }", ""),
    ("on a clock that does not wait the operation begins",
     "    if instant <= clock.now { pass(number, .deadlinePassed) }\n", ""),
    ("a timer that was cancelled lets the deadline pass",
     "if !Task.isCancelled { pass(number, .deadlinePassed) }", "pass(number, .deadlinePassed)"),
    ("a timer that was replaced stays on the clock", "    move.replaced?.cancel()\n", ""),
    ("the timer outlives the operation",
     "override func stopTimer() { cancelTimerTask() }", "override func stopTimer() {}"),
)
of(
    "OperationDeadline.swift",
    ("the deadline cancels nothing", "    task.cancel()\n    state", "    state"),
    ("an operation that is interrupted before it begins begins uncancelled",
     "if isInterrupted { task?.cancel() }", "_ = isInterrupted"),
    ("the timer outlives its caller's cancellation",
     "    } onCancel: {\n      cancelTimerTask()\n    }", "    } onCancel: {\n    }"),
    ("a deadline's timer keeps its priority",
     "state.withLock { $0.timer }?.escalatePriority(to: priority)", "_ = priority"),
    ("a timer that was replaced counts",
     "guard state.isPending, state.timerNumber == number else { return nil }",
     "guard state.isPending else { return nil }"),
    ("a deadline moves after the end",
     "    let mustWait = state.withLock { state in\n      state.isPending = false\n",
     "    let mustWait = state.withLock { state in\n"),
    ("the operation leaves its caller's actor and comes back",
     "      await governing {\n        _ = isolation\n", "      await governing {\n"),
)
of(
    "RealTimeDeadline.swift",
    ("a shared timer outlives the operation",
     "if let ticket { SharedTimers.shared.remove(ticket) }", "_ = ticket"),
    ("whose caller is cancelled is interrupted before it begins",
     "withUnsafeCurrentTask { task in state.withLock { $0.operation.willBegin(for: task) } }", ""),
    ("a shared timer lets nothing pass", "func ring() { pass(0, .deadlinePassed) }", "func ring() {}"),
)
of(
    "TimerHeap.swift",
    ("the heap is in no order", "if entries[parent].latest <= entry.latest { break }", "break"),
    ("a deadline that was taken out rings", "    places[index].alarm = nil\n    dead += 1\n", "    dead += 1\n"),
    ("a ticket of the past takes somebody else out", "places[index].number == ticket.number,", ""),
    ("deadlines that were taken out stay for ever", "if dead > 64, dead > entries.count / 2 { compact() }", ""),
    ("the heap is in disorder after it was cleared", "        sink(entries[index], from: index)\n", ""),
    ("who is due last is asked first", "where entries[other].latest < entries[earliest].latest",
     "where entries[other].latest > entries[earliest].latest"),
)
of(
    "SharedTimers.swift",
    ("an earlier deadline waits for a later one",
     "deadline + slack < state.latest ? state.nextSleep() : nil", "state.latest == .max ? state.nextSleep() : nil"),
    ("a sleep that was replaced goes on", "    replaced?.cancel()\n", "    _ = replaced\n"),
    ("who is too early by the clock waits for ever", "max(now(), sleep.deadline)", "now()"),
    ("who takes long keeps others waiting", "Task.detached(priority: .high) { alarm.ring() }", "alarm.ring()"),
    ("a sleep that was replaced has everybody ring",
     "guard state.lastNumber == sleep.number else { return ([], nil) }", ""),
)
of(
    "RealTime.swift",
    ("time is always real", "return hook.pointee.load(ordering: .relaxed) == 0", "_ = hook\n    return true"),
    ("a deadline is a little early", "(attoseconds + (1 << bits - 1)) >> bits", "attoseconds >> bits"),
)
of(
    "RealTimeLimit.swift",
    ("a limit inside another one is set", "if let outer, isUseless(inside: outer) {", "if false {"),
)
of(
    "DeadlineOnClock.swift",
    ("deadlines on other clocks are compared",
     "return haveEqualIDs(clock, other) ? same : nil", "_ = clock\n    return same"),
)
of(
    "ActiveDeadline.swift",
    ("a deadline governs where the runtime names no place",
     "place != nil && ", ""),
    ("a deadline counts in tasks that it does not cancel",
     "&& place == self.place", ""),
    ("a deadline counts after its end", "hasEnded.store(true,", "hasEnded.store(false,"),
    ("the later of two deadlines wins", "earlier <= instant else", "earlier >= instant else"),
    ("a deadline that can be moved makes others useless", "guard !deadline.isMovable, let", "guard let"),
    ("a tolerant deadline makes strict ones useless", "deadline.tolerance ?? .zero\n", "C.Duration.zero\n"),
    ("a tolerant deadline makes none useless",
     "lateness <= tolerance ?? .zero || lateness <= earlier.duration(to: instant)", "lateness <= .zero"),
    ("the outermost deadline counts as the nearest",
     "nearest.map { min($0, instant) } ?? instant", "instant"),
)
of(
    "TimeLimit.swift",
    ("a late error is no timeout",
     "TimeoutError(timeout: limit.allowed, operation: limit.name, underlyingError: error)",
     "error is CancellationError ? TimeoutError(timeout: limit.allowed, operation: limit.name) : error"),
    ("nil comes back for errors in time", "if case .deadlinePassed = deadline.interruption { return nil }",
     "return nil"),
    ("an error comes back where there should be nil",
     "if case .deadlinePassed = deadline.interruption { return nil }", ""),
)
of(
    "AsyncTimeoutSequence.swift",
    ("a stream that ends because it is cancelled has ended",
     "if element == nil, case .deadlinePassed = deadline.interruption {", "if element == nil, false {"),
    ("a sequence goes on after an error", "      isAtEnd = true\n", ""),
    ("a sequence forgets how far it has come", "defer { self.base = base }", "defer { _ = base }"),
)
of(
    "MovableDeadline.swift",
    ("an instant that never comes is slept for", "move(to: isForEver ? nil : instant)", "move(to: instant)"),
)
of(
    "Task+InheritingDeadline.swift",
    ("nothing is inherited", "ActiveDeadline.current?.all ?? []", "[ActiveDeadline]()"),
    ("only the innermost deadline is inherited", "next = deadline.outer\n    }\n    return all.reversed()",
     "next = nil\n    }\n    return all.reversed()"),
)
of(
    "Backoff.swift",
    ("the delay is longer than the longest", "Duration(attoseconds: min(delay, end))", "Duration(attoseconds: delay)"),
    ("the delay grows one attempt too early", "while failure < failures, delay", "while failure <= failures, delay"),
    ("equal jitter is full jitter", "shortest = longest - longest / 2", "shortest = 0"),
    ("the longest delay is never reached", "UInt128(longest - shortest) + 1", "UInt128(longest - shortest)"),
)
of(
    "WithRetry.swift",
    ("there is one attempt too many", "guard failures < attempts,", "guard failures <= attempts,"),
    ("a cancelled task tries again", "!Task.isCancelled, shouldRetry(error)", "shouldRetry(error)"),
    ("every error is worth another attempt", ", shouldRetry(error) else", " else"),
    ("an attempt begins when the budget is spent", "if let end, end <= next", "if let end, end < next"),
    ("a pause ends at the deadline", "deadline <= next { throw error }", "deadline < next { throw error }"),
    ("a pause that was cancelled is followed by an attempt",
     "      if isAwake == nil || Task.isCancelled { throw error }\n", "      _ = isAwake\n"),
)
of(
    "TimeoutError.swift",
    ("a negative time was allowed", "allowed > .zero\n      ?", "allowed != .zero\n      ?"),
)
of(
    "Duration+Timeout.swift",
    ("for ever is a moment too long", "return duration >= .forEver", "return duration > .forEver"),
    ("NaN seconds last for ever", "default: self = .zero\n", "default: self = .forEver\n"),
)

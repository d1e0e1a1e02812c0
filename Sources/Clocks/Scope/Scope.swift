import Synchronization

/// What was chosen for a scope of virtual time; `withVirtualTime` says what each of them means.
struct ScopeOptions: Sendable {
  var autoAdvance = true
  var jumpsAfter: Duration?
  var leftoverSleepsFail = false
  var stuckAfter: Duration = .seconds(5)
  var freezesDate = true
  /// How much real time an operation may keep time from jumping while nothing but sleeps is left.
  var heldFor = Environment.blockedAfter
  var limits = RunawayLimits()
  /// For how long the scope's jobs may run, in real time.
  var runningLimit: Duration = .seconds(60)
  /// Whether every hop of the scope's tasks is seen, and a deadlock is one at once.
  var isExplored = false
  /// Whether what happens is recorded where that is asked for.
  var recording = RecordingMode.asAskedFor
  /// How late a sleep may wake, if a chooser wants that.
  var slack = Duration.zero

  enum RecordingMode: Sendable {
    case asAskedFor
    /// It is recorded, and whoever runs the scope says whether it is delivered.
    case onTrial
    /// Neither the scope nor what is within it, and a failure does not say where its tasks are: it is
    /// one of very many runs.
    case never(RefusedRecording)
  }

  var isOneOfMany: Bool {
    if case .never = recording { true } else { false }
  }
}

/// Whether runs were to be recorded that were too many for it.
final class RefusedRecording: Sendable {
  private let wasAskedFor = Atomic(false)

  var isKnown: Bool { wasAskedFor.load(ordering: .relaxed) }

  func note() { wasAskedFor.store(true, ordering: .relaxed) }
}

/// What does not change of a scope: a test, or a part of one, whose time is virtual throughout.
final class Scope: Sendable {
  /// The time that all clocks of the scope read.
  let virtualClock = VirtualClock<Duration>(now: .zero)
  let options: ScopeOptions
  /// What the system's clocks read when the scope began.
  let start: SystemClocks
  /// Rings when nothing has happened for as long as was asked for.
  let alarmClock = AlarmClock()
  /// The public object that stands for the scope; the engine only keeps it. Set before the scope has
  /// a task.
  nonisolated(unsafe) weak var face: AnyObject?
  /// Is called in place of a report when the body does not end although it was cancelled: from then on
  /// no job of the scope runs. Set before the scope has a task; `nil` if nobody goes on without it.
  nonisolated(unsafe) var isLeft: (@Sendable (ScopeProblem) -> Void)?

  /// - Parameter outer: What the clocks read in the scope around this one, if there is one: there they
  ///   have moved on as far as its time has.
  init(_ options: ScopeOptions, startingAt outer: SystemClocks? = nil) {
    self.options = options
    start = outer ?? SystemClocks()
  }
}

/// What changes of a scope: a part of its scheduler's state.
///
/// A class, so that the state of the many tests without a scope stays small and is not copied.
final class ScopeState {
  let scope: Scope
  /// The scope's.
  let virtualClock: VirtualClock<Duration>
  @exclusivity(unchecked) var pace: AutoAdvance
  @exclusivity(unchecked) var runtimeSleeps = RuntimeSleeps()
  @exclusivity(unchecked) var body = ScopeBody()
  /// `nil` in an explored scope, which cannot wait for work outside.
  @exclusivity(unchecked) private(set) var skippedWait: SkippedExternalWait?
  /// How far the scope's date is from the one at which it began, apart from the time that has passed.
  @exclusivity(unchecked) var dateOffset: Duration = .zero

  init(_ scope: Scope) {
    self.scope = scope
    virtualClock = scope.virtualClock
    pace = AutoAdvance(autoAdvance: scope.options.autoAdvance, jumpsAfter: scope.options.jumpsAfter)
    skippedWait = scope.options.isExplored ? nil : SkippedExternalWait()
  }

  /// Whether time moves by itself, if not at this moment.
  var movesTime: Bool { pace.autoAdvance && body.task != nil }

  /// Whether time may jump at this moment, if there is where to.
  var mayJump: Bool { pace.mayJump && body.task != nil }

  /// Whether a task waits for time to move.
  var isAwaited: Bool { !isOver && virtualClock.sleeps.count > 0 }

  // MARK: - What happens

  /// Notes that a job begins.
  @inline(__always)
  func jobBegins(of task: UInt64) { skippedWait?.jobBegins(of: task, at: virtualClock.now) }

  /// Notes that time has jumped.
  @inline(__always)
  func timeHasJumped() { skippedWait?.timeJumps(to: virtualClock.now) }

  /// Notes that nobody of the test has made a task ready.
  func arrives(_ job: ReadyJob) {
    // Whoever cancels the body may be all that has happened outside.
    guard body.task?.isCancelled != true else { return }
    skippedWait?.arrives(job.taskID, name: UnownedTask(job: job.job).name)
  }

  /// Notes that a task goes on because its sleep was cancelled: it has waited for time, and for nothing
  /// outside.
  @inline(never)
  func sleepWasCancelled(of task: UInt64) { skippedWait?.forget(task) }

  // MARK: - At rest

  /// Whether the alarm is to be set when the test is idle, although no job has run: a visitor has left,
  /// or a task that was away is back.
  @exclusivity(unchecked) var mustSetAlarm = false

  /// The alarm to set, now that nothing can happen by itself.
  ///
  /// - Parameter isAwaited: Whether a task waits for time to move.
  func setAlarm(isAwaited: Bool) -> Action.Alarm? {
    mustSetAlarm = false
    guard body.task != nil else { return nil }
    if pace.holds > 0 {
      guard pace.unlimitedHolds == pace.holds, isAwaited else { return nil }
      return pace.setAlarm(.held, in: scope.options.heldFor, patience: 2)
    }
    if movesTime, isAwaited, let pause = pace.jumpsAfter {
      return pace.setAlarm(.pause, in: pause, patience: 0)
    }
    return pace.setAlarm(.stuck, in: scope.options.stuckAfter, patience: 12)
  }

  /// Whether nothing can ever happen again in an explored scope, once it is idle and nobody has a turn.
  var isDeadlocked: Bool {
    scope.options.isExplored && body.task != nil && !body.isReported && pace.holds == 0
      && (pace.jumpsAfter == nil || virtualClock.sleeps.count == 0)
  }

  /// What follows from the ringing of an alarm.
  enum AlarmOutcome {
    case nothing
    /// The alarm is to be set again.
    case again(Action.Alarm)
    /// The problem is to be reported now, for the body does not end although it was cancelled.
    case report(ScopeProblem)
  }

  /// An alarm rings while the scheduler is idle.
  ///
  /// - Parameter isAnyBusy: Whether another test has something to run.
  func alarmRings(_ number: Int, isAnyBusy: Bool) -> AlarmOutcome {
    guard let (reason, patience) = pace.reason(ofAlarm: number) else { return .nothing }
    if isAnyBusy, patience > 0 {
      let duration = reason == .held ? scope.options.heldFor : scope.options.stuckAfter
      return .again(pace.setAlarm(reason, in: duration, patience: patience - 1))
    }
    // Time may have been held since, by a thread that is not the scope's.
    guard reason == .held || pace.holds == 0 else { return .nothing }
    pace.somethingHappens()
    switch reason {
    case .pause:
      pace.endPause()
      return .nothing
    case .stuck:
      let after = scope.options.stuckAfter
      return outcome(.stuck(after: after, pending: virtualClock.pendingLines))
    case .held:
      let after = scope.options.heldFor
      return outcome(.held(after: after, pending: virtualClock.pendingLines))
    }
  }

  private func outcome(_ problem: ScopeProblem) -> AlarmOutcome {
    body.abort(problem).map(AlarmOutcome.report) ?? .nothing
  }

  // MARK: - The body does not end

  /// The sleep whose task was cancelled last in place of being woken.
  @exclusivity(unchecked) private var cancelledSleep: UInt64?

  /// The task of the earliest sleep, if it is to be cancelled in place of being woken: when the body is
  /// reported not to end, whoever sleeps keeps it from ending.
  func taskToCancel() -> RetainedTask? {
    guard body.reportDelivered, let (number, task) = virtualClock.sleeps.earliest,
      number != cancelledSleep
    else { return nil }
    cancelledSleep = number
    return task?.handle
  }

  // MARK: - Running

  /// Whether the scope has ended: what is left of it is like any other test's.
  @exclusivity(unchecked) private(set) var isOver = false
  /// For how long jobs have run, in real time, since the body was last cancelled for it.
  @exclusivity(unchecked) private var runningTime = Duration.zero

  func end() { isOver = true }

  /// The body is about to be cancelled: now it is known where the tasks are.
  func noteProblem(_ dump: String) {
    body.dump = dump
    body.isBeingDumped = false
    runningTime = .zero
  }

  /// Notes that jobs have run for a while; returns what is to be reported, if the body does not end.
  func ran(for duration: Duration) -> ScopeProblem? {
    guard body.task != nil, !body.isBeingDumped else { return nil }
    runningTime += duration
    let limit = scope.options.runningLimit
    // A body that was cancelled has as long to end as one that is stuck; until it is known where the tasks
    // are, it was not.
    let isCancelled = body.problem != nil && !body.lacksDump
    guard runningTime >= (isCancelled ? scope.options.stuckAfter : limit) else { return nil }
    runningTime = .zero
    return body.abort(.tooLong(limit, pending: virtualClock.pendingLines))
  }
}

/// The task that runs a scope's body, and what went wrong with it.
struct ScopeBody {
  /// The task, until the body has returned.
  private(set) var task: RetainedTask?
  /// What went wrong first, if anything did.
  private(set) var problem: ScopeProblem?
  /// Where the tasks were when it did, in words: there may be no time for that later.
  var dump: String?
  /// What time it was then: time moves on if the body does not end.
  private(set) var problemTime: Duration?
  /// Whether it is being found out where the tasks are. That takes time, which is not the body's.
  fileprivate(set) var isBeingDumped = false
  /// Whether something went wrong, and it is not known where the tasks were.
  var lacksDump: Bool { problem != nil && dump == nil }
  /// Whether the problem is to be reported, or has been, because the body did not end for it.
  private(set) var isReported = false
  /// Whether the report has been made. Until then the scope does not end, for the test might be over before
  /// its failure is known.
  private(set) var reportDelivered = false
  private var waiter: UnsafeContinuation<Void, Never>?
  /// The tasks that are to be cancelled because of it.
  private(set) var toCancel: [RetainedTask] = []

  mutating func begin(_ task: RetainedTask?) { self.task = task }

  /// Something went wrong, if anything did, and it is to be found out now where the tasks are, if that is not
  /// known. Returns whether it is not.
  mutating func beginDump(at now: Duration) -> Bool {
    guard lacksDump, !isBeingDumped else { return false }
    isBeingDumped = true
    problemTime = now
    return true
  }

  /// Has the body cancelled because of a problem. If it was cancelled before, and is still not over,
  /// returns the first problem, once: it is to be reported now.
  mutating func abort(_ problem: ScopeProblem, culprit: RetainedTask? = nil) -> ScopeProblem? {
    if let culprit { toCancel.append(culprit) }
    if let task { toCancel.append(task) }
    guard let first = self.problem else {
      self.problem = problem
      return nil
    }
    guard !isReported else { return nil }
    isReported = true
    return first
  }

  /// Notes that the report has been made; returns who waits for that.
  mutating func tell() -> UnsafeContinuation<Void, Never>? {
    reportDelivered = true
    defer { waiter = nil }
    return waiter
  }

  /// Whether there is no report under way. If there is one, `waiter` waits for it, if given.
  mutating func isDone(_ waiter: UnsafeContinuation<Void, Never>? = nil) -> Bool {
    if reportDelivered || !isReported { return true }
    self.waiter = waiter
    return false
  }

  mutating func takeToCancel() -> [RetainedTask] {
    defer { toCancel = [] }
    return toCancel
  }

  /// The body has returned: time does not jump any more.
  ///
  /// - Returns: What went wrong, if that has not been reported; and handles of tasks that are not
  ///   needed any more, to be let go of without a lock.
  mutating func end() -> (problem: ScopeProblem?, tasks: [RetainedTask]) {
    defer { task = nil }
    return (isReported ? nil : problem, takeToCancel() + [task].compactMap(\.self))
  }
}

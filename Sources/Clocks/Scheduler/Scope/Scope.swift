import ClocksSupport
import Synchronization

/// The options of a scope of virtual time; `withVirtualTime` documents them.
package struct ScopeOptions: Sendable {
  package static var standard: Self { Self() }

  var autoAdvance = true
  package var jumpsAfter: Duration?
  var leftoverSleepsFail = false
  /// Set for an unedited suite.
  ///
  /// Called with a reason when the test continues without external work, or beside a job that does not suspend: neither
  /// is a failure. Sometimes called with the scheduler's lock held, so it takes only locks of the rank `leaf`.
  var goesOnWithout: (@Sendable (_ reason: String) -> Void)? {
    didSet { isUnedited = goesOnWithout != nil }
  }
  package var stuckAfter: Duration = .seconds(5)
  var freezesDate = true
  /// How long `holding` may keep time from jumping, in real time, while the scope has nothing left but sleeps.
  var heldFor = Environment.blockedAfter
  var limits = RunawayLimits()
  /// How long the scope's jobs may run, in real time.
  var runningLimit: Duration = .seconds(60)
  /// Whether every hop of the scope's tasks is seen, so that a deadlock is known immediately.
  var isExplored = false
  var recording = RecordingMode.asAskedFor
  /// The name of the test that the scope runs; `nil` if the test itself began the scope.
  var testName: String?
  var slack = Duration.zero

  enum RecordingMode: Sendable {
    case asAskedFor
    /// Events are recorded, and the caller that runs the scope decides whether the timeline is delivered.
    case onTrial
    /// One of very many runs: nothing is recorded in the scope or in scopes within it, and failures have no dump.
    case never(RefusedRecording)
  }

  /// Whether the suite was not written for virtual time. Then it may wait for real work, and leave tasks behind.
  ///
  /// - An explored scope waits for work outside it: such a wait is no deadlock.
  /// - Tasks that outlive the scope continue their sleeps in real time, instead of being cancelled.
  /// - A task may poll. So time follows real time once very many jobs have run and the scope was never idle. An
  ///   explored run that has too many steps also continues, first in, first out, and does not fail.
  /// - A microsecond passes with each reading of a system clock, because code may expect that some time does.
  /// - A job that sleeps, or runs a run loop, lets other jobs run, as does a job that waits for an expectation.
  /// - `jumpsAfter` matters only while work outside the scope is possible, as far as that is seen.
  /// - The places where tasks sleep are noted.
  // Stored, because a debug build allocates memory to compare a closure with `nil`. A signal handler must not.
  private(set) var isUnedited = false

  var isOneOfMany: Bool {
    if case .never = recording { true } else { false }
  }

  /// Returns how long a job may hold its thread if nothing else happens in the test: at most ten seconds in a search.
  ///
  /// - Parameter limit: The limit outside a search.
  func limitOfLoneJob(_ limit: Duration) -> Duration {
    isExplored ? min(limit, .seconds(10)) : limit
  }
}

/// The constant part of a scope: a test, or a part of one, whose time is virtual throughout.
final class Scope: Sendable {
  let virtualClock = VirtualClock(now: .zero, published: PublishedTime())
  let options: ScopeOptions
  let start: SystemClocks
  let alarmClock = AlarmClock()
  /// The kernel's number of the thread that acts for the scheduler, in an unedited suite.
  let actingThread = Atomic<Int32>(0)
  /// The public object that stands for the scope. Set before the scope has a task.
  nonisolated(unsafe) weak var face: AnyObject?
  /// Called when the body does not end after its problem was reported. From then on no job of the scope runs.
  ///
  /// Set before the scope has a task; `nil` if the caller cannot continue without the body.
  nonisolated(unsafe) var whenAbandoned: (@Sendable () -> Void)?
  /// Called in the signal handler when a job of the scope raises a signal. Set before the scope begins.
  nonisolated(unsafe) var crashed: (@Sendable (CInt) -> Void)?
  /// Receives the failure of an invariant, and where the test states it; `nil` if it is recorded immediately.
  ///
  /// Set before the scope begins.
  nonisolated(unsafe) var invariantFails: (@Sendable (String, CallSite) -> Void)?

  /// - Parameter outer: The readings of the clocks in the scope around this one, if there is one.
  init(_ options: ScopeOptions, startingAt outer: SystemClocks? = nil) {
    self.options = options
    start = outer ?? SystemClocks()
  }
}

/// The variable part of a scope. A class, so that the state of tests without a scope stays small.
final class ScopeState {
  let scope: Scope
  let virtualClock: VirtualClock
  var pace: AutoAdvance
  var runtimeSleeps = RuntimeSleeps()
  var timedCallbacks: [ObjectIdentifier: PendingCallback] = [:]
  var body = ScopeBody()
  /// Detects skipped external waits; `nil` in a scope that does not wait for work outside it.
  private(set) var skippedWait: SkippedExternalWait?
  /// How far a task moved the scope's date, besides the time that has passed.
  var dateOffset: Duration = .zero
  var invariants = Invariants()
  /// Called when the body has returned; `nil` from then on.
  var endHandlers: [@Sendable () -> Void]? = []
  /// The parked threads, by the numbers of their tasks.
  var parkedThreads: [UInt64: ParkedThread] = [:]
  /// The tasks whose jobs hold their threads while other jobs run: paused jobs, and parallel ones.
  var pausedTasks: Set<UInt64> = []
  /// The jobs beside which others run, by the numbers of their threads.
  var parallelJobs: [Int: ParallelJob] = [:]
  /// How often the threads that hold the test have run, and since when they have not run again.
  var held: (turns: UInt64, since: ServedTime)?
  /// The last loop that was found to poll a clock while other tasks could run; `nil` once these may run beside it.
  var polling: ClockPolling?
  /// The earliest block that waits for a thread of Dispatch, and the virtual instant at which it became the earliest.
  var blockWithoutThread: (number: UInt64, since: Duration)?
  /// Reads where jobs begin; `nil` before there is an invariant, and in one of very many runs.
  var placeReader: TaskReader?
  /// Measures the sleeps by their places in the code; `nil` unless the suite is unedited.
  let sleepPlaces: SleepPlaces?
  /// Whether the test has made a clock in the scope. It may expect exact times, so readings take no time any more.
  var hasTestClock = false
  /// Whether to set the alarm when the test is next idle, even if no job runs before: external work may have ended.
  var mustSetAlarm = false

  init(_ scope: Scope) {
    self.scope = scope
    virtualClock = scope.virtualClock
    pace = AutoAdvance(autoAdvance: scope.options.autoAdvance, jumpsAfter: scope.options.jumpsAfter)
    let waitsForOutside = !scope.options.isExplored || scope.options.isUnedited
    skippedWait = waitsForOutside ? SkippedExternalWait() : nil
    sleepPlaces = scope.options.isUnedited ? SleepPlaces() : nil
  }

  var movesTime: Bool { pace.autoAdvance && body.isRunning }

  /// - Parameter abandoned: The number of abandoned blocks, which may continue because time has moved.
  func mayJump(beside abandoned: Int) -> Bool {
    guard pace.mayPass, body.isRunning else { return false }
    if pace.isPauseOver { return true }
    return scope.options.isUnedited && ThreadWaits.areSeen && !OutsideWork.isPossible
      && abandoned == 0
  }

  /// Whether a task that seems to run, or to be about to, only waits: for a delay of its executor, or in a pause.
  func isHeldBack(_ task: UInt64) -> Bool {
    runtimeSleeps.isDelayed(task) || pausedTasks.contains(task)
  }

  /// Whether a task waits for time to move.
  var isAwaited: Bool { !isOver && virtualClock.sleeps.count > 0 }

  @inline(__always)
  func jobBegins(of task: UInt64) { skippedWait?.jobBegins(of: task, at: virtualClock.now) }

  @inline(__always)
  func timeHasJumped() { skippedWait?.timeJumps(to: virtualClock.now) }

  func jobArrivedFromOutside(_ job: ReadyJob) {
    // If the body was cancelled, the cancellation itself may have made the task ready.
    guard body.task?.isCancelled != true else { return }
    skippedWait?.arrives(job.taskID, name: UnownedTask(job: job.job).name)
  }

  func jobOfCancelledTaskArrived(_ job: ReadyJob) {
    skippedWait?.wasCancelled(job.taskID, name: UnownedTask(job: job.job).name)
  }

  /// Notes that the task waits or has waited for time, or until the test is idle, and not for work outside the scope.
  @inline(never)
  func waitsForTime(_ task: UInt64) { skippedWait?.forget(task) }

  /// The purpose of an alarm that is set now; `nil` if none is needed.
  ///
  /// - Parameter isAwaited: Whether a sleep or an observer waits for time to move.
  func alarmReason(isAwaited: Bool) -> AutoAdvance.Reason? {
    guard body.isRunning else { return nil }
    if pace.holds > 0 { return pace.unlimitedHolds == pace.holds && isAwaited ? .held : nil }
    return movesTime && isAwaited && pace.pause != nil ? .pause : .stuck
  }

  /// Returns the alarm to set now, if any. `isAwaited`: whether a sleep or an observer waits for time to move.
  func setAlarm(isAwaited: Bool) -> Action.Alarm? {
    mustSetAlarm = false
    guard let reason = alarmReason(isAwaited: isAwaited) else { return nil }
    let patience =
      switch reason {
      // Without a test around the scope, only an abandoned block that runs prolongs the pause.
      case .pause: pace.testAround == nil ? 20 : 10
      case .stuck: 12
      case .held: 2
      }
    return pace.setAlarm(reason, in: duration(of: reason), patience: patience)
  }

  /// Whether an idle, explored scope can never continue. Valid only when the scheduler has nothing else to do.
  var isDeadlocked: Bool {
    scope.options.isExplored && !scope.options.isUnedited && body.isRunning
      && !body.isReported && pace.holds == 0
      && (pace.pause == nil || virtualClock.sleeps.count == 0)
  }

  /// Handles an alarm that rings while the test is idle. Returns the action that follows, if any.
  func alarmRings(_ number: Int, _ others: AutoAdvance.Others) -> Action? {
    guard let alarm = pace.alarm, alarm.number == number else { return nil }
    pace.checkTestAround()
    let (reason, patience) = (alarm.reason, alarm.patience)
    let limit = duration(of: reason)
    let isEarly = others.withheld > limit / 100
    // The patience with the test around the scope is served time.
    if reason == .pause, pace.isTestAroundRunning, isEarly {
      return .rest(pace.setAlarm(reason, in: others.withheld, patience: patience))
    }
    if let left = pace.patienceLeft(patience, reason, others) {
      return .rest(pace.setAlarm(reason, in: limit, patience: left))
    }
    if reason != .pause, isEarly {
      return .rest(pace.setAlarm(reason, in: others.withheld, patience: patience))
    }
    // Since the alarm was set, a thread outside the scope may have begun a `holding`, which has a limit of its own; or
    // it may have ended one. While the watchdog inspects the tasks, they are not cancelled yet.
    guard (reason == .held) == (pace.holds > 0), !body.isBeingDumped else {
      pace.alarmIsMissed(number)
      mustSetAlarm = true
      return nil
    }
    pace.somethingHappens()
    let period = IdlePeriod(limit: limit, nanoseconds: alarm.first.nanosecondsSince)
    switch reason {
    case .pause:
      pace.pauseIsOver = true
      // The sleep for which the pause began may have been cancelled. Then the scope may be stuck, and needs an alarm
      // for that.
      mustSetAlarm = true
      return nil
    case .stuck:
      return body.abort(.stuck(after: period, pending: virtualClock.pendingLines))
    case .held:
      return body.abort(.held(after: period, pending: virtualClock.pendingLines))
    }
  }

  private func duration(of reason: AutoAdvance.Reason) -> Duration {
    switch reason {
    case .pause: pace.pause ?? .zero
    case .stuck: scope.options.stuckAfter
    case .held: scope.options.heldFor
    }
  }

  /// When `passTime` was last called, and with which argument.
  private var busySince: (instant: RealTime, pauses: UInt64)?

  /// Moves time in a busy scope by the real time since the last call; or returns `true` if a deadline is reached.
  ///
  /// Time does not move if the scope was idle in between.
  ///
  /// - Parameter pauses: `RunawayGuard.pauses`, which also counts this call.
  func passTime(_ pauses: UInt64) -> Bool {
    var real = Duration.zero
    if let busySince, busySince.pauses &+ 1 == pauses {
      real = .nanoseconds(Int64(clamping: busySince.instant.nanosecondsSince))
    }
    busySince = (RealTime(in: .zero), pauses)
    // The pause of `jumpsAfter` begins only when the scope is idle, so it does not delay time here.
    guard pace.mayPass, body.isRunning else { return false }
    let target = saturatingSum(virtualClock.now, real)
    if let deadline = virtualClock.sleeps.earliestDeadline, deadline <= target { return true }
    virtualClock.move(to: target)
    return false
  }

  /// The sleep whose task `taskToCancel` returned last.
  private var cancelledSleep: UInt64?

  /// Returns the task of the earliest sleep, once, if it was reported that the body does not end. The caller then
  /// cancels the task before its sleep wakes.
  func taskToCancel() -> RetainedTask? {
    guard body.reportDelivered, let sleep = virtualClock.sleeps.first,
      sleep.number != cancelledSleep
    else { return nil }
    cancelledSleep = sleep.number
    return sleep.details.task?.handle
  }

  /// Whether the scope is closed. Then its leftovers live in real time.
  var isOver = false
  /// How long jobs have run, in real time, since the scope began or a problem was last noted.
  private var runningTime = Duration.zero

  /// Notes where the tasks wait. The body is about to be cancelled, or has returned.
  ///
  /// Returns the continuation to resume, if the scope's end waits for it.
  func noteProblem(_ dump: TaskDump?, _ text: String) -> UnsafeContinuation<Void, Never>? {
    runningTime = .zero
    return body.endDump(text, hasReadyTask: dump?.hasReadyTask == true)
  }

  /// Notes that jobs ran for some time. Returns the action that follows, if any.
  func ran(for duration: Duration) -> Action? {
    guard body.isRunning, !body.isBeingDumped, isTooLong(after: duration) else { return nil }
    return body.abort(.tooLong(scope.options.runningLimit, pending: virtualClock.pendingLines))
  }

  /// Adds `duration` to the running time. Returns whether that is too long.
  ///
  /// The body is cancelled after its tasks were inspected. After that, jobs may run for `stuckAfter` more.
  func isTooLong(after duration: Duration) -> Bool {
    runningTime += duration
    let limit = body.dump == nil ? scope.options.runningLimit : scope.options.stuckAfter
    guard runningTime >= limit else { return false }
    runningTime = .zero
    return true
  }
}

/// Lets time jump when nothing in a scope can run, and notices when the scope is stuck.
///
/// The scope's scheduler owns it. The scheduler's lock guards its state; methods that are not told
/// to be called with the lock held take it themselves.
final class ScopePacemaker: Pacemaker {
  /// What went wrong in the scope.
  enum Problem {
    case stuck(pending: [Timeline<Duration>.Sleeps.Pending])
    case held(pending: [Timeline<Duration>.Sleeps.Pending])
    case runaway(Runaway)
  }

  let options: ScopeOptions

  private let timeline: Timeline<Duration>

  /// The number of operations that keep time from jumping, and of those of them that may take for
  /// ever without a sign.
  nonisolated(unsafe) private var holds = 0
  nonisolated(unsafe) private var unlimitedHolds = 0
  /// The task that runs the body, until the body has returned.
  nonisolated(unsafe) private var body: RuntimeDoor.TaskReference?
  /// What went wrong, if anything did.
  nonisolated(unsafe) private(set) var problem: Problem?
  /// Whether the body has been cancelled because of it and is still not over, and whether that has
  /// been reported.
  nonisolated(unsafe) private var isOverdue = false
  nonisolated(unsafe) private var isReported = false
  /// Reports a problem while the body still runs; set before the scope has a task.
  nonisolated(unsafe) var reportOverdue: (@Sendable (Problem) -> Void)?
  /// The tasks that are to be cancelled because of it.
  nonisolated(unsafe) private var toCancel: [RuntimeDoor.TaskReference] = []
  /// Rings when nothing has happened for as long as was asked for.
  nonisolated(unsafe) private var alarm: RealTime.Alarm?
  /// The number of alarms that were set.
  nonisolated(unsafe) private var alarms = 0
  /// Whether the alarm for a pause has rung.
  nonisolated(unsafe) private var pauseIsOver = false

  init(_ timeline: Timeline<Duration>, _ options: ScopeOptions) {
    self.timeline = timeline
    self.options = options
  }

  // MARK: - Pacemaker

  var movesTime: Bool { body != nil && options.autoAdvance }

  var wantsToMove: Bool {
    !toCancel.isEmpty || pauseIsOver
      || (mayJump && timeline.sleeps.count > 0 && options.jumpsAfter == nil)
  }

  /// Whether time may jump, as far as the scope's tasks are concerned, if there is where to.
  private var mayJump: Bool { movesTime && holds == 0 }

  func step(_ scheduler: Scheduler) -> IdleStep? {
    alarm?.cancel()
    alarm = nil
    let pauseIsOver = pauseIsOver
    self.pauseIsOver = false
    if !toCancel.isEmpty {
      defer { toCancel = [] }
      return .cancel(toCancel)
    }
    guard body != nil else { return nil }
    let isAwaited = timeline.sleeps.count > 0 || !scheduler.followers.isEmpty
    if holds > 0 {
      guard unlimitedHolds == holds, isAwaited else { return nil }
      setAlarm(in: options.heldFor, scheduler, patience: 2) {
        $0.giveUp(.held(pending: $0.timeline.sleeps.pending))
      }
    } else if mayJump, isAwaited {
      guard let pause = options.jumpsAfter, !pauseIsOver else {
        if !scheduler.followers.isEmpty { return scheduler.step(ofFollowerAt: 0) }
        return timeline.popEarliest(dueBy: nil)?.wake
      }
      setAlarm(in: pause, scheduler) { $0.pauseIsOver = true }
    } else {
      setAlarm(in: options.stuckAfter, scheduler, patience: 12) {
        $0.giveUp(.stuck(pending: $0.timeline.sleeps.pending))
      }
    }
    return nil
  }

  func abandon(_ reason: Runaway, _ culprit: RuntimeDoor.TaskReference?) {
    if let culprit { toCancel.append(culprit) }
    giveUp(.runaway(reason))
  }

  /// Has the body cancelled because of a problem. Called with the scheduler's lock held.
  private func giveUp(_ problem: Problem) {
    if self.problem == nil { self.problem = problem } else { isOverdue = true }
    if let body { toCancel.append(body) }
  }

  /// Does something if nothing happens in the scope for a while. Called with the scheduler's lock
  /// held.
  ///
  /// - Parameter patience: How often the while begins anew if another test has something to run at
  ///   its end. The scope may wait for an actor that works for that test; and on a busy machine
  ///   even a thread that is free to run may have to wait for seconds.
  private func setAlarm(
    in duration: Duration, _ scheduler: Scheduler, patience: Int = 0,
    _ body: @escaping @Sendable (ScopePacemaker) -> Void
  ) {
    alarms += 1
    let number = alarms
    alarm = RealTime(in: duration).schedule { [weak self, weak scheduler] in
      guard let self, let scheduler else { return }
      let isPatient = patience > 0 && TaskOwnership.shared.isAnyBusy
      let overdue: Problem? = scheduler.lock.withLock {
        // If something happens at this moment, there is a new alarm when it is over.
        guard scheduler.isIdle, self.alarm != nil, alarms == number else { return nil }
        if isPatient {
          setAlarm(in: duration, scheduler, patience: patience - 1, body)
          return nil
        }
        body(self)
        guard isOverdue, !isReported else { return nil }
        isReported = true
        return problem
      }
      if let overdue { scheduler.runInTest { [self] in reportOverdue?(overdue) } }
      scheduler.wakePacemaker()
    }
  }

  // MARK: - The scope's life

  /// The scope begins; the current task runs its body.
  func begin(_ scheduler: Scheduler) {
    let task = RuntimeDoor.currentTask
    scheduler.lock.withLock { body = task }
  }

  /// The body has returned: time does not jump any more. Returns what went wrong.
  func end(_ scheduler: Scheduler) -> Problem? {
    scheduler.lock.withLock {
      body = nil
      // The body is about to be over, and whoever is over must not be cancelled any more.
      toCancel = []
      alarm?.cancel()
      alarm = nil
      return isReported ? nil : problem
    }
  }

  /// Keeps time from jumping, until `letGo`.
  ///
  /// - Parameter isUnlimited: Whether nobody else sees to it that it comes to an end.
  func hold(_ scheduler: Scheduler, isUnlimited: Bool = false) {
    scheduler.lock.withLock {
      holds += 1
      if isUnlimited { unlimitedHolds += 1 }
    }
  }

  func letGo(_ scheduler: Scheduler, isUnlimited: Bool = false) {
    scheduler.lock.withLock {
      holds -= 1
      if isUnlimited { unlimitedHolds -= 1 }
    }
    scheduler.wakePacemaker()
  }
}

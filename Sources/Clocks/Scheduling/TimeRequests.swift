/// Waits to hear that the scheduler is idle; its subclasses also move time.
class TimeRequest: IdleRequest {
  /// The task that made the request, which is suspended until it is fulfilled.
  fileprivate(set) var continuation: UnsafeContinuation<Void, Never>?
  /// Why the request was given up, if it was.
  private(set) var runaway: Runaway?

  /// Whether the task that made the request belongs to the scheduler.
  private let isOwn: Bool

  init(isOwn: Bool) {
    self.isOwn = isOwn
  }

  func step() -> IdleStep { finish }

  final func abandon(_ reason: Runaway) -> IdleStep {
    runaway = reason
    return finish
  }

  fileprivate final var finish: IdleStep {
    .finish(continuation.unsafelyUnwrapped, isOwn: isOwn)
  }
}

/// Moves time to a target, which is determined at the first step.
final class AdvanceRequest<Duration: DurationProtocol & Hashable>: TimeRequest {
  /// The target; `nil` until the first step, and afterwards if there was none.
  private(set) var end: Duration?

  private let timeline: Timeline<Duration>
  private let target: (Timeline<Duration>) -> Duration?
  private var hasBegun = false

  init(
    _ timeline: Timeline<Duration>, isOwn: Bool,
    target: @escaping (Timeline<Duration>) -> Duration?
  ) {
    self.timeline = timeline
    self.target = target
    super.init(isOwn: isOwn)
  }

  @specialized(where Duration == Swift.Duration)
  override func step() -> IdleStep {
    if !hasBegun {
      hasBegun = true
      end = target(timeline)
    }
    if let end {
      if let sleeper = timeline.popEarliest(dueBy: end) { return sleeper.wake }
      if end > timeline.now { timeline.now = end }
    }
    return finish
  }
}

/// Moves time until no sleep is pending, or for too long.
final class RunRequest<Duration: DurationProtocol & Hashable>: TimeRequest {
  private(set) var wakes = 0
  private(set) var ranOutOfTime = false
  /// Where time stood at the first step.
  private(set) var start: Duration = .zero

  private let timeline: Timeline<Duration>
  private let scheduler: Scheduler
  private let limit: RealTime
  /// How long the scheduler had waited for threads at the first step.
  private var nanosecondsWithoutThread: UInt64 = 0

  init(_ timeline: Timeline<Duration>, of scheduler: Scheduler, isOwn: Bool, limit: RealTime) {
    self.timeline = timeline
    self.scheduler = scheduler
    self.limit = limit
    super.init(isOwn: isOwn)
  }

  @specialized(where Duration == Swift.Duration)
  override func step() -> IdleStep {
    if wakes == 0 {
      start = timeline.now
      nanosecondsWithoutThread = scheduler.nanosecondsWithoutThread
    }
    // Real time is looked at now and then, so that a wake costs no system call.
    if wakes & 0xF == 0xF, isOverLimit { ranOutOfTime = true }
    if !ranOutOfTime, let sleeper = timeline.popEarliest(dueBy: nil) {
      wakes += 1
      return sleeper.wake
    }
    return finish
  }

  /// The time does not count in which the test waits for a thread: that a machine is busy is no fault
  /// of its own.
  private var isOverLimit: Bool {
    limit.hasPassed(by: scheduler.nanosecondsWithoutThread &- nanosecondsWithoutThread)
  }
}

/// Moves time to the next deadline, or to the end, or follows where somebody else moves it; it is
/// fulfilled when everything at that instant has happened.
final class FollowRequest<Duration: DurationProtocol & Hashable>: TimeRequest, Follower {
  let isPaced: Bool
  let knownArrivals: UInt64
  private(set) var wakes = 0

  private let timeline: Timeline<Duration>
  /// The instant that has been looked at, if there is one.
  private let known: Duration?
  private let end: Duration
  var mustLook = false

  /// - Parameter known: The instant that has been looked at; if there is none, time does not move.
  init(
    _ timeline: Timeline<Duration>, isOwn: Bool, isPaced: Bool, after known: Duration?,
    _ knownArrivals: UInt64, upTo end: Duration
  ) {
    self.timeline = timeline
    self.isPaced = isPaced
    self.known = known
    self.knownArrivals = knownArrivals
    self.end = end
    super.init(isOwn: isOwn)
  }

  var isBehind: Bool {
    guard let known else { return true }
    return mustLook || wakes > 0 || timeline.now > known
  }

  @specialized(where Duration == Swift.Duration)
  override func step() -> IdleStep {
    let target = isBehind ? timeline.now : end
    if let sleeper = timeline.popEarliest(dueBy: target) {
      wakes += 1
      return sleeper.wake
    }
    if target > timeline.now { timeline.now = target }
    return finish
  }
}

extension Scheduler {
  /// Suspends the current task until the scheduler has fulfilled `request`, which moves time.
  nonisolated(nonsending) func fulfil(_ request: TimeRequest) async {
    await withUnsafeContinuation { continuation in
      request.continuation = continuation
      enqueue(request)
    }
  }

  /// Suspends the current task until the scheduler has fulfilled `request`, or the task is cancelled
  /// and the scheduler is idle.
  nonisolated(nonsending) func follow<Duration>(_ request: FollowRequest<Duration>) async {
    // The scheduler's lock guards what is changed.
    nonisolated(unsafe) let request = request
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        request.continuation = continuation
        enqueueFollower(request)
      }
    } onCancel: {
      lock.withLock { request.mustLook = true }
      // It may have waited for the pacemaker.
      wakePacemaker()
    }
  }

  /// Suspends the current task until the scheduler is idle, and returns why it never will be, if
  /// so.
  nonisolated(nonsending) func settle() async -> Runaway? {
    await settle(isOwn: admitCurrentTask())
  }

  /// Suspends the current task until the scheduler is idle, and resumes it as its own.
  nonisolated(nonsending) func settleAsOwn() async -> Runaway? {
    await settle(isOwn: true)
  }

  private nonisolated(nonsending) func settle(isOwn: Bool) async -> Runaway? {
    let request = TimeRequest(isOwn: isOwn)
    await withUnsafeContinuation { continuation in
      request.continuation = continuation
      enqueueSettle(request)
    }
    return request.runaway
  }
}

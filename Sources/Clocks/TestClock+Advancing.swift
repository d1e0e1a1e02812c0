extension TestClock {
  // MARK: - Without moving time

  /// Lets every task of the test run as far as it can, without moving time.
  ///
  /// When it returns, no task of the test is running and none could run, apart from the caller. If
  /// an advance is under way, it goes on afterwards. A task that never stops being ready (`while
  /// true { await Task.yield() }`) keeps it from returning.
  ///
  /// Cancellation has no influence. O(jobs that run).
  public nonisolated(nonsending) func settle() async {
    let isOwn = scheduler.admitCurrentTask()
    await withUnsafeContinuation { continuation in
      scheduler.enqueueSettle(SettleRequest(continuation, isOwn: isOwn))
    }
  }

  /// Lets every task of the test run as far as it can, and throws if one of them still sleeps on
  /// this clock.
  ///
  /// A test's last line, when the code under test should have come to its end. Time does not move.
  ///
  /// - Throws: ``SuspensionError``, which names the pending sleeps.
  public nonisolated(nonsending) func checkSuspension() async throws {
    await settle()
    let pending = pendingSleeps
    guard pending.isEmpty else {
      throw SuspensionError(now: "\(now)", pendingSleeps: pending.map(\.description))
    }
  }

  // MARK: - Moving time

  /// Moves the clock's time forward by `duration`, and lets every task of the test run as far as it
  /// can.
  ///
  /// First the test's tasks run until none can. Then, deadline by deadline, the clock's time is set
  /// to the deadline, one sleep is woken, and the test's tasks run again until none can; a sleep
  /// that is registered on the way and falls due on the way is woken on the way, at its own
  /// deadline. At last the clock's time is set to the target.
  ///
  /// Several advances at once are queued, and add up; so is one that is called by a task which an
  /// advance has woken. By default the duration is zero: then sleeps that are due now wake, and
  /// time stays.
  ///
  /// Cancellation has no influence: an advance is always carried out whole. O(k log n + jobs that
  /// run), for k of n pending sleeps that wake.
  ///
  /// - Parameters:
  ///   - duration: How far to move. A negative duration is recorded as a failure of the test, and
  ///     time stays.
  ///   - fileID: The caller's place in its sources, for that failure; so are the other parameters.
  public nonisolated(nonsending) func advance(
    by duration: Duration = .zero,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    guard duration >= .zero else {
      recordFailure(
        """
        TestClock.advance(by:) expects a duration of zero or more, but got \(duration). \
        Time stays at \(now): a clock does not run backwards. Make a new clock to start again.
        """, fileID: fileID, filePath: filePath, line: line, column: column)
      return
    }
    await advance { $0.advanced(by: duration) }
  }

  /// Moves the clock's time forward to `deadline`, and lets every task of the test run as far as it
  /// can.
  ///
  /// See ``advance(by:fileID:filePath:line:column:)``, which guarantees the same. If an advance
  /// that is under way has passed `deadline` when this one's turn comes, the test's tasks run and
  /// time stays.
  ///
  /// - Parameters:
  ///   - deadline: Where to move. A deadline in the past is recorded as a failure of the test, and
  ///     time stays.
  ///   - fileID: The caller's place in its sources, for that failure; so are the other parameters.
  public nonisolated(nonsending) func advance(
    to deadline: Instant,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    let now = now
    guard deadline >= now else {
      recordFailure(
        """
        TestClock.advance(to:) expects an instant that is not in the past, but got \(deadline). \
        Time stays at \(now): a clock does not run backwards. Make a new clock to start again.
        """, fileID: fileID, filePath: filePath, line: line, column: column)
      return
    }
    await advance { _ in deadline }
  }

  /// Moves the clock's time forward to the next deadline, wakes every sleep that is due then, and
  /// lets every task of the test run as far as it can.
  ///
  /// Cancellation has no influence. O(k log n + jobs that run), for k of n pending sleeps that
  /// wake.
  ///
  /// - Returns: The deadline; or `nil` if no sleep was pending, and then time has not moved.
  @discardableResult
  public nonisolated(nonsending) func advanceToNextSleep() async -> Instant? {
    await move { time in
      guard let next = time.sleeps.earliestDeadline else { return nil }
      return max(next, time.now)
    }
  }

  /// Moves the clock's time forward from deadline to deadline until no sleep is pending.
  ///
  /// Like any advance, it lets every task of the test run as far as it can after each wake. A task
  /// that sleeps again and again keeps it going: then it stops after `timeout`, and that is
  /// recorded as a failure of the test, with the sleeps that are pending.
  ///
  /// Cancellation has no influence. O(k log n + jobs that run), for k sleeps that wake.
  ///
  /// - Parameters:
  ///   - timeout: How much real time it may take; half a minute by default.
  ///   - fileID: The caller's place in its sources, for that failure; so are the other parameters.
  public nonisolated(nonsending) func run(
    timeout: Swift.Duration = .seconds(30),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    let isOwn = scheduler.admitCurrentTask()
    let request = RunRequest(self, limit: .now.advanced(by: timeout), isOwn: isOwn)
    await withUnsafeContinuation { continuation in
      request.continuation = continuation
      scheduler.enqueue(request)
    }
    guard request.ranAway else { return }
    let pending = pendingSleeps
    recordFailure(
      """
      TestClock.run() expects that at some time no sleep is pending, but after \(timeout) of real \
      time, \(request.wakes) wakes and \(request.start.duration(to: now)) of the clock's time \
      there still \(pending.count == 1 ? "is one" : "are \(pending.count)"):
      \(pending.listed)
      A task that sleeps in an endless loop never ends by itself: cancel it, or advance by a known \
      duration instead.
      """, fileID: fileID, filePath: filePath, line: line, column: column)
  }

  // MARK: - How

  private nonisolated(nonsending) func advance(
    to target: @escaping (_ now: Instant) -> Instant
  ) async {
    _ = await move { time in target(time.now) }
  }

  /// Queues an advance whose target is known when its turn comes and the scheduler is idle.
  private nonisolated(nonsending) func move(
    to target: @escaping (Time) -> Instant?
  ) async -> Instant? {
    let request = AdvanceRequest(self, target: target, isOwn: scheduler.admitCurrentTask())
    await withUnsafeContinuation { continuation in
      request.continuation = continuation
      scheduler.enqueue(request)
    }
    return request.end
  }

  /// Wakes the earliest sleep if it is due by `target`. Called with the scheduler's lock held.
  @specialized(where Duration == Swift.Duration)
  fileprivate func wakeEarliest(dueBy target: Instant?) -> IdleStep? {
    guard let deadline = time.sleeps.earliestDeadline else { return nil }
    if let target, deadline > target { return nil }
    if deadline > time.now { time.now = deadline }
    let sleeper = time.sleeps.popEarliest()
    return .wake(sleeper.continuation, isOwn: sleeper.isOwn)
  }
}

/// Waits to hear that the scheduler is idle.
private final class SettleRequest: IdleRequest {
  private let continuation: UnsafeContinuation<Void, Never>
  private let isOwn: Bool

  init(_ continuation: UnsafeContinuation<Void, Never>, isOwn: Bool) {
    self.continuation = continuation
    self.isOwn = isOwn
  }

  func step() -> IdleStep { .finish(continuation, isOwn: isOwn) }
}

/// Moves a clock's time to a target, which is determined at the first step.
private final class AdvanceRequest<Duration: DurationProtocol & Hashable>: IdleRequest {
  var continuation: UnsafeContinuation<Void, Never>?
  /// The target; `nil` until the first step, and afterwards if there was none.
  private(set) var end: TestClock<Duration>.Instant?

  private let clock: TestClock<Duration>
  private let target: (TestClock<Duration>.Time) -> TestClock<Duration>.Instant?
  private let isOwn: Bool
  private var hasBegun = false

  init(
    _ clock: TestClock<Duration>,
    target: @escaping (TestClock<Duration>.Time) -> TestClock<Duration>.Instant?, isOwn: Bool
  ) {
    self.clock = clock
    self.target = target
    self.isOwn = isOwn
  }

  @specialized(where Duration == Swift.Duration)
  func step() -> IdleStep {
    if !hasBegun {
      hasBegun = true
      end = target(clock.time)
    }
    if let end {
      if let wake = clock.wakeEarliest(dueBy: end) { return wake }
      if end > clock.time.now { clock.time.now = end }
    }
    return .finish(continuation.unsafelyUnwrapped, isOwn: isOwn)
  }
}

/// Moves a clock's time until no sleep is pending, or for too long.
private final class RunRequest<Duration: DurationProtocol & Hashable>: IdleRequest {
  var continuation: UnsafeContinuation<Void, Never>?
  private(set) var wakes = 0
  private(set) var ranAway = false
  let start: TestClock<Duration>.Instant

  private let clock: TestClock<Duration>
  private let limit: ContinuousClock.Instant
  private let isOwn: Bool

  init(_ clock: TestClock<Duration>, limit: ContinuousClock.Instant, isOwn: Bool) {
    self.clock = clock
    self.limit = limit
    self.isOwn = isOwn
    start = clock.now
  }

  @specialized(where Duration == Swift.Duration)
  func step() -> IdleStep {
    // Real time is looked at now and then, so that a wake costs no system call.
    if wakes & 0xF == 0xF, .now > limit { ranAway = true }
    if !ranAway, let wake = clock.wakeEarliest(dueBy: nil) {
      wakes += 1
      return wake
    }
    return .finish(continuation.unsafelyUnwrapped, isOwn: isOwn)
  }
}

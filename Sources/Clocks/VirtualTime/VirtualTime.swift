import ClocksSupport

/// A scope in which all time is virtual.
///
/// `withVirtualTime` makes one and hands it to its body. Inside, nothing needs to be injected:
/// `Task.sleep` and the sleeps of `ContinuousClock` and `SuspendingClock` take virtual time,
/// whoever calls them, and when nothing can run any more time jumps to the next deadline by itself.
///
/// The idea is that of Go's `testing/synctest` and of tokio's paused clock.
public final class VirtualTime: Sendable {
  /// What becomes of tasks that still sleep when the body of a scope returns.
  public enum LeftoverSleeps: Sendable {
    /// They are cancelled.
    case cancel
    /// They are cancelled, and that is recorded as a failure of the test, which lists them.
    case fail
  }

  /// A point in the scope's time.
  public typealias Instant = TestClock<Duration>.Instant

  /// The innermost scope that the current task belongs to, or `nil` outside any. O(1).
  public static var current: VirtualTime? {
    Scheduler.running?.scope?.face.map { unsafeDowncast($0, to: VirtualTime.self) }
  }

  /// The scope's time as a clock, for code that wants one injected.
  ///
  /// Every `TestClock()` that is made in the scope reads the same time.
  public let clock: TestClock<Duration>

  let scheduler: Scheduler

  /// - Parameters:
  ///   - record: Records a failure; if `nil`, at `origin`.
  ///   - chooser: Decides what comes first, if given.
  ///   - start: What the system's clocks read when the scope begins; if `nil`, what they read now.
  init(
    _ options: ScopeOptions, at origin: CallSite, record: (@Sendable (String) -> Void)? = nil,
    chooser: (any Chooser)? = nil, start: SystemClocks? = nil
  ) {
    RuntimeHooks.install()
    Watchdog.start()
    DumpSignal.start()
    let scope = Scope(options, startingAt: start ?? Scheduler.running?.systemClocks)
    scheduler = Scheduler(scope, origin: origin, record: record, chooser: chooser)
    clock = TestClock(scheduler, scope.virtualClock, at: origin)
    scope.face = self
  }

  /// The scope's time: how much of it has passed since the scope began. O(1).
  public var now: Instant { clock.now }

  /// What `Date()` reads in the scope, as the time since the beginning of 1970; for a test kit that
  /// knows dates.
  package var sinceEpoch: Duration {
    get { scheduler.date }
    set { scheduler.date = newValue }
  }
}

// MARK: - Moving time by hand

extension VirtualTime {
  /// Lets every task of the scope run as far as it can, without moving time.
  ///
  /// See ``TestClock/settle(fileID:filePath:line:column:)``.
  public nonisolated(nonsending) func settle(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    await clock.settle(fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// Moves time forward by `duration`, and lets every task of the scope run as far as it can.
  ///
  /// See ``TestClock/advance(by:fileID:filePath:line:column:)``.
  public nonisolated(nonsending) func advance(
    by duration: Duration = .zero,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    await clock.advance(
      by: duration, fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// Moves time forward to `deadline`, and lets every task of the scope run as far as it can.
  ///
  /// See ``TestClock/advance(to:fileID:filePath:line:column:)``.
  public nonisolated(nonsending) func advance(
    to deadline: Instant,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    await clock.advance(
      to: deadline, fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// Moves time forward to the next deadline, wakes every sleep that is due then, and lets every
  /// task of the scope run as far as it can.
  ///
  /// - Returns: The deadline; or `nil` if no sleep was pending, and then time has not moved.
  @discardableResult
  public nonisolated(nonsending) func advanceToNextSleep(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Instant? {
    await clock.advanceToNextSleep(
      fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// Moves time forward from deadline to deadline until `condition` holds, but not beyond `limit`.
  ///
  /// See ``TestClock/advance(upTo:until:fileID:filePath:line:column:)``.
  ///
  /// - Returns: Whether the condition holds.
  @discardableResult
  public nonisolated(nonsending) func advance(
    upTo limit: Duration, until condition: nonisolated(nonsending) () async throws -> Bool,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async rethrows -> Bool {
    try await clock.advance(
      upTo: limit, until: condition, fileID: fileID, filePath: filePath, line: line,
      column: column)
  }

  /// Keeps time from jumping by itself while `operation` runs.
  ///
  /// For real work that the scope cannot see, a socket or a thread, whose answer the test awaits:
  /// without it the scope would take the test for idle, and jump. Time that is moved by hand still
  /// moves, but not for the expectations of ClocksTestKit. Calls may overlap.
  ///
  /// Only real work belongs in it. A sleep in virtual time would wait for the end of the operation
  /// that waits for it: if nothing but sleeps is left for half a minute of real time, that is a
  /// failure, and the scope's body is cancelled.
  ///
  /// Cancellation and errors are those of `operation`. O(1).
  public nonisolated(nonsending) func holding<Result>(
    _ operation: nonisolated(nonsending) () async throws -> Result
  ) async rethrows -> Result {
    scheduler.beginHold(isUnlimited: true)
    defer { scheduler.endHold(isUnlimited: true) }
    return try await operation()
  }

  /// Waits until `count` sleeps are pending in the scope; they may come from outside work.
  ///
  /// Time does not jump meanwhile. See ``TestClock/waitForSleeps(atLeast:timeout:)``.
  public nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int = 1, timeout: Duration = .seconds(60)
  ) async throws {
    scheduler.beginHold()
    defer { scheduler.endHold() }
    try await clock.waitForSleeps(atLeast: count, timeout: timeout)
  }
}

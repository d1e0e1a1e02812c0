import ClocksSupport

/// A scope in which all time is virtual.
///
/// `withVirtualTime` creates a scope and passes it to its body. Inside, no clock needs to be injected:
/// `Task.sleep` and the sleeps of `ContinuousClock` and `SuspendingClock` take virtual time, also in code of
/// other modules. When no task can run, time jumps to the next deadline.
///
/// The idea comes from Go's `testing/synctest` and tokio's paused clock.
public final class VirtualTime: Sendable {
  /// The treatment of tasks that still sleep, or run without end, when the body of a scope returns.
  public enum LeftoverSleeps: Sendable {
    /// Cancels them.
    case cancel
    /// Cancels them, and records a failure of the test that lists them.
    case fail
  }

  /// A point in the scope's time.
  public typealias Instant = TestClock<Duration>.Instant

  /// The innermost scope of the current task; `nil` outside any scope. O(1).
  public static var current: VirtualTime? {
    Scheduler.running?.scope?.face.map { unsafeDowncast($0, to: VirtualTime.self) }
  }

  /// The innermost scope of the current task.
  ///
  /// ```swift
  /// @Test(.virtualTime) func pollsEveryMinute() async throws {
  ///   let time = try VirtualTime.required
  ///   …
  /// ```
  ///
  /// O(1).
  ///
  /// - Throws: ``NoVirtualTimeError`` outside any scope.
  public static var required: VirtualTime {
    get throws {
      guard let current else { throw NoVirtualTimeError() }
      return current
    }
  }

  /// The scope's time as a clock, for code that takes a clock.
  ///
  /// Every `TestClock()` that is made in the scope reads the same time.
  public let clock: TestClock<Duration>

  let scheduler: Scheduler

  /// Makes a scope.
  ///
  /// - Parameters:
  ///   - record: Records a failure; by default, at `origin`.
  ///   - start: The readings of the system's clocks when the scope begins; by default, those of now.
  init(
    _ options: ScopeOptions, at origin: CallSite, record: (@Sendable (String) -> Void)? = nil,
    chooser: (any Chooser)? = nil, start: SystemClocks? = nil
  ) {
    RuntimeHooks.install()
    if let failure = RuntimeHooks.failureOfOtherCopy { recordFailure(failure, at: origin) }
    Watchdog.start()
    let (options, problem) = options.checked()
    let scope = Scope(options, startingAt: start ?? Scheduler.running?.systemClocks)
    // The exploration itself reports the failures of an explored scope.
    scheduler = Scheduler(
      scope, origin: origin, isTestKnown: !options.isExplored, record: record, chooser: chooser)
    clock = TestClock(scheduler, scope.virtualClock, at: origin)
    scope.face = self
    if let problem { scheduler.report.record(problem) }
  }

  /// The scope's time, measured from its beginning. O(1).
  public var now: Instant { clock.now }

  /// The time since 1970 that `Date()` reads in the scope.
  package var sinceEpoch: Duration {
    get { scheduler.date }
    set { scheduler.date = newValue }
  }

  package func recordMisuse(_ message: String) { scheduler.report.record(message) }
}

extension VirtualTime {
  /// Runs the scope's tasks as far as they can without moving time.
  ///
  /// See ``TestClock/settle(fileID:filePath:line:column:)``.
  public nonisolated(nonsending) func settle(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    await clock.settle(fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// Moves time forward by `duration`, and runs the scope's tasks as far as they can.
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

  /// Moves time forward to `deadline`, and runs the scope's tasks as far as they can.
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

  /// Moves time forward to the next deadline, wakes the sleeps that are due, and runs the scope's tasks.
  ///
  /// See ``TestClock/advanceToNextSleep(fileID:filePath:line:column:)``.
  ///
  /// - Returns: The deadline; `nil` if no sleep was pending, in which case time has not moved.
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

  /// Keeps time from jumping while `operation` runs.
  ///
  /// Use it if the test awaits the answer of real work that the scope cannot see, such as a socket or a
  /// thread. Without `holding`, the scope would be idle and time would jump. `advance` still moves time; the
  /// expectations of ClocksTestKit do not. Calls may overlap.
  ///
  /// Do not sleep in `operation`: a sleep in virtual time would wait for the end of `operation`, and
  /// `operation` for the sleep. If only sleeps are left for half a minute of real time (see
  /// `CLOCKS_BLOCKED_AFTER`), or longer while other tests are busy, a failure is recorded, and the scope's body is
  /// cancelled.
  ///
  /// `operation` decides what happens on cancellation, and its errors are rethrown. O(1).
  public nonisolated(nonsending) func holding<Result>(
    _ operation: nonisolated(nonsending) () async throws -> Result
  ) async rethrows -> Result {
    scheduler.beginHold(isUnlimited: true)
    defer { scheduler.endHold(isUnlimited: true) }
    return try await operation()
  }

  /// Waits until `count` sleeps are pending in the scope. They may depend on work outside the scope.
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

/// Says that code ran outside any scope of virtual time, but needs one.
///
/// ``VirtualTime/required`` throws it.
public struct NoVirtualTimeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Creates the error, for a test that expects it.
  public init() {}

  /// A text that says what is missing and how to provide it.
  public var description: String {
    """
    There is no scope of virtual time here. Give the test the trait, @Test(.virtualTime), or run the code \
    in withVirtualTime { … }.

    If the test has the trait, this code runs on a thread, outside all tasks of the test: read the scope in the \
    test, and pass it on.
    """
  }
}

extension VirtualTime: CustomDebugStringConvertible {
  /// Describes what each task of the scope waits for at this moment, and where.
  ///
  /// See ``TestClock/dump()``.
  public func dump() -> String { scheduler.dumpText }

  /// The scope's time and its pending sleeps, and a ``dump()`` unless a task outside the scope asks.
  public var debugDescription: String {
    scheduler.scopeDescription.with(scheduler.dumpInDescription)
  }

  /// Begins to record what happens in the scope, unless it is recorded already.
  ///
  /// An event takes about 100 nanoseconds and 40 bytes. Without a recording, it costs a comparison.
  ///
  /// - Parameter events: How many of the latest events are kept at least; less than one counts as one.
  public func recordTimeline(events: Int = 1_000_000) { clock.recordTimeline(events: events) }

  /// The recording of the scope up to now; `nil` if it is not recorded.
  public var recordedTimeline: RecordedTimeline? { scheduler.recorder?.timeline }

  /// Adds a mark to the recording, in the lane of the current task.
  ///
  /// `text` is not evaluated if nothing is recorded. O(1), from any thread.
  public func mark(_ text: @autoclosure () -> String) { scheduler.recorder?.mark(text()) }

  /// Calls a handler when the body of the scope returns, before leftovers are cancelled.
  ///
  /// If the body has returned already, the handler is called immediately.
  package func whenBodyReturns(_ handler: @escaping @Sendable () -> Void) {
    let isKept = scheduler.change { $0.scope?.endHandlers?.append(handler) != nil }
    if !isKept { handler() }
  }

  /// See `Scheduler.noteOnFailure(afterTimeout:)`.
  package func noteOnFailure(afterTimeout isTimeout: Bool) -> String? {
    scheduler.noteOnFailure(afterTimeout: isTimeout)
  }

  /// See `Scheduler.noteOnSkippedWait(afterTimeout:)`.
  package func noteOnSkippedWait(afterTimeout isTimeout: Bool) -> String? {
    scheduler.noteOnSkippedWait(afterTimeout: isTimeout)
  }
}

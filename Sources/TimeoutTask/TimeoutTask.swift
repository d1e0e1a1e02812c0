/// A task whose waiters get an error if its work has not ended in time.
///
/// Like `Task`, a `TimeoutTask` starts its work when it is made. Unlike `Task`, it has a timeout:
/// no task waits for it longer than that, even if the work ignores cancellation.
///
/// ```swift
/// let quotes = TimeoutTask(seconds: 10) {
///   await stream.prefix(4).reduce(into: []) { $0.append($1) }
/// }
/// let firstFour = try await quotes.value   // four quotes, or a TimeoutError after ten seconds
/// ```
///
/// ## The outcome
///
/// A task has one outcome, which never changes. It is the first of the following events.
///
/// - The work returns or throws: its result, or its error, which may be a `CancellationError`.
/// - The timeout passes: ``TimeoutError``.
/// - ``cancel()`` is called, or the last waiting task is cancelled: `CancellationError`. The
///   initializer's `endsWithLastWaiter: false` excludes the second case.
/// - The clock's `sleep` throws: that error.
///
/// Any number of tasks may await the task, before or after the outcome. All of them get the same outcome.
///
/// ## When the timeout passes
///
/// The waiters get the error, then the work is cancelled. Cancellation is cooperative: work that
/// ignores it **continues to run** until it ends by itself. Its late result or error is dropped, or
/// passed to the initializer's `onLateResult`. If work must not outlive the call that started it,
/// use ``withTimeout(_:tolerance:clock:name:operation:)``, which waits for the work.
///
/// ## When the work ends first
///
/// The timer is cancelled before any waiter is resumed, so no sleep is left on the clock.
///
/// The work can ask for its deadline: see ``Deadline``.
///
/// ## Lifetime
///
/// Releasing all references cancels nothing. As with `Task`, the work runs to its end, under the
/// same timeout. Then all memory is freed.
///
/// ## Cost
///
/// On the `ContinuousClock`: one task and a few small allocations. All fixed deadlines on that
/// clock share one heap and one sleep. On another clock, and where a library such as a test clock replaced the
/// runtime's sleeps: two tasks, and one sleep on the clock.
///
/// The idea comes from the class of the same name in Kodeco's “Modern Concurrency: Beyond the
/// Basics”, which is written for teaching.
public final class TimeoutTask<Success: Sendable>: Sendable {
  /// The module's `TimeoutError`.
  ///
  /// `TimeoutTask.TimeoutError` names it through this alias, because `TimeoutTask` means the class and not the module.
  public typealias TimeoutError = _TimeoutError

  let outcome: SharedOutcome

  /// The name of the work.
  let name: String?

  /// The timeout in attoseconds, for the error when a shared timer rings. Written before that timer
  /// is added.
  nonisolated(unsafe) var allowed: Int128 = 0

  let onLateResult: (@Sendable (Result<Success, any Error>) -> Void)?

  /// Starts work that fails unless it ends within a number of seconds.
  ///
  /// The seconds are measured by the `ContinuousClock`, which continues while the machine is suspended.
  ///
  /// ```swift
  /// let answer = TimeoutTask(seconds: 0.5) { try await server.ask() }
  /// ```
  ///
  /// - Parameters:
  ///   - seconds: The timeout in seconds, from now on. From 2⁶² seconds on, infinity included, it
  ///     never passes. Zero, a negative number or NaN leaves no time: the work is started and
  ///     cancelled, and waiters get the error immediately. No number traps.
  ///   - name: The name of the work's task, which the error contains.
  ///   - priority: The priority of the work; `nil` means that of the current task.
  ///   - endsWithLastWaiter: Whether this task is cancelled when the last task that awaits it is
  ///     cancelled. Pass `false` for a result that several readers share.
  ///   - operation: The work. As with `Task`, it has the isolation of its context and inherits
  ///     task-local values.
  ///   - onLateResult: Called with the work's result or error if it ends after the outcome. It runs
  ///     in the work's task.
  ///
  /// - Complexity: O(log n) for n deadlines of the process on the `ContinuousClock`.
  @discardableResult
  public init(
    seconds: Double,
    name: String? = nil,
    priority: TaskPriority? = nil,
    endsWithLastWaiter: Bool = true,
    // `Task.init` has these two attributes. They have no names without underscore.
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success,
    onLateResult: (@Sendable (Result<Success, any Error>) -> Void)? = nil
  ) {
    self.name = name
    outcome = SharedOutcome(endsWithLastWaiter: endsWithLastWaiter)
    self.onLateResult = onLateResult
    start(
      Duration(timeoutInSeconds: seconds), tolerance: nil, clock: ContinuousClock(),
      priority: priority, operation: operation)
  }

  /// Starts work that fails unless it ends within a duration on a clock.
  ///
  /// The deadline is the clock's `now` plus `timeout`. The sleep is on the clock before this
  /// initializer returns and before the work can run. A test may advance its clock on the next
  /// line:
  ///
  /// ```swift
  /// let clock = TestClock()
  /// let task = TimeoutTask(timeout: .seconds(1), clock: clock) { try await server.ask() }
  /// await clock.advance(by: .seconds(1))
  /// await #expect(throws: TimeoutError.self) { try await task.value }
  /// ```
  ///
  /// Systems without `Task.immediate` (before macOS 26, iOS 26 and their siblings) enqueue the
  /// timer's task before the work's. A clock that runs a test's tasks in order gives the same
  /// result; on a real clock the sleep starts a moment later.
  ///
  /// On a clock that does not wait, such as an immediate clock, each timeout has passed before the work
  /// begins, so the work begins cancelled. In this way, a test can check how the work reacts to cancellation.
  ///
  /// - Parameters:
  ///   - timeout: The timeout, from now on. Zero or less leaves no time: the work is started and
  ///     cancelled, and waiters get the error immediately. A `Swift.Duration` from 2⁶² seconds on
  ///     never passes. Durations of other types are added to `now` by the clock's own arithmetic.
  ///   - tolerance: How much later than its deadline the clock may let the timeout pass.
  ///   - clock: The clock that measures the time.
  ///   - name: The name of the work's task, which the error contains.
  ///   - priority: The priority of the work; `nil` means that of the current task.
  ///   - endsWithLastWaiter: Whether this task is cancelled when the last task that awaits it is
  ///     cancelled. Pass `false` for a result that several readers share.
  ///   - operation: The work. As with `Task`, it has the isolation of its context and inherits
  ///     task-local values.
  ///   - onLateResult: Called with the work's result or error if it ends after the outcome. It runs
  ///     in the work's task.
  ///
  /// - Complexity: O(1), and the clock's cost of a sleep; on the `ContinuousClock` O(log n) for n deadlines of
  ///   the process.
  @discardableResult
  public init<C: Clock>(
    timeout: C.Duration,
    tolerance: C.Duration? = nil,
    clock: C = ContinuousClock(),
    name: String? = nil,
    priority: TaskPriority? = nil,
    endsWithLastWaiter: Bool = true,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success,
    onLateResult: (@Sendable (Result<Success, any Error>) -> Void)? = nil
  ) {
    self.name = name
    outcome = SharedOutcome(endsWithLastWaiter: endsWithLastWaiter)
    self.onLateResult = onLateResult
    start(timeout, tolerance: tolerance, clock: clock, priority: priority, operation: operation)
  }

  deinit {
    guard let place = outcome.placeOfResult?.assumingMemoryBound(to: Success.self) else { return }
    place.deinitialize(count: 1)
    place.deallocate()
  }

  /// The work's result.
  ///
  /// Returns immediately if there is an outcome. Otherwise waits, in the caller's isolation. Any
  /// number of tasks may wait.
  ///
  /// If the waiting task is cancelled, before or during its wait, it stops waiting immediately. If
  /// no other task waits then, the whole `TimeoutTask` is cancelled as by ``cancel()``, unless it
  /// was made with `endsWithLastWaiter: false`.
  ///
  /// The work and the timer are escalated to the priority of the waiting task, also when that
  /// priority rises later.
  ///
  /// - Throws: The work's error, ``TimeoutError``, `CancellationError`, or the error that the
  ///   clock's `sleep` threw.
  /// - Complexity: O(1).
  public nonisolated(nonsending) var value: Success {
    get async throws {
      try await place.pointee
    }
  }

  /// The outcome as a value instead of a thrown error.
  ///
  /// Waits and is cancelled as ``value`` is: a cancelled waiter gets `.failure` with a
  /// `CancellationError`.
  public nonisolated(nonsending) var result: Result<Success, any Error> {
    get async {
      do {
        return .success(try await place.pointee)
      } catch {
        return .failure(error)
      }
    }
  }

  /// The address of the work's result, after waiting for the outcome. The result never changes.
  @inline(__always)
  private nonisolated(nonsending) var place: UnsafeMutablePointer<Success> {
    get async throws {
      try await outcome.wait().assumingMemoryBound(to: Success.self)
    }
  }

  /// Ends the task with `CancellationError`, unless it has an outcome.
  ///
  /// The waiters get the error immediately, then the work is cancelled. If there is an outcome
  /// already, the call does nothing.
  ///
  /// - Complexity: O(n log n) for n waiting tasks.
  public func cancel() {
    outcome.decide(.failure(CancellationError()))?.work?.cancel()
  }
}

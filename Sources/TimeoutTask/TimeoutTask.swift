/// A task that fails if its work does not complete in time.
///
/// A `TimeoutTask` is like `Task`, and starts its work when it is made, as `Task` does; but
/// nobody who waits for it waits longer than its timeout, not even for work that ignores
/// cancellation.
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
/// There is one outcome, the first of these to happen, and it never changes:
///
/// - the work returns or throws: its result, or its own error, a `CancellationError` included;
/// - the timeout passes: ``TimeoutError``;
/// - ``cancel()``, or the last waiting task was cancelled: `CancellationError`; the latter can be
///   switched off where a result is shared by readers that come and go;
/// - the clock's `sleep` throws: that error.
///
/// Any number of tasks may wait for it, before or after it is there. All get the same.
///
/// ## When the timeout passes
///
/// First the waiters get the error, then the work is cancelled. Cancellation is cooperative: work
/// that ignores it **goes on running**, unseen, until it ends by itself. What it returns or throws
/// then is dropped, or handed to the initializer's `onLateResult`. Where work must not outlive the
/// call that started it, use ``withTimeout(_:tolerance:clock:name:operation:)``, which waits.
///
/// ## When the work ends first
///
/// The timer is cancelled before anyone is resumed, so that no sleep is left on the clock.
///
/// The work can ask when that will be: ``Deadline``.
///
/// ## Lifetime
///
/// Dropping every reference cancels nothing and loses nothing: as with `Task`, the work goes on to
/// its end, under the same timeout. When it has ended, nothing is left behind.
///
/// ## Cost
///
/// On the `ContinuousClock`: one task and a few small allocations. All deadlines on that clock share one
/// heap and one sleep, and one that is no longer needed leaves nothing behind. On any other clock, and
/// where somebody has taken over the sleeps of the runtime's clocks, as a test clock does: two tasks,
/// and one sleep on the clock.
///
/// The idea is that of the teaching class of the same name in Kodeco's “Modern Concurrency: Beyond
/// the Basics”.
public final class TimeoutTask<Success: Sendable>: Sendable {
  /// The error of a timeout, under a name that can be written beside the class's.
  public typealias TimeoutError = _TimeoutError

  /// Who may still win, and who waits for it.
  let contest: Contest

  /// What is being done.
  let name: String?

  /// The time that the error of the shared timers is to name, in attoseconds. Written before they
  /// know of this task.
  nonisolated(unsafe) var allowed: Int128 = 0

  let onLateResult: (@Sendable (Result<Success, any Error>) -> Void)?

  /// Starts work that fails unless it completes within a number of seconds.
  ///
  /// Seconds are those of `ContinuousClock`, which goes on while the machine sleeps.
  ///
  /// ```swift
  /// let answer = TimeoutTask(seconds: 0.5) { try await server.ask() }
  /// ```
  ///
  /// - Parameters:
  ///   - seconds: How long the work may take, counted from here. Infinity, or anything from
  ///     2⁶² seconds on, means for ever. Zero, a negative number or NaN leaves no time at all: the
  ///     work is started and cancelled, and waiters get the error without waiting. No number traps.
  ///   - name: What is being done: the name of the work's task, and a part of the error.
  ///   - priority: The priority of the work; `nil` means that of the task which starts it.
  ///   - endsWithLastWaiter: Whether the task is cancelled when the last task that waits for it is.
  ///     `false` suits a result that is shared: it is still there for whoever asks later.
  ///   - operation: The work. Like `Task`'s, it is isolated as its surroundings are, and sees their
  ///     task-local values.
  ///   - onLateResult: Called with the work's result or error if it ended after the outcome, on the
  ///     work's own task.
  ///
  /// - Complexity: O(1), and the clock's cost of a sleep.
  @discardableResult
  public init(
    seconds: Double,
    name: String? = nil,
    priority: TaskPriority? = nil,
    endsWithLastWaiter: Bool = true,
    // The two attributes with which `Task.init` is declared; they have no names without underscore.
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success,
    onLateResult: (@Sendable (Result<Success, any Error>) -> Void)? = nil
  ) {
    self.name = name
    contest = Contest(endsWithLastWaiter: endsWithLastWaiter)
    self.onLateResult = onLateResult
    let timeout = Duration(timeoutInSeconds: seconds)
    if timeout > .zero, RealTime.isCertain,
      let limit = RealTimeLimit.from(timeout, tolerance: nil)
    {
      start(limit, priority: priority, operation: operation)
    } else {
      startOnAnyClock(
        timeout, tolerance: nil, clock: ContinuousClock(), priority: priority,
        operation: operation)
    }
  }

  /// Starts work that fails unless it completes within a duration, as a clock measures it.
  ///
  /// The deadline is the clock's `now`, here, plus `timeout`. The sleep until it is registered on
  /// the clock before this initializer returns and before the work can run, so that advancing a
  /// test clock right after cannot miss it:
  ///
  /// ```swift
  /// let clock = TestClock()
  /// let task = TimeoutTask(timeout: .seconds(1), clock: clock) { try await server.ask() }
  /// await clock.advance(by: .seconds(1))
  /// await #expect(throws: TimeoutError.self) { try await task.value }
  /// ```
  ///
  /// On systems without `Task.immediate` (before macOS 26, iOS 26 and their kin) the timer is the
  /// first of the two tasks to be enqueued, which is the same for clocks that run a test's tasks in
  /// order, but leaves a real clock's sleep to start a moment later.
  ///
  /// On a clock where no sleep waits, such as an immediate clock, every timeout has passed before
  /// the work begins: the work begins cancelled. That is a way to test what happens then.
  ///
  /// - Parameters:
  ///   - timeout: How long the work may take, counted from here. Zero or less leaves no time at
  ///     all: the work is started and cancelled, and waiters get the error without waiting. A
  ///     `Swift.Duration` from 2⁶² seconds on means for ever; other types of duration are added to
  ///     `now` as they are, by the clock's own arithmetic.
  ///   - tolerance: How much later than its deadline the clock may let the timeout pass.
  ///   - clock: The clock that measures.
  ///   - name: What is being done: the name of the work's task, and a part of the error.
  ///   - priority: The priority of the work; `nil` means that of the task which starts it.
  ///   - endsWithLastWaiter: Whether the task is cancelled when the last task that waits for it is.
  ///     `false` suits a result that is shared: it is still there for whoever asks later.
  ///   - operation: The work. Like `Task`'s, it is isolated as its surroundings are, and sees their
  ///     task-local values.
  ///   - onLateResult: Called with the work's result or error if it ended after the outcome, on the
  ///     work's own task.
  ///
  /// - Complexity: O(1), and the clock's cost of a sleep.
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
    contest = Contest(endsWithLastWaiter: endsWithLastWaiter)
    self.onLateResult = onLateResult
    start(timeout, tolerance: tolerance, clock: clock, priority: priority, operation: operation)
  }

  deinit {
    guard let place = contest.destroy()?.assumingMemoryBound(to: Success.self) else { return }
    place.deinitialize(count: 1)
    place.deallocate()
  }

  /// The work's result, once it is there.
  ///
  /// Returns at once if there is an outcome already. Otherwise waits, in the caller's isolation;
  /// many tasks may.
  ///
  /// If the waiting task is itself cancelled, it stops waiting at once; and if no other task is
  /// left waiting, the whole `TimeoutTask` is cancelled, as by ``cancel()``, unless it was made
  /// with `endsWithLastWaiter: false`. Of a task that has been cancelled before it asks, the same
  /// is true.
  ///
  /// If the waiting task's priority is higher than that of the work and of the timer, or becomes
  /// so, both are escalated to it.
  ///
  /// - Throws: The work's own error, ``TimeoutError``, `CancellationError`, or the error that the
  ///   clock's `sleep` threw.
  /// - Complexity: O(1).
  public nonisolated(nonsending) var value: Success {
    get async throws {
      try await place.pointee
    }
  }

  /// The outcome, once it is there, as a value and not as a thrown error.
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

  /// Where the work's result is, once that is the outcome. Nobody changes it any more.
  @inline(__always)
  private nonisolated(nonsending) var place: UnsafeMutablePointer<Success> {
    get async throws {
      try await contest.wait().assumingMemoryBound(to: Success.self)
    }
  }

  /// Ends the task with `CancellationError`, unless it has an outcome already.
  ///
  /// Waiters get the error at once, then the work is cancelled. After an outcome this does
  /// nothing, however often it is called.
  ///
  /// - Complexity: O(n log n) for n waiting tasks.
  public func cancel() {
    contest.decide(.failure(CancellationError()))?.work?.cancel()
  }
}

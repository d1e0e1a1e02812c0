/// Runs an operation and cancels it if it has not ended by a deadline.
///
/// This function returns when the operation has ended, never before, so it leaves nothing running.
/// **It waits for an operation that ignores cancellation, however long that takes.** If returning
/// in time is more important than leaving nothing behind, use ``TimeoutTask``.
///
/// The operation is an ordinary closure: it does not escape. It runs in the caller's isolation, may
/// use what the caller may use, and its result need be neither `Sendable` nor copyable. One thing is
/// not possible: **the operation must not add tasks to a task group of the caller.** The operation is
/// a child task, and so are the tasks that it adds. The deadline does not cancel them, and the
/// process may crash if one of them ends later than the operation. Create the group in the operation.
///
/// ```swift
/// let deadline = ContinuousClock.now + .seconds(5)
/// let user = try await withDeadline(deadline) { try await server.user() }
/// let friends = try await withDeadline(deadline) { try await server.friends(of: user) }
/// ```
///
/// ## Result and errors
///
/// | the operation | the call |
/// |---|---|
/// | returns, before or after the deadline | returns its result |
/// | throws before the deadline | throws its error |
/// | throws after the deadline has cancelled it | throws ``TimeoutError``, which contains its error |
/// | throws after the clock's `sleep` has failed, which cancels it too | throws the clock's error |
///
/// The type of a late error does not matter: libraries have their own errors for a cancellation,
/// such as `URLError.cancelled`. ``TimeoutError/underlyingError`` contains it.
///
/// ## Cancellation
///
/// Cancelling the calling task cancels the operation. If the calling task is cancelled before the deadline,
/// the operation's error is thrown unchanged, even if the deadline passes before the operation has ended. The
/// deadline cancels only the operation: the caller's `Task.isCancelled` does not change.
///
/// If the deadline has passed already, the operation runs nevertheless, and begins cancelled. If it
/// throws, the call throws ``TimeoutError``, even if the calling task was cancelled before the call,
/// unless an earlier deadline around it has passed, too. On a clock that does not wait, such as an immediate
/// clock, the operation begins cancelled, too; if the calling task was cancelled before the call, the
/// operation's error is thrown unchanged. A deadline that is 2⁶² seconds away or more never passes.
///
/// If a clock's `sleep` ignores cancellation, the call does not wait for the sleep: it returns when
/// the operation ends.
///
/// ## Nesting
///
/// The earliest deadline wins. A deadline inside an earlier or equal one on the same clock costs no
/// task and no sleep, in child tasks too. There are two exceptions: the outer deadline is movable,
/// or its tolerance is so large that the inner one may have to pass first.
///
/// Two clocks are the same if they have one type, and are `Identifiable` with equal ids. Two
/// `ContinuousClock`s are the same, and so are two `SuspendingClock`s. Deadlines on different clocks
/// are all set, and the one that passes first cancels the operation.
///
/// ## SE-0526
///
/// Names and semantics follow SE-0526, `withDeadline`, so that code can move to the standard library. As of Swift 6.3 a
/// cancellation cannot state its reason. Where SE-0526 throws `CancellationError(reason: .deadlineExpired)`, this
/// function throws ``TimeoutError``, so it is declared `throws` and not `throws(Failure)`.
///
/// - Parameters:
///   - expiration: The instant by which the operation has to end.
///   - tolerance: How much later the clock may let the deadline pass.
///   - clock: The clock to sleep on. The sleep is registered before the operation begins.
///   - name: The name of the operation's task, which the error contains.
///   - operation: What to do. It runs in a child task, and inherits task-local values.
///
/// - Returns: The operation's result.
/// - Throws: See the table above.
/// - Complexity: O(d) for d deadlines around the caller: a task group, two tasks, and the clock's
///   cost of a sleep. On the `ContinuousClock` in real time: one task, and a shared timer, which costs
///   O(log n) for n deadlines of the process.
public nonisolated(nonsending) func withDeadline<C: Clock, Return: ~Copyable>(
  _ expiration: C.Instant,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  guard
    let deadline = OperationDeadline.at(expiration, tolerance: tolerance, on: clock, name: name)
  else { return try await operation() }
  return try await deadline.run(operation)
}

/// Runs an operation and cancels it if it has not ended within a duration from now.
///
/// This is ``withTimeout(_:tolerance:clock:name:operation:)`` under the name of SE-0526.
public nonisolated(nonsending) func withDeadline<C: Clock, Return: ~Copyable>(
  in timeout: C.Duration,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withTimeout(
    timeout, tolerance: tolerance, clock: clock, name: name, operation: operation)
}

/// Runs an operation and cancels it if it has not ended within a duration from now.
///
/// This is ``withDeadline(_:tolerance:clock:name:operation:)`` for the clock's `now` plus
/// `timeout`, with the same guarantees. If several calls share one limit, pass one deadline to all
/// of them, because the timeouts of successive calls add up.
///
/// ```swift
/// func refresh() async throws {
///   feed = try await withTimeout(.seconds(3), name: "load the feed") {
///     try await server.feed(after: feed.last)
///   }
/// }
/// ```
///
/// - Parameters:
///   - timeout: How long the operation may take. With zero or less it begins cancelled. A
///     `Swift.Duration` from 2⁶² seconds on never passes. Durations of other types are added to
///     `now` by the clock's own arithmetic.
///   - tolerance: How much later than its deadline the clock may let the timeout pass.
///   - clock: The clock to sleep on. The sleep is registered before the operation begins.
///   - name: The name of the operation's task, which the error contains.
///   - operation: What to do. It runs in a child task, and inherits task-local values.
///
/// - Returns: The operation's result, in time or late.
/// - Throws: The operation's error; ``TimeoutError`` if it throws after the timeout has cancelled
///   it; the clock's error if it throws after the clock's `sleep` has failed.
/// - Complexity: As ``withDeadline(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withTimeout<C: Clock, Return: ~Copyable>(
  _ timeout: C.Duration,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  guard
    let deadline = OperationDeadline.after(timeout, tolerance: tolerance, on: clock, name: name)
  else { return try await operation() }
  return try await deadline.run(operation)
}

// MARK: - On the ContinuousClock

// These are separate functions. Outside of a type, Swift 6.2 accepts no default value for a parameter of type `C` if
// another one has the type `C.Duration` or `C.Instant`.

/// Runs an operation and cancels it if it has not ended by a deadline of the `ContinuousClock`.
///
/// See ``withDeadline(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable>(
  _ expiration: ContinuousClock.Instant,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withDeadline(
    expiration, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

/// Runs an operation and cancels it if it has not ended within a duration of the `ContinuousClock`.
///
/// See ``withDeadline(in:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable>(
  in timeout: Duration,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withTimeout(
    timeout, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

/// Runs an operation and cancels it if it has not ended within a duration of the `ContinuousClock`.
///
/// See ``withTimeout(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withTimeout<Return: ~Copyable>(
  _ timeout: Duration,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withTimeout(
    timeout, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

/// Runs an operation and cancels it if it has not ended within a number of seconds.
///
/// ```swift
/// let user = try await withTimeout(seconds: 2.5) { try await server.user() }
/// ```
///
/// See ``withTimeout(_:tolerance:clock:name:operation:)``. The seconds are measured by the `ContinuousClock`, and no
/// number traps: see ``TimeoutTask/init(seconds:name:priority:endsWithLastWaiter:operation:onLateResult:)``.
public nonisolated(nonsending) func withTimeout<Return: ~Copyable>(
  seconds: Double,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withTimeout(
    Duration(timeoutInSeconds: seconds), clock: ContinuousClock(), name: name,
    operation: operation)
}

// MARK: - The label of SE-0526

// These overloads are disfavored, so that a call with a trailing closure selects a function with `operation`.

/// Runs an operation and cancels it if it has not ended by a deadline.
///
/// This is ``withDeadline(_:tolerance:clock:name:operation:)`` with the label of SE-0526.
@_disfavoredOverload
public nonisolated(nonsending) func withDeadline<C: Clock, Return: ~Copyable>(
  _ expiration: C.Instant, tolerance: C.Duration? = nil, clock: C,
  body: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withDeadline(expiration, tolerance: tolerance, clock: clock, operation: body)
}

/// Runs an operation and cancels it if it has not ended within a duration from now.
///
/// This is ``withDeadline(in:tolerance:clock:name:operation:)`` with the label of SE-0526.
@_disfavoredOverload
public nonisolated(nonsending) func withDeadline<C: Clock, Return: ~Copyable>(
  in timeout: C.Duration, tolerance: C.Duration? = nil, clock: C,
  body: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withDeadline(in: timeout, tolerance: tolerance, clock: clock, operation: body)
}

/// Runs an operation and cancels it if it has not ended by a deadline of the `ContinuousClock`.
///
/// This is ``withDeadline(_:tolerance:name:operation:)`` with the label of SE-0526.
@_disfavoredOverload
public nonisolated(nonsending) func withDeadline<Return: ~Copyable>(
  _ expiration: ContinuousClock.Instant, tolerance: Duration? = nil,
  body: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withDeadline(expiration, tolerance: tolerance, operation: body)
}

/// Runs an operation and cancels it if it has not ended within a duration of the `ContinuousClock`.
///
/// This is ``withDeadline(in:tolerance:name:operation:)`` with the label of SE-0526.
@_disfavoredOverload
public nonisolated(nonsending) func withDeadline<Return: ~Copyable>(
  in timeout: Duration, tolerance: Duration? = nil,
  body: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withDeadline(in: timeout, tolerance: tolerance, operation: body)
}

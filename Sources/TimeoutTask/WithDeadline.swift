/// Runs an operation and cancels it if it has not ended by a deadline.
///
/// The operation is always joined: this function returns when the operation has ended, never
/// before, and so leaves nothing running. That is its trap as well: **an operation that ignores
/// cancellation is waited for, however long it takes.** Where returning in time matters more than
/// leaving nothing behind, use ``TimeoutTask``.
///
/// Because it is joined, the operation is an ordinary closure. It runs in the caller's isolation,
/// may read and change what the caller may, and its result need be neither `Sendable` nor copyable.
///
/// ```swift
/// let deadline = ContinuousClock.now + .seconds(5)
/// let user = try await withDeadline(deadline) { try await server.user() }
/// let friends = try await withDeadline(deadline) { try await server.friends(of: user) }
/// ```
///
/// ## What comes back
///
/// | the operation | comes back |
/// |---|---|
/// | returns, before or after the deadline | its result |
/// | throws before the deadline | its error |
/// | throws after the deadline has cancelled it | ``TimeoutError``, with the error inside |
/// | throws after the clock's `sleep` has failed, which cancels it too | the clock's error |
///
/// It does not matter what the operation throws after it has been cancelled: libraries have errors
/// of their own for that, such as `URLError.cancelled`. ``TimeoutError/underlyingError`` has it.
///
/// ## Cancellation
///
/// Cancelling the calling task cancels the operation; if that came before the deadline, the
/// operation's error is passed on as it is, even if the deadline passes while the operation is
/// coming to its end. The deadline cancels the operation alone: the caller's `Task.isCancelled`
/// stays as it was.
///
/// A deadline that has already passed does not keep the operation from running; it begins
/// cancelled. So it does on a clock that does not wait, such as an immediate clock. A deadline that
/// is 2⁶² seconds away or more never passes.
///
/// A clock whose `sleep` ignores cancellation keeps nobody waiting: the operation's end is the end.
///
/// ## Nesting
///
/// The earliest deadline wins. A deadline inside another one on the same clock, and no earlier,
/// costs no task and no sleep, in child tasks too; unless the outer one can be moved, or may be so
/// late by its tolerance that the inner one has to be set. Clocks are the same if they are of one
/// type and, being `Identifiable`, have equal ids; the system's clocks of one type are the same.
/// Between different clocks, the first that comes to its deadline cancels.
///
/// ## SE-0526
///
/// Names and semantics are those of SE-0526, `withDeadline`, so that code can move to the standard
/// library when that has it. As of Swift 6.3 a cancellation cannot say its reason: where SE-0526
/// has `CancellationError(reason: .deadlineExpired)`, this throws ``TimeoutError``, and therefore
/// is declared `throws` and not `throws(Failure)`.
///
/// - Parameters:
///   - expiration: The instant by which the operation is to end.
///   - tolerance: How much later the clock may let the deadline pass.
///   - clock: The clock that measures. The sleep is registered on it before the operation begins.
///   - name: What is being done: the name of the operation's task, and a part of the error.
///   - operation: What to do. It runs in a child task, and sees the caller's task-local values.
///
/// - Returns: What the operation returned.
/// - Throws: See the table above.
/// - Complexity: O(1): a task group, two tasks, and the clock's cost of a sleep. O(d) to look
///   through d deadlines around it.
public nonisolated(nonsending) func withDeadline<C: Clock, Return: ~Copyable>(
  _ expiration: C.Instant,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  if let limit = RealTimeLimit.from(instant: expiration, tolerance: tolerance, clock: clock) {
    return try await limit.run(name: name, operation)
  }
  return try await withDeadlineOnAnyClock(
    expiration, tolerance: tolerance, clock: clock, name: name, operation: operation)
}

/// Apart, because the types that depend on the clock's have to be looked up.
@inline(never)
private nonisolated(nonsending) func withDeadlineOnAnyClock<C: Clock, Return: ~Copyable>(
  _ expiration: C.Instant, tolerance: C.Duration?, clock: C, name: String?,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  let allowed = clock.now.duration(to: expiration)
  if allowed.isForEver { return try await operation() }
  let limit = TimeLimit(
    instant: expiration, allowed: allowed, tolerance: tolerance, clock: clock, name: name)
  return try await limit.run(operation)
}

/// Runs an operation and cancels it if it has not ended within a duration from now.
///
/// The name that SE-0526 gives to ``withTimeout(_:tolerance:clock:name:operation:)``, which see.
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
/// This is ``withDeadline(_:tolerance:clock:name:operation:)`` for the instant that is `timeout`
/// after the clock's `now`, and guarantees the same: the operation is joined, runs in the caller's
/// isolation, and may use and return what is not `Sendable`. Several calls that share a limit
/// should share a deadline instead; timeouts one after another add up.
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
///   - timeout: How long the operation may take. Zero or less lets it begin cancelled. A
///     `Swift.Duration` from 2⁶² seconds on means for ever; other types of duration are added to
///     `now` as they are, by the clock's own arithmetic.
///   - tolerance: How much later than its deadline the clock may let the timeout pass.
///   - clock: The clock that measures. The sleep is registered on it before the operation begins.
///   - name: What is being done: the name of the operation's task, and a part of the error.
///   - operation: What to do. It runs in a child task, and sees the caller's task-local values.
///
/// - Returns: What the operation returned, in time or late.
/// - Throws: The operation's error; ``TimeoutError`` in place of what it throws after the timeout
///   has cancelled it.
/// - Complexity: O(1): a task group, two tasks, and the clock's cost of a sleep.
public nonisolated(nonsending) func withTimeout<C: Clock, Return: ~Copyable>(
  _ timeout: C.Duration,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  if let limit = RealTimeLimit.from(timeout: timeout, tolerance: tolerance, clock: clock) {
    return try await limit.run(name: name, operation)
  }
  return try await withTimeoutOnAnyClock(
    timeout, tolerance: tolerance, clock: clock, name: name, operation: operation)
}

/// Apart, because the types that depend on the clock's have to be looked up.
@inline(never)
private nonisolated(nonsending) func withTimeoutOnAnyClock<C: Clock, Return: ~Copyable>(
  _ timeout: C.Duration, tolerance: C.Duration?, clock: C, name: String?,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  if timeout.isForEver { return try await operation() }
  let limit = TimeLimit(timeout: timeout, tolerance: tolerance, clock: clock, name: name)
  return try await limit.run(operation)
}

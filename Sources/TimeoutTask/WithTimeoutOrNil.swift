/// Runs an operation and moves on without its result if it has not ended by a deadline.
///
/// This is ``withDeadline(_:tolerance:clock:name:operation:)`` for code that can do without the
/// result, and guarantees the same. The operation is joined; where it comes back because the
/// deadline has cancelled it, `nil` takes the place of an error:
///
/// | the operation | comes back |
/// |---|---|
/// | returns, before or after the deadline | its result |
/// | throws before the deadline | its error |
/// | throws after the deadline has cancelled it | `nil` |
/// | throws after the clock's `sleep` has failed, which cancels it too | its error |
///
/// So nothing is thrown that the operation does not throw, and the compiler knows: an operation
/// that throws nothing needs no `try`.
///
/// If a deadline around this one passes first, the operation's error is passed on to that one.
///
/// - Parameters:
///   - expiration: The instant by which the operation is to end.
///   - tolerance: How much later the clock may let the deadline pass.
///   - clock: The clock that measures. The sleep is registered on it before the operation begins.
///   - name: What is being done: the name of the operation's task.
///   - operation: What to do. It runs in a child task, and sees the caller's task-local values.
///
/// - Returns: What the operation returned, or `nil` if the deadline made it throw.
/// - Throws: The operation's error.
/// - Complexity: O(1): a task group, two tasks, and the clock's cost of a sleep.
public nonisolated(nonsending) func withDeadlineOrNil<
  C: Clock, Return: ~Copyable, Failure: Error
>(
  _ expiration: C.Instant,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return? {
  let allowed = clock.now.duration(to: expiration)
  if allowed.isForEver { return try await operation() }
  let limit = TimeLimit(
    instant: expiration, allowed: allowed, tolerance: tolerance, clock: clock, name: name)
  return try await limit.runOrNil(operation)
}

/// Runs an operation and moves on without its result if it has not ended within a duration from
/// now.
///
/// This is ``withDeadlineOrNil(_:tolerance:clock:name:operation:)`` for the instant that is
/// `timeout` after the clock's `now`.
///
/// ```swift
/// let suggestions = await withTimeoutOrNil(.milliseconds(200)) { await index.suggestions() } ?? []
/// ```
///
/// - Parameters:
///   - timeout: How long the operation may take. Zero or less lets it begin cancelled. A
///     `Swift.Duration` from 2⁶² seconds on means for ever.
///   - tolerance: How much later than its deadline the clock may let the timeout pass.
///   - clock: The clock that measures. The sleep is registered on it before the operation begins.
///   - name: What is being done: the name of the operation's task.
///   - operation: What to do. It runs in a child task, and sees the caller's task-local values.
///
/// - Returns: What the operation returned, or `nil` if the timeout made it throw.
/// - Throws: The operation's error.
/// - Complexity: O(1): a task group, two tasks, and the clock's cost of a sleep.
public nonisolated(nonsending) func withTimeoutOrNil<
  C: Clock, Return: ~Copyable, Failure: Error
>(
  _ timeout: C.Duration,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return? {
  if timeout.isForEver { return try await operation() }
  let limit = TimeLimit(
    timeout: timeout, tolerance: tolerance, clock: clock, name: name)
  return try await limit.runOrNil(operation)
}

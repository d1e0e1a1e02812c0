/// Runs an operation and returns `nil` if a deadline has made it throw.
///
/// This is ``withDeadline(_:tolerance:clock:name:operation:)`` for a result that is not required.
/// It gives the same guarantees and waits for the operation:
///
/// | the operation | the call |
/// |---|---|
/// | returns, before or after the deadline | returns its result |
/// | throws before the deadline | throws its error |
/// | throws after the deadline has cancelled it | returns `nil` |
/// | throws after the clock's `sleep` has failed, which cancels it too | throws its error |
///
/// The call throws only what the operation throws: an operation that throws nothing needs no `try`.
///
/// If a deadline around this one passes first, this call throws the operation's error, and the
/// outer call handles it.
///
/// - Parameters:
///   - expiration: The instant by which the operation has to end.
///   - tolerance: How much later the clock may let the deadline pass.
///   - clock: The clock to sleep on. The sleep is registered before the operation begins.
///   - name: The name of the operation's task.
///   - operation: What to do. It runs in a child task, and inherits task-local values.
///
/// - Returns: The operation's result, or `nil` if the deadline made it throw.
/// - Throws: The operation's error.
/// - Complexity: As ``withDeadline(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withDeadlineOrNil<
  C: Clock, Return: ~Copyable, Failure: Error
>(
  _ expiration: C.Instant,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return? {
  guard
    let deadline = OperationDeadline.at(expiration, tolerance: tolerance, on: clock, name: name)
  else { return try await operation() }
  return try await deadline.runOrNil(operation)
}

/// Runs an operation and returns `nil` if a timeout has made it throw.
///
/// This is ``withDeadlineOrNil(_:tolerance:clock:name:operation:)`` for the clock's `now` plus
/// `timeout`.
///
/// ```swift
/// let suggestions = await withTimeoutOrNil(.milliseconds(200)) { await index.suggestions() } ?? []
/// ```
///
/// - Parameters:
///   - timeout: How long the operation may take. With zero or less it begins cancelled. A
///     `Swift.Duration` from 2⁶² seconds on never passes.
///   - tolerance: How much later than its deadline the clock may let the timeout pass.
///   - clock: The clock to sleep on. The sleep is registered before the operation begins.
///   - name: The name of the operation's task.
///   - operation: What to do. It runs in a child task, and inherits task-local values.
///
/// - Returns: The operation's result, or `nil` if the timeout made it throw.
/// - Throws: The operation's error.
/// - Complexity: As ``withTimeout(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withTimeoutOrNil<
  C: Clock, Return: ~Copyable, Failure: Error
>(
  _ timeout: C.Duration,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return? {
  guard
    let deadline = OperationDeadline.after(timeout, tolerance: tolerance, on: clock, name: name)
  else { return try await operation() }
  return try await deadline.runOrNil(operation)
}

/// Runs an operation and returns `nil` if a deadline of the `ContinuousClock` has made it throw.
///
/// See ``withDeadlineOrNil(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withDeadlineOrNil<Return: ~Copyable, Failure: Error>(
  _ expiration: ContinuousClock.Instant,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return? {
  try await withDeadlineOrNil(
    expiration, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

/// Runs an operation with a timeout on the `ContinuousClock`. Returns `nil` if the operation throws because of it.
///
/// See ``withTimeoutOrNil(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withTimeoutOrNil<Return: ~Copyable, Failure: Error>(
  _ timeout: Duration,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return? {
  try await withTimeoutOrNil(
    timeout, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

/// Runs an operation with a timeout in seconds. Returns `nil` if the operation throws because of the timeout.
///
/// See ``withTimeoutOrNil(_:tolerance:clock:name:operation:)`` and ``withTimeout(seconds:name:operation:)``.
public nonisolated(nonsending) func withTimeoutOrNil<Return: ~Copyable, Failure: Error>(
  seconds: Double,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return? {
  try await withTimeoutOrNil(
    Duration(timeoutInSeconds: seconds), clock: ContinuousClock(), name: name,
    operation: operation)
}

// The same functions on the clock that is meant where none is given. They are functions of their own
// because Swift 6.2 does not take a default for a parameter that others' types are inferred from.

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

/// Runs an operation and cancels it if it has not ended within a duration of the `ContinuousClock`
/// from now.
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

/// Runs an operation and cancels it if it has not ended within a duration of the `ContinuousClock`
/// from now.
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

/// Runs an operation and moves on without its result if it has not ended by a deadline of the
/// `ContinuousClock`.
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

/// Runs an operation and moves on without its result if it has not ended within a duration of the
/// `ContinuousClock` from now.
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

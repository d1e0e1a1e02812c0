// The same functions without a clock: they measure with `ContinuousClock`. These are functions of their
// own, because older compilers know no default for an argument by which a generic parameter is found.

/// ``withDeadline(_:tolerance:clock:name:operation:)`` on the `ContinuousClock`.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable>(
  _ expiration: ContinuousClock.Instant,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withDeadline(
    expiration, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

/// ``withDeadline(in:tolerance:clock:name:operation:)`` on the `ContinuousClock`.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable>(
  in timeout: Duration,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withDeadline(
    in: timeout, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

/// ``withTimeout(_:tolerance:clock:name:operation:)`` on the `ContinuousClock`.
public nonisolated(nonsending) func withTimeout<Return: ~Copyable>(
  _ timeout: Duration,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withTimeout(
    timeout, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

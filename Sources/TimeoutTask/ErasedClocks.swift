// Overloads for a clock whose type is not known.
//
// Swift opens an `any Clock<Duration>` that is passed to a generic function, but not if the argument's name also names
// a function. The C library has a function `clock()`, so a property `clock` is not opened in a file that imports it.
//
// These functions are disfavored, so all other calls select the generic functions, and so do the calls in this file.
// They are not in the documentation, because links to the generic functions would be ambiguous. None has the label
// `body:`, because a trailing closure would fit it, too.

/// Runs an operation and cancels it if it has not ended within a duration from now.
///
/// Like the generic overload, for a clock whose type is not known.
@_documentation(visibility: private)
@_disfavoredOverload
public nonisolated(nonsending) func withTimeout<Return: ~Copyable>(
  _ timeout: Duration,
  tolerance: Duration? = nil,
  clock: any Clock<Duration>,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withTimeout(
    timeout, tolerance: tolerance, clock: clock, name: name, operation: operation)
}

/// Runs an operation and cancels it if it has not ended within a duration from now.
///
/// Like the generic overload, for a clock whose type is not known.
@_documentation(visibility: private)
@_disfavoredOverload
public nonisolated(nonsending) func withDeadline<Return: ~Copyable>(
  in timeout: Duration,
  tolerance: Duration? = nil,
  clock: any Clock<Duration>,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  try await withDeadline(
    in: timeout, tolerance: tolerance, clock: clock, name: name, operation: operation)
}

/// Runs an operation and returns `nil` if a timeout has made it throw.
///
/// Like the generic overload, for a clock whose type is not known.
@_documentation(visibility: private)
@_disfavoredOverload
public nonisolated(nonsending) func withTimeoutOrNil<Return: ~Copyable, Failure: Error>(
  _ timeout: Duration,
  tolerance: Duration? = nil,
  clock: any Clock<Duration>,
  name: String? = nil,
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return? {
  try await withTimeoutOrNil(
    timeout, tolerance: tolerance, clock: clock, name: name, operation: operation)
}

/// Runs an operation again while it fails, with pauses in between.
///
/// Like the generic overload, for a clock whose type is not known.
@_documentation(visibility: private)
@_disfavoredOverload
public nonisolated(nonsending) func withRetry<
  Return: ~Copyable, Failure: Error, Generator: RandomNumberGenerator
>(
  attempts: Int = 3,
  backoff: Backoff = .exponential(from: .milliseconds(100), upTo: .seconds(10)),
  budget: Duration? = nil,
  tolerance: Duration? = nil,
  clock: any Clock<Duration>,
  using generator: inout Generator,
  if shouldRetry: (Failure) -> Bool = { _ in true },
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
  try await withRetry(
    attempts: attempts, backoff: backoff, budget: budget, tolerance: tolerance, clock: clock,
    using: &generator, if: shouldRetry, operation: operation)
}

/// Runs an operation again while it fails, with pauses that the system's generator randomizes.
///
/// Like the generic overload, for a clock whose type is not known.
@_documentation(visibility: private)
@_disfavoredOverload
public nonisolated(nonsending) func withRetry<Return: ~Copyable, Failure: Error>(
  attempts: Int = 3,
  backoff: Backoff = .exponential(from: .milliseconds(100), upTo: .seconds(10)),
  budget: Duration? = nil,
  tolerance: Duration? = nil,
  clock: any Clock<Duration>,
  if shouldRetry: (Failure) -> Bool = { _ in true },
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
  try await withRetry(
    attempts: attempts, backoff: backoff, budget: budget, tolerance: tolerance, clock: clock,
    if: shouldRetry, operation: operation)
}

extension TimeoutTask {
  /// Starts work that fails unless it ends within a duration on a clock.
  ///
  /// Like the generic overload, for a clock whose type is not known.
  @_documentation(visibility: private)
  @_disfavoredOverload
  @discardableResult
  public convenience init(
    timeout: Duration,
    tolerance: Duration? = nil,
    clock: any Clock<Duration>,
    name: String? = nil,
    priority: TaskPriority? = nil,
    endsWithLastWaiter: Bool = true,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success,
    onLateResult: (@Sendable (Result<Success, any Error>) -> Void)? = nil
  ) {
    self.init(
      timeout: timeout, tolerance: tolerance, clock: clock, name: name, priority: priority,
      endsWithLastWaiter: endsWithLastWaiter, operation: operation, onLateResult: onLateResult)
  }
}

extension Deadline {
  /// Returns the instant at which the current task is cancelled: the earliest of its deadlines on `clock`.
  ///
  /// Like the generic overload, for a clock whose type is not known.
  @_documentation(visibility: private)
  @_disfavoredOverload
  public static func current(
    on clock: any Clock<Duration>
  ) -> (any InstantProtocol<Duration>)? {
    current(on: clock)
  }

  /// Returns the time until the current task is cancelled; zero if the deadline has passed.
  ///
  /// Like the generic overload, for a clock whose type is not known.
  @_documentation(visibility: private)
  @_disfavoredOverload
  public static func remaining(on clock: any Clock<Duration>) -> Duration? {
    remaining(on: clock)
  }
}

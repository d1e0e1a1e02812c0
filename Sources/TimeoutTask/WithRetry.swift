/// Runs an operation again while it fails, with a pause before each further attempt.
///
/// ```swift
/// let user = try await withRetry(attempts: 4, backoff: .constant(.seconds(1))) {
///   try await server.user()
/// }
/// ```
///
/// ## When it gives up
///
/// What comes back is the operation's result, or the error of its last attempt. There is no further
/// attempt, and no pause before one, if
///
/// - `attempts` have been made;
/// - `shouldRetry` says so of the error;
/// - the next attempt would begin when the budget is spent: at `budget` after the first one, or
///   later;
/// - the next attempt would begin at the deadline of the current task on the same clock, or later
///   (see ``Deadline``): nothing is gained by waiting for it;
/// - the current task is cancelled. A pause ends at once then, and the error of the last attempt
///   comes back. Under a deadline that error is inside the ``TimeoutError``, which so tells why
///   there was something to wait for;
/// - the clock's `sleep` throws.
///
/// A limit to each attempt is a ``withTimeout(_:tolerance:clock:name:operation:)`` in the
/// operation; a limit that cancels an attempt under way, too, is one around all of it. The budget
/// does neither.
///
/// Nothing is thrown that the operation does not throw, and the compiler knows. The operation runs
/// in the caller's task and isolation.
///
/// ## In a test
///
/// On a test clock, and with a generator whose numbers are known, every pause is exact.
///
/// - Parameters:
///   - attempts: How often the operation is run at most; less than one counts as one.
///   - backoff: How long to pause.
///   - budget: The time, counted from here, within which every attempt has to begin; `nil` sets no
///     limit.
///   - tolerance: How much longer the clock may let a pause be.
///   - clock: The clock that measures.
///   - generator: Where the chance in `backoff` comes from.
///   - shouldRetry: Whether it may help to try again after an error.
///   - operation: What to do.
/// - Returns: What the operation returned.
/// - Throws: The error of the last attempt.
/// - Complexity: O(1) for each attempt, and the clock's cost of a sleep.
public nonisolated(nonsending) func withRetry<
  C: Clock, Return: ~Copyable, Failure: Error, Generator: RandomNumberGenerator
>(
  attempts: Int = 3,
  backoff: Backoff = .exponential(from: .milliseconds(100), upTo: .seconds(10)),
  budget: Duration? = nil,
  tolerance: Duration? = nil,
  clock: C = ContinuousClock(),
  using generator: inout Generator,
  if shouldRetry: (Failure) -> Bool = { _ in true },
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return where C.Duration == Duration {
  let end = budget.flatMap { $0.isForEver ? nil : clock.now.advanced(by: max($0, .zero)) }
  var failures = 0
  while true {
    do throws(Failure) {
      return try await operation()
    } catch {
      failures += 1
      guard failures < attempts, !Task.isCancelled, shouldRetry(error) else { throw error }
      let delay = backoff.delay(afterFailures: failures, using: &generator)
      let next = clock.now.advanced(by: delay)
      if let end, end <= next { throw error }
      if let deadline = Deadline.current(on: clock), deadline <= next { throw error }
      let isAwake: ()? = try? await clock.sleep(until: next, tolerance: tolerance)
      if isAwake == nil || Task.isCancelled { throw error }
    }
  }
}

/// Runs an operation again while it fails, with a pause before each further attempt that the
/// system's generator spreads.
///
/// See ``withRetry(attempts:backoff:budget:tolerance:clock:using:if:operation:)``.
public nonisolated(nonsending) func withRetry<C: Clock, Return: ~Copyable, Failure: Error>(
  attempts: Int = 3,
  backoff: Backoff = .exponential(from: .milliseconds(100), upTo: .seconds(10)),
  budget: Duration? = nil,
  tolerance: Duration? = nil,
  clock: C = ContinuousClock(),
  if shouldRetry: (Failure) -> Bool = { _ in true },
  operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return where C.Duration == Duration {
  var generator = SystemRandomNumberGenerator()
  return try await withRetry(
    attempts: attempts, backoff: backoff, budget: budget, tolerance: tolerance, clock: clock,
    using: &generator, if: shouldRetry, operation: operation)
}

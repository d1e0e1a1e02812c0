/// Runs an operation again while it fails, with a pause before each further attempt.
///
/// ```swift
/// let user = try await withRetry(attempts: 4, backoff: .constant(.seconds(1))) {
///   try await server.user()
/// }
/// ```
///
/// ## When it stops
///
/// The call returns the operation's result, or throws the error of its last attempt. There is no
/// further attempt, and no pause before one, if
///
/// - `attempts` have been made;
/// - `shouldRetry` returns `false` for the error;
/// - the next attempt would begin at `budget` after the first one, or later (a pause that lasts longer than
///   planned, and so beyond the budget, is the last one);
/// - the next attempt would begin at the current task's deadline on the same clock, or later (see
///   ``Deadline``);
/// - the current task is cancelled (see below);
/// - the clock's `sleep` throws.
///
/// To limit each attempt, call ``withTimeout(_:tolerance:clock:name:operation:)`` in the operation.
/// The budget cancels nothing. To cancel a running attempt when the total time is over, call
/// `withTimeout` around `withRetry`.
///
/// ## Cancellation
///
/// A pause ends immediately when the current task is cancelled. The call then throws
///
/// - the error of the last attempt, if a deadline around the call has cancelled the task. The
///   ``TimeoutError`` of that deadline contains the error, and a ``TimeoutTask`` passes the error to its
///   `onLateResult`;
/// - the error of the last attempt, if the operation's error type does not allow `CancellationError`;
/// - `CancellationError` otherwise.
///
/// If an attempt fails after the cancellation, there is no further attempt, and its error is thrown.
///
/// ## Errors
///
/// The call throws only what the operation throws, and `CancellationError` as above. The operation
/// runs in the caller's task and isolation.
///
/// With a test clock and a generator of known numbers, a test knows the exact length of each pause.
///
/// - Parameters:
///   - attempts: The maximum number of attempts; less than one counts as one.
///   - backoff: The length of the pauses.
///   - budget: The time from now on within which each attempt has to begin; `nil` sets no limit.
///   - tolerance: How much longer than its delay a pause may last.
///   - clock: The clock that measures the time.
///   - generator: The source of randomness for `backoff`.
///   - shouldRetry: Returns whether another attempt is useful after an error.
///   - operation: What to do.
/// - Returns: The operation's result.
/// - Throws: The error of the last attempt; `CancellationError` if the caller is cancelled in a pause.
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
  let end = budget.flatMap { $0.isForEver ? nil : clock.now.after($0) }
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
      let isAwake: ()? = try? await clock.sleep(
        until: next, tolerance: tolerance.map(\.asTolerance))
      if Task.isCancelled, ActiveDeadline.current?.hasPassed != true,
        let cancellation = CancellationError() as? Failure
      {
        throw cancellation
      }
      if isAwake == nil || Task.isCancelled { throw error }
      // The pause may have lasted longer than planned, within its tolerance or while the machine was suspended.
      if let end, end <= clock.now { throw error }
    }
  }
}

/// Runs an operation again while it fails, with pauses that the system's generator randomizes.
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
  var generator = SystemGenerator()
  return try await withRetry(
    attempts: attempts, backoff: backoff, budget: budget, tolerance: tolerance, clock: clock,
    using: &generator, if: shouldRetry, operation: operation)
}

/// The system's generator, with a size.
///
/// `SystemRandomNumberGenerator` is empty, so a variable of it has no address of its own. ThreadSanitizer reports a race
/// if several tasks pass such variables `inout`.
private struct SystemGenerator: RandomNumberGenerator {
  private var base = SystemRandomNumberGenerator()
  private var size: UInt8 = 0

  init() {}

  mutating func next() -> UInt64 { base.next() }
}

/// The delays before further attempts at an operation that fails.
///
/// The delay grows from one attempt to the next, which relieves an overloaded server. It is
/// randomized so that clients that failed together do not retry together.
///
/// ```swift
/// let patient = Backoff.exponential(from: .milliseconds(100), upTo: .seconds(10))
/// ```
///
/// No value traps: a negative duration counts as zero, a factor below one as one.
public struct Backoff: Hashable, Sendable {
  /// How a delay is randomized.
  public enum Jitter: Hashable, Sendable {
    /// The delay is not randomized.
    case none
    /// A uniformly random duration between half of the delay and the delay.
    case equal
    /// A uniformly random duration between zero and the delay. It spreads clients best.
    case full
  }

  /// The delay before the second attempt.
  public let first: Duration
  /// The factor by which the delay grows after each attempt.
  public let factor: Int
  /// The longest delay.
  public let longest: Duration
  /// How the delays are randomized.
  public let jitter: Jitter

  private init(first: Duration, factor: Int, longest: Duration, jitter: Jitter) {
    self.first = min(max(first, .zero), .forEver)
    self.factor = max(factor, 1)
    self.longest = min(max(longest, .zero), .forEver)
    self.jitter = jitter
  }

  /// Returns a backoff with the same delay before each attempt.
  ///
  /// - Parameters:
  ///   - delay: The delay. With zero or less the next attempt begins immediately.
  ///   - jitter: How the delay is randomized.
  public static func constant(_ delay: Duration, jitter: Jitter = .none) -> Backoff {
    Backoff(first: delay, factor: 1, longest: delay, jitter: jitter)
  }

  /// Returns a backoff whose delay is multiplied after each attempt, up to `longest`.
  ///
  /// - Parameters:
  ///   - first: The delay before the second attempt.
  ///   - factor: The factor by which the delay grows.
  ///   - longest: The longest delay.
  ///   - jitter: How the delays are randomized.
  public static func exponential(
    from first: Duration, factor: Int = 2, upTo longest: Duration, jitter: Jitter = .full
  ) -> Backoff {
    Backoff(first: first, factor: factor, longest: longest, jitter: jitter)
  }

  /// Returns the delay after a number of failed attempts, without jitter.
  ///
  /// - Parameter failures: The number of failed attempts; less than one counts as one.
  /// - Complexity: O(log d) for the longest delay d.
  public func delay(afterFailures failures: Int) -> Duration {
    var delay = first.attoseconds
    let end = longest.attoseconds
    if factor > 1, delay > 0 {
      var failure = 1
      while failure < failures, delay < end {
        let (product, overflow) = delay.multipliedReportingOverflow(by: Int128(factor))
        delay = overflow ? end : product
        failure += 1
      }
    }
    return Duration(attoseconds: min(delay, end))
  }

  /// Returns the delay after a number of failed attempts, with jitter.
  ///
  /// The same generator in the same state gives the same delay. One number is drawn, or none
  /// without jitter. The delay grows in proportion to the number: zero gives the shortest delay,
  /// the greatest number the longest, less at most one attosecond for each 18 seconds.
  ///
  /// - Parameters:
  ///   - failures: The number of failed attempts; less than one counts as one.
  ///   - generator: The source of randomness.
  /// - Complexity: O(log d) for the longest delay d.
  public func delay(
    afterFailures failures: Int, using generator: inout some RandomNumberGenerator
  ) -> Duration {
    let longest = delay(afterFailures: failures).attoseconds
    let shortest: Int128
    switch jitter {
    case .none: return Duration(attoseconds: longest)
    case .equal: shortest = longest - longest / 2
    case .full: shortest = 0
    }
    // `random(in:using:)` is not used, because it draws numbers until one fits. With a test's
    // generator that always returns the same number, it might never return.
    let choices = UInt128(longest - shortest) + 1
    let (high, low) = choices.multipliedFullWidth(by: UInt128(generator.next()))
    return Duration(attoseconds: shortest + Int128(high << 64 | low >> 64))
  }
}

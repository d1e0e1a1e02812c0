/// How long to wait before each further attempt at something that fails.
///
/// The delay grows from one attempt to the next, so that whoever is overloaded is left alone; and
/// it is spread at random, so that those who failed together do not come back together.
///
/// ```swift
/// let patient = Backoff.exponential(from: .milliseconds(100), upTo: .seconds(10))
/// ```
///
/// Odd values have a meaning, and none traps: a negative duration is zero, a factor below one is
/// one.
public struct Backoff: Hashable, Sendable {
  /// How the delay is spread.
  public enum Jitter: Hashable, Sendable {
    /// The delay as it is.
    case none
    /// Anything between half of the delay and all of it, each as likely.
    case equal
    /// Anything between zero and the delay, each as likely. This spreads best.
    case full
  }

  /// The delay before the second attempt.
  public let first: Duration
  /// By how much the delay is multiplied after each attempt.
  public let factor: Int
  /// The longest delay.
  public let longest: Duration
  /// How the delay is spread.
  public let jitter: Jitter

  private init(first: Duration, factor: Int, longest: Duration, jitter: Jitter) {
    self.first = min(max(first, .zero), .forEver)
    self.factor = max(factor, 1)
    self.longest = min(max(longest, .zero), .forEver)
    self.jitter = jitter
  }

  /// The same delay before every attempt.
  ///
  /// - Parameters:
  ///   - delay: The delay. Zero or less tries again at once.
  ///   - jitter: How the delay is spread.
  public static func constant(_ delay: Duration, jitter: Jitter = .none) -> Backoff {
    Backoff(first: delay, factor: 1, longest: delay, jitter: jitter)
  }

  /// A delay that is multiplied after each attempt until it is long enough.
  ///
  /// - Parameters:
  ///   - first: The delay before the second attempt.
  ///   - factor: By how much the delay is multiplied.
  ///   - longest: The longest delay.
  ///   - jitter: How the delay is spread.
  public static func exponential(
    from first: Duration, factor: Int = 2, upTo longest: Duration, jitter: Jitter = .full
  ) -> Backoff {
    Backoff(first: first, factor: factor, longest: longest, jitter: jitter)
  }

  /// The delay after a number of failed attempts, before it is spread.
  ///
  /// - Parameter failures: How often it has failed; less than one counts as one.
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

  /// The delay after a number of failed attempts, spread.
  ///
  /// The same generator in the same state gives the same delay. It is asked for one number, and not
  /// at all without jitter: zero gives the shortest delay, the greatest number the longest, and
  /// what lies between them is in proportion.
  ///
  /// - Parameters:
  ///   - failures: How often it has failed; less than one counts as one.
  ///   - generator: Where the chance comes from.
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
    // Not `random(in:using:)`, which asks until it likes the number: a generator that a test made,
    // and which always gives the same one, would be asked for ever.
    let choices = UInt128(longest - shortest) + 1
    let (high, low) = choices.multipliedFullWidth(by: UInt128(generator.next()))
    return Duration(attoseconds: shortest + Int128(high << 64 | low >> 64))
  }
}

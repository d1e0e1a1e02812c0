extension Swift.Duration {
  /// The longest time that any clock is asked to sleep: some 146 thousand million years, which
  /// stand for "for ever".
  ///
  /// It is half of the seconds that an `Int64` can count. The clocks of the standard library trap
  /// at a deadline of more seconds than an `Int64` can count, and at one beyond the range of
  /// `Duration`; half as much leaves room for the time that has passed on them.
  static var longestSleep: Self { .seconds(Int64.max / 2) }
}

/// The duration itself, or the longest sleep if it is a `Swift.Duration` and longer than that.
///
/// - Complexity: O(1).
func boundedByLongestSleep<D: DurationProtocol>(_ duration: D) -> D {
  guard D.self == Swift.Duration.self else { return duration }
  return min(duration, unsafeBitCast(Swift.Duration.longestSleep, to: D.self))
}

/// Adds two durations. If the sum is out of range, returns the nearest end of the range.
///
/// "Sleep forever" is written as a very long sleep, and `Clock.sleep(for:)` adds that to `now`. The sum
/// must be a deadline that is never due, not a trap.
@inlinable package func saturatingSum(_ a: Swift.Duration, _ b: Swift.Duration) -> Swift.Duration {
  let (sum, isOutOfRange) = a.attoseconds.addingReportingOverflow(b.attoseconds)
  return isOutOfRange ? endOfRange(near: a) : Swift.Duration(attoseconds: sum)
}

/// Subtracts `b` from `a`, saturating like `saturatingSum`.
@inlinable package func saturatingDifference(
  _ a: Swift.Duration, _ b: Swift.Duration
) -> Swift.Duration {
  let (difference, isOutOfRange) = a.attoseconds.subtractingReportingOverflow(b.attoseconds)
  return isOutOfRange ? endOfRange(near: a) : Swift.Duration(attoseconds: difference)
}

/// A sum or a difference leaves the range only on the side of its first operand.
@inlinable package func endOfRange(near first: Swift.Duration) -> Swift.Duration {
  Swift.Duration(attoseconds: first.attoseconds < 0 ? .min : .max)
}

/// Adds two durations of any type. Types other than `Swift.Duration` do not state their range.
@inlinable package func saturatingSum<D: DurationProtocol>(_ a: D, _ b: D) -> D {
  guard D.self == Swift.Duration.self else { return a + b }
  return asDurations(a, b, saturatingSum)
}

@inlinable package func saturatingDifference<D: DurationProtocol>(_ a: D, _ b: D) -> D {
  guard D.self == Swift.Duration.self else { return a - b }
  return asDurations(a, b, saturatingDifference)
}

/// Combines two durations that are known to be `Swift.Duration`s.
@inlinable package func asDurations<D: DurationProtocol>(
  _ a: D, _ b: D, _ combine: (Swift.Duration, Swift.Duration) -> Swift.Duration
) -> D {
  // The types are equal, so the bit casts are valid, and specialized code contains no casts.
  let result = combine(
    unsafeBitCast(a, to: Swift.Duration.self), unsafeBitCast(b, to: Swift.Duration.self))
  return unsafeBitCast(result, to: D.self)
}

extension Swift.Duration {
  /// The longest duration that any clock is asked to sleep, some 146 thousand million years.
  ///
  /// The standard library's clocks trap at a deadline of more seconds than an `Int64` can count. Half of that
  /// leaves room for the time that has passed.
  package static var longestSleep: Self { .seconds(Int64.max / 2) }
}

/// Returns the duration. A `Swift.Duration` is limited to `longestSleep`, and a negative one to its opposite.
package func boundedByLongestSleep<D: DurationProtocol>(_ duration: D) -> D {
  guard D.self == Swift.Duration.self else { return duration }
  let longest = unsafeBitCast(Swift.Duration.longestSleep, to: D.self)
  return min(max(duration, .zero - longest), longest)
}

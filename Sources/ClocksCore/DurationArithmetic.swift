/// Adds two durations. If a sum of `Swift.Duration`s is out of range, returns the nearest end of the range.
///
/// "Sleep forever" is written as a very long sleep, and `Clock.sleep(for:)` adds that to `now`. The sum
/// must be a deadline that is never due, not a trap. Other duration types do not state their range.
@inlinable package func saturatingSum<D: DurationProtocol>(_ a: D, _ b: D) -> D {
  guard D.self == Swift.Duration.self else { return a + b }
  return saturating(a, b) { $0.addingReportingOverflow($1) }
}

/// Subtracts `b` from `a`, saturating like `saturatingSum`.
@inlinable package func saturatingDifference<D: DurationProtocol>(_ a: D, _ b: D) -> D {
  guard D.self == Swift.Duration.self else { return a - b }
  return saturating(a, b) { $0.subtractingReportingOverflow($1) }
}

/// Combines two durations that are known to be `Swift.Duration`s.
@inlinable package func saturating<D: DurationProtocol>(
  _ a: D, _ b: D, _ combine: (Int128, Int128) -> (partialValue: Int128, overflow: Bool)
) -> D {
  // Both types are `Swift.Duration`, so the bit casts are valid, and specialized code contains no casts.
  let a = unsafeBitCast(a, to: Swift.Duration.self).attoseconds
  let b = unsafeBitCast(b, to: Swift.Duration.self).attoseconds
  let (result, isOutOfRange) = combine(a, b)
  // A sum or a difference leaves the range only on the side of its first operand.
  let attoseconds = !isOutOfRange ? result : a < 0 ? .min : .max
  return unsafeBitCast(Swift.Duration(attoseconds: attoseconds), to: D.self)
}

extension Swift.Duration {
  /// The longest duration that any clock is asked to sleep, some 146 thousand million years.
  ///
  /// The standard library's clocks trap at a deadline of more seconds than an `Int64` can count. Half of that
  /// leaves room for the time that has passed.
  package static var longestSleep: Self { .seconds(Int64.max / 2) }
}

/// Returns the duration, or the longest sleep if it is a longer `Swift.Duration`.
package func boundedByLongestSleep<D: DurationProtocol>(_ duration: D) -> D {
  guard D.self == Swift.Duration.self else { return duration }
  return min(duration, unsafeBitCast(Swift.Duration.longestSleep, to: D.self))
}

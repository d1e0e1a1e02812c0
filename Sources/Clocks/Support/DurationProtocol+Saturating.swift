/// Adds two durations; where the sum of two `Swift.Duration`s is out of range, returns the end of
/// the range on that side.
///
/// "Sleep for ever" is written as a sleep for a very long time, and `Clock.sleep(for:)` adds that
/// to `now`: the sum is a deadline that is never due, and not a trap. No other type of duration
/// says where its range ends; their own `+` decides.
///
/// - Complexity: O(1).
func saturatingSum<D: DurationProtocol>(_ a: D, _ b: D) -> D {
  guard D.self == Swift.Duration.self else { return a + b }
  return saturating(a, b) { $0.addingReportingOverflow($1) }
}

/// Subtracts `b` from `a`, with the same care as `saturatingSum`: how far it is from an instant
/// near one end of time to one near the other is a question with an answer, too.
///
/// - Complexity: O(1).
func saturatingDifference<D: DurationProtocol>(_ a: D, _ b: D) -> D {
  guard D.self == Swift.Duration.self else { return a - b }
  return saturating(a, b) { $0.subtractingReportingOverflow($1) }
}

/// Combines two durations that are known to be `Swift.Duration`s.
private func saturating<D: DurationProtocol>(
  _ a: D, _ b: D, _ combine: (Int128, Int128) -> (partialValue: Int128, overflow: Bool)
) -> D {
  // The types are the same one, and the compiler drops the casts where it knows that.
  let a = unsafeBitCast(a, to: Swift.Duration.self).attoseconds
  let b = unsafeBitCast(b, to: Swift.Duration.self).attoseconds
  let (result, isOutOfRange) = combine(a, b)
  // A sum and a difference leave the range only on the side of their first operand.
  let attoseconds = !isOutOfRange ? result : a < 0 ? .min : .max
  return unsafeBitCast(Swift.Duration(attoseconds: attoseconds), to: D.self)
}

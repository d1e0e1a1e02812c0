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
  // The types are the same one, and the compiler drops the casts where it knows that.
  let sum = saturatingSum(
    unsafeBitCast(a, to: Swift.Duration.self), unsafeBitCast(b, to: Swift.Duration.self))
  return unsafeBitCast(sum, to: D.self)
}

private func saturatingSum(_ a: Swift.Duration, _ b: Swift.Duration) -> Swift.Duration {
  let (sum, isOutOfRange) = a.attoseconds.addingReportingOverflow(b.attoseconds)
  // Only two summands of the same sign can leave the range, and they leave it on that sign's side.
  return Swift.Duration(attoseconds: !isOutOfRange ? sum : a < .zero ? .min : .max)
}

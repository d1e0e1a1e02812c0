/// The one place in which it is decided what comes first among equals.
///
/// Two questions are left open by the semantics of time: which of several ready jobs runs, and
/// which of several sleeps with the same deadline wakes. Both are answered here, and both answers
/// are: first in, first out.
struct SchedulingOrder {
  /// The position, in order of arrival, of the job to run next among `count` ready jobs. O(1).
  @inline(__always)
  func nextJob(among count: Int) -> Int { 0 }

  /// The rank of a sleep among sleeps with the same deadline; the lowest wakes first. O(1).
  @inline(__always)
  func rank(ofRegistration number: UInt64) -> UInt64 { number }
}

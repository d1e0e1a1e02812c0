import Synchronization

/// The number of tasks, of all tests, that are away: so that the end of a job costs no more than a
/// look at it while there are none.
enum AwayCount {
  private static let count = Atomic<Int>(0)

  /// Counts one more. Whoever does so looks at the task once more afterwards: either that look finds
  /// that it has come back, or whoever brought it back finds it counted.
  static func increment() { count.add(1, ordering: .sequentiallyConsistent) }

  static func decrement() { count.subtract(1, ordering: .sequentiallyConsistent) }

  /// Whether there are none, as of the job that has just ended on this thread.
  @inline(__always)
  static var isZero: Bool {
    // What the job did to tasks comes before the look, on this thread and for all others.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return count.load(ordering: .relaxed) == 0
  }
}

import ClocksSupport

/// The real time that a job has spent in run loops, which may be nested.
struct TimeInRunLoops {
  private var sum: UInt64 = 0
  private var depth = 0
  private var start: RealTime?

  var isRunning: Bool { depth > 0 }

  mutating func begin() {
    if depth == 0 { start = RealTime(in: .zero) }
    depth += 1
  }

  mutating func end() {
    depth -= 1
    guard depth == 0 else { return }
    sum = nanoseconds
    start = nil
  }

  /// The time in run loops up to now, including a run loop in progress.
  var nanoseconds: UInt64 { sum + (start?.nanosecondsSince ?? 0) }
}

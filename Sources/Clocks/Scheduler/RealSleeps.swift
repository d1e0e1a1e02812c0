import ClocksSupport

/// The sleeps of a test's tasks on the runtime's clocks, in real time: nobody has injected a clock there.
/// It is told of them where a sleep was waited for in vain.
struct RealSleeps {
  /// When each task is to wake that has begun such a sleep; a cancelled sleep ends earlier.
  private var ends: [UInt64: RealTime] = [:]

  /// Notes that a task begins one. Amortized O(1).
  mutating func begin(_ task: UInt64, until end: RealTime) {
    if ends.count >= 64 { ends = ends.filter { !$0.value.hasPassed } }
    ends[task] = end
  }

  /// What is under way, for example `task #12 for 0.9 seconds more`, in the order of the tasks.
  var lines: [String] {
    ends.sorted { $0.key < $1.key }.compactMap { task, end in
      guard let left = end.nanosecondsLeft, left > 0 else { return nil }
      let tenths = (Double(left) / 1e8).rounded(.up) / 10
      return "task #\(task) for \(tenths) seconds more"
    }
  }
}

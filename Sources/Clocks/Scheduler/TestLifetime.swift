/// The tasks of which a test is known to consist, as far as it matters whether the test is over: those
/// that made its clocks, or else those that use them.
struct TestLifetime {
  /// Tasks that may not be over yet.
  private var tasks: [RetainedTask] = []
  /// Whether there ever was one.
  private(set) var isKnown = false

  /// Whether there was a task, and all are over.
  var areOver: Bool { isKnown && tasks.allSatisfy(\.isOver) }

  /// Those that may not be over yet, as jobs.
  var all: [UnownedJob] { tasks.map(\.job) }

  /// Adds the task that makes a clock. Returns what is not needed any more, to be let go of without a
  /// lock.
  mutating func add(maker task: RetainedTask?) -> [RetainedTask] {
    guard let task else { return [] }
    isKnown = true
    let over = tasks.filter(\.isOver)
    tasks.removeAll { $0.isOver || $0 == task }
    tasks.append(task)
    return over
  }

  /// Adds a child task that uses a clock, if whoever made the test's clocks is over, or is not known:
  /// then it is the test that goes on.
  mutating func add(user task: RetainedTask?) -> [RetainedTask] {
    isKnown && !areOver ? [] : add(maker: task)
  }
}

/// The test cases that use a clock: more than one at once if it is shared. Used within
/// `Scheduler.change` only.
final class ClockUsers: Sendable {
  /// Those that may not be over yet.
  @exclusivity(unchecked) nonisolated(unsafe) private var tasks: [RetainedTask] = []
  @exclusivity(unchecked) nonisolated(unsafe) private var isReported = false

  /// Adds one, and returns how many there are at once if that is more than one, and is not known yet;
  /// and what is not needed any more, to be let go of without a lock.
  func add(_ task: RetainedTask) -> (shared: Int?, over: [RetainedTask]) {
    let over = tasks.filter(\.isOver)
    tasks.removeAll { $0.isOver || $0 == task }
    tasks.append(task)
    guard tasks.count > 1, !isReported else { return (nil, over) }
    isReported = true
    return (tasks.count, over)
  }
}

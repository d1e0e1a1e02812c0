/// What of a test's own task a failure needs that is found on another thread.
///
/// A test library knows by a task-local value which test a failure belongs to, so only a task that
/// inherited the values of the test's own can record it. This keeps one that has not started.
final class TestContext: Sendable {
  /// What the task is to do. It is set before the task starts, or never.
  private final class Work: @unchecked Sendable {
    var report: (@Sendable () -> Void)?
  }

  private let lock = Lock()
  /// The task, until it starts; guarded by the lock.
  nonisolated(unsafe) private var task: HeldTask?
  private let work = Work()

  /// Makes the context of the current task's test.
  init() {
    task = HeldTask { [work] in work.report?() }
  }

  deinit {
    // It has nothing to do, and ends at once.
    task?.runHere()
    lock.destroy()
  }

  /// Runs `report` here and now, the first one on behalf of the test: the threads on which the test could run
  /// it may all be held.
  func run(_ report: @escaping @Sendable () -> Void) {
    let task = lock.withLock {
      defer { self.task = nil }
      return self.task
    }
    guard let task else { return report() }
    work.report = report
    task.runHere()
  }
}

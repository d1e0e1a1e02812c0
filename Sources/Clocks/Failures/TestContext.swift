import ClocksSupport

/// What of a test's own task a failure needs that is found on another thread.
///
/// A test library knows by a task-local value which test a failure belongs to, so only a task that
/// inherited the values of the test's own can record it. This keeps one that has not started; when it
/// starts, the first thing that it does is to make the next one.
final class TestContext: Sendable {
  /// A task that has not started.
  private final class Waiting: @unchecked Sendable {
    /// What it is to do. It is set before the task starts, or never.
    var work: (@Sendable () -> Void)?
    private var task: UnstartedTask?

    /// Makes a task with the values of the current one; `nil` where tasks cannot be held back.
    init?() {
      // The task keeps this until it has run, and it is always run.
      task = UnstartedTask { [self] in work?() }
      if task == nil { return nil }
    }

    /// Runs the task here and now; to be called once.
    func run() { task?.runHere() }
  }

  private let lock = Lock(.leaf)
  /// Guarded by the lock; `nil` while one starts.
  nonisolated(unsafe) private var waiting: Waiting?

  /// Makes the context of the current task's test.
  init() { waiting = Waiting() }

  deinit {
    // It has nothing to do, and ends at once.
    waiting?.run()
    lock.destroy()
  }

  /// Runs `report` here and now on behalf of the test: the threads on which the test could run it may all
  /// be held.
  func run(_ report: @escaping @Sendable () -> Void) {
    let waiting = lock.withLock {
      defer { self.waiting = nil }
      return self.waiting
    }
    guard let waiting else { return report() }
    waiting.work = {
      let next = Waiting()
      self.lock.withLock { self.waiting = next }
      report()
    }
    waiting.run()
  }
}

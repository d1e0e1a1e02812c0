import ClocksSupport

/// How a failure reaches the test that a scheduler works for.
struct TestReport: Sendable {
  /// Where the test made its first clock, or began the scope.
  let origin: CallSite
  /// Makes the test fail; one of its tasks calls it.
  let record: @Sendable (String) -> Void
  /// Records on behalf of the test what none of its tasks can; `nil` if the test is not known.
  private let context: TestContext?

  /// - Parameters:
  ///   - isTestKnown: Whether the current task belongs to the test.
  ///   - record: Makes the test fail; by default at `origin`.
  init(
    at origin: CallSite, isTestKnown: Bool, record: (@Sendable (String) -> Void)? = nil
  ) {
    self.origin = origin
    if let record {
      self.record = { record($0.withCapabilityNote) }
    } else {
      self.record = { recordFailure($0, at: origin) }
    }
    context = isTestKnown ? TestContext() : nil
  }

  /// Runs `body` on behalf of the test, on the current thread, which belongs to the engine.
  func runInTest(_ body: @escaping @Sendable () -> Void) {
    if let context { context.run(body) } else { body() }
  }
}

/// Lets another thread record a failure on behalf of a test.
///
/// A test library knows by a task-local value which test a failure belongs to, so only a task that
/// inherited the test's values can record it. This keeps one unstarted task that has inherited them;
/// when that task starts, it first makes the next one.
final class TestContext: Sendable {
  private final class Reporter: @unchecked Sendable {
    /// Set before the task starts, or never.
    var work: (@Sendable () -> Void)?
    private var task: UnstartedTask?

    /// Fails where tasks cannot be captured.
    init?() {
      // The task keeps this until it has run, and it is always run.
      task = UnstartedTask { [self] in work?() }
      if task == nil { return nil }
    }

    /// Runs the task on the current thread. Called once.
    func run() { task?.runHere() }
  }

  private let lock = Lock(.leaf)
  /// Guarded by the lock; `nil` while a reporter starts.
  nonisolated(unsafe) private var next: Reporter?

  /// Makes the context of the current task's test.
  init() { next = Reporter() }

  deinit {
    // Without work the task ends immediately.
    next?.run()
    lock.destroy()
  }

  /// Runs `report` on the current thread, because all threads on which the test could run it may be
  /// blocked.
  func run(_ report: @escaping @Sendable () -> Void) {
    let reporter = lock.withLock {
      defer { next = nil }
      return next
    }
    guard let reporter else { return report() }
    reporter.work = {
      let next = Reporter()
      self.lock.withLock { self.next = next }
      report()
    }
    reporter.run()
  }
}

/// How long a test has run in real time, as far as the checks of the watchdog see. A scope has a limit of its own.
struct RunningTime {
  /// The number of changes in the test at the last check.
  fileprivate var changes: UInt64 = 0
  /// Identifies the tests to which `total` belongs: tests that share a clock have one scheduler.
  private var tests: UInt64 = 0
  private var total = Duration.zero

  /// Adds time for which tests ran. Returns their total.
  fileprivate mutating func add(_ duration: Duration, in tests: UInt64) -> Duration {
    if tests != self.tests { (self.tests, total) = (tests, .zero) }
    total += duration
    return total
  }
}

extension SchedulerState {
  /// Returns whether the test has run since the last call, as far as that is seen.
  ///
  /// A test that often changes between the pool and the main thread is mostly seen to request a thread. Without a
  /// change, it only waits for that thread. A test without a thread runs if the work that it awaits makes progress.
  mutating func hasRun() -> Bool {
    let isChanged = changes != runningTime.changes
    runningTime.changes = changes
    guard !isAbandoned, !activity.isRunningReportedJob(idleness) else { return false }
    return switch idleness.thread {
    case .acting: true
    case .requested: isChanged
    case .none: isChanged && isWorkAwaited
    }
  }

  /// Ends the wait of a scope for its leftovers, if these have run for too long. Returns the action for that.
  mutating func endWait(after duration: Duration) -> Action? {
    guard let waiter = idleWaiters.settles.first, scope?.isTooLong(after: duration) == true else {
      return nil
    }
    return end(waiter, .endlessWork)
  }

  /// Whether blocks, external tasks and pauses of the test count as running time.
  ///
  /// In a `holding`, and in an unedited suite, they may wait for real work.
  private var isWorkAwaited: Bool {
    guard let scope else { return !idleWaiters.isEmpty }
    return !scope.scope.options.isUnedited && scope.pace.unlimitedHolds == 0
  }
}

extension Scheduler {
  /// Adds time for which the test, which has no scope, ran. Returns whether that is too long.
  ///
  /// The test is then reported, and abandoned unless its scheduler is process-wide. So this returns `true` once.
  func newEndlessRun(after limit: Duration, _ duration: Duration) -> Bool {
    guard isTestKnown, !isTestOver, !(isProcessWide && wasReported) else { return false }
    let xcTest = isProcessWide ? currentXCTest : nil
    return change { state in
      // Tests that share a scheduler, and run at the same time, each have the limit. It begins again when one ends.
      let unfinished = state.testLifetime.unfinished
      let tests = xcTest ?? unfinished.reduce(0, &+)
      return state.runningTime.add(duration, in: tests) > limit * max(1, unfinished.count)
    }
  }
}

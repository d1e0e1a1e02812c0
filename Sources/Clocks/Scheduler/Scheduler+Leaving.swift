import ClocksSupport

/// The clocks of a scheduler come and go. When the last one is gone, the tasks that remain are leftovers.
extension Scheduler {
  /// Keeps the scheduler registered for one more clock, until `release`.
  @discardableResult
  func retain() -> Bool {
    let isOnlyClock = TaskOwnership.shared.retain(self, newestTask: UnownedTask.newestID)
    if isOnlyClock { isWithoutClock.store(false, ordering: .relaxed) }
    return isOnlyClock
  }

  func release() {
    if isProcessWide {
      TaskOwnership.shared.release(self)
      return
    }
    let testCase = testCase
    let left = TestCaseMembership.takeBack(of: testCase) {
      guard TaskOwnership.shared.release(self) else { return [] }
      // Before the tasks are read, because of `leaveIfLate`.
      isWithoutClock.store(true, ordering: .relaxed)
      let hadLeftovers = hasLeftovers.exchange(true, ordering: .relaxed)
      return changeWithoutThread { state in
        let left =
          isOver || state.testLifetime.isKnown
          ? state.liveTasks.unfinished.filter { $0.id != testCase }.map(\.handle) : []
        if left.isEmpty { hasLeftovers.store(hadLeftovers, ordering: .relaxed) }
        return left
      }
    }
    if !left.isEmpty { leave(left, of: testCase) }
  }

  /// Leaves a task that was registered for the scheduler before its last clock was released.
  ///
  /// The task is in the list of live tasks only since the leftovers were read from there.
  @inline(never)
  func leaveIfLate(_ task: RetainedTask) {
    guard TaskOwnership.shared.knownOwner(of: task.id) == nil else { return }
    let testCase = testCase
    leave(TestCaseMembership.takeBack(of: testCase) { [task] }, of: testCase)
  }

  private func leave(_ left: [RetainedTask], of testCase: UInt64) {
    hasLeftovers.store(true, ordering: .relaxed)
    areJobsWatched.store(true, ordering: .releasing)
    // The test of a closed scope is over; any other test may continue without a clock.
    let test = isOver ? [] : change { $0.testLifetime.tasks }
    let tasks = left.filter { !test.contains($0) }
    TaskOwnership.shared.leave(tasks.map(\.id), of: self) { test.allSatisfy(\.isOver) }
    // Thread A, the current one, has released the last clock. Thread B, which runs the test, may have made another one
    // since then, and have adopted the test case before the tasks were back.
    Self.scheduler(TaskOwnership.shared.knownOwner(of: testCase))?.adoptTestCase(of: testCase)
  }
}

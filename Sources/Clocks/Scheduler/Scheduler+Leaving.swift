import ClocksSupport

/// The clocks of a scheduler come and go. When the last one is gone, the tasks that remain are leftovers.
extension Scheduler {
  /// Keeps the scheduler registered for one more clock, until `release`.
  @discardableResult
  func retain() -> Bool {
    let isOnlyClock = TaskOwnership.shared.retain(self, newestTask: UnownedTask.newestID)
    if isOnlyClock, isWithoutClock.load(ordering: .relaxed) {
      isWithoutClock.store(false, ordering: .relaxed)
      // Owners without a clock are not notified.
      change { $0.idleness.dispatchedBlocks.noteSuspensions() }
    }
    return isOnlyClock
  }

  func release() {
    if isProcessWide {
      TaskOwnership.shared.release(self)
      return
    }
    let testCase = testCase
    let context = ThreadContext.current
    // 0 if the thread runs no job of the scheduler, or an actor drain.
    let ownTask = context?.pointee.runsJob(of: self) == true ? context!.pointee.taskID : 0
    let left = TestCaseMembership.takeBack(of: testCase) {
      guard TaskOwnership.shared.release(self) else { return [] }
      // Before the tasks are read, because of `leaveIfLate`.
      isWithoutClock.store(true, ordering: .relaxed)
      leaveBlocks(of: testCase)
      let hadLeftovers = hasLeftovers.exchange(true, ordering: .relaxed)
      return changeWithoutThread { state in
        let left =
          isOver || state.testLifetime.isKnown
          ? state.leftovers(of: testCase, releasedBy: ownTask) : []
        if left.isEmpty { hasLeftovers.store(hadLeftovers, ordering: .relaxed) }
        return left
      }
    }
    if !left.isEmpty { leave(left, of: testCase) }
  }

  /// Lets the next owner of the test case count the blocks.
  func leaveBlocks(of testCase: UInt64) {
    guard testCase != 0 else { return }
    let blocks = changeWithoutThread {
      $0.idleness.dispatchedBlocks.leave(to: testCase, by: self)
    }
    for block in blocks { block.submit() }
  }

  /// Notes the end of a job that was running when another thread released the last clock.
  ///
  /// - Parameter ended: The job's task, if it is over; else 0.
  @inline(never)
  func formerJobEnded(_ record: RunningJob, _ ended: UInt64) {
    RunningJobs.noteEnded(record)
    if ended != 0 { TestCaseMembership.removeMember(ended) }
    ExternalTaskRegistry.checkTasks(always: true)
  }

  /// Leaves a task that was registered for the scheduler before its last clock was released.
  ///
  /// The task was added to the list of live tasks after the leftovers were read from it.
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
    // Thread A, the current one, released the last clock. Thread B, which runs the test, may have made another one
    // since then, and have adopted the test case before the tasks were back.
    Self.scheduler(TaskOwnership.shared.knownOwner(of: testCase))?.adoptTestCase(of: testCase)
  }
}

extension SchedulerState {
  /// A job that was running when another thread released the last clock.
  struct FormerJob {
    let number: UInt64
    let record: RunningJob
  }

  /// The tasks that outlive the last clock, apart from the task that runs the test case.
  ///
  /// Thread A runs a job of one of them, and may be about to resume the others. Thread B, the current one, released the
  /// clock. So the next owner of the tasks waits for A's job, as for one of an unowned task. It has to know the job's
  /// task even if the task is over.
  ///
  /// - Parameter ownTask: The task whose job the current thread runs. The next owner does not wait for that job.
  fileprivate mutating func leftovers(
    of testCase: UInt64, releasedBy ownTask: UInt64
  ) -> [RetainedTask] {
    let running = activity.running
    let left = liveTasks.unfinished(or: running?.task ?? 0)
      .filter { $0.id != testCase }.map(\.handle)
    if let running, !left.isEmpty, formerJob == nil, running.task == 0 || running.task != ownTask {
      formerJob = FormerJob(number: running.number, record: RunningJobs.noteBegun(running.task))
    }
    return left
  }

  /// Returns the record of the former job if the job has ended.
  mutating func takeEndedFormerJob() -> RunningJob? {
    guard let former = formerJob, activity.running?.number != former.number else { return nil }
    formerJob = nil
    return former.record
  }
}

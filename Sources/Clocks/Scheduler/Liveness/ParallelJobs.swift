// In an unedited suite, a job may wait for another task without suspending. After some time, other jobs run beside it.
// From then on, it counts as a dispatched block.

/// A job beside which others run, because it holds its thread in an idle process, or has held it for long.
struct ParallelJob {
  /// Why a test with such a job may behave differently.
  static let reason =
    "a task holds its thread and does not suspend, so other tasks run at the same time"

  /// The number under which the job counts as a dispatched block.
  let block: UInt64
  let task: UInt64
  let isOnMain: Bool
}

extension Scheduler {
  /// Lets ready jobs run beside a job that has held its thread for longer than `limit`. Returns whether one does now.
  func letOthersRun(after limit: Duration) -> Bool {
    let number: UInt64? = change { state in
      guard let scope = state.scope else { return nil }
      // While the job holds the main thread, no other job of the main thread can run beside it.
      let isAnyReady =
        state.idleness.isActingOnMain
        ? state.idleness.ready.isAnyOffMain : !state.idleness.ready.isEmpty
      let job = scope.isAwaited || isAnyReady ? state.activity.running(state.idleness) : nil
      defer { state.activity.parallel.repeats() }
      return state.activity.parallel.isDue(job?.number, after: limit) ? job?.number : nil
    }
    return number != nil && makeJobsParallel(number, isReported: true)
  }

  /// Lets ready jobs run, and time move, beside the jobs that hold their threads.
  ///
  /// - Parameters:
  ///   - number: The number of the job that the scheduler's thread runs. The job may have ended meanwhile.
  ///   - isReported: Whether the test's record says why others run beside that job.
  /// - Returns: Whether a job became parallel.
  @discardableResult
  func makeJobsParallel(_ number: UInt64?, isReported: Bool = false) -> Bool {
    var isAny = false
    if let number, change({ $0.makeJobParallel(number, isReported) }) {
      Self.jobBlocksThread()
      isAny = true
    }
    for job in ThreadWaits.holders(of: self) where job.becomeParallel() { isAny = true }
    return isAny
  }

  /// Notes that a job holds its thread, so that others run on `ExtraThreads` from now on.
  ///
  /// `ExtraThreads.changeBlocked(by: -1)` notes that the job ended, or pauses.
  static func jobBlocksThread() {
    ExtraThreads.changeBlocked(by: 1)
    guard RuntimeHooks.useExtraThreads() else { return }
    // A thread that was requested before may never come, because Dispatch adds none for jobs that loop.
    for scheduler in all { scheduler.requestThreadAgain() }
  }

  private func requestThreadAgain() {
    let isWaiting = changeWithoutThread { $0.idleness.thread == .requested(on: .pool) }
    if isWaiting { startThread(on: .pool) }
  }
}

extension SchedulerState {
  fileprivate mutating func makeJobParallel(_ job: UInt64, _ isReported: Bool) -> Bool {
    guard let scope, let running = activity.running, running.number == job else { return false }
    let task = running.task
    let isOnMain = idleness.isActingOnMain
    endJob()
    let number = idleness.threadParks()
    let block = dispatchedBlockBegan(on: .parallelJob)
    idleness.dispatchedBlocks.run(block, on: scope.scope.actingThread.load(ordering: .relaxed))
    scope.parallelJobs[number] = ParallelJob(block: block, task: task, isOnMain: isOnMain)
    // The job counts once, as a block: its task must not count as one that runs externally, too.
    if task != 0 { scope.pausedTasks.insert(task) }
    if isOnMain { idleness.isMainTaken = true }
    // While the lock is held, because the test may be over before thread A, the watchdog, continues.
    if isReported { scope.scope.options.goesOnWithout?(ParallelJob.reason) }
    return true
  }

  /// Notes that the job on a thread that no longer acts ended, or pauses. Has an effect only if it is parallel.
  @inline(never)
  mutating func parallelJobEnded(on number: Int) {
    guard let job = scope?.parallelJobs.removeValue(forKey: number) else { return }
    ExtraThreads.changeBlocked(by: -1)
    dispatchedBlockEnded(job.block)
    scope?.pausedTasks.remove(job.task)
    if job.isOnMain { idleness.isMainTaken = false }
  }

  /// Notes that a job of the scheduler pauses. From then on, it counts as externally started.
  mutating func startedJobPauses(on number: Int) {
    guard number == idleness.threadNumber else { return parallelJobEnded(on: number) }
    endJob()
    idleness.threadParks()
    scope?.mustSetAlarm = true
  }
}

// In an unedited suite, a loop may poll a clock without suspending, until another task does something, or until a
// limit. In real time, the other tasks run meanwhile. In virtual time, each reading takes a microsecond, so the loop
// would reach its limit before any other task runs. So after some readings, time waits for the tasks that can run.

/// A loop that polls a clock while other tasks can run.
enum ClockPolling {
  /// In the scheduler's job with this number.
  case inJob(UInt64)
  /// In a block, a parallel job, or a job that the scheduler did not start.
  case elsewhere
}

extension Scheduler {
  /// Lets a microsecond pass, in an unedited suite, unless other tasks have to run first.
  func letTimePassWithReading() {
    guard let scope, scope.options.isUnedited, let thread = ThreadState.existing else { return }
    _ = changeIfAvailable { state in
      guard let current = state.scope, current.movesTime, !current.hasTestClock,
        !state.pollWaits(on: thread)
      else { return }
      let virtualClock = scope.virtualClock
      virtualClock.move(to: virtualClock.instant(after: .microseconds(1)))
    }
  }

  /// Lets other tasks run, and due sleeps wake, beside a loop that polls a clock. Returns whether there is such a loop.
  ///
  /// Called by another thread: a signal handler may read the clock in a function of this package.
  func letOthersRunBesidePolling() -> Bool {
    let polling = changeWithoutThread { state in
      defer { state.scope?.polling = nil }
      return state.scope?.polling
    }
    guard let polling else { return false }
    let job: UInt64? = if case .inJob(let number) = polling { number } else { nil }
    if makeJobsParallel(job) { scope?.options.goesOnWithout?(ParallelJob.reason) }
    change { if $0.scope?.isAnySleepDue == true { $0.letTimeMove() } }
    return true
  }
}

extension ScopeState {
  fileprivate var isAnySleepDue: Bool { virtualClock.sleeps.isAnyDue(by: virtualClock.now) }
}

extension SchedulerState {
  /// Notes that a thread reads a clock. Returns whether time waits, because the thread polls and other tasks can run.
  fileprivate func pollWaits(on thread: ThreadState.Reference) -> Bool {
    guard let scope, let context = thread.pointee.context else { return false }
    let isActing =
      idleness.thread == .acting && context.pointee.isOfPump
      && context.pointee.number == idleness.threadNumber
    let job = isActing ? activity.running?.number ?? 0 : 0
    let reader = isActing ? job : ThreadContext.reader(on: context)
    guard thread.pointee.clockReadings.add(by: reader) else { return false }
    let isAnyReady =
      idleness.isRunningOnMain ? idleness.ready.isAnyOffMain : !idleness.ready.isEmpty
    let isOtherJobRunning = !isActing && idleness.thread != .none
    let canOthersRun = isAnyReady || isOtherJobRunning || scope.isAnySleepDue
    if canOthersRun { scope.polling = isActing ? .inJob(job) : .elsewhere }
    return thread.pointee.clockReadings.waits(forOthers: canOthersRun)
  }
}

extension ThreadContext {
  /// Identifies what runs on the thread for no scheduler: a block by its number, a test by its waits.
  ///
  /// Not a property, because a debug build would copy the context for each reading.
  fileprivate static func reader(on context: UnsafeMutablePointer<ThreadContext>) -> UInt64 {
    guard let waits = context.pointee.waits else { return context.pointee.taskID }
    return UInt64(UInt(bitPattern: ObjectIdentifier(waits))) ^ waits.block
  }
}

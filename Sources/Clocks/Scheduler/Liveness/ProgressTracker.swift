import ClocksSupport

/// Counts what happens in a test, and finds for the watchdog what has lasted for too long.
struct ProgressTracker {
  /// Something that the watchdog has found, and how long it may last.
  private struct Watched {
    /// The number of a job, or a count of progress. While it stays the same, nothing has changed.
    var number: UInt64
    /// When the watchdog has first seen the number.
    var began = RealTime(in: .zero)
    let since = ServedTime()
    let processorTime = MachineLoad.processorTime
    /// How often the limit may pass without a report, because another test is busy.
    var patience = 3
    var isReported = false
  }

  /// Counts begun jobs and ended externally started jobs: while this count stays the same, nothing happens.
  private(set) var count: UInt64 = 0
  private(set) var running: (number: UInt64, task: UInt64)?
  /// The total time for which the scheduler waited for a thread.
  private(set) var nanosecondsWithoutThread: UInt64 = 0
  /// The job that ran when the watchdog last looked, while other jobs waited for it.
  private var blockage: Watched?
  /// The job that ran when the watchdog last looked, while other jobs could have run beside it.
  private var parallel: Watched?
  /// The job that ran when the watchdog last looked, while no other job waited for it.
  private var loneJob: Watched?
  /// The idleness that the watchdog found when it last looked, with pending sleeps.
  private var standstill: Watched?
  /// The external work that was outstanding when the watchdog last looked.
  private var absence: Watched?

  @_transparent
  mutating func jobBegins(of task: UInt64) {
    count &+= 1
    running = (count, task)
  }

  @_transparent
  mutating func jobHasEnded() { running = nil }

  mutating func externallyStartedJobEnded() { count &+= 1 }

  mutating func waitedForThread(nanoseconds: UInt64) { nanosecondsWithoutThread &+= nanoseconds }

  /// Returns the running job. An externally started job has no known task and gets a number from `count`.
  func running(_ idleness: borrowing Idleness) -> (number: UInt64, task: UInt64)? {
    running ?? (idleness.externallyStartedJobs > 0 ? (.max - count, 0) : nil)
  }

  func isRunning(_ number: UInt64, _ idleness: borrowing Idleness) -> Bool {
    running(idleness)?.number == number
  }

  /// Whether the running job was reported because it holds its thread.
  func isRunningReportedJob(_ idleness: borrowing Idleness) -> Bool {
    guard let number = running(idleness)?.number else { return false }
    return [blockage, loneJob].contains { $0?.isReported == true && $0?.number == number }
  }

  // The watchdog calls the functions below regularly. Each returns a finding once. O(1).

  /// Returns the job that has held its thread for longer than `limit` while other jobs wait for it.
  mutating func findBlockage(
    after limit: Duration, _ idleness: borrowing Idleness, othersWait: Bool
  ) -> (number: UInt64, task: UInt64)? {
    let running = othersWait ? running(idleness) : nil
    return Self.isDue(&blockage, running?.number, after: limit) ? running : nil
  }

  /// Returns, again and again, the job that has held its thread for longer than `limit` while others can run beside it.
  mutating func findParallelJob(
    after limit: Duration, _ idleness: borrowing Idleness, mayOthersRun: Bool
  ) -> UInt64? {
    let number = mayOthersRun ? running(idleness)?.number : nil
    defer { parallel?.isReported = false }
    return Self.isDue(&parallel, number, after: limit) ? number : nil
  }

  /// Returns the job that has held its thread for longer than `limit`. Called only while no other job waits.
  mutating func findLoneJob(
    after limit: Duration, _ idleness: borrowing Idleness
  ) -> (number: UInt64, task: UInt64)? {
    let running = running(idleness)
    return Self.isDue(&loneJob, running?.number, after: limit) ? running : nil
  }

  /// Whether external work has been outstanding for longer than `limit` without progress.
  ///
  /// - Parameters:
  ///   - changes: Counts the progress of external work; `nil` if the test waits for none.
  ///   - isAnyRunning: Whether another test has something to run, such as an actor that the external task
  ///     awaits.
  mutating func findAbsence(after limit: Duration, changes: UInt64?, isAnyRunning: Bool) -> Bool {
    Self.isDue(&absence, isAnyRunning ? nil : changes, after: limit)
  }

  /// Whether nothing has happened in the test for longer than `limit`, although tasks sleep.
  ///
  /// - Parameter isAnyBusy: Whether another test has something to run: this test may wait for an actor
  ///   that both use, so it gets more time.
  mutating func findStandstill(after limit: Duration, isWaiting: Bool, isAnyBusy: Bool) -> Bool {
    Self.isDue(&standstill, isWaiting ? count : nil, after: limit, isPatient: isAnyBusy)
  }

  /// The real time for which the absence and the standstill that were found have lasted, in nanoseconds.
  var nanosecondsOfAbsence: UInt64 { absence?.began.nanosecondsSince ?? 0 }
  var nanosecondsOfStandstill: UInt64 { standstill?.began.nanosecondsSince ?? 0 }

  /// Whether the process has used more than 2% of a processor since the standstill was found.
  var isProcessBusySinceStandstill: Bool {
    guard let standstill else { return true }
    let used = MachineLoad.processorTime
    // The two clocks of the kernel are read one after the other, so the difference may be below zero.
    return used - min(used, standstill.processorTime) > standstill.since.nanosecondsSince / 50
  }

  /// Begins the limit of a standstill again.
  mutating func standstillMayEnd() { standstill = nil }

  /// Returns, once, whether `number` has stayed the same for longer than `limit`.
  ///
  /// A `number` of `nil` ends the watch. If `isPatient`, the limit begins again a few times.
  private static func isDue(
    _ watched: inout Watched?, _ number: UInt64?, after limit: Duration, isPatient: Bool = false
  ) -> Bool {
    guard let number else {
      watched = nil
      return false
    }
    guard let found = watched, found.number == number else {
      watched = Watched(number: number)
      return false
    }
    guard !found.isReported, found.since.lasts(limit) else { return false }
    if isPatient, found.patience > 0 {
      watched = Watched(number: number, began: found.began, patience: found.patience - 1)
      return false
    }
    watched?.isReported = true
    return true
  }
}

/// How much may happen before a test counts as a runaway.
struct RunawayLimits: Sendable {
  /// The number of jobs that may run until the test is idle again.
  var jobs = 10_000_000
  /// The number of wakes that `RunawayGuard.wakes` may reach.
  var wakes = 10_000_000
}

/// Notices a test that never becomes idle.
struct RunawayGuard {
  var limits = RunawayLimits()
  /// Counts the jobs since the test was last idle, or since a task last began to wait for that, whichever is later.
  private(set) var jobs = 0
  /// Counts the calls of `testIsIdle`.
  private(set) var pauses: UInt64 = 0
  /// Counts the wakes since a wait for idleness ended or the root task ran, whichever came last.
  private(set) var wakes = 0
  /// The task of a scope's body, whose jobs restart the counting of wakes. 0 if there is none.
  var rootTask: UInt64 = 0

  /// Counts a job that is about to run. Returns why the test counts as a runaway, if it does.
  mutating func jobBegins(of task: UInt64) -> Runaway? {
    jobs += 1
    if task == rootTask, rootTask != 0 { wakes = 0 }
    // When a task yields in a loop, its jobs alternate with jobs of the runtime that have no task. A job of the task
    // can be named in the report, so a job without a task is reported only after twice the limit.
    guard jobs > limits.jobs, task != 0 || jobs > 2 * limits.jobs else { return nil }
    return .jobs(limits.jobs, task: task)
  }

  /// Notes that the test is idle, or that a task begins to wait until it is idle.
  mutating func testIsIdle() {
    jobs = 0
    pauses &+= 1
  }

  mutating func sleepWakes() { wakes += 1 }

  mutating func waitEnds() { wakes = 0 }

  var tooManyWakes: Runaway? { wakes >= limits.wakes ? .wakes(limits.wakes) : nil }
}

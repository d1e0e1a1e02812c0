import ClocksSupport

/// Counts what happens in a test. Its watches tell the watchdog what has lasted for too long.
struct ProgressTracker {
  /// Counts begun jobs and ended externally started jobs: while this count stays the same, nothing happens.
  private(set) var count: UInt64 = 0
  private(set) var running: (number: UInt64, task: UInt64)?
  /// The task of the externally started job that began last; 0 if it is not known.
  var externallyStartedTask: UInt64 = 0
  /// The total time for which the scheduler waited for a thread.
  private(set) var nanosecondsWithoutThread: UInt64 = 0
  /// A job that runs while other jobs wait for it.
  var blockage = Watch()
  /// A job that runs while other jobs could run beside it.
  var parallel = Watch()
  /// A job that runs while no other job waits for it.
  var loneJob = Watch()
  /// The test while nothing happens in it, although tasks sleep.
  var standstill = Watch()
  /// The external work that is outstanding.
  var absence = Watch()

  @_transparent
  mutating func jobBegins(of task: UInt64) {
    count &+= 1
    running = (count, task)
  }

  @_transparent
  mutating func jobHasEnded() { running = nil }

  mutating func externallyStartedJobEnded() {
    count &+= 1
    externallyStartedTask = 0
  }

  mutating func waitedForThread(nanoseconds: UInt64) { nanosecondsWithoutThread &+= nanoseconds }

  /// Returns the running job. An externally started job gets a number from `count`.
  func running(_ idleness: borrowing Idleness) -> (number: UInt64, task: UInt64)? {
    running ?? (idleness.externallyStartedJobs > 0 ? (.max - count, externallyStartedTask) : nil)
  }

  /// Whether the running job was reported because it holds its thread.
  func isRunningReportedJob(_ idleness: borrowing Idleness) -> Bool {
    guard let number = running(idleness)?.number else { return false }
    return blockage.hasReported(number) || loneJob.hasReported(number)
  }
}

/// Finds, in regular checks of the watchdog, a number that stays the same for longer than a limit.
struct Watch {
  private struct Found {
    var number: UInt64
    var began = RealTime(in: .zero)
    let since = ServedTime()
    let processorTime = MachineLoad.processorTime
    /// How often the limit may pass without a report, because another test is busy.
    var patience = 3
    var isReported = false
  }

  /// The number that the watchdog found, and since when it is unchanged.
  private var found: Found?

  /// Returns, once, whether `number` has stayed the same for longer than `limit`. O(1).
  ///
  /// - Parameters:
  ///   - number: The number of a job, or a count of progress; `nil` ends the watch.
  ///   - isPatient: Whether the limit begins again, but only a few times. The test may wait for an actor that works for
  ///     another test, which has something to run.
  mutating func isDue(_ number: UInt64?, after limit: Duration, isPatient: Bool = false) -> Bool {
    guard let number else {
      found = nil
      return false
    }
    guard let last = found, last.number == number else {
      found = Found(number: number)
      return false
    }
    guard !last.isReported, last.since.lasts(limit) else { return false }
    if isPatient, last.patience > 0 {
      found = Found(number: number, began: last.began, patience: last.patience - 1)
      return false
    }
    found?.isReported = true
    return true
  }

  /// Lets `isDue` return `true` again for the same number.
  mutating func repeats() { found?.isReported = false }

  func hasReported(_ number: UInt64) -> Bool {
    found?.number == number && found?.isReported == true
  }

  /// The real time for which it has lasted, in nanoseconds.
  var nanoseconds: UInt64 { found?.began.nanosecondsSince ?? 0 }

  /// Whether the process has used more than 2% of a processor since the limit last began.
  var isProcessBusy: Bool {
    guard let found else { return true }
    let used = MachineLoad.processorTime
    // The two clocks of the kernel are read one after the other, so the difference may be below zero.
    return used - min(used, found.processorTime) > found.since.nanosecondsSince / 50
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
  ///
  /// In an unedited suite, also counts the dispatched blocks.
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

  /// Counts a dispatched block of an unedited suite. Returns whether the test counts as a runaway.
  mutating func blockBegins() -> Bool {
    jobs += 1
    return jobs > limits.jobs
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

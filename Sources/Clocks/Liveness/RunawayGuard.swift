/// How much may happen before a test counts as one that never comes to rest.
struct RunawayLimits: Sendable {
  /// The number of jobs before the test is idle again.
  var jobs = 10_000_000
  /// The number of wakes, as `RunawayGuard.wakes` counts them.
  var wakes = 10_000_000
}

/// Notices a test that never comes to rest.
struct RunawayGuard {
  var limits = RunawayLimits()
  /// Counts the jobs since the scheduler was last idle, or since somebody began to wait for that.
  private(set) var jobs = 0
  /// Counts the wakes since somebody's wait for idleness last ended, or the root task last ran.
  private(set) var wakes = 0
  /// The task whose jobs start the counting of wakes anew: that of a scope's body. 0 if there is
  /// none.
  var rootTask: UInt64 = 0

  /// A job is about to run. Returns why it should not, if so.
  mutating func jobBegins(of task: UInt64) -> Runaway? {
    jobs += 1
    if task == rootTask, rootTask != 0 { wakes = 0 }
    // Every other job of a task that yields is an anonymous one of the runtime's: wait for the one
    // that has a name, unless there is none.
    guard jobs > limits.jobs, task != 0 || jobs > 2 * limits.jobs else { return nil }
    return .jobs(limits.jobs, task: task)
  }

  /// The scheduler is idle, or somebody begins to wait for that.
  mutating func testIsIdle() { jobs = 0 }

  /// A sleep wakes.
  mutating func sleepWakes() { wakes += 1 }

  /// Somebody's wait for idleness ends.
  mutating func waitEnds() { wakes = 0 }

  /// Why time should not move on, if so.
  var tooManyWakes: Runaway? { wakes >= limits.wakes ? .wakes(limits.wakes) : nil }
}

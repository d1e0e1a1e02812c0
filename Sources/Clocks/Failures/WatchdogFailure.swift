/// A job that holds its thread while the rest of its test waits for it.
struct Blockage: Sendable {
  /// The job's task; 0 if it is not known.
  var task: UInt64
  /// The number of the job.
  var number: UInt64
  /// How many jobs are ready.
  var waiting: Int

  func description(after limit: Duration) -> String {
    """
    \(task == 0 ? "A job" : "A job of task #\(task)") has held its thread for \(limit) of real \
    time, and the rest of the test waits for it: \
    \(waiting == 1 ? "1 job is" : "\(waiting) jobs are") ready. A test's tasks run one at a time, \
    so a thread that is blocked until another task has run (by a semaphore, a lock, a synchronous \
    wait) stays blocked: await it instead. Or it is a loop that never suspends: one that \
    swallows its cancellation (`while true { try? await clock.sleep(…) }`) becomes that when it is \
    cancelled. The test goes on without it.

    """
  }
}

/// External work that has not come back for longer than the limit.
struct Absence: Sendable {
  /// The tasks' ids.
  var tasks: [UInt64]
  /// The label of the queue of each dispatched block.
  var queues: [String] = []

  func description(after limit: Duration) -> String {
    (tasks.isEmpty ? "" : ofTasks(after: limit)) + (queues.isEmpty ? "" : ofWork(after: limit))
  }

  private func ofWork(after limit: Duration) -> String {
    let names = Set(queues).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
    return """
      The test has waited for \(limit) of real time for work that it has submitted to \
      \(Set(queues).count == 1 ? "a dispatch queue" : "dispatch queues") and that has not ended: \
      \(names). Either the queue is suspended, or it is busy for another test, or the work blocks its \
      thread. Work that waits for time to move never ends, because time waits for the work. Work that \
      is to go on as long as the test belongs on a thread. The test goes on without waiting for it.

      """
  }

  private func ofTasks(after limit: Duration) -> String {
    let names = tasks.map { "#\($0)" }.joined(separator: ", ")
    return """
      The test has waited for \(limit) of real time for \(tasks.count == 1 ? "a task" : "tasks") \
      that an actor or an executor has not run to the end: \(names). Either the actor is busy \
      for another test, or a thread of the executor is blocked, or the executor runs its jobs only on \
      demand, and nothing demands it. The test goes on without waiting for \
      \(tasks.count == 1 ? "it" : "them").

      """
  }
}

/// Sleeps on clocks that no task advances, in a test in which nothing else happens.
struct Standstill: Sendable {
  /// For each clock on which a task sleeps, makes the list of its sleeps, without a lock.
  var sleeps: [@Sendable () -> [String]]

  /// Added if the test is known, and can end.
  static let sleepsEnd = "They throw a CancellationError now, so that the test can end."

  func description(after limit: Duration) -> String {
    """
    Nothing has happened in the test for \(limit) of real time, tasks sleep on one of its clocks, and \
    no task advances it: call `await clock.advance(by:)`, before the test awaits what the time is \
    to bring about; or let time move by itself, with `withVirtualTime`.
    Pending sleeps:
    \(sleeps.flatMap { $0() }.listed)
    """
  }
}

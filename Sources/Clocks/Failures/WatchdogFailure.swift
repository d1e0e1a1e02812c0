/// A job that has held its thread for longer than the limit.
struct Blockage: Sendable {
  /// The job's task; 0 if it is not known.
  var task: UInt64
  var number: UInt64
  /// The limit that the job exceeded.
  var limit: Duration
  /// The number of ready jobs; `nil` if nothing in the test waits for the job.
  var waiting: Int?
  /// Whether the job is known to hold the main thread.
  var isOnMain = false
  /// Whether the test is abandoned if it cannot end, so that the other tests can continue.
  var canAbandonTest = false
  /// Whether a delayed block of the test, or a timer on a queue, waits for virtual time to move.
  var hasDelayedBlock = false

  var description: String {
    guard hasDelayedBlock else { return cause }
    return cause + """

      A delayed block is pending: it begins only when virtual time moves, and that waits for this job.
      """
  }

  private var cause: String {
    let job = task == 0 ? "A job" : "A job of task #\(task)"
    guard let waiting else {
      return """
        \(job) has held its thread for more than \(limit) of real time, and nothing else happens in the \
        test. Either the thread is blocked (by a semaphore, a lock, a synchronous wait), or it runs a loop that never \
        suspends; virtual time does not move meanwhile, so in a scope a loop that waits for `Date()` or \
        `ContinuousClock.now` must sleep. Await what it waits for. \(adviceOnRealWork)
        """
    }
    let ready =
      waiting == 0 ? "" : waiting == 1 ? ": 1 job is ready" : ": \(waiting) jobs are ready"
    return """
      \(job) has held its thread for more than \(limit) of real time, and the rest of the test waits \
      for it\(ready). A test's tasks run one at a time, so a job that blocks its thread (by a \
      semaphore, a lock, a synchronous wait) until another task has run waits forever: await the other \
      task instead. Or the job runs a loop that never suspends. `while true { try? await clock.sleep(…) }` \
      becomes such a loop when its task is cancelled: write `try`. \(Runaway.loopWithoutSleep) \(ending)
      """
  }

  /// A search has a limit of its own, which no variable raises.
  private var adviceOnRealWork: String {
    limit < Environment.blockedAfter
      ? "Real work that takes so long cannot be part of a search: use a fake."
      : "If it is real work that takes so long, allow more with CLOCKS_BLOCKED_AFTER."
  }

  /// How the test continues.
  private var ending: String {
    let processEnds = "the process ends when no other test can run."
    if isOnMain {
      return """
        The job holds the main thread, so no other code of the main actor runs; if the test cannot end without \
        that, \(processEnds)
        """
    }
    return """
      The test goes on without the job; if the test cannot end without it, \
      \(canAbandonTest ? "the other tests continue." : processEnds)
      """
  }
}

/// A test with a clock, and without a scope, that has run for longer than a limit.
enum EndlessRun {
  /// - Parameter isAbandoned: Whether no task of the test runs any more.
  static func description(after limit: Duration, isAbandoned: Bool) -> String {
    """
    The test has run for more than \(limit) of real time, twice CLOCKS_BLOCKED_AFTER, and is not over. A loop that \
    waits for what never comes goes on forever: give it a limit, as `eventually` does. \
    \(isAbandoned ? "From now on no task of the test runs, and the" : "The") process ends when no other test can \
    run. If it is real work that takes so long, allow more with CLOCKS_BLOCKED_AFTER.
    """
  }
}

/// External work that has not come back for longer than the limit.
struct Absence: Sendable {
  var tasks: [UInt64]
  /// The labels of queues, and of other work that counts as blocks.
  var queues: [String] = []
  /// The real time for which the work has made no progress.
  var nanoseconds: UInt64 = 0

  /// Why a test in an unedited suite may behave differently.
  var reason: String {
    let others = Set([BlockQueue.thread, .parallelJob].map(\.label))
    let names = Set(queues).subtracting(others).sorted().map { "\"\($0)\"" }
    var work = others.intersection(queues).sorted()
    if !names.isEmpty { work.append("work on the queue \(names.joined(separator: ", "))") }
    if work.isEmpty { work = ["a task on an executor"] }
    let goes = work.count == 1 ? "goes" : "go"
    return "time passes while \(work.joined(separator: " and ")) \(goes) on, which may be real work"
  }

  func description(after limit: Duration) -> String {
    let period = IdlePeriod(limit: limit, nanoseconds: nanoseconds)
    let parts =
      (tasks.isEmpty ? [] : [ofTasks(for: period)]) + (queues.isEmpty ? [] : [ofWork(for: period)])
    return parts.joined(separator: "\n")
  }

  private func ofWork(for period: IdlePeriod) -> String {
    let names = Set(queues).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
    return """
      The test has waited for \(period) for work that it has submitted to \
      \(Set(queues).count == 1 ? "a dispatch queue" : "dispatch queues") and that has not ended: \
      \(names). Either the queue is suspended, or it is busy for another test, or the work blocks its \
      thread. Work that waits for time to move never ends, because time waits for the work. Run work \
      that lasts as long as the test on a thread of its own. The test goes on without waiting for it.
      """
  }

  private func ofTasks(for period: IdlePeriod) -> String {
    let names = tasks.map { "#\($0)" }.joined(separator: ", ")
    return """
      The test has waited for \(period) for \(tasks.count == 1 ? "a task" : "tasks") \
      that an actor or an executor has not run to the end: \(names). Either the actor is busy \
      for another test, or a thread of the executor is blocked, or the executor runs its jobs only on \
      demand: then let it run them before the test awaits an advance. The test goes on without waiting for \
      \(tasks.count == 1 ? "it" : "them").
      """
  }
}

/// Sleeps on clocks that no task advances, or a lost wake-up, in a test in which nothing else happens.
struct Standstill: Sendable {
  /// For each clock on which a task sleeps, a function that lists the clock's sleeps. Called without a lock.
  var sleeps: [@Sendable () -> [String]]
  /// The real time for which nothing has happened.
  var nanoseconds: UInt64

  /// Added to the description if the test is known, and can end.
  static let sleepsEnd = """
    They throw a CancellationError now, so that the test can end. That error may be reported next.
    """

  func description(after limit: Duration) -> String {
    let period = IdlePeriod(limit: limit, nanoseconds: nanoseconds)
    return sleeps.isEmpty
      ? """
      Nothing has happened in the process for \(period), and the test is not over. Its tasks wait for \
      each other, or for a wake-up that was lost, such as a continuation that no code resumes. If it is real work \
      that takes so long, allow more with CLOCKS_BLOCKED_AFTER.
      """
      : """
      Nothing has happened in the test for \(period), tasks sleep on one of its clocks, and \
      no task advances it: call `await clock.advance(by:)`, before the test awaits the result; \
      or let time move by itself, with `withVirtualTime`.
      Pending sleeps:\(sleeps.flatMap { $0() }.listedBelow)
      """
  }
}

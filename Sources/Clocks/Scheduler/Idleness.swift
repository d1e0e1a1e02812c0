/// What keeps a test from being idle. **Idle** is defined here and nowhere else.
struct Idleness: ~Copyable {
  /// What the scheduler's thread is doing.
  ///
  /// A scheduler has no thread of its own. When there is something to do, it asks for one of the
  /// pool, or for the main thread, which then acts until there is not.
  enum Thread {
    /// There is none; or it decides what to do next, which it does with the lock held.
    case none
    /// One was asked for, and has not begun.
    case requested
    /// One runs a job, or does what else was decided.
    case acting
  }

  /// The jobs that could run now.
  var ready = JobQueue()

  /// Without the lock it is `none` only if no thread will look for work by itself. So there is never a
  /// second thread.
  var thread = Thread.none

  /// The number of the thread that acts. One that was given up, because a job held it for too long,
  /// has an earlier number, and decides nothing any more when the job ends after all.
  private(set) var threadNumber = 0

  /// Counts the visitors: running jobs of the test's tasks that were not started by the scheduler.
  /// While there are any, it starts none, so that the test's tasks run one at a time.
  var externallyStartedJobs = 0

  /// Counts the tasks of the test that are away, and its work on queues: they run, or are about to, where
  /// the scheduler does not start them. They come back, or go to sleep, without its help, so ready jobs
  /// run meanwhile; but what waits for idleness waits for them.
  var away = 0

  /// Whether no task of the test is running, and none could run.
  var isIdle: Bool { thread == .none && ready.isEmpty && externallyStartedJobs == 0 && away == 0 }

  /// Whether a job of the test runs on a thread that is known, or is ready.
  var mayRun: Bool { thread != .none || !ready.isEmpty || externallyStartedJobs > 0 }

  /// Whether the scheduler may start a job, if there is one.
  var mayStartJob: Bool {
    // To compare, a debug build calls a function.
    if case .none = thread { externallyStartedJobs == 0 } else { false }
  }

  /// Counts the visitors that were given up: when they leave, that changes nothing any more.
  private(set) var abandonedExternalJobs = 0

  mutating func externallyStartedJobEnded() {
    if abandonedExternalJobs > 0 { abandonedExternalJobs -= 1 } else { externallyStartedJobs -= 1 }
  }

  /// Goes on without the job that runs: the test no longer waits for its end, nor for its visitors'.
  mutating func abandonRunning() {
    threadNumber += 1
    thread = .none
    abandonedExternalJobs += externallyStartedJobs
    externallyStartedJobs = 0
  }

  /// Stops the program if something is counted wrong; for tests.
  func checkInvariants() {
    precondition(
      externallyStartedJobs >= 0 && away >= 0, "more tasks have come back than were gone")
    ready.checkInvariants()
  }
}

/// All that can keep a test from being idle. **Idle** is defined here and nowhere else.
///
/// Each part has one writer: `SchedulerState.next` and `claimThread` write `thread`, the functions of
/// `ready`, `externalTasks` and `dispatchedBlocks` their own counts, the functions below the rest.
struct Idleness: ~Copyable {
  /// What the scheduler's thread is doing.
  ///
  /// A scheduler has no thread of its own. When there is something to do, it asks for a thread of the
  /// pool, or for the main thread, which then acts until there is nothing left.
  enum Thread {
    /// There is none; or it decides what to do next, with the lock held.
    case none
    /// A thread was asked for, and has not begun.
    case requested
    /// The thread runs a job, or does another action.
    case acting
  }

  /// The jobs that could run now.
  var ready = JobQueue()
  /// The tasks that run, or may run, outside the scheduler.
  var externalTasks = ExternalTasks()
  /// The blocks of the test on dispatch queues.
  var dispatchedBlocks = DispatchedBlocks()

  /// While no thread holds the scheduler's lock, `none` means that the scheduler has no thread.
  ///
  /// A thread is requested only when this is `none`, so a scheduler never has two threads.
  var thread = Thread.none

  /// The number of the thread that acts.
  ///
  /// An abandoned thread, whose job held it for too long, has an earlier number. It decides nothing any
  /// more when the job ends after all.
  private(set) var threadNumber = 0

  /// Counts the running jobs of the test that the scheduler did not start. While there are any, it
  /// starts none, so that the test's tasks run one at a time.
  private(set) var externallyStartedJobs = 0

  /// Counts the absences that were found, and are not reported yet: the test must not end before.
  private(set) var unreportedAbsences = 0

  /// Whether the test is idle: no job runs or is ready, no external work is outstanding, and no task is
  /// left that may run externally unchecked.
  var isIdle: Bool { isQuiet && !externalTasks.mustVerify }

  /// Whether the test is idle, unless a task has become external unseen.
  @inline(__always)
  var isQuiet: Bool {
    mayStartJob && ready.isEmpty && !externalTasks.areOutstanding && dispatchedBlocks.count == 0
      && unreportedAbsences == 0
  }

  /// Whether a job of the test runs on a known thread, or is ready.
  var mayRun: Bool { thread != .none || !ready.isEmpty || externallyStartedJobs > 0 }

  /// Whether the scheduler may start a job, if there is one.
  @inline(__always)
  var mayStartJob: Bool {
    // A switch, because a debug build calls a function to compare.
    if case .none = thread { externallyStartedJobs == 0 } else { false }
  }

  /// Counts the externally started jobs that were abandoned: their ends change nothing.
  private var abandonedExternalJobs = 0

  mutating func externallyStartedJobsBegan(_ count: Int) { externallyStartedJobs += count }

  mutating func externallyStartedJobEnded() {
    if abandonedExternalJobs > 0 { abandonedExternalJobs -= 1 } else { externallyStartedJobs -= 1 }
  }

  /// Goes on without the jobs that run: the test no longer waits for their ends.
  mutating func abandonRunning() {
    threadNumber += 1
    thread = .none
    abandonedExternalJobs += externallyStartedJobs
    externallyStartedJobs = 0
  }

  /// Stops waiting for all external work.
  ///
  /// Returns what is to be reported, in the place of which `absenceWasReported` is waited for; and
  /// tasks to release without a lock.
  mutating func abandonExternalWork() -> (absence: Absence?, released: [RetainedTask]) {
    let (tasks, released) = externalTasks.abandon()
    let queues = dispatchedBlocks.abandon()
    guard !tasks.isEmpty || !queues.isEmpty else { return (nil, released) }
    unreportedAbsences += 1
    return (Absence(tasks: tasks, queues: queues), released)
  }

  mutating func absenceWasReported() { unreportedAbsences -= 1 }

  /// Stops the program if a count is wrong; for tests.
  func checkInvariants() {
    precondition(externallyStartedJobs >= 0, "more jobs have ended than began")
    precondition(unreportedAbsences >= 0, "more absences were reported than found")
    ready.checkInvariants()
    externalTasks.checkInvariants()
  }
}

/// The blocks of a test that are on dispatch queues, or run there.
struct DispatchedBlocks {
  /// The labels of the queues, by the numbers of the blocks.
  private var labels: [UInt64: String] = [:]
  private var newest: UInt64 = 0
  /// Counts the beginnings and ends: while it stays the same, no block makes progress.
  private(set) var changes: UInt64 = 0
  /// The number of blocks; apart from `labels`, because a debug build takes long to ask a dictionary.
  private(set) var count = 0

  /// Notes that a block is on a queue; returns its number.
  mutating func begin(on label: String) -> UInt64 {
    newest += 1
    changes += 1
    count += 1
    labels[newest] = label
    return newest
  }

  /// Notes that a block has run, unless it was abandoned.
  mutating func end(_ number: UInt64) {
    changes += 1
    if labels.removeValue(forKey: number) != nil { count -= 1 }
  }

  /// Stops waiting for all blocks; returns the queues' labels in the order in which the blocks came.
  fileprivate mutating func abandon() -> [String] {
    defer {
      labels = [:]
      count = 0
    }
    return labels.sorted { $0.key < $1.key }.map(\.value)
  }
}

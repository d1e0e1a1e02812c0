/// An owner whose other jobs run while one of them is paused.
protocol PausableOwner: TaskOwner {
  var virtualNow: Duration { get }
  /// The number of sleeps and timed callbacks that are pending.
  var pendingCount: Int { get }
  /// Whether a job is ready, or the instant of a sleep or a timed callback has come.
  var hasReadyWork: Bool { get }
  var pausedWaits: PausedWaits { get }
  /// Whether a block for which the test no longer waits holds a thread. It may continue because time moves.
  var hasAbandonedBlock: Bool { get }

  /// Whether a thread that runs the owner's jobs is the main thread.
  ///
  /// - Parameter number: The `ThreadContext.number` of the thread.
  func isOnMain(_ number: Int) -> Bool

  /// Counts a job as paused, so that other jobs can run. Any thread may call this without a context.
  ///
  /// - Parameter context: Given if the scheduler has started the job. From then on, it counts as externally started.
  func pause(_ job: PausedJob, _ context: UnsafeMutablePointer<ThreadContext>?)
  /// Notes that a paused job continues, as an externally started job. Any thread may call this.
  func resume(_ job: PausedJob)
  /// Notes that an externally started job begins.
  func jobBegins()
  /// Keeps time from jumping, until `endHold`.
  func beginHold(isUnlimited: Bool)
  func endHold(isUnlimited: Bool)
}

extension TaskOwner {
  /// The owner if `pausedWaits` is `all`, and this process sees the sleeps that block a thread; otherwise `nil`.
  var pausingAll: (any PausableOwner)? {
    guard ThreadWaits.areSleepsSeen, let owner = self as? any PausableOwner,
      owner.pausedWaits == .all
    else { return nil }
    return owner
  }
}

/// A job that holds its thread while other jobs run.
struct PausedJob {
  /// The id of the job's task; 0 if it has none.
  var task: UInt64 = 0
  /// Whether no other job can run on the main thread meanwhile.
  var takesMain = false
  var isInRunLoop = false
}

/// The waits that pause a job of a scope. All others hold the job's thread in real time.
enum PausedWaits {
  case none
  case ofXCTest
  /// Also run loops, sleeps that block a thread, and a test method's waits for semaphores and groups.
  ///
  /// The suite is unedited, so a wait may be for real work.
  case all
}

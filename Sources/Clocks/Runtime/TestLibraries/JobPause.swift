import ClocksSupport

/// The pause of a job that waits and meanwhile holds its thread. Any thread may end the pause.
///
/// A function that changes how the job counts calls a closure for that, under the lock. So while thread A counts the
/// job, thread B, which ends the pause, waits for the lock. When thread B continues, time may move.
final class JobPause: @unchecked Sendable {
  private enum Counting {
    case running
    /// The job is about to pause, and still counts as running.
    case beginning
    case paused
    /// The job counts as a block, although no wait of its thread is seen.
    case block
    /// There is no job: it is about to end, or its thread counts as a block.
    case nothing
  }

  /// Guards the variables below. Rank `dispatchSource`: owners' locks are taken under it, and no user code runs.
  private let lock = Lock(.dispatchSource)
  /// How the job counts, or will count when it is no longer covered.
  private var counting: Counting
  /// Whether the thread is in a wait.
  ///
  /// If the job does not count as paused, the thread continues soon, or runs a callback within the wait.
  private var isInWait = false
  /// Whether another job waits on the same thread, in a callback of the job's wait. Meanwhile the job counts as paused.
  private var isCovered = false

  /// - Parameter isOfBlock: Whether the thread counts as a block until `jobBegins`.
  init(isOfBlock: Bool = false) { counting = isOfBlock ? .nothing : .running }

  /// Whether the job's thread is in a wait.
  var hasBegun: Bool { lock.withLock { isInWait || isCovered } }

  /// Whether the job counts as paused, or is about to.
  var isPaused: Bool { lock.withLock { isPausing } }
  private var isPausing: Bool { counting == .beginning || counting == .paused }

  /// Begins a pause on the job's thread. Calls `countAsRunning` if the job counts as a block, and then `note`.
  func begin(_ countAsRunning: () -> Void, note: () -> Void = {}) {
    lock.withLock {
      if counting == .block { countAsRunning() }
      note()
      (counting, isInWait) = (.beginning, true)
    }
  }

  /// Ends the pause on the job's thread. Calls `countAsRunning` if the job is a parallel job.
  ///
  /// - Parameter isInWait: Whether the thread is still in an outer wait, during which the job stays resumed.
  func end(isInWait: Bool, _ countAsRunning: () -> Void) {
    lock.withLock {
      if counting == .block { countAsRunning() }
      (counting, self.isInWait) = (.running, isInWait)
    }
  }

  /// Calls `count`, which counts the job as paused, unless the job was woken since `begin`.
  func countAsPaused(_ count: () -> Void) {
    lock.withLock {
      guard counting == .beginning else { return }
      count()
      counting = .paused
    }
  }

  /// Calls `count`, which counts the job as running again, if the job is paused.
  ///
  /// A job that is about to pause does not pause then. A covered job counts as running once the other job's wait is
  /// over.
  func resume(_ count: () -> Void) {
    lock.withLock {
      guard isPausing else { return }
      if counting == .paused, !isCovered { count() }
      counting = .running
    }
  }

  /// Calls `count`, which counts the job as a block, if it counts as running and no inner wait covers it. Returns
  /// whether it does.
  func becomeParallel(_ count: () -> Void) -> Bool {
    lock.withLock {
      guard counting == .running, !isCovered else { return false }
      count()
      counting = .block
      return true
    }
  }

  /// Notes that the thread counts as a job from now on. Called on that thread.
  func jobBegins() { lock.withLock { (counting, isInWait) = (.running, false) } }

  /// Notes that the job ends. Called on the job's thread. Calls `countAsRunning` if the job counts as a block.
  func jobEnds(_ countAsRunning: () -> Void) {
    lock.withLock {
      guard !isInWait, !isCovered, counting != .nothing else { return }
      if counting == .block { countAsRunning() }
      counting = .nothing
    }
  }

  /// Notes that another job begins to wait on the job's thread.
  ///
  /// The thread cannot continue, so if the job counts as running, this calls `count`, which counts it as paused. If it
  /// counts as a block, this calls `countAsRunning` before.
  func cover(_ count: () -> Void, _ countAsRunning: () -> Void) {
    lock.withLock {
      if counting == .block { countAsRunning() }
      if counting != .paused {
        count()
        counting = .running
      }
      isCovered = true
    }
  }

  /// Notes that the other job's wait is over. Calls `count`, which counts the job as running, if it continues.
  func uncover(_ count: () -> Void) {
    lock.withLock {
      if counting != .paused { count() }
      isCovered = false
    }
  }
}

import ClocksSupport

/// The pause of a job that waits and meanwhile holds its thread. Any thread may end the pause.
///
/// A function that changes how the job counts calls a closure for that, under the lock. So while thread A counts the
/// job, thread B, which ends the pause, waits for the lock. When thread B continues, time may move.
final class JobPause: @unchecked Sendable {
  private enum Phase {
    case running
    /// The job is about to pause, and still counts as running.
    case beginning
    case paused
    /// The job counts as running, because it was woken. Its thread continues soon, or runs a callback within the wait.
    case resumed
    /// Another job waits on the same thread, in a callback of the job's wait. The job counts as paused.
    case covered
    /// Like `covered`. When the other job's wait is over, this job counts as running.
    case resumedWhileCovered
    case runningWhileCovered
    /// The job counts as a block, although no wait of its thread is seen.
    case parallel
    /// Like `parallel`, within a wait in which the job was resumed: in a callback, or because another thread has taken
    /// what the job waited for.
    case parallelInWait
    /// There is no job: it is about to end, or its thread counts as a block.
    case over
  }

  /// Guards `phase`. Rank `dispatchSource`: owners' locks are taken under it, and no user code runs.
  private let lock = Lock(.dispatchSource)
  private var phase: Phase

  /// - Parameter isOfBlock: Whether the thread counts as a block until `jobBegins`.
  init(isOfBlock: Bool = false) { phase = isOfBlock ? .over : .running }

  /// Whether the job's thread is in a wait.
  var hasBegun: Bool {
    switch lock.withLock({ phase }) {
    case .running, .parallel, .over: false
    default: true
    }
  }

  /// Whether the job counts as paused, or is about to.
  var isPaused: Bool {
    switch lock.withLock({ phase }) {
    case .beginning, .paused, .covered: true
    default: false
    }
  }

  /// Begins a pause on the job's thread. Calls `countAsRunning` if the job counts as a block, and then `note`.
  func begin(_ countAsRunning: () -> Void, note: () -> Void = {}) {
    lock.withLock {
      if isParallel { countAsRunning() }
      note()
      phase = .beginning
    }
  }

  private var isParallel: Bool { phase == .parallel || phase == .parallelInWait }

  /// Ends the pause on the job's thread. Calls `countAsRunning` if the job is a parallel job.
  ///
  /// - Parameter isInWait: Whether the thread is still in an outer wait, during which the job stays resumed.
  func end(isInWait: Bool, _ countAsRunning: () -> Void) {
    lock.withLock {
      if isParallel { countAsRunning() }
      phase = isInWait ? .resumed : .running
    }
  }

  /// Calls `count`, which counts the job as paused, unless the job was woken since `begin`.
  func countAsPaused(_ count: () -> Void) {
    lock.withLock {
      guard phase == .beginning else { return }
      count()
      phase = .paused
    }
  }

  /// Calls `count`, which counts the job as running again, if the job is paused. A job that is about to pause does not
  /// pause.
  func resume(_ count: () -> Void) {
    lock.withLock {
      switch phase {
      case .beginning: phase = .resumed
      case .paused:
        count()
        phase = .resumed
      case .covered: phase = .resumedWhileCovered
      default: break
      }
    }
  }

  /// Calls `count`, which counts the job as a block, if it counts as running. Returns whether it does.
  func becomeParallel(_ count: () -> Void) -> Bool {
    lock.withLock {
      guard phase == .running || phase == .resumed else { return false }
      count()
      phase = phase == .running ? .parallel : .parallelInWait
      return true
    }
  }

  /// Notes that the thread counts as a job from now on. Called on that thread.
  func jobBegins() { lock.withLock { phase = .running } }

  /// Notes that the job ends. Called on the job's thread. Calls `countAsRunning` if the job counts as a block.
  func jobEnds(_ countAsRunning: () -> Void) {
    lock.withLock {
      guard phase == .running || phase == .parallel else { return }
      if isParallel { countAsRunning() }
      phase = .over
    }
  }

  /// Notes that another job begins to wait on the job's thread.
  ///
  /// The thread cannot continue, so if the job counts as running, this calls `count`, which counts it as paused. If it
  /// counts as a block, this calls `countAsRunning` before.
  func cover(_ count: () -> Void, _ countAsRunning: () -> Void) {
    lock.withLock {
      if isParallel { countAsRunning() }
      if phase != .paused { count() }
      switch phase {
      case .paused: phase = .covered
      case .running, .parallel: phase = .runningWhileCovered
      default: phase = .resumedWhileCovered
      }
    }
  }

  /// Notes that the other job's wait is over. Calls `count`, which counts the job as running, if it continues.
  func uncover(_ count: () -> Void) {
    lock.withLock {
      if phase != .covered { count() }
      switch phase {
      case .covered: phase = .paused
      case .runningWhileCovered: phase = .running
      default: phase = .resumed
      }
    }
  }
}

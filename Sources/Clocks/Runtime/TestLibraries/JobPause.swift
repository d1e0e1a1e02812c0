import ClocksSupport
import Synchronization

/// The pause of a job that waits and meanwhile holds its thread. Any thread may end the pause.
struct JobPause: ~Copyable {
  private enum Phase {
    static let running = 0
    /// The job is about to pause, and still counts as running.
    static let beginning = 1
    /// The job was woken while it was about to pause. It still counts as running, and does not pause.
    static let woken = 2
    /// The job is about to count as paused.
    static let pausing = 3
    static let paused = 4
    /// The job is about to count as running again.
    static let resuming = 5
    /// The job counts as running again. Its thread is about to go on, or runs a callback within the wait.
    static let resumed = 6
    /// Another job waits on the same thread, in a callback of the job's wait. The job counts as paused.
    static let covered = 7
    /// Like `covered`. When the other job's wait is over, this job counts as running.
    static let resumedWhileCovered = 8
    static let runningWhileCovered = 9
    /// The job counts as a block, although its thread is in no wait that is seen.
    static let parallel = 10
    /// Like `parallel`, within a wait in which the job was resumed: in a callback, or because another thread has taken
    /// what the job waited for.
    static let parallelInWait = 11
    /// There is no job: it is about to end, or its thread counts as a block.
    static let over = 12
  }

  private let phase: Atomic<Int>

  /// - Parameter isOfBlock: Whether the thread counts as a block until `jobBegins`.
  init(isOfBlock: Bool = false) { phase = Atomic(isOfBlock ? Phase.over : Phase.running) }

  /// Whether the job's thread is in a wait.
  var hasBegun: Bool {
    while true {
      switch phase.load(ordering: .sequentiallyConsistent) {
      case Phase.running, Phase.parallel, Phase.over: return false
      // Another thread lets the job become parallel.
      case Phase.pausing: Self.yieldThread()
      default: return true
      }
    }
  }

  /// Whether the job counts as paused, or its count is about to change to that or from that.
  var isPaused: Bool {
    switch phase.load(ordering: .sequentiallyConsistent) {
    case Phase.beginning, Phase.pausing, Phase.paused, Phase.resuming, Phase.covered: true
    default: false
    }
  }

  /// Begins a pause on the job's thread. Calls `countAsRunning` if the job counts as a block.
  func begin(_ countAsRunning: () -> Void) {
    while true {
      switch phase.load(ordering: .sequentiallyConsistent) {
      case Phase.running:
        if change(from: Phase.running, to: Phase.beginning) { return }
      case Phase.pausing: Self.yieldThread()
      case Phase.parallel, Phase.parallelInWait:
        countAsRunning()
        return phase.store(Phase.beginning, ordering: .sequentiallyConsistent)
      case let resumed:
        // The thread is in an outer wait, in which the job was resumed.
        if change(from: resumed, to: Phase.beginning) { return }
      }
    }
  }

  /// Ends the pause on the job's thread. Calls `countAsRunning` if the job counts as a block.
  ///
  /// - Parameter isInWait: Whether the thread is still in an outer wait, during which the job stays resumed.
  func end(isInWait: Bool, _ countAsRunning: () -> Void) {
    let next = isInWait ? Phase.resumed : Phase.running
    while true {
      switch phase.load(ordering: .sequentiallyConsistent) {
      case Phase.pausing: Self.yieldThread()
      case Phase.parallelInWait:
        countAsRunning()
        return phase.store(next, ordering: .sequentiallyConsistent)
      case let resumed: if change(from: resumed, to: next) { return }
      }
    }
  }

  /// Calls `count`, which counts the job as paused, unless the job was woken since `begin`.
  func countAsPaused(_ count: () -> Void) {
    guard change(from: Phase.beginning, to: Phase.pausing) else { return }
    count()
    phase.store(Phase.paused, ordering: .sequentiallyConsistent)
  }

  /// Calls `count`, which counts the job as running again, if the job is paused. A job that is about to pause goes on.
  ///
  /// Thread A may be about to count the job as paused, or as running, when thread B calls this function. Thread B waits
  /// until thread A has counted it, because time may move when thread B returns.
  func resume(_ count: () -> Void) {
    while true {
      switch phase.load(ordering: .sequentiallyConsistent) {
      case Phase.beginning:
        if change(from: Phase.beginning, to: Phase.woken) { return }
      case Phase.paused:
        guard change(from: Phase.paused, to: Phase.resuming) else { continue }
        count()
        return phase.store(Phase.resumed, ordering: .sequentiallyConsistent)
      case Phase.covered:
        if change(from: Phase.covered, to: Phase.resumedWhileCovered) { return }
      case Phase.pausing, Phase.resuming: Self.yieldThread()
      default: return
      }
    }
  }

  /// Calls `count`, which counts the job as a block, if it counts as running. Returns whether it does.
  func becomeParallel(_ count: () -> Void) -> Bool {
    for (running, parallel) in [
      (Phase.running, Phase.parallel), (Phase.resumed, Phase.parallelInWait),
      (Phase.woken, Phase.parallelInWait),
    ] where change(from: running, to: Phase.pausing) {
      count()
      phase.store(parallel, ordering: .sequentiallyConsistent)
      return true
    }
    return false
  }

  /// Notes that the thread counts as a job from now on, on that thread.
  func jobBegins() { phase.store(Phase.running, ordering: .sequentiallyConsistent) }

  /// Notes that the job ends, on its thread. Calls `countAsRunning` if the job counts as a block.
  func jobEnds(_ countAsRunning: () -> Void) {
    while true {
      switch phase.load(ordering: .sequentiallyConsistent) {
      case Phase.running:
        if change(from: Phase.running, to: Phase.over) { return }
      case Phase.parallel:
        countAsRunning()
        return phase.store(Phase.over, ordering: .sequentiallyConsistent)
      case Phase.pausing: Self.yieldThread()
      default: return
      }
    }
  }

  /// Notes that another job begins to wait on the job's thread.
  ///
  /// The thread cannot go on, so if the job counts as running, this calls `count`, which counts it as paused. If it
  /// counts as a block, this calls `countAsRunning` before.
  func cover(_ count: () -> Void, _ countAsRunning: () -> Void) {
    while true {
      switch phase.load(ordering: .sequentiallyConsistent) {
      case Phase.running:
        guard change(from: Phase.running, to: Phase.runningWhileCovered) else { continue }
        return count()
      case Phase.parallel:
        countAsRunning()
        count()
        return phase.store(Phase.runningWhileCovered, ordering: .sequentiallyConsistent)
      case let resumed where resumed == Phase.resumed || resumed == Phase.woken:
        guard change(from: resumed, to: Phase.resumedWhileCovered) else { continue }
        return count()
      case Phase.parallelInWait:
        countAsRunning()
        count()
        return phase.store(Phase.resumedWhileCovered, ordering: .sequentiallyConsistent)
      case Phase.paused:
        if change(from: Phase.paused, to: Phase.covered) { return }
      default: Self.yieldThread()
      }
    }
  }

  /// Notes that the other job's wait is over. Calls `count`, which counts the job as running, if it goes on.
  func uncover(_ count: () -> Void) {
    if change(from: Phase.covered, to: Phase.paused) { return }
    let wasRunning = phase.load(ordering: .sequentiallyConsistent) == Phase.runningWhileCovered
    count()
    phase.store(wasRunning ? Phase.running : Phase.resumed, ordering: .sequentiallyConsistent)
  }

  private func change(from expected: Int, to desired: Int) -> Bool {
    phase.compareExchange(
      expected: expected, desired: desired, ordering: .sequentiallyConsistent
    ).exchanged
  }

  /// Lets other threads run, while this one waits for a thread that runs no code of the test.
  static func yieldThread() {
    #if os(Linux) && canImport(Glibc)
      sched_yield()
    #endif
  }
}

import ClocksSupport
import Synchronization

// The threads that wait, and what other threads do to them.
extension ThreadWaits {
  /// Notes that a run loop is stopped.
  static func willStop(_ runLoop: UnsafeRawPointer?) {
    guard let waits = lock.withLock({ all.last { $0.runLoop == runLoop } }) else { return }
    waits.isStopped.store(true, ordering: .sequentiallyConsistent)
    // A thread in another wait, within the run loop or before it, looks at these when it comes to the run loop.
    guard waits.isInRunLoop.load(ordering: .sequentiallyConsistent) else {
      return waits.isStopMissed.store(true, ordering: .sequentiallyConsistent)
    }
    waits.wakeUp()
  }

  /// Notes that a block was passed to a run loop. The thread runs it while its job counts as running.
  static func blockWasPassed(to runLoop: UnsafeRawPointer?) {
    MainRunLoop.passedBlocks.add(1, ordering: .sequentiallyConsistent)
    let waits = lock.withLock { all.last { $0.runLoop == runLoop } }
    guard let waits, waits.isInRunLoop.load(ordering: .sequentiallyConsistent) else { return }
    waits.wakeUp()
  }

  /// Returns the test method that waits for a semaphore or a group, and the number of the wait; `nil` if none does.
  static func methodWait(for object: OpaquePointer) -> (waits: ThreadWaits, number: Int)? {
    guard areSeen, let waits = lock.withLock({ all.first { $0.work == .method } }) else {
      return nil
    }
    let number = waits.endedWaits.load(ordering: .acquiring)
    guard waits.semaphore.load(ordering: .relaxed) == UInt(bitPattern: object) else { return nil }
    return (waits, number)
  }

  /// Waits until the method counts as running again. The current thread keeps time from moving meanwhile.
  ///
  /// - Parameter isOver: Returns whether the method's thread is about to go on. Another thread may enter the group
  ///   before the method's thread has begun to wait for it.
  func awaitEnd(ofWait number: Int, while isOver: () -> Bool) {
    while endedWaits.load(ordering: .acquiring) == number, isOver() { yieldThread() }
  }

  /// Returns the waits of an owner whose threads are in run loops, or on their way there or back.
  static func inRunLoops(of owner: any PausableOwner) -> [ThreadWaits] {
    lock.withLock {
      all.filter { $0.owner === owner && $0.isInRunLoop.load(ordering: .sequentiallyConsistent) }
    }
  }

  /// The threads whose waits end in virtual time.
  static var pausedThreads: [Int32] {
    lock.withLock { all + externalJobs }.filter { $0.pause.isPaused }.map(\.thread)
  }

  // MARK: - Jobs that hold their threads

  /// The jobs that the scheduler has started, and that have paused since. Guarded by `lock`.
  @exclusivity(unchecked) nonisolated(unsafe) static var externalJobs: [ThreadWaits] = []

  /// Notes that the job is about to end.
  func jobEnds() {
    Self.lock.withLock { Self.externalJobs.removeAll { $0 === self } }
    pause.jobEnds(endParallel)
  }

  /// Returns an owner's test method, its jobs that count as externally started, and the waits of its other threads.
  static func holders(of owner: any PausableOwner) -> [ThreadWaits] {
    lock.withLock { all.filter { $0.work != .job } + externalJobs }.filter { $0.owner === owner }
  }

  /// Lets time move although `threads` are in waits that keep it from jumping.
  ///
  /// Each of these threads runs, within its wait, a block or a job that does not end.
  static func endHolds(of owner: any PausableOwner, on threads: [Int32]) {
    let waits = lock.withLock {
      all.filter { $0.owner === owner && threads.contains($0.thread) }
    }
    for wait in waits { wait.setHold(false) }
  }

  /// Counts the job as a block, unless it counts as paused. Any thread may call this. Returns whether it does.
  func becomeParallel() -> Bool {
    pause.becomeParallel {
      job = PausedJob(task: job.task, takesMain: holdsMain)
      block = owner.workBegan(on: .parallelJob)
      owner.workRuns(block, on: thread)
      // A callback holds the thread within a wait that keeps time from jumping.
      setHold(false)
      owner.pause(job, nil)
    }
  }

  func endParallel() {
    owner.resume(job)
    owner.workEnded(block)
  }
}

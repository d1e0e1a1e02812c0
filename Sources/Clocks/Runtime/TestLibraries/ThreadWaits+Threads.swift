import ClocksSupport
import Synchronization

// Threads and blocks that wait on behalf of a test.

extension ThreadWaits {
  /// Starts a thread on which XCTest waits on behalf of an owner. `start` runs its argument on the new thread.
  static func startThread(
    of owner: any PausableOwner, _ body: @escaping @Sendable () -> Void,
    by start: (@escaping @Sendable () -> Void) -> Void
  ) {
    // The thread's work is counted before the current job ends, so that the scope is not idle in between.
    owner.jobBegins()
    var context = ThreadContext(purpose: .threadOfOwner)
    context.run { _ in
      start {
        let waits = ThreadWaits(owner, .thread)
        var context = ThreadContext(owner: owner, isInJob: true, waits: waits)
        // The thread was counted as outside work when it was created, if that is seen.
        if areSleepsSeen {
          OutsideWork.ends()
          OutsideWork.setOutside(false)
        }
        context.run { _ in body() }
        waits.jobEnds()
        // When the thread ends, `ThreadStart` subtracts it.
        if areSleepsSeen { OutsideWork.continues() }
        owner.externallyStartedJobEnded(on: nil)
      }
    }
  }
}

/// A thread that a test starts, in an unedited suite.
///
/// The thread may do real work without an end. So it counts as a block on a queue: a test waits for it only as long as
/// there is progress. It may also sleep, or call `wait(for:)`, as in packages that copied `fulfillment(of:)`. Then it
/// counts as a job that is paused. Between its creation and its wait, and between the wait and its next action, the
/// thread may have to wait for a processor. Meanwhile time must not move to the timeouts of the test. While the thread
/// waits for a semaphore, it does not count (`AwaitedObjects`).
struct TestThread: Sendable {
  private let owner: any PausableOwner
  /// The number by which the thread counts as a block, until it first waits.
  private let block: UInt64

  /// Counts a thread before it is created. `nil` if the current thread works for no such test.
  init?() {
    guard let owner = ThreadContext.runningOwner?.pausingAll else { return nil }
    if case .threadOfOwner = ThreadContext.current?.pointee.purpose { return nil }
    self.owner = owner
    block = owner.workBegan(on: .thread)
  }

  /// Notes that the thread begins. Called on the thread.
  func begin() -> ThreadWaits {
    let waits = ThreadWaits(owner, .testThread)
    waits.block = block
    owner.workRuns(block)
    ThreadWaits.lock.withLock { ThreadWaits.testThreads.append(waits) }
    return waits
  }

  /// Must be called if the thread was not created.
  func end() { owner.workEnded(block) }
}

extension ThreadWaits {
  /// Counts the thread as a block again.
  func beginBlock() {
    block = owner.workBegan(on: queue, isBarrier: queue.isConcurrent && stop == .ofAll)
    owner.workRuns(block)
  }

  /// Whether sleeps that block a thread are seen. Set once, while the process has one thread.
  nonisolated(unsafe) static var areSleepsSeen = false

  /// Begins the waits of the block with a number, on a queue; `nil` if it waits in real time.
  static func ofBlock(
    _ number: UInt64, on queue: BlockQueue, isBarrier: Bool, of owner: TaskOwner
  ) -> ThreadWaits? {
    guard let owner = owner.pausingAll else { return nil }
    let waits = ThreadWaits(owner, .block)
    (waits.block, waits.queue, waits.stop) = (number, queue, queue.stop(by: isBarrier))
    return waits
  }

  /// Lets the thread count as a job, which can pause.
  ///
  /// - Parameter isOutsideWork: Whether a thread that the test started still counts as outside work, too.
  func blockBecomesJob(isOutsideWork: Bool = false) {
    // The job is counted first, so that the scope is not idle in between.
    owner.jobBegins()
    if work == .block { owner.noteStop(stop, of: queue, 1) }
    owner.workEnded(block)
    // Thread B may call `becomeParallel` from here on, which sets `block`.
    pause.jobBegins()
    if work == .testThread, !isOutsideWork { changeTestThreadState(from: .ofTest, to: .asleep) }
  }

  func jobBecomesBlock() {
    pause.jobEnds(endParallel)
    beginBlock()
    if work == .block {
      owner.noteStop(stop, of: queue, -1)
    } else {
      changeTestThreadState(from: .asleep, to: .ofTest)
    }
    owner.externallyStartedJobEnded(on: nil)
  }

  // MARK: - Threads that outlive their tests

  /// How a thread that a test started counts.
  enum TestThreadState {
    /// As a block of the test.
    case ofTest
    /// As a job of the test, which pauses.
    case asleep
    /// As outside work, because its test is over. Other tests may wait for it.
    case outside
  }

  /// The threads that tests started. Guarded by `lock`, as is their `testThreadState`.
  nonisolated(unsafe) fileprivate static var testThreads: [ThreadWaits] = []

  /// The threads that have outlived their tests.
  static var outsideThreads: [Int32] {
    lock.withLock { testThreads.filter { $0.testThreadState == .outside }.map(\.thread) }
  }

  /// Notes that a thread that a test started ends. Called on that thread.
  func testThreadEnds() {
    // The thread may exit in a callback of its wait.
    if isInUse {
      setHold(false)
      resume()
      while isInUse { end() }
    }
    owner.workEnded(block)
    Self.lock.withLock { Self.testThreads.removeAll { $0 === self } }
  }

  private func changeTestThreadState(from expected: TestThreadState, to next: TestThreadState) {
    Self.lock.withLock {
      guard testThreadState == expected else { return }
      testThreadState = next
      if next == .ofTest { OutsideWork.continues() } else { OutsideWork.ends() }
    }
  }

  /// Notes that a test is over: the threads that it leaves behind count as outside work.
  static func testIsOver(of owner: TaskOwner) {
    guard areSleepsSeen else { return }
    #if os(Linux) && canImport(Glibc)
      RunLoopTimers.testIsOver(of: owner)
    #endif
    lock.withLock {
      for thread in testThreads where thread.owner === owner {
        if thread.testThreadState == .asleep { OutsideWork.continues() }
        thread.testThreadState = .outside
      }
    }
  }
}

// Functions that other threads call, to wake or to examine the threads that wait.

extension ThreadWaits {
  /// Notes that a run loop is stopped.
  static func willStop(_ runLoop: UnsafeRawPointer?) {
    guard let waits = lock.withLock({ all.last { $0.runLoop == runLoop } }) else { return }
    waits.isStopped.store(true, ordering: .sequentiallyConsistent)
    // A thread in another wait is not woken. It reads `isStopped` and `isStopMissed` when it comes to the run loop.
    if !waits.isInRunLoop.load(ordering: .sequentiallyConsistent) {
      waits.isStopMissed.store(true, ordering: .sequentiallyConsistent)
      // The thread may have read `isStopMissed` before, and be in the run loop now.
      guard waits.isInRunLoop.load(ordering: .sequentiallyConsistent) else { return }
    }
    waits.wakeUp()
  }

  /// Notes that a block, or an observer, was passed to a run loop. The thread runs it while its job counts as running.
  static func blockWasPassed(to runLoop: UnsafeRawPointer?) {
    MainRunLoop.passedBlocks.add(1, ordering: .sequentiallyConsistent)
    let waits = lock.withLock { all.last { $0.runLoop == runLoop } }
    guard let waits, waits.isInRunLoop.load(ordering: .sequentiallyConsistent) else { return }
    waits.wakeUp()
  }

  /// Returns an owner's waits whose threads are in a run loop, or are about to enter or leave one.
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
  nonisolated(unsafe) static var externalJobs: [ThreadWaits] = []

  /// Ends the counting of a job that has paused, or became parallel, and is about to end.
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

  /// Counts the job as a block, unless it counts as paused. Returns whether it became a block. Any thread may call
  /// this.
  func becomeParallel() -> Bool {
    pause.becomeParallel {
      job = PausedJob(task: job.task, takesMain: holdsMain)
      block = owner.workBegan(on: .parallelJob)
      owner.workRuns(block, on: thread)
      // The thread may be in a callback within a wait that keeps time from jumping. From now on, it no longer does.
      setHold(false)
      owner.pause(job, nil)
    }
  }

  func endParallel() {
    owner.resume(job)
    owner.workEnded(block)
  }
}

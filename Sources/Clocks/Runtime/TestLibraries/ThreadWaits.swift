import ClocksSupport
import Synchronization

/// The waits of one thread within a job, which occupies the thread meanwhile.
///
/// Each wait pauses the job.
///
/// `XCTWaiter` runs the run loop again and again, for a tenth of a second each time (a slice), until the system's date
/// is past its timeout. It also submits a watchdog, a block that is due a quarter of a second after the timeout. This
/// package does not pass the watchdog on, and computes the wait's deadline from the watchdog's instant. A run loop
/// without sources returns immediately. Then this package waits in place of the run loop.
///
/// The thread may wait for another thread or a socket, which no scheduler sees. So in an unedited suite
/// (`PausedWaits.all`), a wait times out only after some slices of real time in which nothing else was pending. If no
/// outside work is possible (`OutsideWork.isPossible`), it times out without them. As long as a thread or a timer of
/// the run loop may end the wait, the timeout passes in real time. The number of slices is a guess.
///
/// Source: `XCTWaiter.swift` and `WaiterManager.swift` of swift-corelibs-xctest, as of Swift 6.3.
final class ThreadWaits: @unchecked Sendable {
  /// The kind of code that the thread runs.
  enum Work {
    /// A synchronous test method, on the main thread. Jobs for the main thread run in its run loops.
    case method
    /// A job that the scheduler started. A run loop within a job for the main thread runs no other such job.
    case job
    /// The wait of `fulfillment(of:)`, for which XCTest starts a thread.
    case thread
    /// A thread that the test started. It counts as a block on a queue, except while it sleeps or waits in XCTest.
    case testThread
    /// A block on a queue. Like a thread of the test, it counts as a block or as a job.
    case block
  }

  /// Whether waits are seen. Set once, while the process has one thread.
  nonisolated(unsafe) static var areSeen = false

  /// The waits of the current thread; `nil` if waits are not seen, or before the first wait of a scheduler's job.
  @inline(__always)
  static var ofThread: ThreadWaits? {
    guard areSeen, let context = ThreadContext.current else { return nil }
    return context.pointee.waits
  }

  /// The waits of the current thread if all of its waits pause it, and not only those for expectations of XCTest.
  static var ofAnyKind: ThreadWaits? {
    guard let waits = beginning, waits.owner.pausedWaits == .all else { return nil }
    return waits
  }

  /// The waits of the current thread, which begin here if it runs a job whose waits pause it.
  static var beginning: ThreadWaits? {
    guard areSeen, let context = ThreadContext.current else { return nil }
    if let waits = context.pointee.waits { return waits }
    guard context.pointee.isOfPump, context.pointee.isInJob, !context.pointee.isInCondition,
      let owner = context.pointee.owner, owner === ThreadContext.runningOwner,
      let owner = owner as? any PausableOwner, owner.pausedWaits != .none
    else { return nil }
    let waits = ThreadWaits(owner, .job, context)
    context.pointee.waits = waits
    return waits
  }

  let work: Work
  let owner: any PausableOwner
  /// The thread's run loop; `nil` for a block, or a thread of the test, that has not waited.
  ///
  /// Foundation makes a run loop for a thread that asks for it, under a lock for which threads wait in loops.
  private(set) var runLoop: UnsafeRawPointer?
  let isMain: Bool
  private let isJobOnMain: Bool
  /// Whether the thread keeps other jobs from the main actor, and other blocks from the main queue, while it waits.
  ///
  /// In a process whose main thread ended (`dispatchMain`), any thread may run these.
  var holdsMain: Bool {
    switch work {
    case .job: isJobOnMain
    case .block: queue.isMain
    case .method, .thread, .testThread: isMain
    }
  }
  /// The kernel's number of the thread; 0 if unknown.
  let thread = OutsideWork.currentThread
  /// The waits of the test method within whose run loop the thread runs the job; `nil` if there is none.
  private let below: ThreadWaits?
  /// The context of a job that the scheduler started; `nil` once the job counts as externally started.
  private var context: UnsafeMutablePointer<ThreadContext>?
  /// The deadlines of the waits of XCTest that are under way, the innermost last, and `uses` when each wait had begun.
  var deadlines: [(end: Duration, uses: Int)] = []
  /// Counts the consecutive slices in which only timeouts and timers of run loops were pending.
  ///
  /// A slice that ended early does not count.
  var quietSlices = 0
  /// When the first of these slices began, or the first one after a timer of the owner fired, whichever is later.
  var quietSince = RealTime(in: .zero)

  /// - Parameter context: The context of the current thread.
  init(
    _ owner: any PausableOwner, _ work: Work, _ context: UnsafeMutablePointer<ThreadContext>? = nil
  ) {
    (self.owner, self.work, self.context) = (owner, work, context)
    pause = JobPause(isOfBlock: work == .testThread || work == .block)
    isMain = OutsideWork.isMain(thread)
    isJobOnMain = context.map { owner.isOnMain($0.pointee.number) } ?? false
    let mayNeedNone = work == .block || work == .testThread
    let loop = mayNeedNone && !isMain ? nil : MainRunLoop.ofThread
    runLoop = loop
    let isWithin = work == .job || work == .block && isMain
    below = isWithin ? Self.lock.withLock { Self.all.last { $0.runLoop == loop } } : nil
  }

  // MARK: - All threads that wait

  /// Guards `all`, `externalJobs` and `testThreads`, and each object's `timeouts` and `testThreadState`. Rank `leaf`.
  static let lock = Lock(.leaf)
  /// The threads that may be woken, an inner wait of a thread after the outer one.
  nonisolated(unsafe) static var all: [ThreadWaits] = []
  /// The number of the thread's waits whose timeouts are pending, one within another. Guarded by `lock`.
  private var timeouts = 0
  /// The number of calls of `begin` that `end` has not balanced yet.
  private(set) var uses = 0
  var isInUse: Bool { uses > 0 }

  /// The number and the queue by which the thread counts as a block, outside its waits.
  var block: UInt64 = 0
  var queue = BlockQueue.thread
  /// The blocks that cannot begin while the thread's block waits.
  var stop = BlockQueue.Stop.ofAll
  /// Whether the thread counts as a block outside its waits, and not as a job.
  var countsAsBlock: Bool { work == .testThread || work == .block }
  /// How the thread counts if a test has started it. Guarded by `lock`.
  var testThreadState = TestThreadState.ofTest

  /// - Parameter isInRunLoop: Whether the wait is for a run loop of the test's own, which may wait for real work.
  func begin(isInRunLoop: Bool = false) {
    uses += 1
    guard uses == 1 else { return }
    if runLoop == nil { runLoop = MainRunLoop.ofThread }
    Self.lock.withLock { Self.all.append(self) }
    if countsAsBlock { blockBecomesJob(isOutsideWork: isInRunLoop) }
  }

  func end() {
    uses -= 1
    guard uses == 0 else { return }
    Self.lock.withLock { Self.all.removeAll { $0 === self } }
    if countsAsBlock { jobBecomesBlock() }
  }

  /// The number of an owner's waits whose timeouts are pending.
  static func timeouts(of owner: any PausableOwner) -> Int {
    lock.withLock { all.reduce(0) { $1.owner === owner ? $0 + $1.timeouts : $0 } }
  }

  /// Notes that a timeout is about to be enqueued (`change` is 1), or was removed (-1). Requires `begin` without `end`.
  func noteTimeout(_ change: Int) { Self.lock.withLock { timeouts += change } }

  // MARK: - Pauses

  let pause: JobPause
  /// How often in a row the test method has polled a semaphore or a group: a wait that ends immediately.
  private var polls = 0
  /// The number of polls after which time may move, because the method may poll until it moves. The number is a guess.
  private static let mostPolls = 10_000
  /// How many runs of the run loop in a row have only handled what was ready.
  var runLoopPolls = 0
  /// Whether the run loop was stopped since the innermost `runLoopWithoutEnd` or `runInnerLoop` began.
  ///
  /// Foundation forgets a stop that comes while a slice times out, or between two slices.
  let isStopped = Atomic(false)
  /// Whether the run loop was stopped between two slices of a wait of XCTest.
  let isStopMissed = Atomic(false)
  /// How many pauses are under way on the thread, one within another. Only the innermost ends at its timeout.
  let depth = Atomic(0)
  /// Whether the innermost pause keeps time from jumping.
  private let holdsTime = Atomic(false)
  /// Whether the innermost pause is for a run loop.
  let isInRunLoop = Atomic(false)
  /// The latest instant of the timers that are due, in nanoseconds of the monotonic clock; 0 if none is due.
  let dueInstant = Atomic<UInt64>(0)
  /// The slice of real time for which the thread runs its run loop; `nil` outside it.
  var slice: RunLoopSlice?
  /// Whether the innermost run of the run loop ends after it handles one source. Not set for a slice, because the wait
  /// of XCTest continues after it.
  var endsAfterSource = false
  /// How many timers of the owner had been due when the last slice ended.
  var firedTimers = 0
  /// How many blocks had been passed to run loops when the thread last ran its run loop for them.
  var passedBlocks = 0
  /// Ends the waits of a thread whose run loop has no sources.
  let wake = ThreadSemaphore()

  /// When a sleep that continues in real time would have ended in virtual time. Written before the thread wakes.
  ///
  /// Virtual time may have been ahead of real time, and Foundation would sleep again for the difference.
  var endOfSleep: Double?

  /// The job that is paused or parallel, or was last. Written only under the lock of `pause`.
  var job = PausedJob()

  /// Runs `wait` while the scope's tasks run. Keeps time from jumping meanwhile if `holdsTime` is set.
  ///
  /// A callback of the run loop may wait within a wait of the job. Then the job is resumed before it is
  /// paused for the inner wait. From the end of the inner wait to the end of the outer one, the job stays resumed.
  ///
  /// - Parameter isReady: Returns a result if there is nothing to wait for. Then the job never counts as paused.
  func paused<Result>(
    holdsTime: Bool = false, inRunLoop: Bool = false, unless isReady: () -> Result? = { nil },
    _ wait: () -> Result
  ) -> Result {
    ClockReadings.threadWaits()
    let isInWait = pause.hasBegun
    let heldTime = self.holdsTime.load(ordering: .relaxed)
    let wasInRunLoop = isInRunLoop.exchange(inRunLoop, ordering: .sequentiallyConsistent)
    #if os(Linux) && canImport(Glibc)
      // A thread in `RunLoopTimers.isDue` may have seen the run loop's wait. It must not end this wait instead.
      if !inRunLoop { RunLoopTimers.awaitBeginning() }
    #endif
    if isInWait { resume() }
    let isHeldBelow = isInWait ? nil : below?.cover()
    depth.add(1, ordering: .relaxed)
    setHold(holdsTime)
    // While the test method runs a run loop, jobs of the main thread can run. During its other waits they cannot.
    let takesMain = holdsMain && (work != .method || !inRunLoop)
    let next = PausedJob(
      task: UnownedTask.currentID ?? 0, takesMain: takesMain, isInRunLoop: inRunLoop)
    pause.begin(endParallel) { job = next }
    // Checked after the pause has begun. Thread B first makes something ready, and then ends this thread's pause. So
    // either this check sees what is ready, or thread B sees the pause.
    let early = isReady()
    if early == nil {
      noteSyncs(1)
      pause.countAsPaused {
        owner.pause(job, context)
        if context != nil { Self.lock.withLock { Self.externalJobs.append(self) } }
        context = nil
      }
    }
    let result = early ?? wait()
    resume()
    if early == nil { noteSyncs(-1) }
    isInRunLoop.store(wasInRunLoop, ordering: .sequentiallyConsistent)
    setHold(heldTime)
    pause.end(isInWait: isInWait, endParallel)
    depth.subtract(1, ordering: .relaxed)
    if let isHeldBelow { below?.uncover(holdsTime: isHeldBelow) }
    return result
  }

  /// Notes that the thread begins to wait within calls of `DispatchQueue.sync` (`change` is 1), or continues (-1).
  private func noteSyncs(_ change: Int) {
    var next = ThreadContext.current?.pointee.sync
    while let sync = next?.pointee {
      owner.noteStop(sync.stop, of: sync.queue, change)
      next = sync.outer
    }
  }

  /// Notes that an inner pause of another job begins. Returns whether this pause kept time from jumping.
  private func cover() -> Bool {
    depth.add(1, ordering: .relaxed)
    pause.cover({ owner.pause(job, nil) }, endParallel)
    return setHold(false)
  }

  private func uncover(holdsTime isNeeded: Bool) {
    setHold(isNeeded)
    pause.uncover { owner.resume(job) }
    depth.subtract(1, ordering: .relaxed)
  }

  /// Lets the pause keep time from jumping, or no longer, and returns whether it has done so. Any thread may call this.
  @discardableResult
  func setHold(_ isNeeded: Bool) -> Bool {
    let wasHeld = holdsTime.exchange(isNeeded, ordering: .sequentiallyConsistent)
    if isNeeded, !wasHeld { owner.beginHold(isUnlimited: false) }
    if !isNeeded, wasHeld { owner.endHold(isUnlimited: false) }
    return wasHeld
  }

  /// Counts the job as running before its thread wakes up, so that time does not move in between.
  func resume() { pause.resume { owner.resume(job) } }

  /// Called when a block or a job for the main thread begins on the current thread, perhaps in its run loop.
  ///
  /// The run loop handles the block or job as a source. If a source ends the run, time must not move until the thread
  /// continues. Outside a pause, time does not move anyway, because the thread's job counts as running.
  static func sourceBegins() {
    guard let waits = ofThread, waits.endsAfterSource, waits.depth.load(ordering: .relaxed) > 0
    else { return }
    waits.setHold(true)
  }

  func wakeUp() {
    resume()
    if isMain { MainRunLoop.interrupt() } else { wake.signal() }
  }

  /// Waits for a semaphore, or for a group, while the scope's tasks run. `wait` waits until an instant; 0 is now.
  func paused(until instant: UInt64, _ wait: (UInt64) -> Int) -> Int {
    let isReady = { wait(0) == 0 ? 0 : nil }
    polls = instant == 0 ? polls + 1 : 0
    return paused(holdsTime: instant == 0 && polls < Self.mostPolls, unless: isReady) {
      wait(instant)
    }
  }
}

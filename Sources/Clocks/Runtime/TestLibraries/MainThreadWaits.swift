import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc)
  internal import CDispatch
#endif

/// An owner whose tasks run while a test method on the main thread waits.
protocol PausableOwner: TaskOwner {
  var virtualNow: Duration { get }
  /// The number of sleeps and timed callbacks that are pending.
  var pendingCount: Int { get }

  /// Notes that a paused job continues, as an externally started job.
  func resumeJob()
  /// Keeps time from jumping, until `endShortHold`.
  func beginShortHold()
  func endShortHold()
}

/// The waits of a synchronous test method, which occupies the main thread.
///
/// Each wait pauses the method's job. `XCTWaiter` runs the run loop in slices of a tenth of a second until, by
/// the system's date, its timeout has passed. It also submits a watchdog for a quarter of a second after that.
/// This package drops the watchdog. The watchdog's instant shows the wait's deadline, which all slices use.
///
/// A method may wait for a thread or a socket, which no scheduler sees. So a wait times out only after some slices
/// of real time in which nothing else was pending. As long as a thread or a timer of the run loop may end the
/// wait, the timeout passes in real time. The number of slices is a guess. It is made only for suites that were
/// not written for virtual time (`Everywhere`).
///
/// Source: `XCTWaiter.swift` and `WaiterManager.swift` of swift-corelibs-xctest, as of Swift 6.3.
final class MainThreadWaits: @unchecked Sendable {
  private static let context = Atomic<UInt>(0)
  /// The waits of the method that the main thread runs. Only that thread writes this; `willResume` reads it.
  nonisolated(unsafe) private static var current: MainThreadWaits?

  /// The waits of the method that the current thread runs; `nil` if it runs none.
  @inline(__always)
  static var ofThread: MainThreadWaits? {
    let context = context.load(ordering: .relaxed)
    guard context != 0, UInt(bitPattern: ThreadContext.current) == context else { return nil }
    return current
  }

  private let owner: any PausableOwner
  private let place: UnsafeMutablePointer<ThreadContext>
  /// The deadlines of the waits of XCTest that are under way, the innermost last.
  private var deadlines: [Duration] = []
  /// Counts the slices in a row in which nothing was pending but the timeout.
  private var quietSlices = 0
  /// When the first of these slices began.
  private var quietSince = RealTime(in: .zero)

  init(_ owner: any PausableOwner, _ context: UnsafeMutablePointer<ThreadContext>) {
    self.owner = owner
    place = context
  }

  func run(_ function: () -> Void) {
    let outer = (Self.current, Self.context.load(ordering: .relaxed))
    Self.current = self
    Self.context.store(UInt(bitPattern: place), ordering: .relaxed)
    function()
    Self.current = outer.0
    Self.context.store(outer.1, ordering: .relaxed)
  }

  private var now: Duration { owner.virtualNow }

  /// 0 while the method runs, 1 while it is paused, and 2 when it is about to continue.
  private let phase = Atomic(0)
  /// The semaphore for which the method waits.
  private let semaphore = Atomic<UInt>(0)

  /// Whether the innermost pause keeps time from jumping.
  private var holdsTime = false

  /// Runs `wait` while the scope's tasks run. Keeps time from jumping meanwhile if `holdsTime` is set.
  ///
  /// A callback of the run loop may wait within a wait of the method. Then the method's job is resumed before it is
  /// paused for the inner wait. From the end of the inner wait to the end of the outer one, the job stays resumed.
  func paused<Result>(holdsTime: Bool = false, _ wait: () -> Result) -> Result {
    let outer = (isWaiting: phase.load(ordering: .sequentiallyConsistent) != 0, self.holdsTime)
    if outer.isWaiting { resume() }
    setHold(holdsTime)
    phase.store(1, ordering: .sequentiallyConsistent)
    owner.externallyStartedJobEnded(on: nil)
    let result = wait()
    resume()
    setHold(outer.1)
    phase.store(outer.isWaiting ? 2 : 0, ordering: .sequentiallyConsistent)
    return result
  }

  private func setHold(_ isNeeded: Bool) {
    if isNeeded, !holdsTime { owner.beginShortHold() }
    if !isNeeded, holdsTime { owner.endShortHold() }
    holdsTime = isNeeded
  }

  /// Counts the method's job as running before the main thread wakes up, so that time does not move in between.
  private func resume() {
    guard
      phase.compareExchange(expected: 1, desired: 2, ordering: .sequentiallyConsistent).exchanged
    else { return }
    owner.resumeJob()
  }

  /// Notes that the wait for a semaphore, or for the run loop, is about to end.
  static func willResume(from semaphore: OpaquePointer? = nil) {
    guard context.load(ordering: .relaxed) != 0, let current else { return }
    let awaited = current.semaphore.load(ordering: .relaxed)
    guard awaited == UInt(bitPattern: semaphore) else { return }
    current.resume()
  }

  /// Runs `wait`, which waits for a semaphore, while the scope's tasks run.
  func paused(on semaphore: OpaquePointer, _ wait: () -> Int) -> Int {
    let outer = self.semaphore.exchange(UInt(bitPattern: semaphore), ordering: .relaxed)
    defer { self.semaphore.store(outer, ordering: .relaxed) }
    return paused(wait)
  }

  // MARK: - Run loops

  /// Runs the run loop for at most `seconds` of virtual time, which take less real time.
  private func runLoop(_ seconds: Double, _ run: (Double) -> Int32) -> Int32 {
    let now = now
    var deadline = saturatingSum(now, .seconds(max(0, min(seconds, 1e12))))
    let isSlice = seconds < 0.101 && !deadlines.isEmpty
    if isSlice { deadline = deadlines[deadlines.count - 1] }
    // XCTest waits for an async method for an unlimited time.
    let isEndless = deadline - now > .seconds(86_400 * 29)
    let callback = isEndless ? nil : TimedCallback("run loop", begin: endWait) { _ in }
    if let callback { _ = owner.enqueue(callback, after: deadline - now) }
    // While nothing else is pending, the wait may be for real work, and time must not jump to the timeout.
    let isQuiet = owner.pendingCount <= 1
    if quietSlices == 0 { quietSince = RealTime(in: .zero) }
    let isHeld = callback != nil && isQuiet && mayBeForRealWork(until: deadline - now)
    let real = isHeld && quietSlices == 0 ? 0.001 : 0.01
    let result = paused(holdsTime: isHeld) { run(min(seconds, real)) }
    if let callback { owner.remove(callback) }
    quietSlices = isQuiet && result == MainRunLoop.timedOut ? quietSlices + 1 : 0
    return result
  }

  private func mayBeForRealWork(until timeout: Duration) -> Bool {
    if quietSlices < 12 { return true }
    return !quietSince.lasts(timeout) && OutsideWork.isLikely
  }

  /// Whether the run loop was stopped in `runLoopWithoutEnd`.
  ///
  /// Foundation forgets a stop that comes while a slice times out, or between two slices.
  private let isStopped = Atomic(false)

  /// Runs the run loop until it is stopped, or has nothing to wait for.
  func runLoopWithoutEnd() {
    isStopped.store(false, ordering: .relaxed)
    while true {
      let result = runLoop(1e10) { MainRunLoop.run(seconds: $0, returnsAfterOneSource: false) }
      if isStopped.exchange(false, ordering: .relaxed) { return }
      if result == MainRunLoop.finished || result == MainRunLoop.stopped { return }
    }
  }

  /// Runs a run loop within the run loop of the method. A stop ends only the inner run loop.
  func runInnerLoop(_ seconds: Double, _ run: (Double) -> Int32) -> Int32 {
    let outer = isStopped.load(ordering: .relaxed)
    defer { isStopped.store(outer, ordering: .relaxed) }
    return runLoop(seconds, run)
  }

  /// Notes that the run loop of the main thread is stopped.
  static func willStop() {
    if context.load(ordering: .relaxed) != 0 { current?.isStopped.store(true, ordering: .relaxed) }
    willResume()
  }

  @Sendable private func endWait() {
    resume()
    RuntimeHooks.startThread(on: .main) {}
  }

  // MARK: - XCTest's own queues

  #if os(Linux) && canImport(Glibc)
    /// Returns whether work on a queue is the watchdog of a wait, which must be dropped. Notes the wait's deadline.
    func leavesOut(workOn queue: OpaquePointer, at instant: UInt64) -> Bool {
      guard DispatchObject.label(of: queue) == "org.swift.XCTest.XCTWaiter" else { return false }
      let delay =
        DispatchTimes.delay(until: instant, for: owner) ?? .seconds(86_400 * 365)
      deadlines.append(saturatingSum(now, delay - .milliseconds(250)))
      quietSlices = 0
      return true
    }
  #endif

  /// Runs a block of XCTest that begins or ends a wait. Forgets the innermost deadline if the wait ends.
  func runManaging(_ work: () -> Void) {
    let count = deadlines.count
    work()
    if deadlines.count == count { _ = deadlines.popLast() }
  }

  // MARK: - Sleeps

  /// Blocks the main thread for a virtual duration.
  func sleep(for duration: Duration) {
    let end = ThreadSemaphore()
    let begin: @Sendable () -> Void = { [self] in
      resume()
      end.signal()
    }
    let callback = TimedCallback("a blocked thread", begin: begin) { _ in end.signal() }
    guard owner.enqueue(callback, after: duration) else { return }
    paused { end.wait() }
  }
}

/// A semaphore whose waits block the thread, unseen by the package's own hooks.
final class ThreadSemaphore: Sendable {
  #if os(Linux) && canImport(Glibc)
    nonisolated(unsafe) private let semaphore = dispatch_semaphore_create(0)

    func signal() { dispatch_semaphore_signal(semaphore) }
    func wait() { _ = dispatch_semaphore_wait(semaphore, .max) }
  #else
    func signal() {}
    func wait() {}
  #endif
}

#if os(Linux) && canImport(Glibc)
  /// The functions that block a thread for a duration, which is virtual in a synchronous test method.
  enum ThreadSleeps {
    /// Must be called once, while the process has one thread.
    static func redirect() {
      let entries = [nanosleep.entry, usleep.entry, sleep.entry, run.entry, stop.entry]
      // Foundation may not be loaded.
      CallTables.redirect(entries.filter(\.isFound), in: .users)
      CallTables.redirect([uptime.entry], in: .library("libFoundation.so"))
      CallTables.redirect([signal.entry], in: .library("libswiftDispatch.so"))
    }

    private static let run: Interposed<@convention(c) () -> Void> = Interposed("CFRunLoopRun") {
      guard let waits = MainThreadWaits.ofThread else { return run.original() }
      waits.runLoopWithoutEnd()
    }

    /// `XCTWaiter` stops the run loop when its expectations are fulfilled.
    private static let stop: Interposed<@convention(c) (UnsafeRawPointer?) -> Void> = Interposed(
      "CFRunLoopStop"
    ) {
      if MainRunLoop.isMain($0) { MainThreadWaits.willStop() }
      stop.original($0)
    }

    private static let signal: Interposed<@convention(c) (OpaquePointer) -> Int> = Interposed(
      "dispatch_semaphore_signal"
    ) {
      MainThreadWaits.willResume(from: $0)
      return signal.original($0)
    }

    /// `Thread.sleep` reads this clock after each sleep, and sleeps again until its duration has passed.
    private static let uptime: Interposed<@convention(c) () -> Double> = Interposed(
      "CFGetSystemUptime"
    ) {
      guard MainThreadWaits.ofThread != nil, let owner = ThreadContext.runningOwner,
        let reading = owner.reading(of: CLOCK_MONOTONIC, isDate: false)
      else { return uptime.original() }
      return Double(reading.tv_sec) + 1e-9 * Double(reading.tv_nsec)
    }

    private typealias Nanosleep =
      @convention(c) (UnsafePointer<timespec>?, UnsafeMutablePointer<timespec>?) -> CInt

    private static let nanosleep: Interposed<Nanosleep> = Interposed("nanosleep") {
      duration, rest in
      guard let waits = MainThreadWaits.ofThread, let duration else {
        return nanosleep.original(duration, rest)
      }
      waits.sleep(
        for: .seconds(duration.pointee.tv_sec) + .nanoseconds(duration.pointee.tv_nsec))
      return 0
    }

    private static let usleep: Interposed<@convention(c) (CUnsignedInt) -> CInt> = Interposed(
      "usleep"
    ) {
      guard let waits = MainThreadWaits.ofThread else { return usleep.original($0) }
      waits.sleep(for: .microseconds(Int64($0)))
      return 0
    }

    private static let sleep: Interposed<@convention(c) (CUnsignedInt) -> CUnsignedInt> =
      Interposed("sleep") {
        guard let waits = MainThreadWaits.ofThread else { return sleep.original($0) }
        waits.sleep(for: .seconds(Int64($0)))
        return 0
      }
  }
#endif

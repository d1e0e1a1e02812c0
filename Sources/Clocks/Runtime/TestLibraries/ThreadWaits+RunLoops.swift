import ClocksSupport
import Synchronization

// Run loops, in which XCTest waits.
extension ThreadWaits {
  /// Runs the run loop for at most `seconds` of virtual time, which take less real time.
  private func runLoop(_ seconds: Double, _ run: (Double) -> Int32) -> Int32 {
    let now = owner.virtualNow
    var deadline = saturatingSum(now, .seconds(max(0, min(seconds, 1e12))))
    let isSlice = seconds < 0.101 && !deadlines.isEmpty
    if isSlice { deadline = deadlines[deadlines.count - 1] }
    // XCTest waits for an async method for an unlimited time.
    let isEndless = deadline - now > .seconds(86_400 * 29)
    let callback = isEndless ? nil : timeout(after: deadline - now)
    // While nothing else is pending, the wait may be for real work, and time must not jump to the timeout.
    let isQuiet = owner.pendingCount <= Self.timeouts.load(ordering: .relaxed)
    if quietSlices == 0 { quietSince = RealTime(in: .zero) }
    let isHeld = callback != nil && isQuiet && mayBeForRealWork(until: deadline - now)
    let real = isHeld && quietSlices == 0 ? 0.001 : 0.01
    let result = paused(holdsTime: isHeld) { run(min(seconds, real)) }
    if let callback {
      owner.remove(callback)
      Self.timeouts.subtract(1, ordering: .relaxed)
    }
    quietSlices = isQuiet && result == MainRunLoop.timedOut ? quietSlices + 1 : 0
    return result
  }

  private func timeout(after delay: Duration) -> TimedCallback {
    let depth = depth.load(ordering: .relaxed) + 1
    let end: @Sendable () -> Void = { [self] in
      if self.depth.load(ordering: .relaxed) == depth { wakeUp() }
    }
    let callback = TimedCallback("run loop", begin: end) { RealTime(in: $0).schedule(end) }
    Self.timeouts.add(1, ordering: .relaxed)
    _ = owner.enqueue(callback, after: delay)
    return callback
  }

  private func mayBeForRealWork(until timeout: Duration) -> Bool {
    guard owner.pausedWaits == .all, OutsideWork.isPossible || MainRunLoop.hasTimer else {
      return false
    }
    if quietSlices < 12 { return true }
    return !quietSince.lasts(timeout) && OutsideWork.isLikely
  }

  /// Runs the run loop until it is stopped, or has nothing to wait for.
  func runLoopWithoutEnd() {
    begin()
    defer { end() }
    isStopped.store(false, ordering: .relaxed)
    while true {
      let result = runLoop(1e10) { MainRunLoop.run(seconds: $0, returnsAfterOneSource: false) }
      if isStopped.exchange(false, ordering: .relaxed) { return }
      if result == MainRunLoop.finished || result == MainRunLoop.stopped { return }
    }
  }

  /// Runs a run loop within the run loop of the job. A stop ends only the inner run loop.
  func runInnerLoop(_ seconds: Double, _ run: (Double) -> Int32) -> Int32 {
    begin()
    defer { end() }
    let outer = isStopped.load(ordering: .relaxed)
    defer { isStopped.store(outer, ordering: .relaxed) }
    return runLoop(seconds, run)
  }

  /// The waits of XCTest that the current thread has begun and not ended; `nil` if there are none.
  static var ofXCTest: ThreadWaits? {
    guard let waits = ofThread, !waits.deadlines.isEmpty else { return nil }
    return waits
  }

  /// Waits as a slice of `XCTWaiter` would if the thread's run loop had a source.
  func waitWithoutSources() {
    guard !isMain else { return }
    _ = runLoop(0.1) { wake.wait(seconds: $0) ? MainRunLoop.stopped : MainRunLoop.timedOut }
  }

  // MARK: - XCTest's own queues

  #if os(Linux) && canImport(Glibc)
    /// Returns whether work on a queue is the watchdog of a wait, which must be dropped. Notes the wait's deadline.
    static func leavesOut(workOn queue: OpaquePointer, at instant: UInt64) -> Bool {
      guard areSeen, DispatchObject.label(of: queue) == "org.swift.XCTest.XCTWaiter",
        let waits = beginning
      else { return false }
      let delay =
        DispatchTimes.delay(until: instant, for: waits.owner) ?? .seconds(86_400 * 365)
      waits.begin()
      if waits.isMain { MainRunLoop.beginInterruptible() }
      waits.deadlines.append(
        saturatingSum(waits.owner.virtualNow, delay - .milliseconds(250)))
      waits.quietSlices = 0
      return true
    }
  #endif

  /// Runs a block of XCTest that begins or ends a wait. Forgets the innermost deadline if the wait ends.
  func runManaging(_ work: () -> Void) {
    let count = deadlines.count
    work()
    guard deadlines.count == count, deadlines.popLast() != nil else { return }
    if isMain { MainRunLoop.endInterruptible() }
    end()
  }

  /// Starts a thread on which XCTest waits on behalf of an owner. `start` runs its argument on the new thread.
  static func startThread(
    of owner: any PausableOwner, _ body: @escaping @Sendable () -> Void,
    by start: (@escaping @Sendable () -> Void) -> Void
  ) {
    // The thread's work is counted before the current job ends, so that the scope is not idle in between.
    owner.jobBegins()
    start {
      var context = ThreadContext(owner: owner, isInJob: true)
      context.waits = ThreadWaits(owner, .thread)
      OutsideWork.threadEnds()
      context.run { _ in body() }
      OutsideWork.threadBegins()
      owner.externallyStartedJobEnded(on: nil)
    }
  }
}

import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc)
  // Run loops, in which XCTest waits.
  extension ThreadWaits {
    /// Runs the run loop until an instant of virtual time, or for a short real time.
    ///
    /// - Parameters:
    ///   - isSlice: Whether the run is a slice of a wait of XCTest. Then the limit is the end of the wait.
    ///   - isPoll: Whether the run handles only what is ready.
    ///   - hasHandledSource: Returns whether `run` handled a source, which ends the run.
    /// - Returns: What the run loop returns, and whether time was kept from moving because of possible real work.
    private func runLoop(
      until limit: Duration, isSlice: Bool = false, isPoll: Bool = false,
      unless hasHandledSource: () -> Bool = { false }, _ run: (Double) -> Int32
    ) -> (result: Int32, isHeld: Bool) {
      if isMain, owner.pausedWaits == .all { RunLoopTimers.adopt(for: owner) }
      var rounds = 0
      while rounds < Self.mostRounds, RunLoopTimers.takeOverdue(of: owner) || hasNewBlocks {
        rounds += 1
        passedBlocks = MainRunLoop.passedBlocks.load(ordering: .sequentiallyConsistent)
        RunLoopTimers.fire(for: owner, run)
        if isStopped.load(ordering: .sequentiallyConsistent) { return (MainRunLoop.stopped, false) }
        if hasHandledSource() { return (MainRunLoop.handledSource, false) }
      }
      let now = owner.virtualNow
      // A timer that fired may have moved time beyond the limit.
      let deadline = isSlice ? limit : max(limit, now)
      // XCTest waits for an async method for an unlimited time.
      let isEndless = deadline - now > .seconds(86_400 * 29)
      // While nothing else is pending, the wait may be for real work, and time must not jump to the timeout.
      let isQuiet =
        owner.pendingCount <= Self.timeouts(of: owner) + RunLoopTimers.count(of: owner)
      let timers = RunLoopTimers.fired(of: owner)
      if quietSlices == 0 || timers != firedTimers { quietSince = RealTime(in: .zero) }
      firedTimers = timers
      let next = min(deadline - now, RunLoopTimers.delay(for: owner) ?? deadline - now)
      let isHeld = !isEndless && isQuiet && mayBeForRealWork(until: next)
      let depth = depth.load(ordering: .relaxed) + 1
      let timeout = TimedCallback("run loop") { [self] in
        if self.depth.load(ordering: .relaxed) == depth { wakeUp() }
      }
      if !isEndless {
        noteTimeout(1)
        _ = owner.enqueue(timeout, after: deadline - now)
      }
      let real = isPoll ? 0 : isHeld && quietSlices == 0 ? 0.001 : 0.01
      let isReady = { () -> Int32? in
        // Read after `isHeld` was computed: work that has just ended, and so does not count for `isHeld`, may have
        // stopped the run loop.
        let isMissed =
          isSlice && self.isStopMissed.exchange(false, ordering: .sequentiallyConsistent)
        if isMissed || self.isStopped.load(ordering: .sequentiallyConsistent) {
          return MainRunLoop.stopped
        }
        // No timer and no block may begin while the job is paused, so both are handled before the pause.
        let isAnyReady =
          RunLoopTimers.isAnyDue(self.dueInstant, of: self.owner)
          || rounds < Self.mostRounds && self.hasNewBlocks
        return isAnyReady ? MainRunLoop.timedOut : nil
      }
      var isSliceOver = false
      let result = paused(holdsTime: isHeld, inRunLoop: true, unless: isReady) {
        let outer = slice
        defer { slice = outer }
        let current = RunLoopSlice(seconds: real)
        slice = current
        defer { isSliceOver = current.end.hasPassed }
        return run(real)
      }
      if !isEndless {
        owner.remove(timeout)
        noteTimeout(-1)
      }
      // A timer that became due must not fire in the next pause.
      let isDue = RunLoopTimers.isAnyDue(dueInstant, of: owner)
      if isDue {
        RunLoopTimers.fire(for: owner, run)
        dueInstant.store(0, ordering: .sequentiallyConsistent)
      }
      if !isQuiet || !isDue && result != MainRunLoop.timedOut {
        quietSlices = 0
      } else if isDue || isSliceOver {
        // A slice that was ended early, by a reading of the clock, left work outside no time to act. It does not count.
        quietSlices += 1
      }
      let isStoppedByTimer = isDue && isStopped.load(ordering: .sequentiallyConsistent)
      return (isStoppedByTimer ? MainRunLoop.stopped : result, isHeld)
    }

    /// How often a run loop handles pending blocks and overdue timers before time may move although more are pending.
    ///
    /// Without a limit, time would never move if each block submits another one.
    private static let mostRounds = 16

    /// The longest run, in seconds, that counts as one of many in a loop. A guess: Foundation takes 0.05.
    private static let longestPoll = 0.1

    /// The number of consecutive polls of a run loop after which polls take time, and the number of polls that share a
    /// wait.
    ///
    /// Guesses: a wait takes several times as long as a poll.
    static let (mostRunLoopPolls, runLoopPollsPerWait) = (1_000, 16)

    /// Whether a block was submitted to any run loop since this one last handled blocks.
    private var hasNewBlocks: Bool {
      MainRunLoop.passedBlocks.load(ordering: .sequentiallyConsistent) != passedBlocks
    }

    private func mayBeForRealWork(until timeout: Duration) -> Bool {
      guard owner.pausedWaits == .all,
        OutsideWork.isPossible || RunLoopTimers.isAnyReal(for: owner) || owner.hasAbandonedBlock
      else { return false }
      if quietSlices < 12 { return true }
      return !quietSince.lasts(timeout)
        && (RunLoopTimers.isAnyReal(for: owner) || OutsideWork.isAnyBusy)
    }

    /// Runs the run loop until it is stopped, or has nothing to wait for.
    func runLoopWithoutEnd() {
      begin(isInRunLoop: true)
      defer { end() }
      isStopped.store(false, ordering: .relaxed)
      while !owner.isOver {
        let result = runLoop(until: saturatingSum(owner.virtualNow, .seconds(1e10))) {
          MainRunLoop.run(seconds: $0, returnsAfterOneSource: false)
        }.result
        if isStopped.exchange(false, ordering: .relaxed) { return }
        if result == MainRunLoop.finished || result == MainRunLoop.stopped { return }
      }
      // A thread may outlive its test.
      MainRunLoop.run(seconds: 1e10, returnsAfterOneSource: false)
    }

    /// Runs a run loop within the run loop of the job for at most `seconds` of virtual time, which take less real time.
    ///
    /// A stop ends only the inner run loop.
    ///
    /// - Parameters:
    ///   - endsAfterSource: Whether the run ends after it handles one source.
    ///   - mayEndEarly: Whether the run may end after a short real time, as a slice does. A short run for one source
    ///     may do so if it may be for real work: `Process.waitUntilExit` checks after each such run whether the process
    ///     has ended.
    func runInnerLoop(
      _ seconds: Double, endsAfterSource: Bool = false, mayEndEarly: Bool = false,
      _ run: (Double) -> Int32
    ) -> Int32 {
      begin(isInRunLoop: true)
      defer { end() }
      let outer = isStopped.exchange(false, ordering: .relaxed)
      defer { isStopped.store(outer, ordering: .relaxed) }
      runLoopPolls = seconds > 0 ? 0 : runLoopPolls + 1
      // The test may poll until time passes. Then further runs take time, as the polls do in real time.
      let isLastOfGroup = runLoopPolls.isMultiple(of: Self.runLoopPollsPerWait)
      let seconds = isLastOfGroup && runLoopPolls > Self.mostRunLoopPolls ? 0.01 : seconds
      let isPoll = seconds <= 0
      // A pause would start a thread for ready work. There is none, so the run needs no pause.
      if runLoopPolls > Self.runLoopPollsPerWait, !isLastOfGroup, !owner.hasReadyWork {
        return run(0)
      }
      // A run that is as short as a slice counts as one only if XCTest's wait begins it. A callback within a slice may
      // also begin a short run, but then `uses` is higher.
      if seconds < 0.101, let wait = deadlines.last, wait.uses == uses - 1 {
        return runLoop(until: wait.end, isSlice: true, isPoll: isPoll, run).result
      }
      let limit = saturatingSum(owner.virtualNow, .seconds(max(0, min(seconds, 1e12))))
      let mayPoll = endsAfterSource && seconds <= Self.longestPoll
      let outerEndsAfterSource = self.endsAfterSource
      self.endsAfterSource = endsAfterSource
      defer { self.endsAfterSource = outerEndsAfterSource }
      let interrupts = isMain ? MainRunLoop.preventInterrupts() : 0
      defer { MainRunLoop.allowInterrupts(interrupts) }
      var hasHandledSource = false
      func runOnce(_ seconds: Double) -> Int32 {
        let result = run(seconds)
        if result == MainRunLoop.handledSource { hasHandledSource = true }
        return result
      }
      while true {
        let (result, isHeld) = runLoop(
          until: limit, isPoll: isPoll, unless: { hasHandledSource }, runOnce)
        // The run continues after a timer, as it does in real time. Once the test is over, it ends, and the caller's
        // next run takes real time.
        guard result == MainRunLoop.timedOut else { return result }
        if hasHandledSource { return MainRunLoop.handledSource }
        guard owner.virtualNow < limit, !mayEndEarly, !(isHeld && mayPoll),
          owner.pausedWaits == .all
        else { return result }
        // The timer may have been all that the run loop had to wait for. Then the run ends before time moves again.
        if runOnce(0) == MainRunLoop.finished { return MainRunLoop.finished }
        if hasHandledSource { return MainRunLoop.handledSource }
      }
    }

    /// The waits of XCTest that the current thread has begun and not ended; `nil` if there are none.
    static var ofXCTest: ThreadWaits? {
      guard let waits = ofThread, !waits.deadlines.isEmpty else { return nil }
      return waits
    }

    /// Waits as a slice of `XCTWaiter` would if the thread's run loop had a source.
    func waitWithoutSources() {
      guard !isMain else { return }
      _ = runInnerLoop(0.1, mayEndEarly: true) {
        wake.wait(seconds: $0) ? MainRunLoop.stopped : MainRunLoop.timedOut
      }
    }

    // MARK: - Timers

    /// Counts the job as running before the timer can fire.
    func timerIsDue(at instant: UInt64) {
      dueInstant.store(
        max(instant, dueInstant.load(ordering: .relaxed)), ordering: .sequentiallyConsistent)
      resume()
    }

    /// The present of the monotonic clock for the run loop, in nanoseconds. A timer that is due has fired at its
    /// instant.
    func present(_ now: UInt64) -> UInt64 {
      max(now, dueInstant.load(ordering: .sequentiallyConsistent))
    }

    // MARK: - XCTest's own queues

    /// Returns whether work on a queue is the watchdog of a wait, which must be dropped. Notes the wait's deadline.
    static func leavesOut(workOn queue: OpaquePointer, at instant: UInt64) -> Bool {
      guard areSeen, DispatchObject.label(of: queue) == "org.swift.XCTest.XCTWaiter",
        let waits = beginning
      else { return false }
      let delay =
        DispatchTimes.delay(until: instant, for: waits.owner) ?? .seconds(86_400 * 365)
      waits.beginWait(for: delay - .milliseconds(250))
      return true
    }

    func beginWait(for timeout: Duration) {
      begin()
      if isMain { MainRunLoop.beginInterruptible() }
      deadlines.append((saturatingSum(owner.virtualNow, timeout), uses))
      quietSlices = 0
      isStopMissed.store(false, ordering: .sequentiallyConsistent)
    }

    /// Runs a block of XCTest that begins or ends a wait. Forgets the innermost deadline if the wait ends.
    func runManaging(_ work: () -> Void) {
      let count = deadlines.count
      work()
      guard deadlines.count == count, let innermost = deadlines.last else { return }
      // Within the run loop of a wait that is over, a wait begins without a watchdog: XCTest interrupts it immediately.
      guard innermost.uses == uses else { return beginWait(for: .zero) }
      deadlines.removeLast()
      if isMain { MainRunLoop.endInterruptible() }
      end()
    }
  }
#endif

import ClocksSupport

#if os(Linux) && canImport(Glibc)
  /// The functions that run and stop run loops, and those by which XCTest waits.
  enum ThreadRunLoops {
    /// Must be called once, while the process has one thread.
    static func redirect() {
      // Foundation or XCTest may not be loaded. Then no thread waits for an expectation.
      guard
        CallTables.redirect([finished.entry, stop.entry], knownIn: "libFoundation.so"),
        CallTables.redirect([startThread.entry], knownIn: "libXCTest.so")
      else { return }
      ThreadWaits.areSeen = true
    }

    /// `XCTWaiter` stops the run loop when its expectations are fulfilled.
    fileprivate static let stop: Interposed<@convention(c) (UnsafeRawPointer?) -> Void> =
      Interposed("CFRunLoopStop") {
        ThreadWaits.willStop($0)
        stop.original($0)
      }

    private typealias Finished = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> Bool

    /// Lets the thread wait here if its run loop has nothing to wait for: then `RunLoop.run(mode:before:)` returns
    /// immediately.
    private static let finished: Interposed<Finished> = Interposed("_CFRunLoopFinished") {
      runLoop, mode in
      guard finished.original(runLoop, mode) else { return false }
      ThreadWaits.ofXCTest?.waitWithoutSources()
      return true
    }

    private typealias StartThread =
      @convention(thin) (@escaping @Sendable () -> Void) -> Void

    /// `Thread.detachNewThread(_:)`, which XCTest calls for `fulfillment(of:)`.
    private static let startThread: Interposed<StartThread> = Interposed(
      "$s10Foundation6ThreadC09detachNewB0yyyyYbcFZ"
    ) { body in
      guard let owner = ThreadContext.runningOwner as? any PausableOwner,
        owner.pausedWaits != .none
      else { return startThread.original(body) }
      ThreadWaits.startThread(of: owner, body) { startThread.original($0) }
    }
  }

  /// The functions by which threads sleep, and those that begin work outside the scope.
  ///
  /// Only unedited suites need them: their threads sleep in virtual time, and work outside may end a wait.
  enum ThreadSleeps {
    /// Must be called once, while the process has one thread.
    static func redirect() {
      // Foundation may not be loaded. Then some of the functions do not exist.
      CallTables.redirect(
        [
          nanosleep.entry, sleep.entry, ThreadRunLoops.stop.entry, perform.entry,
          addObserver.entry, createThread.entry,
        ], knownIn: "libFoundation.so",
        and: [usleep.entry, run.entry, FoundationWaits.runLoop.entry],
        in: .users, together: false)
      CallTables.redirect(
        [createFoundationThread.entry, uptime.entry], knownIn: "libFoundation.so", together: false)
      CallTables.redirect(
        [createIO.entry, openIO.entry, read.entry, write.entry, signal.entry],
        knownIn: "libswiftDispatch.so", together: false)
      ThreadWaits.areSleepsSeen = true
      CallTables.redirect(RunLoopTimers.entries, knownIn: "libFoundation.so")
    }

    private static let run: Interposed<@convention(c) () -> Void> = Interposed("CFRunLoopRun") {
      guard let waits = ThreadWaits.ofAnyKind else { return run.original() }
      waits.runLoopWithoutEnd()
    }

    private typealias Perform =
      @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, @escaping @convention(block) () -> Void)
      -> Void

    /// Until the block begins, it is work that no scheduler sees.
    private static let perform: Interposed<Perform> = Interposed("CFRunLoopPerformBlock") {
      runLoop, mode, block in
      OutsideWork.begins()
      perform.original(runLoop, mode) {
        OutsideWork.ends()
        block()
      }
      ThreadWaits.blockWasPassed(to: runLoop)
    }

    private typealias AddObserver =
      @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?) -> Void

    /// `NotificationQueue` posts a notification in an observer, which it adds for that notification.
    ///
    /// So the run loop handles the observer before time moves, like a block.
    private static let addObserver: Interposed<AddObserver> = Interposed("CFRunLoopAddObserver") {
      runLoop, observer, mode in
      addObserver.original(runLoop, observer, mode)
      ThreadWaits.blockWasPassed(to: runLoop)
    }

    private static let signal: Interposed<@convention(c) (OpaquePointer) -> Int> = Interposed(
      "dispatch_semaphore_signal"
    ) { semaphore in
      let result = AwaitedObjects.signal(semaphore) { signal.original(semaphore) }
      LimitedWait.mayEnd(for: semaphore)
      return result
    }

    private typealias CreateThread =
      @convention(c) (
        UnsafeMutableRawPointer?, UnsafeRawPointer?, @escaping ThreadStart.Function,
        UnsafeMutableRawPointer?
      ) -> CInt

    private static let createThread: Interposed<CreateThread> = Interposed("pthread_create") {
      create($0, $1, $2, $3, nil)
    }

    /// Called by Foundation's `Thread`.
    private static let createFoundationThread: Interposed<CreateThread> = Interposed(
      "pthread_create"
    ) {
      create($0, $1, $2, $3, TestThread())
    }

    private static func create(
      _ thread: UnsafeMutableRawPointer?, _ attributes: UnsafeRawPointer?,
      _ start: @escaping ThreadStart.Function, _ argument: UnsafeMutableRawPointer?,
      _ test: TestThread?
    ) -> CInt {
      ThreadStart.createThread(of: test, start, argument) {
        createThread.original(thread, attributes, $0, $1)
      }
    }

    private typealias Word = UnsafeMutableRawPointer?
    private typealias UseIO = @convention(c) (Word, Word, Word, Word) -> Word
    private typealias OpenIO = @convention(c) (Word, Word, Word, Word, Word, Word) -> Word

    // These calls read or write files and sockets. Their arguments are passed on as words.
    private static let createIO: Interposed<UseIO> = Interposed("dispatch_io_create") {
      OutsideWork.begins()
      return createIO.original($0, $1, $2, $3)
    }

    private static let openIO: Interposed<OpenIO> = Interposed("dispatch_io_create_with_path") {
      OutsideWork.begins()
      return openIO.original($0, $1, $2, $3, $4, $5)
    }

    private static let read: Interposed<UseIO> = Interposed("dispatch_read") {
      OutsideWork.begins()
      return read.original($0, $1, $2, $3)
    }

    private static let write: Interposed<UseIO> = Interposed("dispatch_write") {
      OutsideWork.begins()
      return write.original($0, $1, $2, $3)
    }

    /// `Thread.sleep` reads this clock after each sleep, and sleeps again until its duration passes.
    private static let uptime: Interposed<@convention(c) () -> Double> = Interposed(
      "CFGetSystemUptime"
    ) {
      if let waits = ThreadWaits.ofThread, let end = waits.endOfSleep {
        waits.endOfSleep = nil
        return end
      }
      guard ThreadWaits.ofAnyKind != nil, let owner = ThreadContext.runningOwner,
        let reading = seconds(of: owner)
      else { return uptime.original() }
      return reading
    }

    /// The present of `uptime` in virtual time; `nil` if the owner's time is real.
    fileprivate static func seconds(of owner: TaskOwner) -> Double? {
      owner.reading(of: CLOCK_MONOTONIC).map {
        Double($0.tv_sec) + 1e-9 * Double($0.tv_nsec)
      }
    }

    private typealias Nanosleep =
      @convention(c) (UnsafePointer<timespec>?, UnsafeMutablePointer<timespec>?) -> CInt

    private static let nanosleep: Interposed<Nanosleep> = Interposed("nanosleep") {
      duration, rest in
      // The system refuses any other duration.
      guard let duration, duration.pointee.tv_sec >= 0,
        0..<1_000_000_000 ~= duration.pointee.tv_nsec,
        ThreadWaits.sleep(for: duration.pointee.duration)
      else { return nanosleep.original(duration, rest) }
      return 0
    }

    private static let usleep: Interposed<@convention(c) (CUnsignedInt) -> CInt> = Interposed(
      "usleep"
    ) {
      $0 > 0 && ThreadWaits.sleep(for: .microseconds(Int64($0))) ? 0 : usleep.original($0)
    }

    private static let sleep: Interposed<@convention(c) (CUnsignedInt) -> CUnsignedInt> =
      Interposed("sleep") {
        // A thread that waits for a lock of Foundation calls `sleep(0)` in a loop.
        $0 > 0 && ThreadWaits.sleep(for: .seconds(Int64($0))) ? 0 : sleep.original($0)
      }
  }

  extension ThreadWaits {
    /// Blocks the current thread for a virtual duration. Returns `false` if its time is real.
    ///
    /// Foundation sleeps again until its clock shows that the time is over. The rest may be less than a nanosecond, so
    /// a sleep for no time takes some, too.
    fileprivate static func sleep(for duration: Duration) -> Bool {
      ofAnyKind?.sleep(for: max(duration, .nanoseconds(1))) ?? false
    }

    private func sleep(for duration: Duration) -> Bool {
      let signal = ThreadSemaphore()
      let wakeUp: @Sendable () -> Void = { [self] in
        resume()
        signal.signal()
      }
      let callback = TimedCallback("a blocked thread", begin: wakeUp) { [self] rest in
        endOfSleep = ThreadSleeps.seconds(of: owner).map { $0 + rest.seconds }
        RealTime(in: rest).schedule { signal.signal() }
      }
      let becomesJob = countsAsBlock && !isInUse
      if becomesJob { blockBecomesJob() }
      defer { if becomesJob { jobBecomesBlock() } }
      guard owner.enqueue(callback, after: duration) else { return false }
      paused { signal.wait() }
      return true
    }
  }
#endif

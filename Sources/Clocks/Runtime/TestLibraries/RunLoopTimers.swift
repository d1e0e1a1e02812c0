import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc)
  /// The timers of run loops, which fire in virtual time in an unedited suite.
  ///
  /// For the next timer of a run loop, Foundation sets a timer of the kernel to an instant of the monotonic clock. Here
  /// a timed callback takes its place. When that is due, the kernel's timer is set to the present, and the thread that
  /// waits in the run loop counts as running. Foundation decides by the monotonic clock which timers fire, so that
  /// clock is virtual, too. A run of a run loop still ends in real time: each run is a slice (`RunLoopSlice`).
  ///
  /// Source: `CFRunLoop.c` of swift-corelibs-foundation, as of Swift 6.3.
  enum RunLoopTimers {
    static var entries: [CallTables.Entry] {
      [readClock.entry, set.entry, toDispatchTime.entry, wait.entry, close.entry]
    }

    // MARK: - The monotonic clock

    /// The owner whose virtual time the current thread reads; `nil` if it reads real time.
    private static var owner: (any PausableOwner)? { ThreadContext.ownerOfJob?.pausingAll }

    /// The present of the monotonic clock for a thread of an owner, in nanoseconds.
    private static func present(of owner: any PausableOwner) -> UInt64? {
      guard let context = ThreadContext.current,
        let reading = owner.reading(of: CLOCK_MONOTONIC)
      else { return nil }
      let now = UInt64(max(0, reading.nanoseconds)) &+ context.pointee.runLoops.nanoseconds
      return context.pointee.waits?.present(now) ?? now
    }

    /// The function by which run loops read the monotonic clock.
    static let readClock: Interposed<RuntimeClocks.ReadClock> = Interposed("clock_gettime") {
      guard $0 == CLOCK_MONOTONIC, let owner, let now = present(of: owner) else {
        NondeterminismHooks.clockIsRead()
        return readClock.original($0, $1)
      }
      let waits = ThreadContext.current?.pointee.waits
      $1.pointee = timespec(
        nanoseconds: Int(clamping: waits?.slice?.reading(at: now) ?? now))
      return 0
    }

    /// A run loop limits its run by a timer of Dispatch, whose instant it computes from the monotonic clock.
    private static let toDispatchTime: Interposed<@convention(c) (UInt64, Int64) -> UInt64> =
      Interposed("dispatch_time") {
        guard $0 == 1, let owner, let now = present(of: owner) else {
          return toDispatchTime.original($0, $1)
        }
        let slice = ThreadContext.current?.pointee.waits?.slice
        return toDispatchTime.original(
          0, slice.map { Int64($0.nanoseconds) } ?? nanoseconds(from: now, to: $1))
      }

    /// The time to an instant; 0 if it has passed.
    ///
    /// Foundation computes instants as unsigned numbers. So at the end of the range, one may come as a negative number.
    static func nanoseconds(from now: UInt64, to instant: Int64) -> Int64 {
      max(0, instant &- Int64(bitPattern: now))
    }

    private typealias Wait =
      @convention(c) (
        UnsafeMutableRawPointer?, nfds_t, UnsafePointer<timespec>?, UnsafeRawPointer?
      ) -> CInt

    /// Ends each wait of a run loop with its slice.
    ///
    /// The timer of Dispatch is not enough: a run loop that another event just woke ignores it.
    private static let wait: Interposed<Wait> = Interposed("ppoll") { files, count, limit, mask in
      guard limit == nil, let slice = ThreadContext.current?.pointee.waits?.slice,
        let left = slice.end.nanosecondsLeft
      else { return wait.original(files, count, limit, mask) }
      var rest = timespec(nanoseconds: Int(clamping: left))
      return wait.original(files, count, &rest, mask)
    }

    // MARK: - Timers

    private struct Timer {
      let owner: any PausableOwner
      /// The thread that set the timer, nearly always that of its run loop.
      let thread: Int32
      let callback: TimedCallback
      /// The instant of the monotonic clock, in nanoseconds.
      let instant: UInt64
    }

    /// Counts the timers of one owner that have been due.
    struct Firings {
      /// The owner may be freed, and a later one may get its address.
      weak var owner: TaskOwner?
      var count = 0
      /// Whether a timer was due while no thread of the owner was in a run loop.
      var isOverdue = false
    }

    /// Guards the variables below. Rank `leaf`.
    static let lock = Lock(.leaf)
    /// The timers whose callbacks are pending, by their file descriptors.
    nonisolated(unsafe) private static var timers: [CInt: Timer] = [:]
    /// The timers that are due. Foundation sets a timer again after it fires, which removes the timer here.
    nonisolated(unsafe) static var due: [CInt: (thread: Int32, owner: ObjectIdentifier)] =
      [:]
    /// The instants for which timers of the main run loop are set in real time.
    nonisolated(unsafe) private static var realTimers: [CInt: UInt64] = [:]
    /// Whether the main run loop has a timer, and no owner has one.
    ///
    /// A timer whose callback runs the run loop is still in the run loop, and its instant has come.
    static func isAnyReal(for owner: any PausableOwner) -> Bool {
      guard lock.withLock({ timers.isEmpty }) else { return false }
      let date = owner.reading(of: CLOCK_REALTIME).map(RuntimeClocks.secondsSince2001) ?? 0
      // Foundation computes dates in seconds, with an error of a tenth of a microsecond.
      return MainRunLoop.hasTimer(after: date + 1e-6)
    }
    /// The number of an owner's timers whose callbacks are pending.
    static func count(of owner: any PausableOwner) -> Int {
      lock.withLock { timers.values.count { $0.owner === owner } }
    }
    /// The firings of each owner: a thread of one test must not take a timer of another test.
    nonisolated(unsafe) static var firings: [ObjectIdentifier: Firings] = [:]
    /// How many timers of an owner have been due.
    static func fired(of owner: any PausableOwner) -> Int { firings(of: owner).count }
    static func firings(of owner: any PausableOwner) -> Firings {
      lock.withLock { knownFirings(of: owner) }
    }

    /// Requires the lock.
    static func knownFirings(of owner: any PausableOwner) -> Firings {
      let known = firings[ObjectIdentifier(owner)]
      return known.flatMap { $0.owner === owner ? $0 : nil } ?? Firings()
    }

    /// Forgets an owner, and the owners that are freed: a timer may be due after its test.
    static func testIsOver(of owner: TaskOwner) {
      // The other owners are released without the lock, because this may free them.
      var others: [TaskOwner] = []
      lock.withLock {
        firings = firings.filter { _, known in
          guard let other = known.owner else { return false }
          others.append(other)
          return other !== owner
        }
        due = due.filter { $0.value.owner != ObjectIdentifier(owner) }
      }
      withExtendedLifetime(others) {}
    }

    private typealias Set =
      @convention(c) (
        CInt, CInt, UnsafePointer<itimerspec>, UnsafeMutablePointer<itimerspec>?
      ) -> CInt

    private static let set: Interposed<Set> = Interposed("timerfd_settime") {
      timer, flags, setting, former in
      forget(timer)
      let instant = UInt64(max(0, setting.pointee.it_value.nanoseconds))
      guard flags == absolute, instant > 0 else {
        return set.original(timer, flags, setting, former)
      }
      guard let owner, let now = present(of: owner) else {
        if MainRunLoop.isMain(MainRunLoop.ofThread) { noteReal(timer, instant) }
        return set.original(timer, flags, setting, former)
      }
      guard ThreadContext.current?.pointee.runLoops.isRunning == false,
        add(timer, now, instant, owner)
      else { return setReal(timer, instant > now ? instant - now : 0) }
      return 0
    }

    private static let absolute: CInt = 1

    /// Forgets the timer of a run loop that is freed, as when its thread ends. The next file may get its number.
    private static let close: Interposed<@convention(c) (CInt) -> CInt> = Interposed("close") {
      forget($0)
      return close.original($0)
    }

    @discardableResult
    private static func setReal(_ timer: CInt, _ delay: UInt64) -> CInt {
      var setting = itimerspec()
      // A delay of zero would stop the timer.
      setting.it_value = timespec(nanoseconds: Int(clamping: max(1, delay)))
      return set.original(timer, 0, &setting, nil)
    }

    /// Stops the kernel's timer and adds a callback for it. Returns whether the owner takes the callback. If not, the
    /// kernel's timer continues.
    private static func add(
      _ timer: CInt, _ now: UInt64, _ instant: UInt64, _ owner: any PausableOwner
    ) -> Bool {
      let isMain = MainRunLoop.isMain(MainRunLoop.ofThread)
      let callback = TimedCallback("a timer of a run loop") {
        isDue(timer, instant)
      } handBack: { rest in
        guard take(timer, setTo: instant) != nil else { return }
        setReal(timer, UInt64(max(0, rest / .nanoseconds(1))))
        if isMain { noteReal(timer, instant) }
      }
      forget(timer)
      // Thread A stops the kernel's timer before it enqueues the callback. From then on, thread B may begin the
      // callback, which sets the kernel's timer to the present.
      var (never, former) = (itimerspec(), itimerspec())
      _ = set.original(timer, 0, &never, &former)
      let added = Timer(
        owner: owner, thread: OutsideWork.currentThread, callback: callback, instant: instant)
      // A former value is released without the lock.
      _ = lock.withLock { timers.updateValue(added, forKey: timer) }
      // Foundation computes the instant from dates, in seconds, with an error of a tenth of a microsecond. So the delay
      // is rounded to whole microseconds.
      let delay = Int64(clamping: instant > now ? instant - now : 0)
      guard owner.enqueue(callback, after: .microseconds((delay + 500) / 1000)) else {
        forget(timer)
        setReal(timer, UInt64(max(0, former.it_value.nanoseconds)))
        return false
      }
      return true
    }

    private static func noteReal(_ timer: CInt, _ instant: UInt64) {
      lock.withLock { realTimers[timer] = instant }
    }

    /// Lets the timers that were set outside the test fire in the test's virtual time, too.
    ///
    /// Foundation sets the kernel's timer only if its next instant changes. While it is set for an earlier timer from
    /// outside the test, a timer of the test has no callback.
    static func adopt(for owner: any PausableOwner) {
      for timer in lock.withLock({ Array(realTimers.keys) }) {
        // Another thread may have set the timer again meanwhile.
        guard let now = present(of: owner),
          let instant = lock.withLock({ realTimers.removeValue(forKey: timer) })
        else { continue }
        if !add(timer, now, instant, owner) { noteReal(timer, instant) }
      }
    }

    static func forget(_ timer: CInt) {
      let taken = lock.withLock {
        realTimers[timer] = nil
        due[timer] = nil
        return timers.removeValue(forKey: timer)
      }
      if let taken { taken.owner.remove(taken.callback) }
    }

    /// Removes a timer and returns it; `nil` if it was set to another instant since, so that the callback for `instant`
    /// is void.
    private static func take(_ timer: CInt, setTo instant: UInt64) -> Timer? {
      lock.withLock {
        timers[timer]?.instant == instant ? timers.removeValue(forKey: timer) : nil
      }
    }

    private static func isDue(_ timer: CInt, _ instant: UInt64) {
      guard let taken = take(timer, setTo: instant) else { return }
      beginning.add(1, ordering: .sequentiallyConsistent)
      let waiting = ThreadWaits.inRunLoops(of: taken.owner)
      noteDue(timer, on: taken.thread, of: taken.owner, isOverdue: waiting.isEmpty)
      // The threads count as running before a timer can fire, so that time does not move meanwhile.
      for waits in waiting { waits.timerIsDue(at: instant) }
      setReal(timer, 0)
      for waits in waiting { waits.wakeUp() }
      beginning.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// How many calls of `isDue` are under way. They run no code of the test, so a thread may wait for them.
    static let beginning = Atomic(0)

    static func awaitBeginning() {
      while beginning.load(ordering: .sequentiallyConsistent) > 0 { yieldThread() }
    }

    /// The time to the next timer of an owner; `nil` if none is set.
    static func delay(for owner: any PausableOwner) -> Duration? {
      let next = lock.withLock {
        timers.values.lazy.filter { $0.owner === owner }.map(\.instant).min()
      }
      guard let next, let now = present(of: owner) else { return nil }
      return .nanoseconds(Int64(clamping: next > now ? next - now : 0))
    }
  }
#endif

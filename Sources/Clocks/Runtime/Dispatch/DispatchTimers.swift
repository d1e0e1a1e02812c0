import ClocksSupport

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  import Synchronization
  internal import CDispatch

  /// A timer of Dispatch's that a test has made.
  ///
  /// Its handlers run on behalf of the test. In virtual time the instants at which it fires are the
  /// owner's, and Dispatch's timer is set when one has come: to fire at once. So all that Dispatch knows
  /// of the source (its queue, its handlers, whether it is suspended) stays with Dispatch.
  final class DispatchTimer: @unchecked Sendable {
    private let source: OpaquePointer
    private let owner: TaskOwner
    private let queueName: String
    /// Guards what follows. Owners' locks are taken under it, and no user code is called.
    private let lock = Lock(.dispatchTimer)

    /// A source begins inactive, and may be suspended more than once.
    private var isActive = false
    private var suspensions = 0
    private var isOver = false
    private var hasHandler = false
    private var hasCancelHandler = false

    /// When it fires next, as an instant of Dispatch's; `nil` if it does not, or not in virtual time.
    private var next: UInt64?
    /// The nanoseconds from one time to the next; `nil` if it fires once.
    private var interval: UInt64?
    /// What waits for the next time, while the timer runs.
    private var pending: TimedCallback?
    /// The number of the work that fired and has not begun; 0 if there is none.
    private var fired: UInt64 = 0
    /// Whether it fired and was suspended before the handler had begun.
    private var isOwed = false
    /// The number of the work that the cancel handler is; 0 as long as it does not count.
    private var cancelling: UInt64 = 0
    private var isCancelHandlerOwed = false

    init(_ source: OpaquePointer, on queue: OpaquePointer?, of owner: TaskOwner) {
      self.source = source
      self.owner = owner
      queueName = queue.map(DispatchObject.label) ?? "a timer's"
    }

    deinit { lock.destroy() }

    private var runs: Bool { isActive && suspensions == 0 && !isOver }

    // MARK: - What is called

    /// `dispatch_source_set_timer`. Says whether the timer's time is virtual.
    func set(_ start: UInt64, _ interval: UInt64) -> Bool {
      lock.withLock {
        forgetNext()
        guard owner.isVirtual, !isOver else { return false }
        self.interval = interval > 0 && interval < UInt64(Int64.max) ? interval : nil
        next = DispatchTimes.delay(until: start, for: owner).map {
          DispatchTimes.instant(after: $0, for: owner)
        }
        // What it was set to before is forgotten.
        dispatch_source_set_timer(source, DispatchTimes.never, DispatchTimes.never, 0)
        if runs { wait() }
        return true
      }
    }

    func activate() { change { isActive = true } }

    func resume() {
      change { if isActive { suspensions = max(0, suspensions - 1) } else { isActive = true } }
    }

    func suspend() { change { suspensions += 1 } }

    func cancel() {
      lock.withLock {
        guard !isOver else { return }
        isCancelHandlerOwed = hasCancelHandler
        if isActive, suspensions == 0 { countCancelHandler() }
        end()
      }
    }

    /// Nobody knows the source any more.
    func isReleased() { lock.withLock(end) }

    private func change(_ body: () -> Void) {
      lock.withLock {
        let ran = runs
        body()
        if isOver {
          if isActive, suspensions == 0 { countCancelHandler() }
        } else if ran != runs {
          if runs { goOn() } else { pause() }
        }
      }
    }

    private func end() {
      isOver = true
      forgetNext()
    }

    private func countCancelHandler() {
      guard isCancelHandlerOwed else { return }
      isCancelHandlerOwed = false
      cancelling = owner.workBegan(on: queueName)
    }

    // MARK: - Its times

    private func forgetNext() {
      stopWaiting()
      next = nil
      isOwed = false
      if fired != 0 { owner.workEnded(fired) }
      fired = 0
    }

    private func stopWaiting() {
      pending.map(owner.remove)
      pending = nil
    }

    private func pause() {
      stopWaiting()
      guard fired != 0 else { return }
      owner.workEnded(fired)
      fired = 0
      isOwed = true
    }

    private func goOn() {
      if isOwed {
        isOwed = false
        fired = owner.workBegan(on: queueName)
      }
      wait()
    }

    /// Waits for the next time, if there is one.
    private func wait() {
      guard let next, let delay = DispatchTimes.delay(until: next, for: owner) else { return }
      guard delay > .zero else { return fire() }
      let work = TimedCallback(
        "timer on queue \"\(queueName)\"", begin: { [weak self] in self?.timeHasCome() },
        handBack: { [weak self] in self?.goOnInRealTime(after: $0) })
      pending = work
      if !owner.enqueue(work, after: delay) { waitInRealTime(for: delay) }
    }

    private func timeHasCome() {
      lock.withLock {
        pending = nil
        if runs { fire() }
      }
    }

    /// The next time has come.
    private func fire() {
      guard let due = next else { return }
      next = interval.map { interval in
        // A timer that was suspended has missed some of its times.
        var next = due + interval
        let now = DispatchTimes.instant(after: .zero, for: owner)
        if next <= now { next += (now - next) / interval * interval + interval }
        return next
      }
      if hasHandler {
        if fired == 0 { fired = owner.workBegan(on: queueName) }
        dispatch_source_set_timer(source, DispatchTimes.now, DispatchTimes.never, 0)
      }
      wait()
    }

    private func goOnInRealTime(after delay: Duration) {
      lock.withLock { waitInRealTime(for: delay) }
    }

    /// Leaves the next time, and all after it, to Dispatch.
    private func waitInRealTime(for delay: Duration) {
      pending = nil
      next = nil
      let start = dispatch_time(DispatchTimes.now, delay.wholeNanoseconds)
      dispatch_source_set_timer(source, start, interval ?? DispatchTimes.never, 0)
    }

    // MARK: - Its handlers

    /// The handler that Dispatch is given in place of a block; to be released.
    func handler(_ block: UnsafeRawPointer?) -> HandedBlock? {
      lock.withLock { hasHandler = block != nil }
      guard let block else { return nil }
      let kept = KeptBlock(block)
      return HandedBlock { [self] in
        let number = lock.withLock {
          defer {
            fired = 0
            isOwed = false
          }
          return fired != 0 ? fired : owner.workBegan(on: queueName)
        }
        DispatchedBlock.runBlock(of: owner) { kept.block() }
        owner.workEnded(number)
      }
    }

    /// The same for the handler that runs when the timer was cancelled.
    func cancelHandler(_ block: UnsafeRawPointer?) -> HandedBlock? {
      lock.withLock { hasCancelHandler = block != nil }
      guard let block else { return nil }
      let kept = KeptBlock(block)
      return HandedBlock { [self] in
        let number = lock.withLock {
          isCancelHandlerOwed = false
          return cancelling != 0 ? cancelling : owner.workBegan(on: queueName)
        }
        DispatchedBlock.runBlock(of: owner) { kept.block() }
        owner.workEnded(number)
      }
    }
  }

  /// A block for as long as somebody knows this.
  private final class KeptBlock {
    let block: HandedBlock
    init(_ block: UnsafeRawPointer) { self.block = HandedBlock(keeping: block) }
    deinit { block.release() }
  }

  extension DispatchTimes {
    /// The instant that is a while after an owner's present.
    fileprivate static func instant(after delay: Duration, for owner: TaskOwner) -> UInt64 {
      let present = presentUptime(of: owner)
      let (sum, overflow) = present.addingReportingOverflow(UInt64(delay.wholeNanoseconds))
      return overflow ? UInt64(Int64.max) : min(sum, UInt64(Int64.max))
    }
  }

  /// The timers of all tests.
  enum DispatchTimerRegistry {
    private static let lock = Lock(.leaf)
    @exclusivity(unchecked) nonisolated(unsafe) private static var timers:
      [OpaquePointer: DispatchTimer] = [:]
    /// Their number, for a look without the lock.
    private static let count = Atomic(0)

    static func add(_ timer: DispatchTimer, for source: OpaquePointer) {
      lock.withLock {
        timers[source] = timer
        count.store(timers.count, ordering: .relaxed)
      }
    }

    @inline(__always)
    static func timer(_ source: OpaquePointer) -> DispatchTimer? {
      guard count.load(ordering: .relaxed) > 0 else { return nil }
      return lock.withLock { timers[source] }
    }

    @inline(__always)
    static func remove(_ source: OpaquePointer) -> DispatchTimer? {
      guard count.load(ordering: .relaxed) > 0 else { return nil }
      return lock.withLock {
        let timer = timers.removeValue(forKey: source)
        count.store(timers.count, ordering: .relaxed)
        return timer
      }
    }
  }
#endif

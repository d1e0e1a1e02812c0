import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch

  /// A dispatch source of a test, whose handlers run on behalf of the test.
  ///
  /// A source is registered with the system on a thread of Dispatch, some time after it was activated. Until it
  /// is registered, it counts as work of the test, because earlier events are lost. In virtual time the owner
  /// decides when a timer fires, and then the source is set to fire immediately. Dispatch keeps the handlers and runs
  /// them. The queue and the suspensions are noted here, too, because they decide whether a handler can run.
  final class TestDispatchSource: @unchecked Sendable {
    private let source: OpaquePointer
    private let kind: Kind
    var isTimer: Bool { kind == .timer }
    /// Whether an event that comes before the registration is lost. Merged data is kept by the source itself.
    var needsRegistration: Bool { kind == .other }
    private let test: DispatchedBlock.Test
    var owner: TaskOwner? { if case .owner(let owner) = test { owner } else { nil } }
    /// Guards the variables below. Rank `dispatchSource`: the locks of owners and of `UnownedBlock` are taken under it.
    private let lock = Lock(.dispatchSource)

    private var queue: BlockQueue
    /// A source begins inactive. It may be suspended several times.
    private var isActive = false
    private var suspensions = 0
    private var isOver = false

    /// The next reading of `clock` at which the timer fires; `nil` if virtual time does not fire it.
    private var next: UInt64?
    /// The clock of the date if the timer is set to dates, else the monotonic clock.
    private var clock = CLOCK_MONOTONIC
    /// The nanoseconds between two firings; `nil` if the timer fires once.
    private var interval: UInt64?
    private var pending: TimedCallback?
    /// The number of the callback that was made last.
    ///
    /// A callback with another number does nothing when it begins. Thread A takes a callback from the queue of sleeps.
    /// Thread B sets the timer to another instant. Then thread A begins the callback that it took.
    private var newest: UInt64 = 0

    var event = Work()
    /// `new`: firings for which the handler has not begun. `handled`: firings that the handler's latest call stands
    /// for.
    private var firings: (new: UInt, handled: UInt) = (0, 0)
    /// The data that the program has merged and the handler has not received, as far as is known.
    private var unhandled: UInt = 0
    /// The registration with Dispatch. It is due from the start, because no event comes before it.
    ///
    /// Timers fire without it, and data sources keep merged data. So for these it is due only if the test has set a
    /// registration handler. While such a handler runs, Dispatch delivers merged data even if the source has been
    /// suspended.
    private var registration: Work
    var cancellation = Work()

    /// - Parameter test: Must have an owner if the source is a timer.
    init(
      _ source: OpaquePointer, _ kind: Kind, on queue: OpaquePointer?, of test: DispatchedBlock.Test
    ) {
      self.source = source
      self.kind = kind
      self.test = test
      self.queue = BlockQueue(ofSource: queue)
      registration = Work(isDue: kind == .other)
    }

    /// Work that counts already stays on the former queue.
    func setTarget(_ queue: OpaquePointer?) {
      lock.withLock { self.queue = BlockQueue(ofSource: queue) }
    }

    private var runs: Bool { isActive && suspensions == 0 && !isOver }

    /// Does the work of `dispatch_source_set_timer` in virtual time, and returns whether time is virtual.
    func set(_ start: UInt64, _ interval: UInt64) -> Bool {
      lock.withLock {
        forgetNext()
        guard let owner, owner.isVirtual, !isOver else { return false }
        self.interval = Self.repetition(interval)
        let isOfDate = DispatchTimes.virtualDate(start, of: owner) != nil
        clock = isOfDate ? CLOCK_REALTIME : CLOCK_MONOTONIC
        // A start in the past stays there: the first call of the handler stands for all firings since then.
        next = DispatchTimes.reading(of: clock, at: start, for: owner)
        // Makes Dispatch forget the timer's former times.
        dispatch_source_set_timer(source, DispatchTimes.never, DispatchTimes.never, 0)
        if runs { wait() }
        return true
      }
    }

    /// Notes that the program is about to merge data.
    ///
    /// Dispatch calls no handler for zero. A zero that replaces other data takes back a call that has not begun.
    func willMerge(_ data: UInt) {
      lock.withLock {
        // A source that runs without a handler forgets its data.
        guard !isOver, event.hasHandler || !runs else { return }
        if data == 0 {
          guard kind == .value else { return }
          unhandled = 0
          return forget(&event)
        }
        unhandled = kind == .sum ? unhandled &+ data : kind == .bits ? unhandled | data : data
        event.isDue = true
        if runs { count(&event) }
      }
    }

    /// How often the timer had fired when its handler began; `nil` if that is left to Dispatch.
    var timerData: UInt? { lock.withLock { firings.handled > 0 ? firings.handled : nil } }

    /// Notes that the event's handler begins. Data merged since Dispatch took the call's data is for the next call.
    private func eventBegins() {
      firings = (0, firings.new)
      guard unhandled > 0 else { return }
      let data = dispatch_source_get_data(source)
      switch kind {
      case .sum: unhandled -= min(unhandled, data)
      case .bits: unhandled &= ~data
      default: unhandled = unhandled == data ? 0 : unhandled
      }
      guard unhandled > 0, !isOver else { return }
      event.isDue = true
      if runs { count(&event) }
    }

    func activate() { change { isActive = true } }

    /// Without a suspension, this activates the source, as in Dispatch.
    func resume() { change { if suspensions > 0 { suspensions -= 1 } else { isActive = true } } }

    func suspend() { change { suspensions += 1 } }

    func cancel() {
      lock.withLock {
        guard !isOver else { return }
        cancellation.isDue = cancellation.hasHandler
        countCancellation()
        end()
      }
    }

    func wasReleased() { lock.withLock(end) }

    private func change(_ body: () -> Void) {
      lock.withLock {
        let ran = runs
        body()
        if isOver {
          countCancellation()
        } else if ran != runs {
          if runs { goOn() } else { pause() }
        }
      }
    }

    private func end() {
      isOver = true
      forgetNext()
      stopCounting(&registration)
    }

    private func countCancellation() {
      if isActive, suspensions == 0 { count(&cancellation) } else { stopCounting(&cancellation) }
    }

    private func count(_ work: inout Work) {
      guard work.isDue, !work.count.isAny else { return }
      work.count = test.workBegan(on: .known(queue))
      if queue.isMain { owner?.submitMainBlocks() }
    }

    private func stopCounting(_ work: inout Work) {
      test.workEnded(work.count)
      work.count = .none
    }

    private func forget(_ work: inout Work) {
      work.isDue = false
      stopCounting(&work)
    }

    private func forgetNext() {
      stopWaiting()
      next = nil
      firings.new = 0
      forget(&event)
    }

    private func stopWaiting() {
      if let pending { owner?.remove(pending) }
      pending = nil
    }

    private func pause() {
      stopWaiting()
      stopCounting(&registration)
      stopCounting(&event)
    }

    private func goOn() {
      count(&registration)
      if event.hasHandler { count(&event) } else { (event.isDue, unhandled) = (false, 0) }
      wait()
    }

    /// The present, in nanoseconds of `clock`.
    private var now: UInt64 { DispatchTimes.read(clock, of: owner) }

    private func wait() {
      guard let next, let owner else { return }
      let present = now
      guard next > present else { return fire() }
      newest += 1
      let number = newest
      let work = TimedCallback(
        "timer on queue \"\(queue.label)\"", isDelayedBlock: true,
        date: clock == CLOCK_REALTIME ? DispatchTimes.virtualDate(0 &- next, of: owner) : nil,
        begin: { [weak self] in self?.timeHasCome(number) },
        handBack: { [weak self] delay in
          guard let self else { return }
          // A source that is over may have been freed; it has no pending callback.
          lock.withLock { if self.isPending(number) { self.waitInRealTime(for: delay) } }
        })
      pending = work
      let delay = Duration.nanoseconds(Int64(next - present))
      if !owner.enqueue(work, after: delay) { waitInRealTime(for: delay) }
    }

    private func isPending(_ number: UInt64) -> Bool { pending != nil && number == newest }

    private func timeHasCome(_ number: UInt64) {
      lock.withLock {
        guard isPending(number) else { return }
        pending = nil
        if runs { fire() }
      }
    }

    private func fire() {
      guard let due = next else { return }
      firings.new += 1
      next = interval.flatMap { interval in
        // A timer that was suspended skips the firings that it missed.
        var next = due + interval
        let now = now
        if next <= now {
          firings.new += UInt((now - next) / interval + 1)
          next += (now - next) / interval * interval + interval
        }
        // Dispatch takes a number above `Int64.max` for a date.
        return next <= UInt64(Int64.max) ? next : nil
      }
      if event.hasHandler {
        event.isDue = true
        count(&event)
        dispatch_source_set_timer(source, DispatchTimes.now, DispatchTimes.never, 0)
      } else {
        // A handler that is set later does not learn of them.
        firings.new = 0
      }
      wait()
    }

    /// Leaves all further firings to Dispatch, in real time.
    private func waitInRealTime(for delay: Duration) {
      pending = nil
      next = nil
      let start = dispatch_time(DispatchTimes.now, delay.wholeNanoseconds)
      dispatch_source_set_timer(source, start, interval ?? DispatchTimes.never, 0)
    }

    func setHandler(_ block: UnsafeRawPointer?, for work: Handler, by set: Setter) {
      lock.withLock {
        self[keyPath: work].hasHandler = block != nil
        guard block == nil else {
          // Dispatch also calls a handler of the cancellation that is set after it.
          guard isOver, work == \.cancellation else { return }
          cancellation.isDue = true
          return countCancellation()
        }
        // Dispatch keeps the data of a suspended source for the next handler.
        if work == \.event, !isTimer, !runs { return }
        // The handler ends the count of work that is due. Without a handler, that work must not count.
        forget(&self[keyPath: work])
        if work == \.event { (firings.new, unhandled) = (0, 0) }
      }
      replace(block, by: set, for: work)
    }

    /// Sets a registration handler that runs `block`, the test's own handler, if there is one.
    func setRegistrationHandler(_ block: UnsafeRawPointer?, by set: Setter) {
      if block != nil {
        lock.withLock {
          registration.isDue = true
          // Dispatch also calls a handler that is set after the registration.
          if runs { count(&registration) }
        }
      }
      let nothing = {}
      HandedBlock.withBlock(nothing) { replace(block ?? $0, by: set, for: \.registration) }
    }

    /// Sets a block that runs another block on behalf of the test, and counts like a dispatched block.
    private func replace(_ block: UnsafeRawPointer?, by set: Setter, for work: Handler) {
      guard let block else { return set(nil) }
      let body = HandedBlock(block).retained
      let replacement = { [self] in
        let (count, target) = lock.withLock {
          let count = self[keyPath: work].count
          self[keyPath: work] = Work(hasHandler: self[keyPath: work].hasHandler)
          if work == \.event { eventBegins() }
          return (count.isAny ? count : test.workBegan(on: .known(queue)), queue)
        }
        DispatchedBlock.run(count, on: target, of: test) { body() }
      }
      HandedBlock.withBlock(replacement, set)
    }
  }
#endif

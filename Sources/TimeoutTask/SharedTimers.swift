import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The timers of all fixed deadlines on the `ContinuousClock`: one heap, and one sleep until the earliest.
///
/// The timers need no thread. A task sleeps on the clock, so the timers follow the clock when the
/// machine is suspended or the clock is late. When a sleep ends, its deadline has passed, even if
/// the clock's reading is earlier. A new deadline that is earlier than all others needs a new sleep,
/// and the old sleep is cancelled. If all timeouts are equally long, no new deadline is earlier than
/// the others, so sleeps are rarely replaced.
///
/// Each alarm rings in a task of its own, because it runs cancellation handlers of user code, and a
/// slow handler must not delay other alarms.
///
/// The timers are used only in real time: see `RealTime.isCertain`.
final class SharedTimers: @unchecked Sendable {
  /// A sleep until a deadline, in the units of `RealTime`.
  struct Sleep: Equatable, Sendable {
    /// Later sleeps have higher numbers. A sleep that a later one replaced rings no alarm when it ends.
    let number: UInt64
    let deadline: Int64
    let slack: Int64
  }

  private struct State {
    var heap = TimerHeap()
    /// The latest instant at which the current sleep may end: its deadline plus its slack.
    var latest = Int64.max
    var lastNumber: UInt64 = 0
    /// The task that sleeps, and the number of its sleep.
    var sleeper: (number: UInt64, task: Task<Void, Never>)?

    /// Returns a new sleep until the first deadline, if there is one.
    mutating func nextSleep() -> Sleep? {
      guard let (deadline, slack) = heap.first() else {
        latest = .max
        return nil
      }
      latest = deadline + slack
      lastNumber += 1
      return Sleep(number: lastNumber, deadline: deadline, slack: slack)
    }
  }

  static let shared = SharedTimers(now: { RealTime.now }, sleep: { await RealTime.sleep($0) })

  /// While the lock of `state` is held, no alarm rings, no task is cancelled and no alarm is released.
  private let state = Guarded(State())

  private let now: @Sendable () -> Int64
  private let sleep: @Sendable (Sleep) async -> Void

  /// - Parameters:
  ///   - now: Reads the clock.
  ///   - sleep: Sleeps on the clock, until the deadline or until the task is cancelled.
  init(
    now: @escaping @Sendable () -> Int64, sleep: @escaping @Sendable (Sleep) async -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  /// The number of deadlines in the heap.
  var count: Int { state.withLock { $0.heap.count } }

  /// Adds an alarm that rings when the deadline of `limit` has passed, within its tolerance.
  func add(_ limit: RealTimeLimit, _ alarm: any Alarm) -> TimerHeap.Ticket {
    let slack = RealTime.units(max(0, limit.tolerance ?? 0))
    return add(RealTime.units(limit.deadline), slack: slack, alarm)
  }

  /// Adds an alarm that rings when a deadline has passed, and retains it until then. O(log n).
  func add(_ deadline: Int64, slack: Int64, _ alarm: any Alarm) -> TimerHeap.Ticket {
    let (ticket, sleep) = state.withLock { state in
      let ticket = state.heap.add(deadline, slack: slack, alarm)
      return (ticket, deadline + slack < state.latest ? state.nextSleep() : nil)
    }
    if let sleep { begin(sleep) }
    return ticket
  }

  /// Removes a deadline, unless it has passed. O(1) amortized.
  func remove(_ ticket: TimerHeap.Ticket) {
    let alarm = state.withLock { $0.heap.remove(ticket) }
    // The alarm is released without the lock, because this may be the last reference to it.
    withExtendedLifetime(alarm) {}
  }

  // MARK: - Sleeping

  /// Starts a task that sleeps and then rings the alarms that are due. Cancels the task that slept
  /// before.
  @inline(never)
  private func begin(_ sleep: Sleep) {
    // The task is detached, because it serves all deadlines and not only the caller's.
    let task = Task.detached(priority: .high) { [self] in
      var next: Sleep? = sleep
      while let sleep = next {
        await self.sleep(sleep)
        next = end(sleep)
      }
    }
    let replaced: Task<Void, Never>? = state.withLock { state in
      if let sleeper = state.sleeper, sleeper.number > sleep.number { return task }
      defer { state.sleeper = (sleep.number, task) }
      return state.sleeper?.task
    }
    replaced?.cancel()
  }

  /// Rings the alarms that are due when a sleep has ended. Returns the next sleep.
  private func end(_ sleep: Sleep) -> Sleep? {
    // The sleep has ended, so its deadline has passed, even if the clock's reading is earlier.
    let now = max(now(), sleep.deadline)
    let (passed, next): ([any Alarm], Sleep?) = state.withLock { state in
      guard state.lastNumber == sleep.number else { return ([], nil) }
      return (state.heap.takePassed(at: now), state.nextSleep())
    }
    for alarm in passed { Task.detached(priority: .high) { alarm.ring() } }
    return next
  }
}

/// A time limit on the `ContinuousClock`, in real time.
///
/// All values are attoseconds as integers, which are cheap to copy. The compiler does not know the
/// layout of the clock's instants, so the type of an optional instant is looked up at run time.
struct RealTimeLimit: Sendable {
  /// The instant, as a reading of `RealTime`.
  let deadline: Int128
  /// The time to the deadline when the limit was created; zero or less if the deadline had passed.
  let allowed: Int128
  let tolerance: Int128?

  /// Returns the limit that ends at an instant, or `nil` for other clocks and for virtual time.
  @_specialize(where C == ContinuousClock)
  static func from<C: Clock>(
    _ instant: C.Instant, allowed: C.Duration, tolerance: C.Duration?, on clock: C
  ) -> RealTimeLimit? {
    guard C.self == ContinuousClock.self, RealTime.isCertain,
      let instant = instant as? ContinuousClock.Instant, let allowed = allowed as? Duration
    else { return nil }
    return RealTimeLimit(
      deadline: RealTime.reading(of: instant), allowed: allowed.attoseconds,
      tolerance: (tolerance as? Duration)?.attoseconds)
  }

  var onClock: DeadlineOnClock<ContinuousClock> {
    DeadlineOnClock(
      clock: ContinuousClock(), instant: RealTime.instant(deadline),
      tolerance: tolerance.map { Duration(attoseconds: $0) })
  }
}

/// The `ContinuousClock` as integers.
///
/// A reading is a number of attoseconds. The shared timers count in units of 2³⁰ attoseconds, a
/// little more than a nanosecond. In these units, 150 years fit into an `Int64`, and so does the
/// sum of two such values.
enum RealTime {
  /// Whether it is certain that all sleeps on the runtime's clocks take real time.
  ///
  /// A library that makes time virtual sets the runtime's hook for sleeps. Then each timer has to be a task
  /// that sleeps, because the library uses that task to find the test to which a sleep belongs.
  static var isCertain: Bool {
    guard let hook else { return false }
    return hook.pointee.load(ordering: .relaxed) == 0
  }

  /// The runtime's hook for sleeps until a deadline; `nil` if the symbol is not found, or cannot be looked up.
  private nonisolated(unsafe) static let hook: UnsafePointer<Atomic<UInt>>? = {
    #if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
      // The handle is not closed: it stands for the process itself.
      let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobalWithDeadline_hook")
      return symbol.map { UnsafePointer($0.assumingMemoryBound(to: Atomic<UInt>.self)) }
    #else
      return nil
    #endif
  }()

  private static let start = ContinuousClock.now

  /// Returns the reading at an instant, in attoseconds.
  static func reading(of instant: ContinuousClock.Instant) -> Int128 {
    start.duration(to: instant).attoseconds
  }

  static func instant(_ reading: Int128) -> ContinuousClock.Instant {
    start.advanced(by: Duration(attoseconds: reading))
  }

  /// The time in units, rounded down so that no timer is early.
  static var now: Int64 { -units(-reading(of: .now)) }

  /// Converts attoseconds to units, rounded up so that no timer is early.
  static func units(_ attoseconds: Int128) -> Int64 {
    let units = attoseconds >> bits + (attoseconds & (1 << bits - 1) == 0 ? 0 : 1)
    return Int64(truncatingIfNeeded: max(-limit, min(units, limit)))
  }

  /// Sleeps until the deadline, or until the current task is cancelled.
  static func sleep(_ sleep: SharedTimers.Sleep) async {
    let tolerance = sleep.slack > 0 ? Duration(attoseconds: Int128(sleep.slack) << bits) : nil
    try? await ContinuousClock().sleep(
      until: instant(Int128(sleep.deadline) << bits), tolerance: tolerance)
  }

  private static var bits: Int128 { 30 }

  /// The greatest deadline and tolerance, in units. The sum of two such values does not overflow.
  private static var limit: Int128 { Int128(Int64.max / 2) }
}

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

/// A time limit on the `ContinuousClock`, in real time.
///
/// All values are attoseconds, because integers are cheap to copy. The compiler does not know the
/// layout of the clock's instants, and looks up the types of optional ones at run time.
struct RealTimeLimit: Sendable {
  /// The instant, as a reading of `RealTime`.
  let deadline: Int128
  /// The time until then; zero or less if the deadline has passed.
  let allowed: Int128
  let tolerance: Int128?

  /// Returns a limit a duration from now.
  ///
  /// Returns `nil` for other clocks, where time may be virtual, and for limits that never come.
  @_specialize(where C == ContinuousClock)
  static func from<C: Clock>(
    timeout: C.Duration, tolerance: C.Duration?, clock: C
  ) -> RealTimeLimit? {
    guard C.self == ContinuousClock.self, RealTime.isCertain, let timeout = timeout as? Duration
    else { return nil }
    return from(timeout, tolerance: (tolerance as? Duration)?.attoseconds)
  }

  /// Returns a limit a duration from now, or `nil` if it never comes. Requires
  /// `RealTime.isCertain`.
  @inline(__always)
  static func from(_ timeout: Duration, tolerance: Int128?) -> RealTimeLimit? {
    let allowed = timeout.attoseconds
    if allowed >= Duration.forEver.attoseconds { return nil }
    return RealTimeLimit(
      deadline: RealTime.reading(of: .now) + max(0, allowed), allowed: allowed,
      tolerance: tolerance)
  }

  /// Returns a limit that ends at an instant, or `nil` as above.
  @_specialize(where C == ContinuousClock)
  static func from<C: Clock>(
    instant: C.Instant, tolerance: C.Duration?, clock: C
  ) -> RealTimeLimit? {
    guard C.self == ContinuousClock.self, RealTime.isCertain,
      let instant = instant as? ContinuousClock.Instant
    else { return nil }
    let deadline = RealTime.reading(of: instant)
    let allowed = deadline - RealTime.reading(of: .now)
    if allowed >= Duration.forEver.attoseconds { return nil }
    return RealTimeLimit(
      deadline: deadline, allowed: allowed, tolerance: (tolerance as? Duration)?.attoseconds)
  }

  var onClock: DeadlineOnClock<ContinuousClock> {
    DeadlineOnClock(
      clock: ContinuousClock(), instant: RealTime.instant(deadline),
      tolerance: tolerance.map { Duration(attoseconds: $0) })
  }

  /// Whether a deadline that is active already is certain to pass before this limit has to.
  @inline(never)
  func isCovered(by outer: ActiveDeadline) -> Bool {
    let limit = onClock
    guard let instant = limit.instant else { return false }
    return outer.covers(instant, tolerance: limit.tolerance, on: limit.clock)
  }
}

/// The `ContinuousClock` as integers.
///
/// A reading is a number of attoseconds. The shared timers use units of 2³⁰ attoseconds, a little
/// more than a nanosecond: 64 bits hold 150 years, and the sum of two such values.
enum RealTime {
  /// Whether all sleeps on the runtime's clocks take real time.
  ///
  /// The runtime has a hook for sleeps, which a library sets that makes time virtual. Then each
  /// timer has to be a task that sleeps: the library finds the test of a sleep by its task.
  static var isCertain: Bool {
    guard let hook else { return false }
    return hook.pointee.load(ordering: .relaxed) == 0
  }

  /// The runtime's hook for sleeps until a deadline; `nil` if the symbol is not found.
  private nonisolated(unsafe) static let hook: UnsafePointer<Atomic<UInt>>? = {
    // The handle is not closed: it stands for the process itself.
    let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobalWithDeadline_hook")
    return symbol.map { UnsafePointer($0.assumingMemoryBound(to: Atomic<UInt>.self)) }
  }()

  private static let start = ContinuousClock.now

  /// Returns an instant as a reading: attoseconds.
  static func reading(of instant: ContinuousClock.Instant) -> Int128 {
    start.duration(to: instant).attoseconds
  }

  static func instant(_ reading: Int128) -> ContinuousClock.Instant {
    start.advanced(by: Duration(attoseconds: reading))
  }

  static var now: Int64 { units(reading(of: .now)) }

  /// Returns attoseconds in units, rounded up so that no timer is early.
  static func units(_ attoseconds: Int128) -> Int64 {
    let units = (attoseconds + (1 << bits - 1)) >> bits
    return Int64(truncatingIfNeeded: max(-limit, min(units, limit)))
  }

  /// Sleeps until the deadline, or until the current task is cancelled.
  static func sleep(_ sleep: SharedTimers.Sleep) async {
    let tolerance = sleep.slack > 0 ? Duration(attoseconds: Int128(sleep.slack) << bits) : nil
    try? await ContinuousClock().sleep(
      until: instant(Int128(sleep.deadline) << bits), tolerance: tolerance)
  }

  private static var bits: Int128 { 30 }

  /// The greatest deadline and tolerance, in units: the sum of two does not overflow.
  private static var limit: Int128 { Int128(Int64.max / 2) }
}

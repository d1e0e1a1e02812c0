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

/// The `ContinuousClock` as the shared timers know it: an instant is a number of units, which are a
/// little longer than a nanosecond, so that 150 years have room, and twice as many for sums.
enum RealTime {
  /// Whether nobody has taken over the sleeps of the runtime's clocks, so that all of them take real
  /// time.
  ///
  /// This module knows of no test clock. But the runtime has a hook for those who take over sleeps,
  /// and whoever makes time virtual sets it. Then a timer has to be a task that sleeps, as before: it
  /// is its task by which a sleep is found to be a test's.
  static var isCertain: Bool {
    guard let hook else { return false }
    return hook.pointee.load(ordering: .relaxed) == 0
  }

  /// The runtime's hook for sleeps until a deadline; `nil` where it cannot be found.
  private nonisolated(unsafe) static let hook: UnsafePointer<Atomic<UInt>>? = {
    // Why the handle is never closed: it stands for the process itself.
    let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobalWithDeadline_hook")
    return symbol.map { UnsafePointer($0.assumingMemoryBound(to: Atomic<UInt>.self)) }
  }()

  private static let start = ContinuousClock.now

  /// An instant as a number of attoseconds.
  static func reading(of instant: ContinuousClock.Instant) -> Int128 {
    start.duration(to: instant).attoseconds
  }

  static func instant(_ reading: Int128) -> ContinuousClock.Instant {
    start.advanced(by: Duration(attoseconds: reading))
  }

  static var now: Int64 { units(reading(of: .now)) }

  /// Attoseconds in units, rounded up: never too early.
  static func units(_ attoseconds: Int128) -> Int64 {
    let units = (attoseconds + (1 << bits - 1)) >> bits
    return Int64(truncatingIfNeeded: max(-limit, min(units, limit)))
  }

  /// Sleeps until it is time, or the current task is cancelled.
  static func sleep(_ sleep: SharedTimers.Sleep) async {
    let tolerance = sleep.slack > 0 ? Duration(attoseconds: Int128(sleep.slack) << bits) : nil
    try? await ContinuousClock().sleep(
      until: instant(Int128(sleep.deadline) << bits), tolerance: tolerance)
  }

  /// A unit is this many binary digits of attoseconds.
  private static var bits: Int128 { 30 }

  /// The most that a deadline or a tolerance can be: the sum of two has room.
  private static var limit: Int128 { Int128(Int64.max / 2) }
}

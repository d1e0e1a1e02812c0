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

/// What the runtime's clocks read at one moment.
///
/// A test kit may see to it that the runtime's clocks, and `Date`, read virtual time inside a
/// scope: it has them ask ``virtualReading(of:)`` first. Nothing that an app links does so.
@_spi(TestKit) public struct RuntimeClockReadings: Sendable {
  private let realTime: timespec
  private let monotonic: timespec
  private let sinceBoot: timespec

  init() {
    realTime = Self.read(CLOCK_REALTIME)
    monotonic = Self.read(CLOCK_MONOTONIC)
    #if os(Linux) || os(Android)
      sinceBoot = Self.read(CLOCK_BOOTTIME)
    #else
      sinceBoot = Self.read(CLOCK_MONOTONIC_RAW)
    #endif
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var reading = timespec()
    clock_gettime(clock, &reading)
    return reading
  }

  // MARK: - For a test kit

  /// Whether a test kit has made the runtime's clocks ask.
  @_spi(TestKit) public static var areFrozen: Bool { frozen.load(ordering: .relaxed) }

  /// To be called once by a test kit that has made the runtime's clocks ask.
  @_spi(TestKit) public static func freeze() { frozen.store(true, ordering: .relaxed) }

  private static let frozen = Atomic(false)

  /// What a clock of the system reads for the job that the current thread runs; `nil` if its time
  /// is not virtual.
  ///
  /// - Parameters:
  ///   - clock: The system's number of the clock.
  ///   - isDate: Whether it is `Date` that asks.
  @_spi(TestKit) public static func virtualReading(of clock: clockid_t, isDate: Bool) -> timespec? {
    guard
      let context = ThreadContext.current, context.pointee.isInJob,
      let scheduler = RuntimeDoor.runningScheduler,
      let sleeps = scheduler.runtimeSleeps as? ScopeSleeps,
      !isDate || sleeps.freezesDate
    else { return nil }
    let now = scheduler.lock.withLock { scheduler.scopeTimeline?.now } ?? .zero
    let start = sleeps.start
    switch clock {
    case CLOCK_REALTIME: return start.realTime.advanced(by: now)
    case CLOCK_MONOTONIC: return start.monotonic.advanced(by: now)
    default:
      #if os(Linux) || os(Android)
        return clock == CLOCK_BOOTTIME ? start.sinceBoot.advanced(by: now) : nil
      #else
        return clock == CLOCK_MONOTONIC_RAW ? start.sinceBoot.advanced(by: now) : nil
      #endif
    }
  }
}

extension timespec {
  /// The reading `duration` later, in whole nanoseconds; at the end of the range it stays there.
  fileprivate func advanced(by duration: Duration) -> timespec {
    let limit = Int128(Int.max / 2)
    let total = Int128(tv_nsec) + duration.attoseconds / 1_000_000_000
    let (seconds, nanoseconds) = total.quotientAndRemainder(dividingBy: 1_000_000_000)
    return timespec(
      tv_sec: Int(clamping: min(Int128(tv_sec) + seconds, limit)), tv_nsec: Int(nanoseconds))
  }
}

import ClocksSupport

#if !canImport(CRT) && !canImport(WASILibc)
  /// The readings of the system's clocks at one moment.
  struct SystemClocks: Sendable {
    private var realTime = timespec(readingOf: CLOCK_REALTIME)
    private var monotonic = timespec(readingOf: CLOCK_MONOTONIC)
    private var sinceBoot = timespec(readingOf: Self.bootClock)

    #if os(Linux) || os(Android)
      private static let bootClock = CLOCK_BOOTTIME
    #else
      private static let bootClock = CLOCK_MONOTONIC_RAW
    #endif

    #if os(Linux)
      /// The clocks that run at a constant distance from another one. The distances are measured once, so that no clock
      /// runs backwards.
      private static let derived: [clockid_t: (base: clockid_t, distance: Duration)] = {
        let bases = [
          CLOCK_MONOTONIC_RAW: CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE: CLOCK_MONOTONIC,
          CLOCK_REALTIME_COARSE: CLOCK_REALTIME, CLOCK_TAI: CLOCK_REALTIME,
        ]
        return bases.reduce(into: [:]) { derived, clocks in
          let (clock, base) = clocks
          let present = timespec(readingOf: base).duration
          derived[clock] = (base, timespec(readingOf: clock).duration - present)
        }
      }()
    #endif

    var sinceEpoch: Duration { realTime.duration }

    /// The readings `duration` later, with the date moved by `dateOffset` as well.
    func advanced(by duration: Duration, andDateBy dateOffset: Duration = .zero) -> SystemClocks {
      var later = self
      later.realTime = realTime.advanced(by: saturatingSum(duration, dateOffset))
      later.monotonic = monotonic.advanced(by: duration)
      later.sinceBoot = sinceBoot.advanced(by: duration)
      return later
    }

    /// Whether a clock shows the date, and so follows changes of a scope's date.
    static func isDate(_ clock: clockid_t) -> Bool {
      #if os(Linux)
        return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI
      #else
        return clock == CLOCK_REALTIME
      #endif
    }

    /// The reading of a clock `duration` later; `nil` for an unknown clock.
    func reading(of clock: clockid_t, after duration: Duration) -> timespec? {
      switch clock {
      case CLOCK_REALTIME: return realTime.advanced(by: duration)
      case CLOCK_MONOTONIC: return monotonic.advanced(by: duration)
      case Self.bootClock: return sinceBoot.advanced(by: duration)
      default:
        #if os(Linux)
          if let (base, distance) = Self.derived[clock] {
            return reading(of: base, after: saturatingSum(duration, distance))
          }
        #endif
        return nil
      }
    }
  }

  extension timespec {
    init(readingOf clock: clockid_t) {
      self.init()
      clock_gettime(clock, &self)
    }

    /// The reading `duration` later, in whole nanoseconds, saturating.
    func advanced(by duration: Duration) -> timespec {
      // The components are used, because in a debug build `Int128` arithmetic calls slow generic functions.
      guard duration < Self.farthest else { return timespec(tv_sec: Int.max / 2, tv_nsec: 0) }
      guard duration > Self.earliest else { return timespec(tv_sec: -Int.max / 2, tv_nsec: 0) }
      let (seconds, attoseconds) = duration.components
      let nanoseconds = tv_nsec + Int(attoseconds / 1_000_000_000)
      let carry = nanoseconds >= 1_000_000_000 ? 1 : nanoseconds < 0 ? -1 : 0
      let sum = tv_sec + Int(seconds) + carry
      return timespec(
        tv_sec: sum < Int.max / 2 ? sum : Int.max / 2, tv_nsec: nanoseconds - carry * 1_000_000_000)
    }

    var duration: Duration { .seconds(tv_sec) + .nanoseconds(tv_nsec) }

    /// The whole duration in nanoseconds; clamped to the range of `Int`.
    var nanoseconds: Int {
      let (product, overflow) = tv_sec.multipliedReportingOverflow(by: 1_000_000_000)
      guard !overflow else { return tv_sec < 0 ? .min : .max }
      let (sum, isOver) = product.addingReportingOverflow(tv_nsec)
      return isOver ? .max : sum
    }

    init(nanoseconds: Int) {
      self.init(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    }

    private static let farthest = Duration.seconds(Int.max / 2)
    private static let earliest = Duration.seconds(-Int.max / 2)
  }
#else
  /// The date at one moment. On this platform, this package reads no other clock of the system.
  struct SystemClocks: Sendable {
    private(set) var sinceEpoch = Self.now

    private static var now: Duration {
      var reading = timespec()
      timespec_get(&reading, TIME_UTC)
      return .seconds(Int64(reading.tv_sec)) + .nanoseconds(Int64(reading.tv_nsec))
    }

    /// The date `duration` later, moved by `dateOffset` as well.
    func advanced(by duration: Duration, andDateBy dateOffset: Duration = .zero) -> SystemClocks {
      var later = self
      later.sinceEpoch = saturatingSum(sinceEpoch, saturatingSum(duration, dateOffset))
      return later
    }
  }
#endif

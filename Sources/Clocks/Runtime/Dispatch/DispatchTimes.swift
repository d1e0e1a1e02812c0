#if os(Linux) && canImport(Glibc)
  import ClocksSupport
  internal import CDispatch

  /// The instants of Dispatch: nanoseconds of the monotonic clock, or negated nanoseconds of the date.
  ///
  /// Source: `time_internal.h` of libdispatch.
  enum DispatchTimes {
    static let now: UInt64 = 0
    static let never = UInt64.max
    static let wallNow = UInt64.max - 1
    /// The latest second that Dispatch represents with all of its nanoseconds.
    private static let latest = (1 << 62) / 1_000_000_000 - 1

    /// The owner of the current thread, if its time is virtual.
    @_transparent
    static var virtualOwner: TaskOwner? {
      guard let owner = DispatchCalls.owner, owner.isVirtual else { return nil }
      return owner
    }

    /// Replaces `dispatch_time`.
    static func time(_ base: UInt64, _ delta: Int64) -> UInt64 {
      guard base == now || base == wallNow, let owner = virtualOwner else {
        return dispatch_time(base, delta)
      }
      if base == wallNow { return wallTime(nil, delta) }
      owner.timePassesWithReading()
      return dispatch_time(read(CLOCK_MONOTONIC, of: owner), delta)
    }

    /// Replaces `dispatch_walltime`.
    static func wallTime(_ base: UnsafePointer<timespec>?, _ delta: Int64) -> UInt64 {
      guard base == nil, let owner = virtualOwner else { return dispatch_walltime(base, delta) }
      owner.timePassesWithReading()
      guard var date = owner.reading(of: CLOCK_REALTIME) else {
        return dispatch_walltime(base, delta)
      }
      date.tv_sec = min(date.tv_sec, latest)
      return dispatch_walltime(&date, delta)
    }

    /// Returns the time from an owner's present, or from the real one, to an instant; `nil` if the instant never comes.
    ///
    /// The time to a past instant is zero.
    static func delay(until instant: UInt64, for owner: TaskOwner?) -> Duration? {
      guard instant != never else { return nil }
      guard instant != now, instant != wallNow else { return .zero }
      let isUptime = isUptime(instant)
      let isDate = isDate(instant)
      let value = isUptime ? instant : isDate ? 0 &- instant : instant & ~(1 << 63)
      let clock = isUptime ? CLOCK_MONOTONIC : isDate ? CLOCK_REALTIME : CLOCK_BOOTTIME
      let present = read(clock, of: owner)
      return value > present ? .nanoseconds(Int64(clamping: value - present)) : .zero
    }

    /// Returns the reading of a clock at an instant; `nil` if the instant never comes.
    ///
    /// - Parameter clock: `CLOCK_REALTIME` if the instant is a virtual date, else `CLOCK_MONOTONIC`.
    static func reading(of clock: clockid_t, at instant: UInt64, for owner: TaskOwner) -> UInt64? {
      switch instant {
      case never: nil
      case now, wallNow: read(clock, of: owner)
      // Not computed from the present, because another thread may set the date meanwhile.
      case _ where clock == CLOCK_REALTIME: 0 &- instant
      case _ where isUptime(instant): instant
      default:
        // A reading is less than 2^62, so the sum does not overflow.
        delay(until: instant, for: owner).map {
          min(read(clock, of: owner) + UInt64($0.wholeNanoseconds), UInt64(Int64.max))
        }
      }
    }

    /// Whether an instant is one of the monotonic clock. `now` is such an instant, too.
    static func isUptime(_ instant: UInt64) -> Bool { instant >> 63 == 0 }

    /// Whether an instant is a date. `never` and `wallNow` are dates, too.
    static func isDate(_ instant: UInt64) -> Bool { instant >> 62 == 0b11 }

    /// The date of an instant, as the time since 1970; `nil` if the instant is not a date.
    ///
    /// Also `nil` if the owner's tasks read the real date, which no test sets.
    static func virtualDate(_ instant: UInt64, of owner: TaskOwner) -> Duration? {
      guard isDate(instant), owner.reading(of: CLOCK_REALTIME) != nil else { return nil }
      return .nanoseconds(Int64(clamping: 0 &- instant))
    }

    /// Returns the instant that is as far from the real present as `instant` is from the virtual present.
    static func realInstant(_ instant: UInt64) -> UInt64 {
      guard instant != now, instant != never, let owner = virtualOwner,
        let delay = delay(until: instant, for: owner)
      else { return instant }
      return delay > .zero ? dispatch_time(now, delay.wholeNanoseconds) : now
    }

    static func read(_ clock: clockid_t, of owner: TaskOwner? = nil) -> UInt64 {
      let reading = owner?.reading(of: clock) ?? timespec(readingOf: clock)
      // Dispatch treats instants that are more than 146 years away as its distant future.
      guard reading.tv_sec < latest else { return UInt64(latest) * 1_000_000_000 }
      return UInt64(max(0, reading.nanoseconds))
    }

    /// Whether instants have the known representation.
    static let areReadable: Bool = {
      let before = (read(CLOCK_MONOTONIC), read(CLOCK_REALTIME))
      let uptime = dispatch_time(now, 0)
      let date = 0 &- dispatch_walltime(nil, 0)
      let after = (read(CLOCK_MONOTONIC), read(CLOCK_REALTIME))
      // If the system's date was set back between the readings, they prove nothing.
      let isDate = date >= before.1 && date <= after.1 || after.1 < before.1
      return uptime >= before.0 && uptime <= after.0 && isDate
    }()
  }

  extension Duration {
    /// The whole nanoseconds, clamped to the range of `Int64`.
    var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
  }
#endif

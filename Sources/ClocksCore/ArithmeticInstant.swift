/// An instant with operators, as the instants of the standard library have them.
///
/// The instants of this package's clocks conform.
///
/// ```swift
/// let deadline = clock.now + .seconds(30)
/// let left = deadline - clock.now
/// ```
///
/// The operators call `advanced(by:)` and `duration(to:)`, with their results at the ends of the range. All
/// are O(1).
public protocol ArithmeticInstant: InstantProtocol {}

extension ArithmeticInstant {
  /// Returns the instant that is `duration` later.
  public static func + (instant: Self, duration: Duration) -> Self {
    instant.advanced(by: duration)
  }

  /// Returns the instant that is `duration` earlier.
  public static func - (instant: Self, duration: Duration) -> Self {
    instant.advanced(by: .zero - duration)
  }

  /// Returns how much later the left instant is than the right one.
  public static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }

  /// Moves the instant to one that is `duration` later.
  public static func += (instant: inout Self, duration: Duration) { instant = instant + duration }

  /// Moves the instant to one that is `duration` earlier.
  public static func -= (instant: inout Self, duration: Duration) { instant = instant - duration }
}

extension AnyClock.Instant: ArithmeticInstant {}

/// An instant that is a distance from its clock's origin, and can be compared with that distance.
///
/// ```swift
/// #expect(time.now == .seconds(5))
/// #expect(await clock.advanceToNextSleep() == .seconds(7))
/// ```
///
/// The instants of `TestClock` and of ``ImmediateClock`` conform. All operators are O(1).
public protocol OffsetInstant: ArithmeticInstant {
  /// The distance from the origin.
  var offset: Duration { get }
}

extension OffsetInstant {
  /// Returns whether the instant is `offset` from the origin.
  public static func == (instant: Self, offset: Duration) -> Bool { instant.offset == offset }

  /// Returns whether the instant is not `offset` from the origin.
  public static func != (instant: Self, offset: Duration) -> Bool { instant.offset != offset }

  /// Returns whether the instant is earlier than `offset` from the origin.
  public static func < (instant: Self, offset: Duration) -> Bool { instant.offset < offset }

  /// Returns whether the instant is at most `offset` from the origin.
  public static func <= (instant: Self, offset: Duration) -> Bool { instant.offset <= offset }

  /// Returns whether the instant is later than `offset` from the origin.
  public static func > (instant: Self, offset: Duration) -> Bool { instant.offset > offset }

  /// Returns whether the instant is at least `offset` from the origin.
  public static func >= (instant: Self, offset: Duration) -> Bool { instant.offset >= offset }
}

/// Returns whether there is an instant, `offset` from the origin. O(1).
public func == <Instant: OffsetInstant>(instant: Instant?, offset: Instant.Duration) -> Bool {
  instant?.offset == offset
}

/// Returns whether there is no instant, or one that is not `offset` from the origin. O(1).
public func != <Instant: OffsetInstant>(instant: Instant?, offset: Instant.Duration) -> Bool {
  instant?.offset != offset
}

extension ImmediateClock.Instant: OffsetInstant {}

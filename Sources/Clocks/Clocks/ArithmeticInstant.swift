/// An instant with the arithmetic of the standard library's instants: those of the clocks of this
/// package have it.
///
/// ```swift
/// let deadline = clock.now + .seconds(30)
/// let left = deadline - clock.now
/// ```
///
/// The operators are other spellings of `advanced(by:)` and `duration(to:)`, with the same results at
/// the ends of the range. All are O(1).
public protocol ArithmeticInstant: InstantProtocol {}

extension ArithmeticInstant {
  /// The instant that is `duration` later.
  public static func + (instant: Self, duration: Duration) -> Self {
    instant.advanced(by: duration)
  }

  /// The instant that is `duration` earlier.
  public static func - (instant: Self, duration: Duration) -> Self {
    instant.advanced(by: .zero - duration)
  }

  /// How much later the left instant is than the right one.
  public static func - (later: Self, earlier: Self) -> Duration {
    earlier.duration(to: later)
  }

  /// Moves the instant to one that is `duration` later.
  public static func += (instant: inout Self, duration: Duration) {
    instant = instant + duration
  }

  /// Moves the instant to one that is `duration` earlier.
  public static func -= (instant: inout Self, duration: Duration) {
    instant = instant - duration
  }
}

extension TestClock.Instant: ArithmeticInstant {}
extension ImmediateClock.Instant: ArithmeticInstant {}
extension AnyClock.Instant: ArithmeticInstant {}

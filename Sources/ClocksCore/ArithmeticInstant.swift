/// An instant with the operators that the standard library's instants have.
///
/// The instants of this package's clocks conform.
///
/// ```swift
/// let deadline = clock.now + .seconds(30)
/// let left = deadline - clock.now
/// ```
///
/// The operators call `advanced(by:)` and `duration(to:)`, and give the same results as these, also at the ends
/// of the range. Each operator is O(1).
public protocol ArithmeticInstant: InstantProtocol {}

extension ArithmeticInstant {
  /// Returns the instant that is `duration` later.
  public static func + (instant: Self, duration: Duration) -> Self {
    instant.advanced(by: duration)
  }

  /// Returns the instant that is `duration` earlier.
  public static func - (instant: Self, duration: Duration) -> Self {
    // The opposite of the least duration is out of range.
    instant.advanced(by: saturatingDifference(.zero, duration))
  }

  /// Returns how much later the left instant is than the right one.
  public static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }

  /// Moves the instant to one that is `duration` later.
  public static func += (instant: inout Self, duration: Duration) { instant = instant + duration }

  /// Moves the instant to one that is `duration` earlier.
  public static func -= (instant: inout Self, duration: Duration) { instant = instant - duration }
}

extension AnyClock.Instant: ArithmeticInstant {}

/// An instant that is a distance from its clock's origin, and is written like that distance.
///
/// ```swift
/// #expect(time.now == .seconds(5))
/// #expect(await clock.advanceToNextSleep() == .seconds(7))
/// ```
///
/// The instants of `TestClock` and of ``ImmediateClock`` conform. Numbers have the range of `Swift.Duration`: one
/// beyond it, infinity and NaN stop the program, as they do in `Duration.seconds(_:)`.
public protocol OffsetInstant: ArithmeticInstant {
  /// The distance from the origin.
  var offset: Duration { get }
  /// Creates the instant at `offset` from the origin.
  init(offset: Duration)
}

// Disfavored, so that in `now - .seconds(5)` the second operand is a duration.
extension OffsetInstant where Duration == Swift.Duration {
  /// The origin.
  @_disfavoredOverload
  public static var zero: Self { Self(offset: .zero) }

  /// Returns the instant that is a number of seconds after the origin. O(1).
  @_disfavoredOverload
  public static func seconds(_ seconds: some BinaryInteger) -> Self {
    Self(offset: .seconds(seconds))
  }

  /// Returns the instant that is a number of seconds after the origin. O(1).
  @_disfavoredOverload
  public static func seconds(_ seconds: Double) -> Self { Self(offset: .seconds(seconds)) }

  /// Returns the instant that is a number of milliseconds after the origin. O(1).
  @_disfavoredOverload
  public static func milliseconds(_ milliseconds: some BinaryInteger) -> Self {
    Self(offset: .milliseconds(milliseconds))
  }

  /// Returns the instant that is a number of milliseconds after the origin. O(1).
  @_disfavoredOverload
  public static func milliseconds(_ milliseconds: Double) -> Self {
    Self(offset: .milliseconds(milliseconds))
  }

  /// Returns the instant that is a number of microseconds after the origin. O(1).
  @_disfavoredOverload
  public static func microseconds(_ microseconds: some BinaryInteger) -> Self {
    Self(offset: .microseconds(microseconds))
  }

  /// Returns the instant that is a number of nanoseconds after the origin. O(1).
  @_disfavoredOverload
  public static func nanoseconds(_ nanoseconds: some BinaryInteger) -> Self {
    Self(offset: .nanoseconds(nanoseconds))
  }
}

extension ImmediateClock.Instant: OffsetInstant {}

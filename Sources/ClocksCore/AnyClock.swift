/// A type-erased clock, with instants that can be stored.
///
/// Use it in a type that receives its clock, is not generic over it, and *stores* instants. An
/// `any Clock<Duration>` can sleep, but its instants have no type in which they could be stored.
///
/// ```swift
/// actor Session {
///   private let clock: AnyClock<Duration>
///   private var expiry: AnyClock<Duration>.Instant
///
///   init(clock: some Clock<Duration>) {
///     self.clock = AnyClock(clock)
///     expiry = self.clock.now.advanced(by: .seconds(600))
///   }
///
///   var isExpired: Bool { clock.now >= expiry }
///
///   func touch() {
///     guard !isExpired else { return }
///     expiry = clock.now.advanced(by: .seconds(600))
///   }
/// }
///
/// @Test func sessionExpiresTenMinutesAfterTheLastTouch() async {
///   let clock = TestClock()
///   let session = Session(clock: clock)
///   await clock.advance(by: .seconds(400))
///   await session.touch()
///   await clock.advance(by: .seconds(599))
///   #expect(await !session.isExpired)
///   await clock.advance(by: .seconds(1))
///   #expect(await session.isExpired)
/// }
/// ```
///
/// ## Guarantees
///
/// Every call is forwarded to the erased clock, which determines cancellation, order and exactness.
/// Instants of two erasures of the same clock are interchangeable. Erasing an erased clock adds nothing.
///
/// ## Instants of different clocks
///
/// No operation traps. Instants of different types, such as those of a `ContinuousClock` and of a
/// `TestClock`, are never equal. They have an arbitrary order, so that collections of them can be sorted.
/// The duration from one to the other is zero, and a sleep until one throws ``IncompatibleInstantError``.
/// Instants of the same type, such as those of two `TestClock`s, compare as that type defines.
///
/// ## Cost
///
/// Each call costs one call through an existential more than the clock's own, which is O(1). Instants of up
/// to three words, such as those of the standard library and of this package, need no allocation.
public struct AnyClock<Duration: DurationProtocol & Hashable>: Clock, Identifiable {
  /// A point in the erased clock's time.
  public struct Instant: InstantProtocol {
    fileprivate let base: any InstantProtocol<Duration>

    /// Returns the instant that is `duration` later, by the erased clock's arithmetic. O(1).
    public func advanced(by duration: Duration) -> Self { Self(base: base.advanced(by: duration)) }

    /// Returns how much later `other` is; zero if the types of the instants differ. O(1).
    public func duration(to other: Self) -> Duration {
      func duration<Base: InstantProtocol<Duration>>(from base: Base) -> Duration {
        guard let other = other.base as? Base else { return .zero }
        return base.duration(to: other)
      }
      return duration(from: base)
    }

    /// Returns whether the types and the instants are equal. O(1).
    public static func == (lhs: Self, rhs: Self) -> Bool {
      func isEqual<Base: InstantProtocol<Duration>>(_ base: Base) -> Bool {
        base == rhs.base as? Base
      }
      return isEqual(lhs.base)
    }

    /// Returns whether the left instant is earlier. O(1).
    ///
    /// Instants of different types have an arbitrary order, which holds in this process only.
    public static func < (lhs: Self, rhs: Self) -> Bool {
      func isLess<Base: InstantProtocol<Duration>>(_ base: Base) -> Bool {
        guard let other = rhs.base as? Base else {
          // `<` has to be transitive, so the types need an order, and any order will do.
          return ObjectIdentifier(Base.self) < ObjectIdentifier(type(of: rhs.base))
        }
        return base < other
      }
      return isLess(lhs.base)
    }

    /// Hashes the erased instant. O(1).
    public func hash(into hasher: inout Hasher) { base.hash(into: &hasher) }
  }

  /// The identity of the erased clock.
  ///
  /// Two erasures of one clock have equal identities if the clock is an object or `Identifiable`. All
  /// erasures of a `ContinuousClock` are equal, too, and so are all erasures of a `SuspendingClock`. Any
  /// other erasure is equal only to its copies.
  public struct ID: Hashable, @unchecked Sendable {
    fileprivate let type: ObjectIdentifier
    // An `AnyHashable` is not `Sendable`, but can be shared here, because the identity of a clock does not change.
    fileprivate let value: AnyHashable
  }

  private let base: any Clock<Duration>
  /// Distinguishes clocks that have no identity; `nil` for all others.
  private let token: Token?

  private final class Token: Sendable {}

  /// Erases `clock`. O(1).
  public init(_ clock: some Clock<Duration>) {
    if let erased = clock as? Self {
      self = erased
      return
    }
    base = clock
    token = Self.identity(of: clock) == nil ? Token() : nil
  }

  /// Erases `clock`. O(1).
  ///
  /// Does what the generic initializer does. A property `clock` in a file that imports Foundation needs it: the C
  /// library has a function of that name, so the compiler does not open the property's existential.
  @_disfavoredOverload
  public init(_ clock: any Clock<Duration>) {
    self.init(clock)
  }

  /// The identity of the erased clock. O(1).
  ///
  /// With it, `Deadline.remaining(on:)` of TimeoutTask finds deadlines on an erased clock.
  public var id: ID {
    ID(
      type: ObjectIdentifier(type(of: base)),
      value: Self.identity(of: base) ?? AnyHashable(token.map(ObjectIdentifier.init)))
  }

  private static func id(of clock: some Identifiable) -> AnyHashable { AnyHashable(clock.id) }

  private static func identity(of clock: some Clock<Duration>) -> AnyHashable? {
    // All clocks of one of these types read the same time, so they have equal identities.
    if clock is ContinuousClock || clock is SuspendingClock { return 0 }
    if let clock = clock as? any Identifiable { return id(of: clock) }
    return type(of: clock) is AnyClass ? ObjectIdentifier(clock as AnyObject) : nil
  }

  /// The erased clock's time.
  public var now: Instant {
    func now(of clock: some Clock<Duration>) -> Instant { Instant(base: clock.now) }
    return now(of: base)
  }

  /// The erased clock's resolution.
  public var minimumResolution: Duration { base.minimumResolution }

  /// Sleeps on the erased clock.
  ///
  /// The erased clock determines cancellation and cost.
  ///
  /// - Parameters:
  ///   - deadline: The instant at which the sleep ends.
  ///   - tolerance: How much later the sleep may end, if the erased clock supports that.
  /// - Throws: The erased clock's error. With a deadline of another type, ``IncompatibleInstantError``, or
  ///   `CancellationError` if the task is cancelled.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    try await sleep(on: base, until: deadline, tolerance: tolerance)
  }

  private nonisolated(nonsending) func sleep<Base: Clock<Duration>>(
    on clock: Base, until deadline: Instant, tolerance: Duration?
  ) async throws {
    guard let deadline = deadline.base as? Base.Instant else {
      try Task.checkCancellation()
      throw IncompatibleInstantError()
    }
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }
}

extension AnyClock.Instant: CustomStringConvertible {
  /// The erased clock's description of the instant.
  public var description: String { "\(base)" }
}

/// The error of a sleep on an ``AnyClock`` until an instant of another type.
public struct IncompatibleInstantError: Error, Hashable, CustomStringConvertible {
  /// Creates the error, for a test that expects it.
  public init() {}

  /// A sentence that describes the error.
  public var description: String {
    "A clock cannot sleep until an instant of another kind of clock."
  }
}

@available(*, deprecated, renamed: "IncompatibleInstantError")
public typealias ForeignInstantError = IncompatibleInstantError

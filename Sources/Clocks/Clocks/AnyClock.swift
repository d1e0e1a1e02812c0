/// Any clock of which no more is known than how it measures durations.
///
/// For a type that is given its clock but shall not be generic over it, and that has to *keep*
/// instants: an `any Clock<Duration>` can be slept on, but its instants have no type to store them
/// as.
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
/// ## What is guaranteed
///
/// Every call goes to the clock that was erased, and cancellation, order and exactness are that
/// clock's. Instants of two erasures of the same clock are as good as each other: they compare, and
/// one can be slept until on the other. Erasing an erased clock adds nothing.
///
/// ## Instants of different clocks
///
/// They mean nothing to each other, and nothing traps. If they are of different types, a
/// `ContinuousClock`'s and a ``TestClock``'s for instance, they are never equal; they have an
/// order, so that collections of them can be sorted, but it says nothing about time; the duration
/// from one to the other is zero; and a sleep until such an instant throws ``IncompatibleInstantError``.
/// If they are of the same type, two ``TestClock``s' for instance, they compare as that type has
/// it.
///
/// ## Cost
///
/// O(1) more than the clock's own, for each call: a call through an existential. Instants of up to
/// three words are stored without an allocation; those of the standard library and of this package
/// are.
public struct AnyClock<Duration: DurationProtocol & Hashable>: Clock {
  /// A point in the time of the erased clock.
  public struct Instant: InstantProtocol {
    fileprivate let base: any InstantProtocol<Duration>

    /// The instant that is `duration` later, by the erased clock's arithmetic.
    public func advanced(by duration: Duration) -> Self {
      Self(base: base.advanced(by: duration))
    }

    /// How much later `other` is than this instant; zero if it is another kind of clock's.
    public func duration(to other: Self) -> Duration {
      func duration<Base: InstantProtocol<Duration>>(from base: Base) -> Duration {
        guard let other = other.base as? Base else { return .zero }
        return base.duration(to: other)
      }
      return duration(from: base)
    }

    /// Whether both are the same instant, of the same kind of clock.
    public static func == (lhs: Self, rhs: Self) -> Bool {
      func isEqual<Base: InstantProtocol<Duration>>(_ base: Base) -> Bool {
        base == rhs.base as? Base
      }
      return isEqual(lhs.base)
    }

    /// Whether the left instant is earlier. If they are of different kinds of clocks: whether it
    /// comes first in an order that says nothing about time, and holds for this process only.
    public static func < (lhs: Self, rhs: Self) -> Bool {
      func isLess<Base: InstantProtocol<Duration>>(_ base: Base) -> Bool {
        guard let other = rhs.base as? Base else {
          // Any order of the types will do, as long as it is one: `<` has to be transitive.
          return ObjectIdentifier(Base.self) < ObjectIdentifier(type(of: rhs.base))
        }
        return base < other
      }
      return isLess(lhs.base)
    }

    /// Feeds what makes the instant equal to another into `hasher`.
    public func hash(into hasher: inout Hasher) {
      base.hash(into: &hasher)
    }
  }

  private let base: any Clock<Duration>

  /// Erases `clock`. O(1).
  public init(_ clock: some Clock<Duration>) {
    base = (clock as? Self)?.base ?? clock
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
  /// - Parameters:
  ///   - deadline: When to go on: an instant of this clock.
  ///   - tolerance: How much later that may be, if the erased clock honours it.
  /// - Throws: `CancellationError`, or whatever the erased clock throws, if the task is cancelled;
  ///   ``IncompatibleInstantError`` if the deadline is another kind of clock's.
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

/// A task was to sleep on an ``AnyClock`` until an instant of a different kind of clock.
public struct IncompatibleInstantError: Error, Hashable, CustomStringConvertible {
  /// Makes the error, for a test that expects it.
  public init() {}

  /// What went wrong, in a sentence.
  public var description: String {
    "A clock cannot sleep until an instant of another kind of clock."
  }
}

@available(*, deprecated, renamed: "IncompatibleInstantError")
public typealias ForeignInstantError = IncompatibleInstantError

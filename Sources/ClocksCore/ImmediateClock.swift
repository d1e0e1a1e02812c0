import ClocksSupport

/// A clock on which every sleep ends immediately.
///
/// Use it in tests, previews and demonstrations in which only the outcome matters. The clock still counts the
/// time that would have passed:
///
/// ```swift
/// struct Upload<C: Clock<Duration>> {
///   var clock: C
///   var send: () async throws -> Void
///
///   /// Sends, and tries again after 1, 2 and 4 seconds.
///   func run() async throws {
///     for pause in [1, 2, 4] {
///       do {
///         return try await send()
///       } catch is ConnectionLost {
///         try await clock.sleep(for: .seconds(pause))
///       }
///     }
///     try await send()
///   }
/// }
///
/// @Test func givesUpAfterFourAttemptsInSevenSeconds() async {
///   let clock = ImmediateClock()
///   var attempts = 0
///   let upload = Upload(clock: clock) {
///     attempts += 1
///     throw ConnectionLost()
///   }
///   await #expect(throws: ConnectionLost.self) { try await upload.run() }
///   #expect(attempts == 4)
///   #expect(clock.now.offset == .seconds(7))
/// }
/// ```
///
/// ## Guarantees
///
/// A sleep never waits. Time moves to the deadline of each sleep, and never backwards. The sleeps of a
/// cancelled task throw, and do not move time.
///
/// ## Limits
///
/// The clock does not define *when* things happen: of two tasks that sleep one and two seconds, either may
/// continue first. Every hundredth sleep on the clock yields, so other tasks run beside an endless loop of sleeps.
/// But no sleep waits. If a test needs a defined order, or contains such a loop, use `TestClock`.
public final class ImmediateClock<Duration: DurationProtocol & Hashable>: Clock, Identifiable,
  Sendable
{
  /// A point in an ``ImmediateClock``'s time, as the distance from an arbitrary origin.
  public struct Instant: InstantProtocol {
    /// The distance from the origin.
    public let offset: Duration

    /// Creates the instant at `offset` from the origin; the origin itself by default.
    public init(offset: Duration = .zero) { self.offset = offset }

    /// Returns the instant that is `duration` later. With `Swift.Duration` it saturates. O(1).
    public func advanced(by duration: Duration) -> Self {
      Self(offset: saturatingSum(offset, duration))
    }

    /// Returns how much later `other` is. With `Swift.Duration` it saturates. O(1).
    public func duration(to other: Self) -> Duration { saturatingDifference(other.offset, offset) }

    /// Returns whether the left instant is earlier. O(1).
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.offset < rhs.offset }
  }

  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)

  /// The latest deadline of any sleep, or the first instant. Guarded by `lock`; only grows.
  nonisolated(unsafe) private var latest: Instant

  /// Counts the changes of `latest`. Guarded by `lock`.
  nonisolated(unsafe) private var changes: UInt64 = 0

  /// Creates a clock whose time is `now`. O(1).
  public convenience init(now: Instant = .init()) { self.init(startingAt: now) }

  // This initializer has another label, so that the two public ones do not call themselves.
  fileprivate init(startingAt now: Instant) { latest = now }

  /// The number of sleeps since the last yield. Guarded by `lock`.
  nonisolated(unsafe) private var sleepsSinceYield = 0

  /// The clock's time: the latest deadline of any sleep. It never moves backwards. O(1).
  public var now: Instant { lock.withLock { latest } }

  /// Zero: the clock is exact.
  public var minimumResolution: Duration { .zero }

  /// Moves the clock's time to `deadline`, if that is later, and returns without waiting.
  ///
  /// Every hundredth sleep on the clock yields, so that a loop of sleeps does not keep other tasks from
  /// running. If the task is cancelled, the call throws and time does not move. O(1).
  ///
  /// - Parameters:
  ///   - deadline: The instant at which the sleep would have ended.
  ///   - tolerance: Has no effect.
  /// - Throws: `CancellationError` if the task is cancelled before the call.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    try Task.checkCancellation()
    move(to: deadline)
    // The yield is not a wait: it gives other tasks a turn, as a real sleep does.
    if mustYield() { await Task.yield() }
  }

  /// Moves time to `deadline`, but not back.
  ///
  /// Instants are compared, and released, without the lock, because the user's code may do both.
  private func move(to deadline: Instant) {
    while true {
      let (known, version) = lock.withLock { (latest, changes) }
      guard known < deadline else { return }
      var other = deadline
      let isMoved = lock.withLock {
        guard changes == version else { return false }
        swap(&latest, &other)
        changes &+= 1
        return true
      }
      if isMoved { return }
    }
  }

  /// Counts a sleep. Returns whether it is the hundredth since the last yield.
  private func mustYield() -> Bool {
    lock.withLock {
      sleepsSinceYield += 1
      guard sleepsSinceYield == 100 else { return false }
      sleepsSinceYield = 0
      return true
    }
  }
}

extension ImmediateClock where Duration == Swift.Duration {
  /// Creates a clock whose time is `now`, with durations of type `Swift.Duration`. O(1).
  public convenience init(now: Instant = .init()) { self.init(startingAt: now) }
}

extension ImmediateClock.Instant: CustomStringConvertible {
  /// The distance from the origin, for example `3.0 seconds`.
  public var description: String { "\(offset)" }
}

extension Clock where Self == ImmediateClock<Swift.Duration> {
  /// A new ``ImmediateClock``, for parameters of type `some Clock<Duration>` or `any Clock<Duration>`.
  ///
  /// ```swift
  /// let model = PlayerModel(clock: .immediate)
  /// ```
  public static var immediate: Self { Self() }
}

import ClocksSupport

/// A clock on which every sleep is over at once.
///
/// For tests, previews and demonstrations in which only the outcome counts and nobody wants to wait
/// for it. The clock still keeps account of the time that would have passed:
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
/// ## What is guaranteed
///
/// A sleep never waits. Time moves to the deadline of each sleep and never backwards, whatever the
/// order in which tasks sleep. A cancelled task moves nothing: its sleeps throw, as everywhere.
///
/// ## When not to use it
///
/// It says nothing about *when* things happen: of two tasks that sleep one and two seconds, either
/// may go on first. And a task that sleeps in an endless loop gives way to others now and then, but
/// never rests. Use ``TestClock`` for both.
public final class ImmediateClock<Duration: DurationProtocol & Hashable>: Clock, Identifiable,
  Sendable
{
  /// A point in an ``ImmediateClock``'s time: the distance from an origin without further meaning.
  public struct Instant: InstantProtocol {
    /// The distance from the origin.
    public let offset: Duration

    /// Makes the instant at `offset` from the origin; the origin itself by default.
    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    /// The instant that is `duration` later.
    ///
    /// With `Swift.Duration` an instant beyond the ends of the range is the end of the range. O(1).
    public func advanced(by duration: Duration) -> Self {
      Self(offset: saturatingSum(offset, duration))
    }

    /// How much later `other` is than this instant.
    ///
    /// With `Swift.Duration` a distance beyond the ends of the range is the end of the range. O(1).
    public func duration(to other: Self) -> Duration {
      saturatingDifference(other.offset, offset)
    }

    /// Whether the left instant is earlier. O(1).
    public static func < (lhs: Self, rhs: Self) -> Bool {
      lhs.offset < rhs.offset
    }
  }

  private let lock = Lock(.leaf)

  /// The latest deadline that any task has slept to, or the instant the clock was made with.
  /// Guarded by `lock`; it only grows.
  nonisolated(unsafe) private var latest: Instant

  /// Makes a clock whose time is `now`. O(1).
  public convenience init(now: Instant = .init()) {
    self.init(startingAt: now)
  }

  // Under a name of its own, so that neither of the two public initializers calls itself.
  fileprivate init(startingAt now: Instant) {
    latest = now
  }

  /// The task that slept last, and how often it has without another one having slept in between.
  /// Guarded by `lock`.
  nonisolated(unsafe) private var streak: (task: UInt64, sleeps: Int) = (0, 0)

  /// How many sleeps a task may take before it gives way once.
  private static var longestStreak: Int { 100 }

  deinit { lock.destroy() }

  /// The clock's time: the latest deadline that any task has slept to.
  ///
  /// It never moves backwards. O(1).
  public var now: Instant {
    lock.withLock { latest }
  }

  /// Zero: the clock is exact.
  public var minimumResolution: Duration { .zero }

  /// Moves the clock's time to `deadline`, if that is later, and returns without waiting.
  ///
  /// A task that sleeps again and again gives way to others at every hundredth sleep, so that a loop
  /// does not keep the rest of the program from running. A task that is cancelled by the call throws,
  /// and time does not move. O(1).
  ///
  /// - Parameters:
  ///   - deadline: The time at which the sleep would have ended.
  ///   - tolerance: Has no influence.
  /// - Throws: `CancellationError` if the task is cancelled before the call.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    try Task.checkCancellation()
    let task = UnownedTask.currentID ?? 0
    let givesWay = lock.withLock {
      latest = max(latest, deadline)
      streak = (task, streak.task == task ? streak.sleeps + 1 : 1)
      guard streak.sleeps == Self.longestStreak else { return false }
      streak.sleeps = 0
      return true
    }
    // Waits for nothing: it lets others have their turn, as a real sleep would.
    if givesWay { await Task.yield() }
  }
}

extension ImmediateClock where Duration == Swift.Duration {
  /// Makes a clock whose time is `now`, in `Swift.Duration` where nothing else is said. O(1).
  public convenience init(now: Instant = .init()) {
    self.init(startingAt: now)
  }
}

extension ImmediateClock.Instant: CustomStringConvertible {
  /// The distance from the origin, for example `3.0 seconds`.
  public var description: String { "\(offset)" }
}

extension Clock where Self == ImmediateClock<Swift.Duration> {
  /// A new ``ImmediateClock``, where a `some Clock<Duration>` or `any Clock<Duration>` is asked
  /// for.
  ///
  /// ```swift
  /// let model = PlayerModel(clock: .immediate)
  /// ```
  public static var immediate: Self { Self() }
}

import ClocksSupport

extension Clock where Duration == Swift.Duration {
  /// Suspends the current task for a number of nanoseconds, measured by this clock.
  ///
  /// The function has the type of `Task.sleep(nanoseconds:)`, so that code which takes a sleep function can
  /// be tested with a clock:
  ///
  /// ```swift
  /// struct Typewriter {
  ///   var sleep: @Sendable (UInt64) async throws -> Void = Task.sleep(nanoseconds:)
  ///   var type: @Sendable (Character) async -> Void
  ///
  ///   func write(_ text: String) async throws {
  ///     for character in text {
  ///       try await sleep(50_000_000)
  ///       await type(character)
  ///     }
  ///   }
  /// }
  ///
  /// @Test func writesTwentyCharactersASecond() async throws {
  ///   let clock = ImmediateClock()
  ///   var typewriter = Typewriter(type: { _ in })
  ///   typewriter.sleep = clock.sleep(nanoseconds:)
  ///   try await typewriter.write("A line of twenty...!")
  ///   #expect(clock.now.offset == .seconds(1))
  /// }
  /// ```
  ///
  /// No number traps on the clocks of the standard library and of this package: the greatest `UInt64` is
  /// about 585 years. With zero, the call returns immediately. The call costs as much as the clock's own sleep.
  ///
  /// - Throws: `CancellationError` if the task is cancelled, before the call or during the sleep; another error only
  ///   if the clock's own sleep throws it.
  public nonisolated(nonsending) func sleep(nanoseconds: UInt64) async throws {
    try Task.checkCancellation()
    try await sleep(until: now.advanced(by: .nanoseconds(nanoseconds)), tolerance: nil)
  }

  /// Suspends the current task for a number of seconds, measured by this clock.
  ///
  /// ```swift
  /// var sleep: @Sendable (Double) async throws -> Void = ContinuousClock().sleep(seconds:)
  /// ```
  ///
  /// No number traps on the clocks of the standard library and of this package:
  ///
  /// | seconds | effect |
  /// |---|---|
  /// | zero or negative | sleeps until `now`, which returns immediately |
  /// | infinite, or more than 146 thousand million years | sleeps for 146 thousand million years |
  /// | not a number | throws ``InvalidDurationError`` |
  ///
  /// Cancellation is checked first. The call costs as much as the clock's own sleep.
  ///
  /// - Throws: `CancellationError` if the task is cancelled, before the call or during the sleep;
  ///   ``InvalidDurationError`` if `seconds` is not a number; another error only if the clock's own sleep throws it.
  public nonisolated(nonsending) func sleep(seconds: Double) async throws {
    try Task.checkCancellation()
    // The error is thrown, not recorded as a failure. To record it, the function would need parameters for
    // the caller's line, and would not have the type of the closure above.
    guard !seconds.isNaN else { throw InvalidDurationError() }
    // The limits are compared as numbers, because the conversion of a number out of range traps.
    let duration: Duration =
      if seconds <= 0 {
        .zero
      } else if seconds < Double(Duration.longestSleep.components.seconds) {
        .seconds(seconds)
      } else {
        .longestSleep
      }
    try await sleep(until: now.advanced(by: duration), tolerance: nil)
  }
}

/// The error of a sleep for a number of seconds that is not a number.
public struct InvalidDurationError: Error, Hashable, CustomStringConvertible {
  /// Creates the error, for a test that expects it.
  public init() {}

  /// A sentence that describes the error.
  public var description: String { "A task cannot sleep for a time that is not a number." }
}

#if canImport(SwiftUI)
  public import SwiftUI

  extension EnvironmentValues {
    /// The clock for views and for work that they start; a `ContinuousClock` by default.
    ///
    /// ```swift
    /// struct Banner: View {
    ///   @Environment(\.continuousClock) private var clock
    ///   @State private var isShown = true
    ///
    ///   var body: some View {
    ///     if isShown {
    ///       Text("Saved").task {
    ///         try? await clock.sleep(for: .seconds(3))
    ///         isShown = false
    ///       }
    ///     }
    ///   }
    /// }
    ///
    /// #Preview { Banner().environment(\.continuousClock, ImmediateClock()) }
    /// ```
    public var continuousClock: any Clock<Duration> {
      get { self[ContinuousClockKey.self] }
      set { self[ContinuousClockKey.self] = newValue }
    }

    /// The clock for time that stops while the device sleeps; a `SuspendingClock` by default.
    ///
    /// Used like ``continuousClock``.
    public var suspendingClock: any Clock<Duration> {
      get { self[SuspendingClockKey.self] }
      set { self[SuspendingClockKey.self] = newValue }
    }
  }

  private enum ContinuousClockKey: EnvironmentKey {
    static var defaultValue: any Clock<Duration> { ContinuousClock() }
  }

  private enum SuspendingClockKey: EnvironmentKey {
    static var defaultValue: any Clock<Duration> { SuspendingClock() }
  }
#endif

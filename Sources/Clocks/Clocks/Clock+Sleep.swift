import ClocksSupport

extension Clock where Duration == Swift.Duration {
  /// Suspends the current task for a number of nanoseconds, measured by this clock.
  ///
  /// It has the type of `Task.sleep(nanoseconds:)`, so that a model need not know about clocks to
  /// be tested with one:
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
  /// No number traps on the clocks of the standard library and of this package: the greatest is
  /// some 585 years. Zero returns at once. The cost is that of the clock's own sleep.
  ///
  /// - Throws: `CancellationError` if the task is cancelled, before the call or while it sleeps.
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
  /// Nothing traps on the clocks of the standard library and of this package:
  ///
  /// | seconds | then |
  /// |---|---|
  /// | zero or negative | the sleep is one until `now`: it returns at once |
  /// | infinite, or more than some 146 thousand million years | it sleeps that long: for ever |
  /// | not a number | it throws ``InvalidDurationError`` |
  ///
  /// Cancellation is checked before any of this. The cost is that of the clock's own sleep.
  ///
  /// - Throws: `CancellationError` if the task is cancelled, before the call or while it sleeps;
  ///   ``InvalidDurationError`` if `seconds` is not a number.
  public nonisolated(nonsending) func sleep(seconds: Double) async throws {
    try Task.checkCancellation()
    // Thrown and not recorded: a function that takes the caller's line besides the seconds could
    // not stand in for a closure.
    guard !seconds.isNaN else { throw InvalidDurationError() }
    // Compared as numbers, because the conversion traps where the number is out of range.
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

/// A task was to sleep for a time that is not a number.
public struct InvalidDurationError: Error, Hashable, CustomStringConvertible {
  /// Makes the error, for a test that expects it.
  public init() {}

  /// What went wrong, in a sentence.
  public var description: String { "A task cannot sleep for a time that is not a number." }
}

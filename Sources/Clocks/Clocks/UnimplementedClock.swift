import ClocksSupport

/// A clock that must not be used: whoever does makes the running test fail.
///
/// Give it to code of which a test claims that it does not depend on time. The claim is then part
/// of the test:
///
/// ```swift
/// struct Search<C: Clock<Duration>> {
///   var clock: C
///   var find: (String) async throws -> [String]
///
///   /// Waits for the typing to stop, but shows the empty list for an empty query right away.
///   func results(for query: String) async throws -> [String] {
///     guard !query.isEmpty else { return [] }
///     try await clock.sleep(for: .milliseconds(300))
///     return try await find(query)
///   }
/// }
///
/// @Test func emptyQueryIsAnsweredWithoutDelay() async throws {
///   let search = Search(clock: .unimplemented(name: "Search.clock")) { _ in ["Swift"] }
///   #expect(try await search.results(for: "") == [])
/// }
/// ```
///
/// ## What is guaranteed
///
/// Every use is a recorded failure that contains the clock's name and what was asked of it: ``now``
/// and ``minimumResolution`` as well as ``sleep(until:tolerance:)``. `Clock.sleep(for:)` is two
/// uses, as it asks for `now` and then sleeps. No use traps: after the failure the clock does what an
/// ``ImmediateClock`` does, so that the test comes to its end, or what another clock does that it was
/// given.
///
/// The failure is recorded at the line at which the clock was **made**: nothing that the `Clock`
/// protocol asks for carries the line of the call. Name the clocks of a test if it has several.
/// Where no test is running, the failure is a line on standard error.
public struct UnimplementedClock<Duration: DurationProtocol & Hashable>: Clock {
  /// A point in the clock's time.
  public typealias Instant = ImmediateClock<Duration>.Instant

  /// What the clock is called in failures.
  public let name: String

  /// What is done after the failure.
  private let base: AnyClock<Duration>
  /// The base's instant that is this clock's origin.
  private let origin: AnyClock<Duration>.Instant
  private let callSite: CallSite

  /// Makes a clock that must not be used, and that does what another one does after the failure.
  ///
  /// ```swift
  /// let clock = UnimplementedClock(ContinuousClock(), name: "Player.clock")
  /// ```
  ///
  /// For code that has to go on as it would, although the test has failed. Its instants are counted
  /// from the time at which the clock is made. Cancellation and errors are those of `base`. O(1).
  ///
  /// - Parameters:
  ///   - base: The clock that is used after the failure.
  ///   - name: What the clock is called in failures; the type of `base` by default.
  ///   - fileID: The file in which failures are recorded, as `#fileID`.
  ///   - filePath: The file in which failures are recorded, as `#filePath`.
  ///   - line: The line at which failures are recorded.
  ///   - column: The column at which failures are recorded.
  public init<Base: Clock<Duration>>(
    _ base: Base,
    name: String = "\(Base.self)",
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    self.name = name
    callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    self.base = AnyClock(base)
    origin = self.base.now
  }

  /// Makes a clock that must not be used. O(1).
  ///
  /// - Parameters:
  ///   - name: What the clock is called in failures: the place it was given to, for instance.
  ///   - now: The time that it shows after the failure that asking for it is.
  ///   - fileID: The file in which failures are recorded, as `#fileID`.
  ///   - filePath: The file in which failures are recorded, as `#filePath`.
  ///   - line: The line at which failures are recorded.
  ///   - column: The column at which failures are recorded.
  public init(
    name: String = "UnimplementedClock",
    now: Instant = .init(),
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    self.init(
      name, startingAt: now,
      madeAt: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  // Under a name of its own, so that neither of the two public initializers calls itself.
  fileprivate init(_ name: String, startingAt now: Instant, madeAt callSite: CallSite) {
    self.name = name
    self.callSite = callSite
    base = AnyClock(ImmediateClock(now: now))
    origin = AnyClock(ImmediateClock<Duration>()).now
  }

  /// Records a failure, and returns the time: that of the clock which it was given, if any.
  public var now: Instant {
    recordUse("its time")
    return Instant(offset: origin.duration(to: base.now))
  }

  /// Records a failure, and returns zero, or the resolution of the clock which it was given.
  public var minimumResolution: Duration {
    recordUse("its minimum resolution")
    return base.minimumResolution
  }

  /// Records a failure and returns at once, or sleeps on the clock which it was given.
  ///
  /// - Parameters:
  ///   - deadline: When the sleep would have ended.
  ///   - tolerance: Has no influence on this clock; the one that it was given gets it.
  /// - Throws: `CancellationError`, after the failure, if the task is cancelled before the call.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    recordUse("a sleep until \(deadline)")
    try await base.sleep(until: origin.advanced(by: deadline.offset), tolerance: tolerance)
  }

  private func recordUse(_ request: String) {
    recordFailure(ClockFailure.unimplemented(name, request: request), at: callSite)
  }
}

extension UnimplementedClock where Duration == Swift.Duration {
  /// Makes a clock that must not be used, in `Swift.Duration` where nothing else is said. O(1).
  ///
  /// - Parameters:
  ///   - name: What the clock is called in failures: the place it was given to, for instance.
  ///   - now: The time that it shows after the failure that asking for it is.
  ///   - fileID: The file in which failures are recorded, as `#fileID`.
  ///   - filePath: The file in which failures are recorded, as `#filePath`.
  ///   - line: The line at which failures are recorded.
  ///   - column: The column at which failures are recorded.
  public init(
    name: String = "UnimplementedClock",
    now: Instant = .init(),
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    self.init(
      name, startingAt: now,
      madeAt: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }
}

extension Clock where Self == UnimplementedClock<Swift.Duration> {
  /// A new ``UnimplementedClock``, where a `some Clock<Duration>` or `any Clock<Duration>` is asked
  /// for.
  ///
  /// ```swift
  /// let model = PlayerModel(clock: .unimplemented(name: "PlayerModel.clock"))
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the clock is called in failures: the place it was given to, for instance.
  ///   - fileID: The file in which failures are recorded, as `#fileID`.
  ///   - filePath: The file in which failures are recorded, as `#filePath`.
  ///   - line: The line at which failures are recorded.
  ///   - column: The column at which failures are recorded.
  public static func unimplemented(
    name: String = "UnimplementedClock",
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> Self {
    Self(name: name, fileID: fileID, filePath: filePath, line: line, column: column)
  }
}

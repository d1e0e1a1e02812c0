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
/// uses, as it asks for `now` and then sleeps. No use traps or waits: after the failure the clock
/// does what an ``ImmediateClock`` does, so that the test comes to its end.
///
/// The failure is recorded at the line at which the clock was **made**: nothing that the `Clock`
/// protocol asks for carries the line of the call. Name the clocks of a test if it has several.
/// Where no test is running, the failure is a line on standard error.
public struct UnimplementedClock<Duration: DurationProtocol & Hashable>: Clock {
  /// A point in the clock's time.
  public typealias Instant = ImmediateClock<Duration>.Instant

  /// What the clock is called in failures.
  public let name: String

  private let base: ImmediateClock<Duration>
  private let callSite: CallSite

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
    base = ImmediateClock(now: now)
  }

  /// Records a failure and returns the instant that an ``ImmediateClock`` would.
  public var now: Instant {
    recordUse("its time")
    return base.now
  }

  /// Records a failure and returns zero.
  public var minimumResolution: Duration {
    recordUse("its minimum resolution")
    return base.minimumResolution
  }

  /// Records a failure and returns at once.
  ///
  /// - Throws: `CancellationError`, after the failure, if the task is cancelled before the call.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    recordUse("a sleep until \(deadline)")
    try await base.sleep(until: deadline, tolerance: tolerance)
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

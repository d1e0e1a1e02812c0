import ClocksSupport

/// A clock that must not be used: each use makes the running test fail.
///
/// Pass it to code that should not depend on time. The test then checks that claim:
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
/// ## Guarantees
///
/// Every use of ``now``, ``minimumResolution`` and ``sleep(until:tolerance:)`` records a failure, which
/// contains the clock's name and the use. `Clock.sleep(for:)` is two uses, because it reads `now` and then
/// sleeps. After the failure, the clock behaves like an ``ImmediateClock``, so the test can continue. If
/// another clock was passed to the initializer, it behaves like that one. No use traps: on such a clock, a
/// sleep takes at most 146 thousand million years.
///
/// The failure is recorded at the line at which the clock was **made**, because the `Clock` protocol does
/// not pass the line of the call. If a test has several of these clocks, name them. Outside a test, the
/// failure is a line on standard error.
public struct UnimplementedClock<Duration: DurationProtocol & Hashable>: Clock {
  /// A point in the clock's time.
  public typealias Instant = ImmediateClock<Duration>.Instant

  /// The clock's name in failures.
  public let name: String

  /// The clock that is used after the failure.
  private let base: AnyClock<Duration>
  /// The instant of `base` that is this clock's origin.
  private let origin: AnyClock<Duration>.Instant
  private let callSite: CallSite
  /// Whether `base` is the caller's clock. Those of the standard library trap at deadlines that are too far away.
  private let isBounded: Bool

  /// Creates a clock that must not be used, and that forwards to another clock after the failure.
  ///
  /// ```swift
  /// let clock = UnimplementedClock(ContinuousClock(), name: "Player.clock")
  /// ```
  ///
  /// Use it if the code should continue normally although the test has failed. The clock's origin is the time
  /// at which it is made. `base` determines cancellation and errors. O(1).
  ///
  /// - Parameters:
  ///   - base: The clock that is used after the failure.
  ///   - name: The clock's name in failures; the type of `base` by default.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public init<Base: Clock<Duration>>(
    _ base: Base, name: String = "\(Base.self)",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    self.name = name
    callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    self.base = AnyClock(base)
    origin = self.base.now
    isBounded = true
  }

  /// Creates a clock that must not be used. O(1).
  ///
  /// - Parameters:
  ///   - name: The clock's name in failures, for example the property that holds it.
  ///   - now: The time that the clock returns after the failure.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public init(
    name: String = "UnimplementedClock", now: Instant = .init(),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    self.init(
      name, startingAt: now,
      madeAt: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  // This initializer has other labels, so that the two public ones do not call themselves.
  fileprivate init(_ name: String, startingAt now: Instant, madeAt callSite: CallSite) {
    self.name = name
    self.callSite = callSite
    base = AnyClock(ImmediateClock(now: now))
    origin = AnyClock(ImmediateClock<Duration>()).now
    isBounded = false
  }

  /// Records a failure, and returns the time of the underlying clock.
  public var now: Instant {
    recordUse("its time")
    return Instant(offset: origin.duration(to: base.now))
  }

  /// Records a failure, and returns the resolution of the underlying clock; zero by default.
  public var minimumResolution: Duration {
    recordUse("its minimum resolution")
    return base.minimumResolution
  }

  /// Records a failure, and sleeps on the underlying clock; by default, returns immediately.
  ///
  /// - Parameters:
  ///   - deadline: The instant at which the sleep would have ended.
  ///   - tolerance: The tolerance for the underlying clock.
  /// - Throws: The error of the underlying clock, after the failure; by default, `CancellationError` if the
  ///   task is cancelled before the call.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    recordUse("a sleep until \(deadline)")
    let offset = isBounded ? boundedByLongestSleep(deadline.offset) : deadline.offset
    try await base.sleep(
      until: origin.advanced(by: offset), tolerance: tolerance.map(boundedByLongestSleep))
  }

  private func recordUse(_ request: String) {
    UsageFailure.report(
      "The clock \"\(name)\" is unimplemented, but was asked for \(request).", at: callSite)
  }
}

extension UnimplementedClock where Duration == Swift.Duration {
  /// Creates a clock that must not be used, with durations of type `Swift.Duration`. O(1).
  ///
  /// Unlike the general initializer, this one needs no type arguments.
  public init(
    name: String = "UnimplementedClock", now: Instant = .init(),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    self.init(
      name, startingAt: now,
      madeAt: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }
}

extension Clock where Self == UnimplementedClock<Swift.Duration> {
  /// A new ``UnimplementedClock``, for parameters of type `some Clock<Duration>` or `any Clock<Duration>`.
  ///
  /// ```swift
  /// let model = PlayerModel(clock: .unimplemented(name: "PlayerModel.clock"))
  /// ```
  ///
  /// - Parameters:
  ///   - name: The clock's name in failures, for example the property that holds it.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public static func unimplemented(
    name: String = "UnimplementedClock",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) -> Self {
    Self(name: name, fileID: fileID, filePath: filePath, line: line, column: column)
  }
}

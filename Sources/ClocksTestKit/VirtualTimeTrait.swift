import Clocks
public import Testing

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Runs tests in a scope in which all time is virtual.
///
/// ```swift
/// @Test(.virtualTime) func aDayIsOverInNoTime() async throws {
///   try await Task.sleep(for: .seconds(86_400))
///   #expect(VirtualTime.current?.now == .init(offset: .seconds(86_400)))
/// }
/// ```
///
/// Each test, and each test case of a parameterized test, runs in a scope of its own, as in
/// `withVirtualTime`; inside, `VirtualTime.current` is that scope. On a suite, the trait is that of
/// each of its tests, and of those of suites within it. Failures of the scope are recorded where
/// the test is declared.
///
/// A test that is isolated to the main actor stays there. Time limits are of real time.
public struct VirtualTimeTrait: TestTrait, SuiteTrait, TestScoping {
  var autoAdvance: Bool
  var jumpsAfter: Duration?
  var leftoverSleeps: VirtualTime.LeftoverSleeps
  var stuckAfter: Duration
  var freezesDate: Bool
  var runningLimit: Duration
  var date: Date?

  /// Whether tests in suites within the suite run in virtual time, too: they do.
  public var isRecursive: Bool { true }

  /// Runs a test case in a scope of its own; for the test library.
  ///
  /// - Parameters:
  ///   - test: The test.
  ///   - testCase: The case.
  ///   - function: Runs the case.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // A test that is explored has a scope in each of its runs, with what is asked for here.
    guard !test.traits.contains(where: { $0 is SchedulesTrait }) else {
      return try await function()
    }
    let location = test.sourceLocation
    try await withVirtualTime(
      autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
      stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit,
      report: { Issue.record(Comment(rawValue: $0), sourceLocation: location) },
      operation: { time in
        if let date { time.date = date }
        try await withNoteOnSkippedWait(in: time, for: test, testCase, function)
      })
  }
}

extension Trait where Self == VirtualTimeTrait {
  /// Runs each test in a scope in which all time is virtual.
  public static var virtualTime: Self { virtualTime() }

  /// Runs each test in a scope in which all time is virtual.
  ///
  /// - Parameters:
  ///   - autoAdvance: Whether time jumps when nothing can run; if not, the test moves it by hand.
  ///   - jumpsAfter: A pause in real time in which nothing may happen before time jumps; none by
  ///     default.
  ///   - leftoverSleeps: Whether tasks that still sleep when the test returns are a failure of it.
  ///   - stuckAfter: How much real time makes a test in which nothing can run count as stuck.
  ///   - freezesDate: Whether `Date()` reads virtual time, too.
  ///   - runningLimit: For how long the test may run, in real time, before it counts as one that never
  ///     ends.
  public static func virtualTime(
    autoAdvance: Bool = true, jumpsAfter: Duration? = nil,
    leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, stuckAfter: Duration = .seconds(5),
    freezesDate: Bool = true, runningLimit: Duration = .seconds(60)
  ) -> Self {
    VirtualTimeTrait(
      autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
      stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit)
  }

  /// Runs each test in a scope in which all time is virtual, and which begins at a date.
  ///
  /// - Parameters:
  ///   - date: What `Date()` reads when the test begins; see ``Clocks/VirtualTime/date``.
  ///   - autoAdvance: Whether time jumps when nothing can run; if not, the test moves it by hand.
  ///   - jumpsAfter: A pause in real time in which nothing may happen before time jumps; none by
  ///     default.
  ///   - leftoverSleeps: Whether tasks that still sleep when the test returns are a failure of it.
  ///   - stuckAfter: How much real time makes a test in which nothing can run count as stuck.
  ///   - runningLimit: For how long the test may run, in real time, before it counts as one that never
  ///     ends.
  public static func virtualTime(
    date: Date, autoAdvance: Bool = true, jumpsAfter: Duration? = nil,
    leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, stuckAfter: Duration = .seconds(5),
    runningLimit: Duration = .seconds(60)
  ) -> Self {
    VirtualTimeTrait(
      autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
      stuckAfter: stuckAfter, freezesDate: true, runningLimit: runningLimit, date: date)
  }
}

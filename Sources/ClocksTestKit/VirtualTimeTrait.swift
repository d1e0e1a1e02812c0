import Clocks
import ClocksSupport
public import Testing

// A file with `@Test(.virtualTime)` needs `VirtualTime.current`, so `VirtualTime` is exported. No other name
// is: `TestClock` would be ambiguous in a file that imports another package with a type of that name.
@_exported import class Clocks.VirtualTime

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
/// Each test, and each test case of a parameterized test, runs in its own scope, as in `withVirtualTime`.
/// Inside the test, `VirtualTime.current` is that scope. On a suite, the trait applies to all of its tests,
/// including those of nested suites. Failures of the scope are recorded at the declaration of the test. A
/// test that does not end after it was reported and cancelled is abandoned, and the other tests continue.
///
/// A test that is isolated to the main actor runs on the main actor. Time limits of Swift Testing count real
/// time. A negative time is a failure, and the standard value is used.
public struct VirtualTimeTrait: TestTrait, SuiteTrait, TestScoping {
  let options: ScopeOptions
  var date: Date?

  /// Whether the trait applies to nested suites: `true`.
  public var isRecursive: Bool { true }

  /// Runs a test case in its own scope. The test library calls this function.
  ///
  /// - Parameters:
  ///   - test: The test.
  ///   - testCase: The case.
  ///   - function: Runs the case.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // An explored test creates a scope in each of its runs, with this trait's options.
    guard !test.traits.contains(where: { $0 is SchedulesTrait }) else {
      return try await function()
    }
    let location = test.sourceLocation
    try await withoutActuallyEscaping(function) { function in
      // An abandoned body, which does not end, retains the function permanently.
      let holders = ClosureRetainBalance.countHolders(of: function)
      defer { holders.releaseReferences(to: function) }
      try await withVirtualTimeUnlessStuck(
        options, at: CallSite(location),
        report: { Issue.record(Comment(rawValue: $0), sourceLocation: location) },
        operation: { time in
          if let date { time.date = date }
          try await withNotesOnFailures(in: time, for: test, testCase, function)
        })
    }
  }
}

extension Trait where Self == VirtualTimeTrait {
  /// Runs each test in a scope in which all time is virtual.
  public static var virtualTime: Self { virtualTime() }

  /// Runs each test in a scope in which all time is virtual.
  ///
  /// - Parameters:
  ///   - autoAdvance: Whether time jumps when nothing can run. If `false`, the test advances time.
  ///   - jumpsAfter: The pause in real time, without any event, before each jump of time; none by default.
  ///   - leftoverSleeps: Whether tasks that still sleep, or run without end, when the test returns, are a failure of
  ///     the test.
  ///   - stuckAfter: How long nothing can run, in real time, before the test counts as stuck; by default five
  ///     seconds.
  ///   - freezesDate: Whether `Date()` reads virtual time where the clocks do.
  ///   - runningLimit: The real time for which the test's tasks and blocks may run; a minute by default. Time in
  ///     which none of them runs does not count, and tests that run in parallel share the time.
  public static func virtualTime(
    autoAdvance: Bool = true, jumpsAfter: Duration? = nil,
    leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, stuckAfter: Duration = .seconds(5),
    freezesDate: Bool = true, runningLimit: Duration = .seconds(60)
  ) -> Self {
    VirtualTimeTrait(
      options: ScopeOptions(
        autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
        stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit))
  }

  /// Runs each test in a scope in which all time is virtual. The scope begins at a date.
  ///
  /// - Parameters:
  ///   - date: The date that `Date()` reads when the test begins; see ``Clocks/VirtualTime/date``.
  ///   - autoAdvance: Whether time jumps when nothing can run. If `false`, the test advances time.
  ///   - jumpsAfter: The pause in real time, without any event, before each jump of time; none by default.
  ///   - leftoverSleeps: Whether tasks that still sleep, or run without end, when the test returns, are a failure of
  ///     the test.
  ///   - stuckAfter: How long nothing can run, in real time, before the test counts as stuck; by default five
  ///     seconds.
  ///   - runningLimit: The real time for which the test's tasks and blocks may run; a minute by default. Time in
  ///     which none of them runs does not count, and tests that run in parallel share the time.
  public static func virtualTime(
    date: Date, autoAdvance: Bool = true, jumpsAfter: Duration? = nil,
    leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, stuckAfter: Duration = .seconds(5),
    runningLimit: Duration = .seconds(60)
  ) -> Self {
    var trait = virtualTime(
      autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
      stuckAfter: stuckAfter, runningLimit: runningLimit)
    trait.date = date
    return trait
  }
}

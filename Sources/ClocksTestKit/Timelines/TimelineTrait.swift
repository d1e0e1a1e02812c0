import Clocks
public import Testing

/// Records what happens in tests, for whoever has to find out why one fails.
///
/// ```swift
/// @Test(.virtualTime, .timeline) func polls() async throws {
///   let time = try #require(VirtualTime.current)
///   let poller = Task(name: "poller") { try await Task.sleep(for: .seconds(3)) }
///   time.mark("the poller has started")
///   try await poller.value
/// }
/// ```
///
/// It records a scope of virtual time, or the clocks that the test makes: tasks and who created them,
/// jobs, sleeps, how time moved, and marks. When the test fails, the first failure has the end of it as
/// text, a lane for each task. A picture (SVG) and the events for Perfetto and Chrome (JSON) are attached
/// to the test; `swift test --attachments-path FOLDER` keeps them.
///
/// On a suite, the trait is that of each of its tests, and of those of suites within it. Each case of a
/// parameterized test is recorded by itself.
///
/// An event takes some 100 nanoseconds and 40 bytes; of a million the earliest are dropped.
public struct TimelineTrait: TestTrait, SuiteTrait, TestScoping {
  var lines: Int
  var events: Int

  /// Whether tests in suites within the suite are recorded, too: they are.
  public var isRecursive: Bool { true }

  /// Runs a test case and records what happens in it; for the test library.
  ///
  /// - Parameters:
  ///   - test: The test.
  ///   - testCase: The case.
  ///   - function: Runs the case.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    TimelineAttachments.register()
    let request = TimelineRequest(limit: events, lines: lines) {
      TimelineAttachments.attach($0, inTraceFolder: true)
    }
    let explanation = Explanation(request, lines: lines)
    try await request.run {
      try await IssueHandlingTrait.compactMapIssues { explanation.add(to: $0) }
        .provideScope(for: test, testCase: testCase) {
          do {
            try await function()
          } catch  where isUnrecorded(error) {
            // The test library would record it, too, but where nobody can add to it.
            Issue.record(error, sourceLocation: test.sourceLocation)
          }
        }
    }
  }
}

extension Trait where Self == TimelineTrait {
  /// Records what happens in each test.
  public static var timeline: Self { timeline() }

  /// Records what happens in each test.
  ///
  /// - Parameters:
  ///   - lines: How many lines of it a failure has at most; at least 3.
  ///   - events: How many events are kept; the earliest are dropped.
  public static func timeline(lines: Int = 40, events: Int = 1_000_000) -> Self {
    TimelineTrait(lines: lines, events: events)
  }
}

import Clocks
import ClocksTestKit
import Testing

/// The trait `.timeline` in a test whose recording begins before the trait, or that has the trait twice.
@Suite struct EarlierRecordingTests {
  private static func withTimeline(
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await TimelineTrait.timeline.provideScope(
      for: Test.current!, testCase: nil, performing: body)
  }

  private let shown = """
    one
    What happened:
    time  test
    0 s   ● waits
    0 s   ✘ the failure
    """

  @Test func aRecordingThatTheTraitHasNotBegunIsShown() async throws {
    let found = try await failures {
      try await withVirtualTime { time in
        time.recordTimeline()
        try await Self.withTimeline {
          time.mark("waits")
          Issue.record("one")
          Issue.record("two")
        }
      }
    }
    #expect(found.map(\.text) == [shown, "two"])
  }

  @Test func ofTwoTraitsOneShowsTheTimeline() async throws {
    let found = try await failures {
      try await withVirtualTime { time in
        try await Self.withTimeline {
          try await Self.withTimeline {
            time.mark("waits")
            Issue.record("one")
            Issue.record("two")
          }
        }
      }
    }
    #expect(found.map(\.text) == [shown, "two"])
  }

  @Test func twoTraitsSayOnceThatThereIsNoRecording() async throws {
    let found = try await failures {
      try await Self.withTimeline { try await Self.withTimeline { Issue.record("one") } }
    }
    #expect(
      found.map(\.text) == [
        """
        one
        The trait `.timeline` has recorded nothing: the test has no virtual time, and has made no TestClock. \
        Write `.virtualTime` beside it.
        """
      ])
  }
}

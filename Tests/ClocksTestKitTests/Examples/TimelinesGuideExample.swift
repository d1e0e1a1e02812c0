import Clocks
import ClocksTestKit
import Foundation
import Testing
import XCTest

/// Asks a server for a token, and again when it does not answer in time.
struct TokenClient: Sendable {
  let fetch: @Sendable (_ attempt: Int) async throws -> String

  func token() async throws -> String {
    for attempt in 1... {
      let fetching = Task(name: "attempt \(attempt)") { try await fetch(attempt) }
      let watchdog = Task(name: "watchdog") {
        try await Task.sleep(for: .seconds(5))
        fetching.cancel()
      }
      defer { watchdog.cancel() }
      if let token = try? await fetching.value { return token }
    }
    return ""
  }
}

@Suite struct TimelinesGuide {
  @Test(.virtualTime, .timeline) func asksAgain() async throws {
    let time = try VirtualTime.required
    let client = TokenClient { attempt in
      try await Task.sleep(for: attempt == 1 ? .seconds(60) : .seconds(1))
      time.mark("answers")
      return "token"
    }
    #expect(try await client.token() == "token")
    #expect(time.now == .init(offset: .seconds(6)))
  }

  /// The text beside it in the guide is what this says.
  @Test func theLanesInTheGuide() async throws {
    let failures = try await failures {
      try await TimelineTrait.timeline.provideScope(for: Test.current!, testCase: nil) {
        try await withVirtualTime { time in
          let client = TokenClient { attempt in
            try await Task.sleep(for: attempt == 1 ? .seconds(60) : .seconds(1))
            time.mark("answers")
            return "token"
          }
          _ = try await client.token()
          #expect(time.now == .init(offset: .seconds(7)))
        }
      }
    }
    let lanes = try #require(failures.first).text.split(separator: "\n")
      .drop { !$0.hasPrefix("time  ") }.map { "  \($0)" }.joined(separator: "\n")
    #expect(try guide("Timelines").contains(lanes), "\(lanes)")
  }

  // MARK: - Diagrams

  @Test(.virtualTime) func ticks() async {
    let ticks = ContinuousClock().timer(interval: .seconds(2)).map { _ in "t" }.prefix(2)
    await expectTimeline(of: ticks, "--t-(t|)", every: .seconds(1))
  }

  @Test(.virtualTime) func searches() async {
    let results = AsyncStream { continuation in
      Task {
        continuation.yield(["sun"])
        try await Task.sleep(for: .seconds(3))
        continuation.yield(["sun", "moon"])
        continuation.finish()
      }
    }
    await expectTimeline(
      of: results, "a--(b|)", every: .seconds(1), values: ["a": ["sun"], "b": ["sun", "moon"]])
  }

  @Test(.virtualTime) func probes() async {
    let ticks = Probe(ContinuousClock().timer(interval: .seconds(2)).map { _ in "t" }.prefix(2))
    await ticks.expectNothing(for: .milliseconds(1_999))
    #expect(await ticks.next(within: .milliseconds(1)) == "t")
    await ticks.next(within: .seconds(10))
    #expect(await ticks.expectEnd(within: .zero) == .seconds(4))
  }

  /// The failure in the guide is what this says.
  @Test(.virtualTime) func theDifferenceInTheGuide() async throws {
    let failures = try await failures {
      let ticks = ContinuousClock().timer(interval: .seconds(2)).map { _ in "t" }.prefix(2)
      await expectTimeline(of: ticks, "--t--(t|)")
      let others = ContinuousClock().timer(interval: .seconds(2)).map { _ in "t" }.prefix(2)
      await expectTimeline(of: others, "--t-(t(|))")
    }
    for failure in failures {
      let lines = failure.text.split(separator: "\n").filter { !$0.hasPrefix("VirtualTime at") }
        .map(String.init).joined(separator: "\n")
      #expect(try guide("Timelines").contains(lines), "\(lines)")
    }
    #expect(failures.count == 2)
  }
}

final class TimelineXCTests: XCTestCase {
  func testGetsAToken() async throws {
    try await withVirtualTime { time in
      time.recordTimeline()
      let client = TokenClient { _ in "token" }
      let token = try await client.token()
      XCTAssertEqual(token, "token", time.recordedTimeline?.lanes() ?? "")
    }
  }
}

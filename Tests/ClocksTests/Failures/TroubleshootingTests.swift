import ClocksSupport
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// Each text that Docs/Troubleshooting.md quotes comes when its case is provoked.
@Suite struct TroubleshootingTests {
  typealias Provocation = @Sendable () async throws -> String

  @Test func everyHeadingIsProvoked() {
    let rows = Troubleshooting.rows
    #expect(rows.count > 25)
    // Those with a list of tasks are provoked by `PollerTests`, where the list must be the same, too.
    let lists = Set(rows.filter(\.hasList).compactMap(\.quotes.first))
    let expected = Set(rows.flatMap(\.quotes)).subtracting(lists)
      .subtracting(Troubleshooting.quotesOfTheKit).subtracting(Troubleshooting.quotesOfBuilds)
    #expect(Set(Self.provocations.keys).subtracting(lists) == expected)
    #expect(rows.filter(\.quotes.isEmpty).map(\.heading) == Troubleshooting.unquoted)
  }

  /// These reports need to know what each thread does.
  private static let needThreads = ["Nothing has happened in the process", "The test has waited"]

  @Test(
    arguments: Self.provocations.keys.sorted().filter {
      areThreadsShown || !Self.needThreads.contains(where: $0.hasPrefix)
    })
  func itSaysWhatThePageQuotes(_ quote: String) async throws {
    let provocation = try #require(Self.provocations[quote])
    let text = try await provocation()
    #expect(Troubleshooting.quote(quote, fits: text), "\(text)")
  }

  /// What is compared is more than nothing.
  @Test func aQuoteFitsOnlyWhatItQuotes() {
    #expect(Troubleshooting.quote("a … c", fits: "so a b c it is"))
    #expect(!Troubleshooting.quote("a … c", fits: "so c b a it is"))
    #expect(Troubleshooting.quote("… for 30.0 seconds …", fits: "it waits for 0.5 seconds"))
    #expect(!Troubleshooting.quote("… for 30.0 seconds …", fits: "it waits for ever"))
  }

  // MARK: - How each is provoked

  private static func report(_ body: @escaping @Sendable () async throws -> Void) -> Provocation {
    {
      try await recordedIssues { try? await body() }.map(\.message).joined(separator: "\n")
    }
  }

  /// What is written where a test fails in a process of its own.
  private static func child(
    _ tests: String, _ environment: [String: String] = [:]
  ) -> Provocation {
    {
      let child = try await ChildProcess.runSwiftTesting(
        tests,
        environment: environment.merging([ChildVariable.hang: "1"]) { first, _ in first })
      // Long lines are those of issues.
      let text = (child.standardOutput + child.standardError).withoutMeasuredTime
        .replacing(/\n\s*/, with: " ")
      return child.isEndedBySignal ? text + " (ended by signal \(child.exitCode))" : text
    }
  }

  private static func sleeper(_ clock: TestClock<Duration>) async -> Task<Void, any Error> {
    let task = Task(name: "sleeper") { try await clock.sleep(for: .seconds(3)) }
    await clock.settle()
    return task
  }

  static let provocations: [String: Provocation] = [
    "Where the test's … tasks are": {
      let clock = TestClock()
      let task = await sleeper(clock)
      defer { task.cancel() }
      return clock.dump()
    },
    "… expects a duration of zero or more, but got …": report {
      await TestClock().advance(by: .seconds(-1))
    },
    "… expects an instant that is not in the past …": report {
      let clock = TestClock()
      await clock.advance(by: .seconds(2))
      await clock.advance(to: .init(offset: .seconds(1)))
    },
    "… was called by a task of another test than the one that made the clock …": report {
      await withClockOfATask { clock in
        await inATaskWithAClock { await clock.advance(by: .seconds(1)) }
      }
    },
    "… was called in a test that uses another clock already …": report {
      let clock = await Task { TestClock() }.value
      let own = TestClock()
      await clock.advance(by: .seconds(1))
      withExtendedLifetime(own) {}
    },
    "The clock made at … is used by … test cases at the same time …": child(
      "ClockSharedAtOnceTests", ["CLOCKS_BLOCKED_AFTER": "0.5"]),
    "The clock \"…\" is unimplemented, but was asked for …": report {
      let clock = UnimplementedClock(name: "network")
      _ = clock.now
    },
    "withVirtualTime has cancelled task #…, which still ran …": report {
      try await withVirtualTime { time in
        let end = RealTime(in: .seconds(600))
        time.scheduler.change { $0.runaway.limits.jobs = 1_000 }
        Task { while !end.hasPassed { await Task.yield() } }
      }
    },
    "… has held its thread for more than 30.0 seconds of real time, and nothing else happens in the test …":
      child(
        "StuckTraitExamples/blocks\\(",
        ["CLOCKS_TESTS_STUCK": "100", "CLOCKS_BLOCKED_AFTER": "0.3"]),
    "Nothing has happened in the process for 30.0 seconds of real time, and the test is not over …":
      child(
        "StuckExamples/losesContinuationWithAClock\\(",
        ["CLOCKS_TESTS_STUCK": "100", "CLOCKS_BLOCKED_AFTER": "0.3"]),
    "The test has waited for 30.0 seconds of real time for work that it has submitted to a dispatch queue …":
      child(
        "EndlessWorkExamples.*/awaitsABlockedBlock\\(",
        ["CLOCKS_TESTS_STUCK": "100", "CLOCKS_BLOCKED_AFTER": "0.3"]),
    "The test has run for more than 60.0 seconds of real time, twice CLOCKS_BLOCKED_AFTER, and is not over …":
      child(
        "EndlessWorkExamples/settles\\(",
        ["CLOCKS_TESTS_STUCK": "100", "CLOCKS_BLOCKED_AFTER": "0.3"]),
    "withVirtualTime expects that no work is left when its operation returns, but work still goes on: …":
      child(
        "EndlessWorkExamples/leavesBlocksWithoutEnd\\(",
        ["CLOCKS_TESTS_STUCK": "100", "CLOCKS_BLOCKED_AFTER": "0.3"]),
    "The process ends with exit code 1, because only … stuck … left": child(
      "StuckExamples/losesContinuation\\(",
      ["CLOCKS_TESTS_STUCK": "100", "CLOCKS_BLOCKED_AFTER": "0.3"]),
    "Note: this process has the capability …": child(
      "StuckPollerTests.*forgetsToAdvance\\(",
      ["CLOCKS_DOOR": "hook", "CLOCKS_BLOCKED_AFTER": "0.3", ChildVariable.stuckPoller: "1"]),
    "This process runs tests with …, but Clocks has not found its function that records a failure …":
      child(
        "DeliberateSwiftTestingFailures",
        [DeliberateFailures.variable: DeliberateFailures.undeliverable.rawValue]),
    "CLOCKS_… is \"…\", but can only be …": child(
      "CapabilityNoteTests", ["CLOCKS_DOOR": "garage"]),
    "CLOCKS_… is not a variable of swift-test-clocks …": child(
      "CapabilityNoteTests", ["CLOCKS_DOR": "hook"]),
  ]
}

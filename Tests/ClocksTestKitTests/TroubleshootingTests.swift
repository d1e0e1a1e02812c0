import Clocks
import ClocksTestKit
import Foundation
import TestTraits
import Testing

/// Each text of the kit that Docs/Troubleshooting.md quotes appears when its case is provoked. The tests of
/// Clocks provoke the other texts.
@Suite struct KitTroubleshootingTests {
  typealias Provocation = @Sendable () async throws -> String

  @Test func everyTextOfTheKitIsProvoked() {
    let quotes = Set(Troubleshooting.rows.flatMap(\.quotes))
    #expect(Set(Self.provocations.keys) == Troubleshooting.quotesOfTheKit)
    #expect(Troubleshooting.quotesOfTheKit.isSubset(of: quotes))
    #expect(Troubleshooting.quotesOfBuilds.isSubset(of: quotes))
  }

  @Test(arguments: Self.provocations.keys.sorted())
  func itSaysWhatThePageQuotes(_ quote: String) async throws {
    let provocation = try #require(Self.provocations[quote])
    let text = try await provocation()
    #expect(Troubleshooting.quote(quote, fits: text), "\(text)")
  }

  // MARK: - Cases

  private static func report(_ body: @escaping @Sendable () async throws -> Void) -> Provocation {
    { try await failures { try? await body() }.map(\.text).joined(separator: "\n") }
  }

  /// The failures that are recorded in a test with the trait.
  private static func inVirtualTime(
    _ body: @escaping @Sendable () async throws -> Void
  ) -> Provocation {
    report { try await VirtualTimeTrait.virtualTime.run(body) }
  }

  /// What a sample of `ExploredChildTests` writes.
  private static func sample(
    _ name: String, _ environment: [String: String] = [:]
  ) -> Provocation {
    { try await exploredSample(name, environment).standardOutput }
  }

  private struct Timeout: Error {}

  private static func numbers() -> AsyncStream<Int> {
    AsyncStream { continuation in
      continuation.yield(1)
      continuation.finish()
    }
  }

  static let provocations: [String: Provocation] = [
    "The condition did not hold at any time within …": report {
      await TestClock().eventually(within: .seconds(1)) { false }
    },
    "The condition held after …": report {
      await TestClock().never(within: .seconds(1)) { true }
    },
    "Expected … to be fulfilled …": report {
      await TimedExpectation("answer").wait(within: .seconds(1), on: TestClock())
    },
    "… expects a limit of zero or more …": report {
      await TestClock().eventually(within: .seconds(-1)) { true }
    },
    "… or to be given a clock": report {
      await TimedExpectation("answer").wait(within: .seconds(1))
    },
    "… but the task was cancelled …": report {
      let clock = TestClock()
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        await clock.eventually(within: .seconds(1)) { false }
      }
      await task.value
    },
    "The sequence does not do what the diagram says …": inVirtualTime {
      await expectTimeline(of: numbers(), "2|")
    },
    "… does not understand the diagram …": inVirtualTime {
      await expectTimeline(of: numbers(), "1-((")
    },
    "Expected an element within …": inVirtualTime {
      let probe = Probe(AsyncStream<Int> { _ in })
      await probe.next(within: .seconds(1))
    },
    "CLOCKS_TRACE: cannot write …": {
      let child = try await ChildProcess.runTests(
        "TraceSamples",
        environment: ["CLOCKS_TRACE": "/dev/null/x", "CLOCKS_TESTS_TRACE_SAMPLES": "1"])
      return child.standardOutput
    },
    "CLOCKS_TRACE: no timeline was written …": {
      let child = try await ChildProcess.runTests(
        "ClocksTests.UntracedXCTests", library: "xctest", environment: ["CLOCKS_TRACE": "/tmp/none"]
      )
      return child.standardOutput
    },
    "Time jumped …, while task #… waited for work outside the scope …": inVirtualTime {
      let fetch = Task { await answerFromElsewhere() }
      try await Task.sleep(for: .seconds(30))
      #expect(await fetch.value == 0)
    },
    "… at this very instant, and … not woken yet …": inVirtualTime {
      let task = Task { try await Task.sleep(for: .seconds(5)) }
      try await Task.sleep(for: .seconds(5))
      Issue.record("The task has not woken.")
      try await task.value
    },
    "Time jumped …, because nothing of the test could run …": inVirtualTime {
      let fetch = Task { await answerFromElsewhere(after: .seconds(60)) }
      try await Task.sleep(for: .seconds(30))
      Issue.record(Timeout())
      try await Task.sleep(for: .seconds(30))
      _ = await fetch.value
    },
    "A deadlock at …": report {
      try await withSchedules(10) { _ in
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
      }
    },
    "A test can be run in many orders only where every hop …": sample(
      "late", ["CLOCKS_DOOR": "none"]),
    "… needs ClocksTestKit, which hands it the test's issues …": sample("findsNoKit"),
    "The test does not behave the same in two runs of one order …": report {
      let runs = Tally()
      try await withSchedules(10) { _ in
        runs.add()
        for _ in 0..<runs.value { await Task {}.value }
      }
    },
    // It fails from the third run on, and each second run has one more task.
    "Two runs of this schedule were not the same …": report {
      let runs = Tally()
      try await withSchedules(10) { _ in
        runs.add()
        let tasks = (0..<2).map { _ in Task {} }
        for task in tasks { await task.value }
        guard runs.value > 2 else { return }
        if runs.value.isMultiple(of: 2) { await Task {}.value }
        throw Timeout()
      }
    },
    "The schedule \"…\" is no longer possible …": report {
      try await withSchedules(.schedule("1:b.1<a.1:248a")) { _ in }
    },
    "The schedule \"…\" is not the order that was recorded …": report {
      try await withSchedules(.schedule("1:b.1<a.1:248a")) { _ in
        let tasks = (0..<3).map { _ in Task {} }
        for task in tasks { await task.value }
      }
    },
    "The schedule \"…\" cannot be run …": report {
      try await withSchedules(.schedule("1:a.1<b.1")) { _ in }
    },
  ]
}

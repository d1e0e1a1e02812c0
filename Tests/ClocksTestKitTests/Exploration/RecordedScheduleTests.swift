import Clocks
import ClocksTestKit
import Foundation
import Testing

/// Fails in the third schedule.
private func race(expected: Int = 2) async {
  let box = RecordedBox()
  let first = Task(name: "first") { await box.set(1) }
  let second = Task(name: "second") { await box.set(2) }
  _ = await (first.value, second.value)
  #expect(await box.value == expected)
}

private actor RecordedBox {
  var value = 0
  func set(_ value: Int) { self.value = value }
}

/// Timelines of explored tests: only the run that is reported is recorded.
@Suite struct RecordedScheduleTests {
  private func explored(_ body: @escaping @Sendable () async throws -> Void) async throws {
    try await SchedulesTrait.schedules(100).run(body)
  }

  private func recorded(_ body: @escaping @Sendable () async throws -> Void) async throws {
    try await TimelineTrait.timeline.run(body)
  }

  /// Expects what a failure has for both orders of the traits.
  private func expectBoth(_ found: [Failure]) throws {
    #expect(found.count == 1)
    let text = try #require(found.first?.text)
    #expect(text.contains("Schedule 3 of 100 (2 passed; last in, first out)"))
    #expect(text.contains("b.1 before a.1"))
    #expect(text.contains(/0\.2 line \d+ race\(expected:\)/))
    // In the failing order the second task runs before the first.
    let lines = text.split(separator: "\n").map(String.init)
    let heading = try #require(lines.firstIndex(of: "What happened:"))
    #expect(lines[heading + 1].contains(/time +test .*first +second/))
    // A task that runs immediately after its creation has no line that says "runs".
    let runs = lines[heading...].filter { $0.hasSuffix(" runs") }
    let first = try #require(lines[heading + 1].range(of: "first")).lowerBound
    #expect(runs.map { $0.range(of: "runs")?.lowerBound } == [first], "\(text)")
    #expect(text.contains("✘ the failure"))
  }

  @Test func aFailureHasItsOrderAndItsTimeline() async throws {
    try expectBoth(
      try await failures { try await explored { try await recorded { await race() } } })
    try expectBoth(
      try await failures { try await recorded { try await explored { await race() } } })
  }

  @Test func aReplayHasATimeline() async throws {
    let found = try await failures {
      try await recorded {
        try await withSchedules(.schedule("1:b.1<a.1:248a")) { _ in await race() }
      }
    }
    #expect(found.count == 1)
    // No text says that the token does not fit.
    #expect(found.first?.text.hasPrefix("What happened:\ntime  test") == true, "\(found)")
  }

  @Test func aDeadlockHasATaskDumpAndATimeline() async throws {
    let found = try await recordedIssues {
      try await recorded {
        try await explored {
          let never = Task(name: "never") {
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
          }
          await never.value
        }
      }
    }
    let text = try #require(found.first?.message)
    #expect(found.count == 1)
    #expect(text.hasPrefix("A deadlock at 0.0 seconds: nothing can run"))
    #expect(text.contains("\"never\" awaits a continuation"))
    #expect(text.contains("What happened:\ntime  test"))
    #expect(text.contains("Schedule 1 of 100"))
  }

  @Test func theTestCanRecordEachRun() async throws {
    try await withSchedules(20) { time in
      time.recordTimeline()
      time.mark("here")
      #expect(time.recordedTimeline?.lanes() == "time  test\n0 s   ● here")
    }
  }

  @Test func eachTestLeavesOnePicture() async throws {
    try await withTemporaryPath { folder in
      let child = try await ChildProcess.runTests(
        "ExploredSamples",
        environment: ["CLOCKS_TRACE": folder, "CLOCKS_TESTS_EXPLORED_SAMPLES": "1"])
      #expect(child.exitCode == 1)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      let stems = [
        "fails", "failsWithTheTrait", "passes", "passesWithAScope", "passesWithTheTrait",
      ]
      #expect(
        names.filter { $0.hasSuffix(".svg") && !$0.contains("passesWithAScope") }
          == stems.filter { $0 != "passesWithAScope" }.map { "ExploredSamples.\($0).svg" },
        "\(child.standardOutput)")
      // The inner scope has pictures, too.
      #expect(names.filter { $0.contains("passesWithAScope") }.count == 4, "\(names)")
      #expect(child.standardOutput.contains("with 2 issues"), "\(child.standardOutput)")
      #expect(child.lines(containing: "Schedule 3 of").count == 2)
    }
  }

  @Test func eachTestOfXCTestLeavesOnePicture() async throws {
    try await withTemporaryPath { folder in
      for (test, isPassed) in [("testPasses", true), ("testFails", false), ("testThrows", false)] {
        let child = try await exploredSample(test, ["CLOCKS_TRACE": "\(folder)/\(test)"])
        let names =
          (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(test)")) ?? []
        // The test that passes has an inner scope.
        let count = names.count { $0.hasSuffix(".svg") }
        #expect(count == (isPassed ? 2 : 1), "\(names)\n\(child.standardOutput)")
        #expect(child.standardOutput.contains("Schedule 3 of 100") == !isPassed)
        #expect(child.exitCode == (isPassed ? 0 : 1))
      }
    }
  }

  @Test func aTestOfXCTestThatFailsOnlyWhenItIsRecordedFailsOnce() async throws {
    try await withTemporaryPath { folder in
      let child = try await exploredSample("testFailsAfterItsSearch", ["CLOCKS_TRACE": folder])
      #expect(child.exitCode == 1)
      #expect(child.standardOutput.contains("with 1 failure"), "\(child.standardOutput)")
    }
  }
}

/// Samples that run in a child process, for their files.
@Suite(.onlyInChild("CLOCKS_TESTS_EXPLORED_SAMPLES")) struct ExploredSamples {
  @Test(.schedules(100)) func passes() async throws {
    let sleeper = Task(name: "sleeper") { try await Task.sleep(for: .seconds(1)) }
    try await sleeper.value
  }

  @Test(.schedules(100)) func passesWithAScope() async throws {
    let sleeper = Task(name: "sleeper") { try await Task.sleep(for: .seconds(1)) }
    try await withVirtualTime { _ in try await Task.sleep(for: .seconds(2)) }
    try await sleeper.value
  }

  @Test(.schedules(100), .timeline) func passesWithTheTrait() async throws {
    let sleeper = Task(name: "sleeper") { try await Task.sleep(for: .seconds(1)) }
    try await sleeper.value
  }

  @Test(.schedules(100)) func fails() async { await race() }

  @Test(.timeline, .schedules(100)) func failsWithTheTrait() async { await race() }
}

import Clocks
import ClocksTestKit
import Foundation
import Testing

/// Failures of tests with the trait, and the files of recorded tests.
@Suite struct TimelineTraitTests {
  private struct Oh: Error {}

  /// Runs `body` as a test with the trait. Returns its failures.
  private func run(
    _ trait: TimelineTrait = .timeline, _ body: @escaping @Sendable () async throws -> Void
  ) async throws -> [String] {
    try await failures {
      try await trait.provideScope(for: Test.current!, testCase: nil, performing: body)
    }.map(\.text)
  }

  private static func sleepTwice(_ time: VirtualTime) async throws {
    let sleeper = Task(name: "sleeper") { try await Task.sleep(for: .seconds(1)) }
    time.mark("waits")
    try await sleeper.value
  }

  @Test func theFirstFailureShowsTheTimeline() async throws {
    let found = try await run {
      try await withVirtualTime { time in
        try await Self.sleepTwice(time)
        Issue.record("one")
        Issue.record("two")
      }
    }
    #expect(
      found == [
        """
        one
        What happened:
        time  test           sleeper
        0 s   ────────────▶  created
        0 s   ● waits
        0 s                  runs
        0 s                  sleeps until 1 s
        1 s                  wakes
        1 s   resumed ◀─────
        1 s   ✘ the failure
        """, "two",
      ])
  }

  @Test func aTestWithoutAClockGetsAFailure() async throws {
    let found = try await run {
      Issue.record("one")
      Issue.record("two")
    }
    #expect(
      found == [
        """
        one
        The trait `.timeline` has recorded nothing: the test has no virtual time, and has made no TestClock. \
        Write `.virtualTime` beside it.
        """, "two",
      ])
  }

  private func runWithManyEvents(_ trait: TimelineTrait) async throws -> [String] {
    try await run(trait) {
      try await withVirtualTime { time in
        for number in 0..<1_000 { time.mark("\(number)") }
        Issue.record("one")
      }
    }
  }

  @Test func aFailureHasAtMostAsManyLinesAsTheTraitAllows() async throws {
    let found = try await runWithManyEvents(.timeline(lines: 5))
    #expect(
      found == [
        """
        one
        What happened:
        time  test
        … 1,002 earlier events
        0 s   ● 999
        0 s   ✘ the failure
        """
      ])
  }

  @Test(arguments: [Int.min, 0, 3]) func aFailureHasAtLeastThreeLines(_ lines: Int) async throws {
    let found = try await runWithManyEvents(.timeline(lines: lines))
    #expect(
      found == [
        """
        one
        What happened:
        time  test
        … 1,003 earlier events
        0 s   ✘ the failure
        """
      ])
  }

  @Test func aThrownErrorShowsTheTimeline() async throws {
    let found = try await run {
      let clock = TestClock()
      clock.mark("here")
      throw Oh()
    }
    #expect(found == ["What happened:\ntime  test\n0 s   ● here\n0 s   ✘ the failure"])
  }

  @Test func aTestWithAClockIsRecorded() async throws {
    let found = try await run {
      let clock = TestClock()
      Task(name: "a") { try await clock.sleep(for: .seconds(2)) }
      await clock.advance(by: .seconds(3))
      Issue.record("late")
    }
    #expect(
      found == [
        """
        late
        What happened:
        time  test           a
        0 s   ────────────▶  created
        0 s                  sleeps until 2 s
        2 s                  wakes
        3 s   ✘ the failure
        """
      ])
  }

  @Test func aTestWithoutEventsHasNoTimeline() async throws {
    let failures = try await run {
      let clock = TestClock()
      Issue.record("plain")
      withExtendedLifetime(clock) {}
    }
    #expect(failures == ["plain"])
    #expect(
      try await run { try await withVirtualTime { _ in _ = Issue.record("plain") } } == ["plain"])
  }

  @Test func aTestThatPassesHasNoFailure() async throws {
    #expect(
      try await run { try await withVirtualTime { try await Self.sleepTwice($0) } } == [])
  }

  @Test(.virtualTime, .timeline) func theTraitRecordsAScopeAroundIt() async throws {
    let time = try #require(VirtualTime.current)
    time.mark("recorded")
    #expect(time.recordedTimeline?.lanes() == "time  test\n0 s   ● recorded")
  }

  @Test(.timeline, .virtualTime) func theTraitRecordsAScopeWithinIt() async throws {
    let time = try #require(VirtualTime.current)
    time.mark("recorded")
    #expect(time.recordedTimeline?.lanes() == "time  test\n0 s   ● recorded")
    #expect(time.recordedTimeline?.title == "TimelineTraitTests.theTraitRecordsAScopeWithinIt()")
  }

  @Test(.timeline, arguments: [1], ["a \"b\""])
  func theTitleContainsTheArguments(number: Int, text: String) {
    let clock = TestClock()
    #expect(
      clock.recordedTimeline?.title
        == "TimelineTraitTests.theTitleContainsTheArguments(number:text:) 1, \"a \"b\"\"")
  }

  @Test func parallelTestsHaveSeparateRecordings() async throws {
    try await withThrowingTaskGroup { group in
      for number in 0..<50 {
        group.addTask {
          try await TimelineTrait.timeline.provideScope(for: Test.current!, testCase: nil) {
            try await withVirtualTime { time in
              try await Task.sleep(for: .seconds(number))
              time.mark("\(number)")
              let lanes = time.recordedTimeline?.lanes() ?? ""
              let marks = lanes.split(separator: "\n").filter { $0.contains("●") }
              #expect(marks.count == 1 && marks[0].hasSuffix("● \(number)"), "\(lanes)")
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  // MARK: - Tests that hang

  /// Returns the failures of a scope whose body waits for a value that never arrives.
  private func stuck(
    _ body: @escaping @Sendable (_ run: @Sendable () async throws -> Void) async throws -> Void
  ) async throws -> [String] {
    try await failures {
      try await body {
        let (stream, continuation) = AsyncStream<Int>.makeStream()
        Task(name: "feeder") {
          try await Task.sleep(for: .seconds(1))
          continuation.yield(1)
        }
        for await _ in stream {}
      }
    }.map(\.text)
  }

  private let lanesOfTheStuckTest = """
    What happened:
    time  test           feeder
    0 s   ────────────▶  created
    0 s                  sleeps until 1 s
    1 s                  wakes
    1 s   resumed ◀─────
    1 s   ✘ the failure
    """

  @Test func theFailureOfAStuckScopeShowsTheTimeline() async throws {
    let scope = VirtualTimeTrait.virtualTime(stuckAfter: .milliseconds(50))
    let inside = try await stuck { run in
      try await scope.provideScope(for: Test.current!, testCase: nil) {
        try await TimelineTrait.timeline.provideScope(
          for: Test.current!, testCase: nil, performing: run)
      }
    }
    let outside = try await stuck { run in
      try await TimelineTrait.timeline.provideScope(for: Test.current!, testCase: nil) {
        try await scope.provideScope(for: Test.current!, testCase: nil, performing: run)
      }
    }
    for found in [inside, outside] {
      #expect(found.count == 1)
      #expect(found.first?.hasPrefix("withVirtualTime is stuck at 1.0 seconds: ") == true)
      #expect(found.first?.hasSuffix(lanesOfTheStuckTest) == true, "\(found.first ?? "nothing")")
    }
  }

  // MARK: - Files

  private func trace(_ tests: String) async throws -> (files: [String: String], output: String) {
    try await withTemporaryPath { folder in
      let child = try await ChildProcess.runTests(
        tests, environment: ["CLOCKS_TRACE": folder + "/a/b", "CLOCKS_TESTS_TRACE_SAMPLES": "1"])
      #expect(child.exitCode == 0, "\(child)")
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/a/b")) ?? []
      var files: [String: String] = [:]
      for name in names {
        files[name] = try String(contentsOfFile: "\(folder)/a/b/\(name)", encoding: .utf8)
      }
      return (files, child.standardOutput)
    }
  }

  @Test func eachTestWritesItsFiles() async throws {
    let (files, output) = try await trace("TraceSamples")
    let names = [
      "TraceSamples.aClock", "TraceSamples.aScope", "TraceSamples.aScope-2",
      "TraceSamples.cases-number-1", "TraceSamples.cases-number-2", "TraceSamples.withTheTrait",
    ]
    #expect(
      files.keys.sorted() == names.flatMap { ["\($0).json", "\($0).svg"] }.sorted(), "\(output)")
    #expect(files["TraceSamples.aClock.svg"]?.contains("a clock&quot;s &lt;mark&gt;") == true)
    #expect(files["TraceSamples.cases-number-2.svg"]?.contains("2 s of virtual time") == true)
    for (name, text) in files where name.hasSuffix(".json") {
      let parsed = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
      #expect((parsed?["traceEvents"] as? [Any])?.isEmpty == false)
    }
  }

  @Test func anUnwritableFolderIsReportedOnce() async throws {
    try await withTemporaryPath { file in
      try "in the way".write(toFile: file, atomically: true, encoding: .utf8)
      let child = try await ChildProcess.runTests(
        "TraceSamples",
        environment: ["CLOCKS_TRACE": file + "/x", "CLOCKS_TESTS_TRACE_SAMPLES": "1"])
      #expect(child.exitCode == 0)
      let lines = child.lines(containing: "CLOCKS_TRACE")
      #expect(lines.count == 1)
      #expect(
        lines.first?.hasSuffix("CLOCKS_TRACE: cannot write \(file)/x: Not a directory") == true)
    }
  }
}

/// Run in child processes, for the files that they write.
@Suite(.onlyInChild("CLOCKS_TESTS_TRACE_SAMPLES")) struct TraceSamples {
  @Test func aClock() async {
    let clock = TestClock()
    Task(name: "a \"name\" of <quotes>") { try await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    clock.mark("a clock\"s <mark>")
  }

  @Test func aScope() async throws {
    try await withVirtualTime { _ in
      try await Task.sleep(for: .seconds(1))
      try await withVirtualTime { _ in try await Task.sleep(for: .seconds(2)) }
    }
  }

  @Test(.virtualTime, arguments: [1, 2]) func cases(number: Int) async throws {
    try await Task.sleep(for: .seconds(number))
  }

  @Test(.virtualTime, .timeline) func withTheTrait() async throws {
    try await Task.sleep(for: .seconds(1))
  }

  @Test func nothing() {}
}

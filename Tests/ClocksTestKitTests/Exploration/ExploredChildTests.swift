import ClocksTestKit
import Foundation
import Synchronization
import Testing

@testable import Clocks

/// Runs a test of `ExploredChildSamples` in a child process, or one of `ExploredXCTests` if its name begins with
/// `test`.
func exploredSample(
  _ sample: String, _ environment: [String: String] = [:], errors: ChildProcess.Errors = .inOutput
) async throws -> ChildProcess {
  let isXCTest = sample.hasPrefix("test")
  return try await ChildProcess.runTests(
    isXCTest
      ? "ClocksTestKitTests.ExploredXCTests/\(sample)" : "ExploredChildSamples/\(sample)\\(",
    library: isXCTest ? "xctest" : "swift-testing",
    environment: ["CLOCKS_TESTS_EXPLORED_SAMPLES": "1"].merging(environment) { $1 },
    errors: errors, mayPassNone: sample.hasPrefix("testSkips"))
}

/// Environment variables and XCTest, in child processes.
@Suite struct ExploredChildTests {
  // MARK: - A folder of tokens

  @Test func aKeptTokenIsTriedFirst() async throws {
    try await withTemporaryPath { folder in
      let variables = ["CLOCKS_SCHEDULES_DIR": folder + "/kept"]
      let first = try await exploredSample("late", variables)
      #expect(first.exitCode == 1)
      let heading = try #require(first.lines(containing: "Schedule ").first)
      let number = try #require(heading.firstMatch(of: /Schedule (\d+) of 1,000/)).1
      #expect(try #require(Int(number)) > 3, "\(first.standardOutput)")
      let files = try FileManager.default.contentsOfDirectory(atPath: folder + "/kept")
      #expect(files.count == 1)
      let kept = try String(contentsOfFile: "\(folder)/kept/\(files[0])", encoding: .utf8)
      #expect(
        first.lines(containing: "Replay: ").first?.contains(kept.dropLast()) == true,
        "\(kept)")

      let second = try await exploredSample("late", variables)
      #expect(second.exitCode == 1)
      #expect(
        second.lines(containing: "Schedule 3 of 1,000 (2 passed; ").count == 1,
        "\(second.standardOutput)")
      // The second failure has the same token.
      #expect(try String(contentsOfFile: "\(folder)/kept/\(files[0])", encoding: .utf8) == kept)
      #expect(
        second.lines(containing: "Replay: ")
          == first.lines(containing: "Replay: "))
    }
  }

  @Test func aTestThatPassesCanTellAboutItsSearch() async throws {
    let child = try await exploredSample(
      "passes", ["CLOCKS_VERBOSE": "1", "CLOCKS_SCHEDULES": "50"])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let told = child.lines(
      containing: "ClocksTestKitTests.ExploredChildSamples/passes(): ")
    #expect(told.count == 1, "\(child.standardOutput)")
    #expect(told.first?.contains(/\d+ orders? in \d+ class/) == true)
    let silent = try await exploredSample(
      "passes", ["CLOCKS_VERBOSE": "0", "CLOCKS_SCHEDULES": "50"])
    #expect(silent.exitCode == 0, "\(silent.standardOutput)")
    #expect(silent.lines(containing: " in 1 class") == [])
  }

  @Test func aFolderThatCannotBeCreatedIsReported() async throws {
    try await withTemporaryPath { file in
      try "in the way".write(toFile: file, atomically: true, encoding: .utf8)
      let child = try await exploredSample("late", ["CLOCKS_SCHEDULES_DIR": file + "/kept"])
      #expect(child.exitCode == 1)
      #expect(
        child.lines(containing: "A token is not kept for the next time: ").count == 1,
        "\(child.standardOutput)")
      #expect(child.lines(containing: "Schedule ").count == 1)
    }
  }

  #if os(Linux)
    /// Swift Testing and XCTest; a failed precondition, a continuation that is resumed twice, and a signal.
    ///
    /// Also a stack overflow, but not with a sanitizer, which may need more stack than there is.
    @Test(
      arguments: [
        ("crashes", trapSignal), ("resumesTwice", trapSignal), ("aborts", SIGABRT),
        ("testCrashes", trapSignal),
      ] + (hasSanitizer ? [] : [("overflows", SIGSEGV)]))
    func aCrashKeepsItsToken(_ sample: String, signal: CInt) async throws {
      try await withTemporaryPath { folder in
        let variables = ["CLOCKS_SCHEDULES_DIR": folder, "SWIFT_BACKTRACE": "enable=no"]
        let first = try await exploredSample(sample, variables)
        #expect(first.isEndedBySignal && first.exitCode == signal, "\(first)")
        let heading = try #require(
          first.lines(containing: "ends the process with signal \(signal).").first,
          "\(first.standardOutput)")
        let number = try #require(heading.firstMatch(of: /schedule (\d+) \(/)).1
        #expect(try #require(Int(number)) > 2)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        try #require(files.count == 1)
        let kept = try String(contentsOfFile: "\(folder)/\(files[0])", encoding: .utf8)
        #expect(
          first.lines(containing: "Replay: ").first?.contains(kept.dropLast())
            == true, "\(kept)")

        let second = try await exploredSample(sample, variables)
        #expect(second.isEndedBySignal && second.exitCode == signal, "\(second)")
        #expect(
          second.lines(containing: "schedule 3 (2 passed) ends the process").count == 1,
          "\(second.standardOutput)")
        #expect(try String(contentsOfFile: "\(folder)/\(files[0])", encoding: .utf8) == kept)
      }
    }

    /// The failure has its own token, which is kept as the latest one, beside that of the run that crashes.
    @Test func aFailureIsReportedAlthoughItsReplayCrashes() async throws {
      try await withTemporaryPath { folder in
        let child = try await exploredSample(
          "crashesInAReplay", ["CLOCKS_SCHEDULES_DIR": folder, "SWIFT_BACKTRACE": "enable=no"])
        #expect(child.isEndedBySignal && child.exitCode == trapSignal, "\(child)")
        let failure = child.lines(containing: "schedule 3 (2 passed) fails: ")
        #expect(failure.count == 1, "\(child.standardOutput)")
        #expect(failure.first?.contains("It is the third run.") == true, "\(failure)")
        let crash =
          "A run that was to shrink or replay this schedule ends the process with signal \(trapSignal). "
        #expect(child.lines(containing: crash).count == 1, "\(child.standardOutput)")
        let replays = child.lines(containing: "Replay: ")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        try #require(files.count == 1 && replays.count == 2, "\(child.standardOutput)")
        let kept = try String(contentsOfFile: "\(folder)/\(files[0])", encoding: .utf8)
          .split(separator: "\n")
        try #require(kept.count == 2, "\(kept)")
        #expect(replays[0].contains("\"\(kept[1])\""), "\(kept)")
        #expect(replays[1].contains("\"\(kept[0])\""), "\(kept)")
      }
    }

    /// Only the first two runs are compared: the third, which was to show the cause, crashes.
    @Test func aDivergenceIsReportedAlthoughALaterRunCrashes() async throws {
      let child = try await exploredSample(
        "crashesAfterADivergence", ["SWIFT_BACKTRACE": "enable=no"])
      #expect(child.isEndedBySignal && child.exitCode == trapSignal, "\(child)")
      let texts = [
        "crashesAfterADivergence(): The test does not behave the same in two runs of one order",
        "first in, first out differ at ",
        "A later run, which was to show the cause, ends the process with signal \(trapSignal).",
        "Replay: ",
      ]
      for text in texts {
        #expect(child.lines(containing: text).count == 1, "\(text): \(child.standardOutput)")
      }
      // Without the other runs, it is unknown whether the first one has left state.
      #expect(child.lines(containing: "Suspect: ") == [], "\(child.standardOutput)")
    }

    /// Two replays have failed as the search did. The run whose failure the test library receives crashes before that.
    @Test func aFailureIsReportedAlthoughItsLastRunCrashes() async throws {
      let child = try await exploredSample("crashesWhenShown", ["SWIFT_BACKTRACE": "enable=no"])
      #expect(child.isEndedBySignal && child.exitCode == trapSignal, "\(child)")
      #expect(child.lines(containing: "It is the third run.").count == 1, "\(child.standardOutput)")
      let texts = [
        "Schedule 3 of 1,000 (2 passed; ", "Replay: ",
        "When the schedule was run once more, the process ended with signal \(trapSignal).",
      ]
      for text in texts {
        #expect(child.lines(containing: text).count == 1, "\(child.standardOutput)")
      }
    }
  #endif

  // MARK: - Other variables

  @Test(arguments: ["late", "testPasses"]) func badVariablesEndTheProcess(_ sample: String)
    async throws
  {
    for (name, value, text) in [
      ("CLOCKS_SCHEDULES", "many", "CLOCKS_SCHEDULES is \"many\", but can only be a number of"),
      ("CLOCKS_SEED", "dice", "CLOCKS_SEED is \"dice\", but can only be a number from"),
      ("CLOCKS_SHARD", "17/16", "CLOCKS_SHARD is \"17/16\", but can only be the number of a part"),
    ] {
      let child = try await exploredSample(sample, [name: value])
      #expect(child.exitCode == 2)
      #expect(child.lines(containing: text).count == 1, "\(child.standardOutput)")
      #expect(child.lines(containing: "The body runs") == [])
    }
  }

  @Test func emptyVariablesAreIgnored() async throws {
    let child = try await exploredSample(
      "passes",
      [
        "CLOCKS_SCHEDULES": "", "CLOCKS_SEED": "", "CLOCKS_SHARD": "", "CLOCKS_SCHEDULES_DIR": "",
        "CLOCKS_TRACE": "",
      ])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
  }

  #if os(Linux)
    @Test func aSearchOnATerminalReportsItsProgress() async throws {
      let terminal = try #require(PseudoTerminal())
      let child = try await exploredSample(
        "slow", ["CLOCKS_SCHEDULES": "40"], errors: .to(terminal.end))
      let told = terminal.readToEnd()
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      let line =
        /ExploredChildSamples\/slow\(\): (16|32) schedules, \d+ orders in \d+ classes, \d+ a sec/
      #expect(told.contains(line), "\(told)")
      // Without a terminal there is no report.
      let silent = try await exploredSample("slow", ["CLOCKS_SCHEDULES": "40"])
      #expect(silent.exitCode == 0, "\(silent.standardOutput)")
      #expect(silent.lines(containing: "a second") == [])
    }
  #endif

  // MARK: - Missing capabilities

  @Test(
    arguments: ["late", "testPasses"],
    [["CLOCKS_DOOR": "none"], ["CLOCKS_DOOR": "hook"]])
  func failsWhereHopsAreNotSeen(_ sample: String, _ environment: [String: String])
    async throws
  {
    let child = try await exploredSample(sample, environment)
    #expect(child.exitCode == 1)
    let told = child.lines(
      containing: "A test can be run in many orders only where every hop of its tasks")
    #expect(told.count == 1, "\(child.standardOutput)")
    #expect(told.first?.contains("so nothing was run") == true)
    // The body does not run in one order only.
    #expect(child.lines(containing: "The body runs") == [])
  }

  // MARK: - Without the test kit

  @Test func anExploredTestReadsVirtualTimeEverywhere() async throws {
    let child = try await exploredSample("clocks")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(
      child.lines(containing: "1 order in 1 class: all of them").count == 1,
      "\(child.standardOutput)")
  }

  // MARK: - XCTest

  @Test func aFailureInXCTestHasItsExplanation() async throws {
    let child = try await exploredSample("testFails")
    #expect(child.exitCode == 1)
    let failures = child.lines(containing: "ExploredXCTests.swift:")
    // The failure itself at its line, and the explanation at the line of the search.
    #expect(failures.count == 2, "\(child.standardOutput)")
    #expect(failures.first?.hasSuffix("XCTAssertTrue failed - it is 1") == true)
    #expect(failures.last?.contains("Schedule 3 of 100 (2 passed; last in, first out)") == true)
    #expect(
      child.lines(containing: "Replay: try await withSchedules(.schedule(\"1:b.1")
        .count == 1)
  }

  @Test func anErrorInXCTestIsReportedOnce() async throws {
    let child = try await exploredSample("testThrows")
    #expect(child.exitCode == 1)
    let failures = child.lines(containing: "ExploredXCTests.swift:")
    #expect(failures.count == 1, "\(child.standardOutput)")
    #expect(failures.first?.contains("the operation threw Oh: Oh()") == true)
    #expect(child.lines(containing: "Schedule 3 of 100").count == 1)
  }

  @Test(arguments: ["testSkips", "testSkipsInAReplay"]) func aSkipInXCTestIsNotAFailure(
    _ sample: String
  ) async throws {
    let child = try await exploredSample(sample)
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(child.lines(containing: "Test skipped - Not on this machine.").count == 1)
    #expect(child.lines(containing: "with 1 test skipped and 0 failures").count == 2)
    #expect(
      child.lines(containing: "Schedule ")
        + child.lines(containing: " error: ") == [])
  }

  @Test func aFailureBeforeASkipIsAFailure() async throws {
    let child = try await exploredSample("testFailsAndSkips")
    #expect(child.exitCode == 1)
    #expect(child.lines(containing: "Test skipped") == [], "\(child.standardOutput)")
    #expect(child.lines(containing: "failed - It fails first.").count == 1)
  }

  @Test func aDeadlockInXCTestIsReportedOnce() async throws {
    let child = try await exploredSample("testDeadlock")
    #expect(child.exitCode == 1)
    let failures = child.lines(containing: "ExploredXCTests.swift:")
    #expect(failures.filter { $0.contains(" error: ") }.count == 1, "\(child.standardOutput)")
    #expect(failures.first?.contains("A deadlock at 0.0 seconds") == true)
    #expect(child.lines(containing: "awaits a continuation").count == 1)
  }
}

/// Samples that run in child processes.
@Suite(.onlyInChild("CLOCKS_TESTS_EXPLORED_SAMPLES")) struct ExploredChildSamples {
  @Test(.schedules(1_000)) func passes() async throws {
    try await Task { try await Task.sleep(for: .seconds(1)) }.value
  }

  /// Fails only if one of two sleeps with one deadline wakes before the other, which began earlier.
  @Test(.schedules(1_000)) func late() async throws {
    print("The body runs")
    let box = Box()
    let slow = Task {
      try await Task.sleep(for: .seconds(1))
      await box.set(1)
    }
    let fast = Task {
      for _ in 0..<2 { try await Task.sleep(for: .milliseconds(500)) }
      await box.set(2)
    }
    _ = try await (slow.value, fast.value)
    #expect(await box.value == 2)
  }

  @Test(.schedules(10), arguments: [7, 8]) func hasCases(_: Int) async {
    await Task {}.value
  }

  static let tokenVariable = "CLOCKS_TESTS_TOKEN"

  @Test(.schedules(1_000, slack: .milliseconds(5))) func wakesLate() async throws {
    try await Self.sleepsTwice()
  }

  @Test(
    .schedule(
      ProcessInfo.processInfo.environment[ExploredChildSamples.tokenVariable] ?? "1::0000",
      slack: .milliseconds(5)))
  func replaysALateWake() async throws { try await Self.sleepsTwice() }

  /// Fails only if the earlier of two sleeps wakes after the other, by its slack.
  static func sleepsTwice() async throws {
    let box = Box()
    let early = Task {
      try await Task.sleep(for: .milliseconds(10))
      await box.set(1)
    }
    let late = Task {
      try await Task.sleep(for: .milliseconds(13))
      await box.set(2)
    }
    _ = try await (early.value, late.value)
    #expect(await box.value == 2)
  }

  @Test(.schedules(1_000)) func crashes() async throws {
    let isSecond = await secondIsFirst()
    precondition(!isSecond, "The second came first.")
  }

  private static let runs = Mutex(0)

  @Test(.schedules(1_000)) func crashesInAReplay() async { await crash(inRun: 4) }

  /// Run 3 fails, and runs 4 and 5 replay it.
  @Test(.schedules(1_000)) func crashesWhenShown() async { await crash(inRun: 6) }

  /// Run 3 is recorded where timelines are written.
  @Test(.schedules(2)) func crashesWhenRecorded() async { await crash(inRun: 3) }

  @Test(.schedules(1_000)) func crashesAfterADivergence() async {
    for _ in 0..<nextRun(before: 3) { await Task {}.value }
  }

  /// Fails from the third run on, and ends the process in a later run.
  private func crash(inRun last: Int) async {
    let run = nextRun(before: last)
    if run >= 3 { Issue.record("It is the third run.") }
    // The run that ends the process has fewer steps, and so another token.
    await Task {}.value
  }

  /// Returns the number of the run; ends the process in run `last`.
  private func nextRun(before last: Int) -> Int {
    let run = Self.runs.withLock {
      $0 += 1
      return $0
    }
    precondition(run < last, "It is run too often.")
    return run
  }

  @Test(.schedules(1_000)) func resumesTwice() async throws {
    let isSecond = await secondIsFirst()
    await withCheckedContinuation { continuation in
      continuation.resume()
      if isSecond { continuation.resume() }
    }
  }

  @Test(.schedules(1_000)) func aborts() async throws {
    if await secondIsFirst() { abort() }
  }

  @Test(.schedules(1_000)) func overflows() async throws {
    if await secondIsFirst() { print(endlessDepth(of: 0)) }
  }

  /// Never returns. Not optimized, so that each call takes a part of the stack.
  @inline(never) @_optimize(none)
  private func endlessDepth(of depth: Int) -> Int {
    depth < 0 ? 0 : 1 + endlessDepth(of: depth + 1)
  }

  /// Whether the second of two equal tasks came first, which it does in a few orders.
  private func secondIsFirst() async -> Bool {
    let box = Box()
    let tasks = (1...2).map { number in
      Task {
        for _ in 0..<3 { await Task {}.value }
        await box.set(number)
      }
    }
    for task in tasks { await task.value }
    return await box.value == 1
  }

  @Test(.schedules(.upTo(40))) func slow() async {
    // 16 runs take longer than a second.
    usleep(70_000)
    let tasks = (0..<4).map { _ in Task {} }
    for task in tasks { await task.value }
  }

  @Test func findsNoKit() async throws {
    // Simulates a binary that does not link ClocksTestKit.
    IssueGate.install = nil
    try await withSchedules(10) { _ in }
  }

  @Test func clocks() async throws {
    // Simulates a binary that does not link ClocksTestKit.
    RuntimeClocks.isForAll.store(false, ordering: .relaxed)
    let summary = try await withSchedules(10) { time in
      let start = ContinuousClock.now
      // Real time passes, but the clock does not show it.
      usleep(1_000)
      try await Task.sleep(until: start + .seconds(1))
      #expect(time.now == .init(offset: .seconds(1)))
      #expect(ContinuousClock.now - start == .seconds(1))
    }
    print(summary.map { "\($0)" } ?? "none")
    try await withVirtualTime { _ in
      let start = ContinuousClock.now
      usleep(1_000)
      #expect(ContinuousClock.now - start >= .milliseconds(1))
    }
  }

  private actor Box {
    var value = 0
    func set(_ value: Int) { self.value = value }
  }
}

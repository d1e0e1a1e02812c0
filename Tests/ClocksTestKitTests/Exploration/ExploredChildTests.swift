import ClocksTestKit
import Foundation
import Synchronization
import Testing

@testable import Clocks

/// Environment variables and XCTest, in child processes.
@Suite struct ExploredChildTests {
  /// Runs a sample; the name of an XCTest sample begins with `test`.
  private func run(
    _ sample: String, _ environment: [String: String] = [:], errors: ChildProcess.Errors = .inOutput
  ) async throws -> ChildProcess {
    let isXCTest = sample.hasPrefix("test")
    return try await ChildProcess.runTests(
      isXCTest ? "ClocksTestKitTests.ExploredXCTests/\(sample)" : "ExploredChildSamples/\(sample)",
      library: isXCTest ? "xctest" : "swift-testing",
      environment: ["CLOCKS_TESTS_EXPLORED_SAMPLES": "1"].merging(environment) { $1 },
      errors: errors)
  }

  private func lines(_ text: String, _ child: ChildProcess) -> [String] {
    child.standardOutput.split(separator: "\n").map(String.init).filter { $0.contains(text) }
  }

  // MARK: - A folder of tokens

  @Test func aKeptTokenIsTriedFirst() async throws {
    try await withTemporaryPath { folder in
      let variables = ["CLOCKS_SCHEDULES_DIR": folder + "/kept"]
      let first = try await run("late", variables)
      #expect(first.exitCode == 1)
      let heading = try #require(lines("Schedule ", first).first)
      let number = try #require(heading.firstMatch(of: /Schedule (\d+) of 1,000/)).1
      #expect(try #require(Int(number)) > 3, "\(first.standardOutput)")
      let files = try FileManager.default.contentsOfDirectory(atPath: folder + "/kept")
      #expect(files.count == 1)
      let kept = try String(contentsOfFile: "\(folder)/kept/\(files[0])", encoding: .utf8)
      #expect(lines("Replay: ", first).first?.contains(kept.dropLast()) == true, "\(kept)")

      let second = try await run("late", variables)
      #expect(second.exitCode == 1)
      #expect(
        lines("Schedule 3 of 1,000 (2 passed; ", second).count == 1, "\(second.standardOutput)")
      // The second failure has the same token.
      #expect(
        try String(contentsOfFile: "\(folder)/kept/\(files[0])", encoding: .utf8) == kept)
      #expect(lines("Replay: ", second) == lines("Replay: ", first))
    }
  }

  @Test func aTestThatPassesCanTellAboutItsSearch() async throws {
    let child = try await run("passes", ["CLOCKS_VERBOSE": "1", "CLOCKS_SCHEDULES": "50"])
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    let told = lines("ClocksTestKitTests.ExploredChildSamples/passes(): ", child)
    #expect(told.count == 1, "\(child.standardOutput)")
    #expect(told.first?.contains(/\d+ orders? in \d+ class/) == true)
    let silent = try await run("passes", ["CLOCKS_VERBOSE": "0", "CLOCKS_SCHEDULES": "50"])
    #expect(silent.exitCode == 0, "\(silent.standardOutput)")
    #expect(lines(" in 1 class", silent) == [])
  }

  @Test func aFolderThatCannotBeCreatedIsReported() async throws {
    try await withTemporaryPath { file in
      try "in the way".write(toFile: file, atomically: true, encoding: .utf8)
      let child = try await run("late", ["CLOCKS_SCHEDULES_DIR": file + "/kept"])
      #expect(child.exitCode == 1)
      #expect(
        lines("A token is not kept for the next time: ", child).count == 1,
        "\(child.standardOutput)")
      #expect(lines("Schedule ", child).count == 1)
    }
  }

  #if os(Linux)
    /// Swift Testing and XCTest; a failed precondition, a continuation that is resumed twice, and a signal.
    ///
    /// Also a stack overflow, but not with a sanitizer, which may need more stack than there is.
    @Test(
      arguments: ["crashes", "resumesTwice", "aborts", "testCrashes"]
        + (hasSanitizer ? [] : ["overflows"]))
    func aCrashKeepsItsToken(_ sample: String) async throws {
      try await withTemporaryPath { folder in
        let variables = ["CLOCKS_SCHEDULES_DIR": folder, "SWIFT_BACKTRACE": "enable=no"]
        let first = try await run(sample, variables)
        #expect(first.exitCode != 0)
        let heading = try #require(
          lines("ends the process with signal", first).first, "\(first.standardOutput)")
        let number = try #require(heading.firstMatch(of: /schedule (\d+) \(/)).1
        #expect(try #require(Int(number)) > 2)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        let kept = try String(contentsOfFile: "\(folder)/\(files[0])", encoding: .utf8)
        #expect(lines("Replay: ", first).first?.contains(kept.dropLast()) == true, "\(kept)")

        let second = try await run(sample, variables)
        #expect(second.exitCode == first.exitCode)
        #expect(
          lines("schedule 3 (2 passed) ends the process", second).count == 1,
          "\(second.standardOutput)")
        #expect(
          try String(contentsOfFile: "\(folder)/\(files[0])", encoding: .utf8) == kept)
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
      ("CLOCKS_SHARD", "17/16", "CLOCKS_SHARD is \"17/16\", but can only be one of several"),
    ] {
      let child = try await run(sample, [name: value])
      #expect(child.exitCode == 2)
      #expect(lines(text, child).count == 1, "\(child.standardOutput)")
      #expect(lines("The body runs", child) == [])
    }
  }

  @Test func emptyVariablesAreIgnored() async throws {
    let child = try await run(
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
      let child = try await run("slow", ["CLOCKS_SCHEDULES": "40"], errors: .to(terminal.end))
      let told = terminal.readToEnd()
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      let line =
        /ExploredChildSamples\/slow\(\): (16|32) schedules, \d+ orders in \d+ classes, \d+ a sec/
      #expect(told.contains(line), "\(told)")
      // Without a terminal there is no report.
      let silent = try await run("slow", ["CLOCKS_SCHEDULES": "40"])
      #expect(silent.exitCode == 0, "\(silent.standardOutput)")
      #expect(lines("a second", silent) == [])
    }
  #endif

  // MARK: - Missing capabilities

  @Test(
    arguments: ["late", "testPasses"],
    [["CLOCKS_DOOR": "none"], ["CLOCKS_DOOR": "hook"]])
  func failsWhereHopsAreNotSeen(_ sample: String, _ environment: [String: String])
    async throws
  {
    let child = try await run(sample, environment)
    #expect(child.exitCode != 0)
    let told = lines("A test can be run in many orders only where every hop of its tasks", child)
    #expect(told.count == 1, "\(child.standardOutput)")
    #expect(told.first?.contains("so nothing was run") == true)
    // The body does not run in one order only.
    #expect(lines("The body runs", child) == [])
  }

  // MARK: - Without the test kit

  @Test func anExploredTestReadsVirtualTimeEverywhere() async throws {
    let child = try await run("clocks")
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(lines("1 order in 1 class: all of them", child).count == 1, "\(child.standardOutput)")
  }

  // MARK: - XCTest

  @Test func aFailureInXCTestHasItsExplanation() async throws {
    let child = try await run("testFails")
    #expect(child.exitCode != 0)
    let failures = lines("ExploredXCTests.swift:", child)
    // The failure itself at its line, and the explanation at the line of the search.
    #expect(failures.count == 2, "\(child.standardOutput)")
    #expect(failures.first?.hasSuffix("XCTAssertTrue failed - it is 1") == true)
    #expect(failures.last?.contains("Schedule 3 of 100 (2 passed; last in, first out)") == true)
    #expect(lines("Replay: try await withSchedules(.schedule(\"1:b.1", child).count == 1)
  }

  @Test func anErrorInXCTestIsReportedOnce() async throws {
    let child = try await run("testThrows")
    #expect(child.exitCode == 1)
    let failures = lines("ExploredXCTests.swift:", child)
    #expect(failures.count == 1, "\(child.standardOutput)")
    #expect(failures.first?.contains("the operation threw Oh: Oh()") == true)
    #expect(lines("Schedule 3 of 100", child).count == 1)
  }

  @Test(arguments: ["testSkips", "testSkipsInAReplay"]) func aSkipInXCTestIsNotAFailure(
    _ sample: String
  ) async throws {
    let child = try await run(sample)
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(lines("Test skipped - Not on this machine.", child).count == 1)
    #expect(lines("with 1 test skipped and 0 failures", child).count == 2)
    #expect(lines("Schedule ", child) + lines(" error: ", child) == [])
  }

  @Test func aFailureBeforeASkipIsAFailure() async throws {
    let child = try await run("testFailsAndSkips")
    #expect(child.exitCode == 1)
    #expect(lines("Test skipped", child) == [], "\(child.standardOutput)")
    #expect(lines("failed - It fails first.", child).count == 1)
  }

  @Test func aDeadlockInXCTestIsReportedOnce() async throws {
    let child = try await run("testDeadlock")
    #expect(child.exitCode == 1)
    let failures = lines("ExploredXCTests.swift:", child)
    #expect(failures.filter { $0.contains(" error: ") }.count == 1, "\(child.standardOutput)")
    #expect(failures.first?.contains("A deadlock at 0.0 seconds") == true)
    #expect(lines("awaits a continuation", child).count == 1)
  }
}

/// Samples that run in child processes.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["CLOCKS_TESTS_EXPLORED_SAMPLES"] != nil))
struct ExploredChildSamples {
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

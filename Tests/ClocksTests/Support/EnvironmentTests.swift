import Foundation
import TestTraits
import Testing

@testable import Clocks

/// The check of a test process's environment at load.
@Suite struct EnvironmentTests {
  @Test(arguments: [
    "CLOCKS_BLOCKED_AFTER=0.5", "CLOCKS_BLOCKED_AFTER=3600", "CLOCKS_BLOCKED_AFTER=1e3",
    "CLOCKS_DUMP_SIGNAL=USR1", "CLOCKS_DUMP_SIGNAL=sigusr2", "CLOCKS_TRACE=/tmp/traces",
    "CLOCKS_SCHEDULES=100000", "CLOCKS_SEED=0", "CLOCKS_SEED=random", "CLOCKS_SHARD=3/16",
    "CLOCKS_SCHEDULES_DIR=.schedules", "CLOCKS_HASHING=fixed", "CLOCKS_HASHING=random",
    "CLOCKS_DOOR=hook", "CLOCKS_DISPATCH=0", "CLOCKS_DISPATCH=1", "CLOCKS_FAST=0",
    "CLOCKS_SEED=", "CLOCKS_BLOCKED_AFTER=", "CLOCKS_FAST", "CLOCKS_TESTS_OWN=1",
  ])
  func accepts(_ variable: String) {
    let problems = Environment.problems(of: [variable])
    #expect(problems.errors == [])
    #expect(problems.warnings == [])
  }

  @Test(arguments: [
    "BLOCKED_AFTER=abc", "BLOCKED_AFTER=30s", "BLOCKED_AFTER=-3", "BLOCKED_AFTER=0",
    "BLOCKED_AFTER=nan", "BLOCKED_AFTER=inf", "BLOCKED_AFTER=1e300", "BLOCKED_AFTER=1e-300",
    "BLOCKED_AFTER= 3", "DUMP_SIGNAL=KILL", "DUMP_SIGNAL=STOP", "DUMP_SIGNAL=SEGV",
    "DUMP_SIGNAL=TERM", "DUMP_SIGNAL=9", "DUMP_SIGNAL=0", "SCHEDULES=0", "SCHEDULES=-1",
    "SEED=dice", "SEED=-1", "SHARD=17/16", "SHARD=0/1", "HASHING=rnadom", "DOOR=garage",
    "DISPATCH=no", "FAST=false",
  ])
  func rejects(_ variable: String) throws {
    let problems = Environment.problems(of: ["CLOCKS_" + variable])
    let parts = variable.split(separator: "=")
    let known = try #require(Environment.Variable.all.first { $0.name == "CLOCKS_" + parts[0] })
    #expect(
      problems.errors == [
        """
        CLOCKS_\(parts[0]) is "\(parts[1])", but can only be \(known.accepted). Unset it for the \
        default: \(known.standard).
        """
      ])
    #expect(problems.warnings == [])
  }

  @Test(arguments: [
    ("CLOCKS_BLOCKEDAFTER", "CLOCKS_BLOCKED_AFTER"), ("CLOCKS_SEEDS", "CLOCKS_SEED"),
    ("CLOCKS_SCHEDULE", "CLOCKS_SCHEDULES"), ("CLOCKS_DUMPSIGNAL", "CLOCKS_DUMP_SIGNAL"),
    ("CLOCKS_trace", "CLOCKS_TRACE"),
  ])
  func anUnknownNameIsAWarning(_ name: String, _ nearest: String) {
    let problems = Environment.problems(of: [name + "=1"])
    #expect(problems.errors == [])
    #expect(
      problems.warnings == ["\(name) is not a variable of swift-test-clocks. Is \(nearest) meant?"])
  }

  /// A name that resembles none may mean any.
  @Test(arguments: ["CLOCKS_RUNG", "CLOCKS_TYPO", "CLOCKS_"])
  func anUnknownNameThatResemblesNoneGetsTheList(_ name: String) {
    let names = Environment.Variable.all.map(\.name).joined(separator: ", ")
    #expect(names.hasPrefix("CLOCKS_BLOCKED_AFTER, CLOCKS_KEEP_PROCESS, "))
    #expect(
      Environment.problems(of: [name + "=1"]).warnings == [
        "\(name) is not a variable of swift-test-clocks. It has: \(names)."
      ])
  }

  @Test(arguments: ["xctest", "swift-testing"])
  func allProblemsAreWrittenBeforeATestRuns(_ library: String) async throws {
    let child = try await ChildProcess.runTests(
      "EnvironmentTests", library: library,
      environment: [
        "CLOCKS_BLOCKED_AFTER": "inf", "CLOCKS_FAST": "no", "CLOCKS_TRACES": "1",
      ], errors: .apart)
    #expect(child.exitCode == 2, "\(child)")
    #expect(child.standardOutput == "")
    #expect(
      child.standardError.split(separator: "\n").sorted() == [
        "error: CLOCKS_BLOCKED_AFTER is \"inf\", but can only be a number from 0.001 to 1000000000. Unset it for the default: 30.",
        "error: CLOCKS_FAST is \"no\", but can only be one of: 0, 1. Unset it for the default: 1.",
        "warning: CLOCKS_TRACES is not a variable of swift-test-clocks. Is CLOCKS_TRACE meant?",
      ], "\(child.standardError)")
  }

  @Test func aWarningEndsNothing() async throws {
    let child = try await ChildProcess.runTests(
      "CapabilityNoteTests", environment: ["CLOCKS_SEEED": "1"], errors: .apart)
    #expect(child.exitCode == 0, "\(child)")
    #expect(
      child.standardError.hasPrefix(
        "warning: CLOCKS_SEEED is not a variable of swift-test-clocks. Is CLOCKS_SEED meant?\n"))
  }

  @Test func everyHookStrategyIsAccepted() {
    let strategies = HookStrategy.allCases.map(\.rawValue).joined(separator: ", ")
    #expect(Environment.Variable.hookStrategy.accepted == "one of: " + strategies)
  }

  @Test func thePageListsEveryVariable() throws {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../Docs/Environment.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `CLOCKS_") }.map(String.init)
    #expect(
      rows
        == Environment.Variable.all.map {
          "| `\($0.name)` | \($0.meaning) | \($0.accepted) | \($0.standard) |"
        })
  }
}

import Foundation
import TestTraits
import Testing

@testable import Clocks

/// Tests that would hang: each ends by itself, and the failure names cause and remedy.
///
/// They run in processes of their own, because some of them leave a thread that never ends.
@Suite struct HangTests {
  /// - Parameter seconds: When a job counts as one that holds its thread. Half a second is short on a busy
  ///   machine, so only some tests use it.
  private static func run(
    _ tests: String, blockedAfter seconds: String = "0.5"
  ) async throws -> ChildProcess {
    try await ChildProcess.runSwiftTesting(
      "HangingTests.*/\(tests)\\(",
      environment: ["CLOCKS_BLOCKED_AFTER": seconds, ChildVariable.hang: "1"])
  }

  /// A test, and what is said of it.
  struct Hang: Sendable, CustomTestStringConvertible {
    var test: String
    var report: String
    /// What the list of tasks says, among others.
    var dump: String

    init(_ test: String, _ report: String, dump: String) {
      (self.test, self.report, self.dump) = (test, report, dump)
    }

    var testDescription: String { test }
  }

  private static let inStream =
    KnownDifference.streamsAreContinuations.isHere ? "" : ", in AsyncStream"
  private static let spinner =
    KnownDifference.yieldsAreContinuations.isHere
    ? "task # awaits a continuation" : "task # has yielded"

  private static let hangs = [
    Hang(
      "heartbeatThatTheBodyAwaits", Reports.tooLong,
      dump: "in HangingTests.heartbeatThatTheBodyAwaits()"),
    Hang(
      "heartbeatThatIgnoresCancellation", Reports.tooLong + Reports.isOverdue,
      dump: "awaits the value of task # \"beat\""),
    Hang(
      "readerOfAnUnfinishedStream", Reports.stuck + Reports.isOverdue,
      dump: "task # \"reader\" awaits a continuation" + inStream),
    Hang(
      "bodyThatPollsForEver", Reports.tooLong, dump: "in HangingTests.bodyThatPollsForEver()"),
    Hang("leftoverThatSwallowsCancellation", Reports.blockedInScope, dump: "task # runs"),
    Hang(
      "leftoverWithAnActorThatSwallowsCancellation", Reports.blockedInScope, dump: "task # runs"),
    Hang("cancelledHeartbeatOnATestClock", Reports.blocked, dump: "in TestClock.settle()"),
    Hang("spinnerThatAnAdvanceWaitsFor", Reports.blocked, dump: "in TestClock.advance(by:)"),
    Hang("leftoverThatYieldsForEver", Reports.neverIdles, dump: spinner),
    Hang(
      "leftoverThatYieldsForEverAndIgnoresCancellation", Reports.ignoresCancellation,
      dump: spinner),
    Hang(
      "clockThatAHelperMade", Reports.forgottenAdvance,
      dump: "in HangingTests.clockThatAHelperMade()"),
    Hang(
      "clockThatOutlivesItsScope", Reports.forgottenAdvance,
      dump: "in HangingTests.clockThatOutlivesItsScope()"),
  ]

  /// Expects that a test has one failure, with the expected text.
  ///
  /// Its line is the one that makes the clock or the scope, or that of the macro around it.
  private static func expect(
    _ issues: [PrintedIssue], from hang: Hang, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let line = try SourceText(HangingTests.file).line(
      of: ["withVirtualTime", "TestClock()", "#expect(throws"], inFunction: hang.test)
    #expect(issues.map(\.line) == [line], "\(issues)", sourceLocation: sourceLocation)
    #expect(issues.map(\.textOfALoop) == [hang.report], sourceLocation: sourceLocation)
    #expect(
      issues.first?.dump.contains(hang.dump) == true, "\(issues)", sourceLocation: sourceLocation)
  }

  @Test(arguments: hangs) func aTestThatWouldHangFailsAndEnds(_ hang: Hang) async throws {
    let isBlocked = hang.report.contains("0.5 seconds")
    let child = try await Self.run(hang.test, blockedAfter: isBlocked ? "0.5" : "60")
    #expect(child.exitCode == 1, "\(child)")
    try Self.expect(child.issues, from: hang)
    #expect(child.issues.map(\.test) == [hang.test + "()"])
  }

  /// Even if endless loops hold all threads, each test is reported, and ends.
  @Test func testsThatTakeAllThreadsFailAndEnd() async throws {
    let child = try await Self.run("spinnersThatTakeAllThreads")
    let output = child.standardOutput + child.standardError
    #expect(child.exitCode == 1, "\(output)")
    for number in 0..<(2 * ProcessInfo.processInfo.activeProcessorCount) {
      let place =
        "Test spinnersThatTakeAllThreads(_:) recorded an issue with 1 argument \(number) at HangingTests.swift:"
      #expect(output.contains(place), "\(output)")
    }
    let count = 2 * ProcessInfo.processInfo.activeProcessorCount
    #expect(
      child.issues.map(\.text) == Array(repeating: Reports.blocked, count: count), "\(output)")
  }

  /// A test that does not hang is not reported.
  @Test(arguments: [
    "leftoverThatYieldsUntilItIsCancelled", "taskThatOutlivesItsScope", "otherClockIsWaitedFor",
    "leftoverThatSleepsWhenTheTestIsOver",
  ])
  func aTestThatEndsIsNotReported(_ test: String) async throws {
    let child = try await Self.run(test)
    let output = child.standardOutput + child.standardError
    #expect(child.exitCode == 0, "\(output)")
    #expect(output.contains("with 1 test in 1 suite passed"), "\(output)")
  }

  /// The process of an exit test has no other test. When it ends, its failures go to the test that waits for it.
  @Test func aStuckExitTestIsReportedAndEnds() async throws {
    let child = try await Self.run("exitTestThatIsStuck")
    let output = child.standardOutput + child.standardError
    #expect(child.exitCode == 1, "\(output)")
    #expect(output.contains("withVirtualTime is stuck at"), "\(output)")
    #expect(output.contains("with 1 test in 1 suite failed"), "\(output)")
  }

  @Test func aForgottenAdvanceInXCTestFailsAndEnds() async throws {
    let child = try await ChildProcess.runXCTest(
      "ForgetfulXCTests/testForgetsToAdvance",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.5", ChildVariable.hang: "1"])
    #expect(child.exitCode == 1, "\(child)")
    let failure = child.standardOutput.lines(containing: "error: ForgetfulXCTests").first ?? ""
    #expect(failure.contains("HangingTests.swift:\(ForgetfulXCTests.line)"), "\(child)")
    // Only the first line of a failure has a prefix.
    let report = child.standardOutput.withoutMeasuredTime.replacing(/#\d+/, with: "#")
    #expect(
      report.contains(
        "ForgetfulXCTests.testForgetsToAdvance : failed - " + Reports.forgottenAdvance + "\n\n"),
      "\(child)")
    // Nothing but the failure: the test has continued to its end.
    let counts = child.standardOutput.lines(
      containing: "Executed 1 test, with 1 failure (0 unexpected)")
    #expect(counts.count == 2, "\(child)")
  }

  /// A program that runs no tests gets a warning, and its sleeps do not end early.
  @Test func outsideOfTestsAForgottenAdvanceIsAWarningOnly() async throws {
    let child = try await ChildProcess.runXCTestInDisguise(
      "ForgetfulXCTests/testSleepsForAWhile",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.2", ChildVariable.hang: "1"])
    #expect(child.exitCode == 0, "\(child)")
    #expect(
      child.standardError.lines(containing: "warning: Nothing has happened").count == 1, "\(child)")
  }
}

import Foundation
import Testing

@testable import Clocks

/// Tests that would hang: each ends by itself, and the failure names cause and remedy.
///
/// They run in processes of their own, because some of them leave a thread that never ends.
@Suite(.serialized) struct HangTests {
  private static func run(_ test: String) async throws -> (code: Int32, output: String) {
    let child = try await ChildProcess.runSwiftTesting(
      "HangingTests.*/\(test)\\(",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.5", HangingTests.variable: "1"])
    return (child.exitCode, child.standardOutput + child.standardError)
  }

  /// The test, and what is said.
  @Test(arguments: [
    ("heartbeatThatTheBodyAwaits", ["withVirtualTime gave up at", "has run for 0.3 seconds"]),
    (
      "heartbeatThatDoesNotHear",
      [
        "has run for 0.3 seconds", "It is still not over",
        "all tasks of it have been cancelled",
      ]
    ),
    (
      "readerOfAStreamThatNobodyFinishes",
      ["withVirtualTime is stuck at", "all tasks of it have been cancelled", "\"reader\""]
    ),
    ("bodyThatPollsForEver", ["has run for 0.3 seconds", "for what never comes"]),
    (
      "leftoverThatSwallowsCancellation",
      ["has held its thread for 0.5 seconds", "swallows its cancellation", "0 jobs are ready"]
    ),
    (
      "leftoverWithAnActorThatSwallowsCancellation",
      ["has held its thread for 0.5 seconds", "swallows its cancellation"]
    ),
    (
      "cancelledHeartbeatOnATestClock",
      ["has held its thread for 0.5 seconds", "swallows its cancellation"]
    ),
    ("spinnerThatAnAdvanceWaitsFor", ["has held its thread for 0.5 seconds"]),
    (
      "leftoverThatYieldsForEver",
      ["expects that no task is left when its operation returns", "yields in an endless loop"]
    ),
    (
      "leftoverThatYieldsForEverAndDoesNotHear",
      ["does not ask `Task.isCancelled`", "It has been suspended for good"]
    ),
    (
      "clockThatAHelperMade",
      ["Nothing has happened in the test for 0.5 seconds", "They throw a CancellationError now"]
    ),
    (
      "clockThatOutlivesItsScope",
      ["Nothing has happened in the test for 0.5 seconds", "They throw a CancellationError now"]
    ),
  ])
  func aTestThatWouldHangFailsAndEnds(_ test: String, texts: [String]) async throws {
    let (code, output) = try await Self.run(test)
    #expect(code == 1, "\(output)")
    #expect(output.contains("Test \(test)() recorded an issue at HangingTests.swift:"), "\(output)")
    for text in texts { #expect(output.contains(text), "\(text)\n\(output)") }
  }

  /// Where jobs that run in circles hold all threads, each test says so all the same, and ends.
  @Test func testsThatTakeAllThreadsFailAndEnd() async throws {
    let (code, output) = try await Self.run("spinnersThatTakeAllThreads")
    #expect(code == 1, "\(output)")
    for number in 0..<(2 * ProcessInfo.processInfo.activeProcessorCount) {
      let place =
        "Test spinnersThatTakeAllThreads(_:) recorded an issue with 1 argument \(number) at HangingTests.swift:"
      #expect(output.contains(place), "\(output)")
    }
    #expect(output.contains("has held its thread for 0.5 seconds"), "\(output)")
  }

  /// What is no hang is no failure.
  @Test(arguments: [
    "leftoverThatYieldsAndHears", "taskThatOutlivesItsScope", "otherClockIsWaitedFor",
    "leftoverThatSleepsWhenTheTestIsOver",
  ])
  func whatEndsIsNoFailure(_ test: String) async throws {
    let (code, output) = try await Self.run(test)
    #expect(code == 0, "\(output)")
    #expect(output.contains("with 1 test in 1 suite passed"), "\(output)")
  }

  @Test func aForgottenAdvanceInXCTestFailsAndEnds() async throws {
    let child = try await ChildProcess.runXCTest(
      "ForgetfulXCTests/testForgetsToAdvance",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.5", HangingTests.variable: "1"])
    #expect(child.exitCode == 1, "\(child)")
    let failure = child.standardOutput.lines(containing: "error: ForgetfulXCTests").first ?? ""
    #expect(failure.contains("HangingTests.swift:\(ForgetfulXCTests.line)"), "\(child)")
    #expect(failure.contains("Nothing has happened in the test for 0.5 seconds"), "\(child)")
  }

  /// A program that is no test is warned, and its sleeps are its own.
  @Test func outsideOfTestsAForgottenAdvanceIsAWarningOnly() async throws {
    let child = try await ChildProcess.runXCTestInDisguise(
      "ForgetfulXCTests/testSleepsForAWhile",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.2", HangingTests.variable: "1"])
    #expect(child.exitCode == 0, "\(child)")
    #expect(
      child.standardError.lines(containing: "warning: Nothing has happened").count == 1, "\(child)")
  }
}

import Foundation
import Testing

@testable import Clocks

/// `CLOCKS_DUMP_SIGNAL`, in child processes.
@Suite struct DumpSignalTests {
  @Test func aSignalPrintsWhereTheTasksAre() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "SignalledTests.*sleepsWhenASignalComes",
      environment: ["CLOCKS_DUMP_SIGNAL": "USR1", ChildVariable.signal: "1"])
    #expect(child.exitCode == 0, "\(child)")
    let text = child.standardError
    #expect(
      text.contains(
        "The test with the clock made at ClocksTests/DumpSignalTests.swift:\(SignalledTests.line)\nWhere the test's 2 tasks are:\n"
      ),
      "\(text)")
    #expect(text.contains(/- task #\d+ "guest" sleeps until 3.0 seconds on TestClock\n/), "\(text)")
  }

  @Test func withoutAnyClockTheSignalDoesNotEndTheProcess() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "SignalledTests.*waitsWithoutAClock",
      environment: ["CLOCKS_DUMP_SIGNAL": "USR1", ChildVariable.signal: "1"])
    #expect(child.exitCode == 0, "\(child)")
    #expect(
      child.standardError.contains("No test has a clock or a scope of virtual time.\n"), "\(child)")
  }

  @Test func anUnknownSignalEndsTheProcess() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "SignalledTests", environment: ["CLOCKS_DUMP_SIGNAL": "KILL", ChildVariable.signal: "1"])
    #expect(child.exitCode == 2, "\(child)")
    #expect(
      child.standardError.contains(
        """
        error: CLOCKS_DUMP_SIGNAL is "KILL", but can only be one of: HUP, INT, QUIT, USR1, USR2, WINCH. \
        Unset it for the default: no signal.

        """))
  }
}

/// Tests that send themselves a signal, and run only in the child processes of the tests above.
@Suite(.onlyInChild(ChildVariable.signal)) struct SignalledTests {
  static let line: Int = #line + 3

  @Test func sleepsWhenASignalComes() async {
    let clock = TestClock()
    let guest = Task(name: "guest") { try await clock.sleep(for: .seconds(3)) }
    await clock.settle()
    await Self.signal()
    await clock.advance(by: .seconds(3))
    await #expect(throws: Never.self) { try await guest.value }
  }

  @Test func waitsWithoutAClock() async {
    await Self.signal()
  }

  /// Sends signals until one was received, while the test continues.
  private static func signal() async {
    await withCheckedContinuation { continuation in
      Thread {
        while DumpSignal.written == 0 {
          kill(getpid(), SIGUSR1)
          usleep(20_000)
        }
        continuation.resume()
      }.start()
    }
  }
}

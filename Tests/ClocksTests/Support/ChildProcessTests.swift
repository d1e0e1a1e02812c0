import Foundation
import TestTraits
import Testing

@Suite struct ChildProcessTests {
  @Test func aChildThatDoesNotEndIsKilledAndAnError() async {
    let error = await #expect(throws: HungChild.self) {
      try await ChildProcess.run(
        "/bin/sh", arguments: ["-c", "exec sleep 600"], limit: 0.5)
    }
    #expect(error?.description == "The child had not ended after 0.5 seconds:\n")
  }

  @Test(.timeLimit(.minutes(10)))
  func aProcessThatHoldsTheOutputOfAChildIsKilledAndAnError() async throws {
    let error = await #expect(throws: HungChild.self) {
      try await ChildProcess.run(
        "/bin/sh", arguments: ["-c", "sleep 600 & echo $!"], limit: 0.5)
    }
    let lines = try #require(error?.description.split(separator: "\n"))
    #expect(lines.first == "The child had ended, but its output had not, after 0.5 seconds:")
    let holder = try #require(lines.last.flatMap { pid_t($0) })
    // The process is a zombie until another process has waited for it.
    while let state = try? String(contentsOfFile: "/proc/\(holder)/stat", encoding: .utf8),
      !state.contains(") Z ")
    {
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// All tests of the suite are skipped where the variable is not set. XCTest succeeds also if it finds no test.
  @Test(arguments: [
    ("SignalledTests", "swift-testing"), ("ClocksTests.NoSuchXCTests", "xctest"),
    ("ClocksTests.ForgetfulXCTests", "xctest"),
  ])
  func aChildInWhichNoTestPassesIsAnError(_ tests: String, library: String) async throws {
    let error = await #expect(throws: NoTestHasPassed.self) {
      try await ChildProcess.runTests(tests, library: library, environment: [:])
    }
    #expect(error?.description.hasPrefix("No test that matches \(tests) has passed:\n") == true)
    let child = try await ChildProcess.runTests(
      tests, library: library, environment: [:], mayPassNone: true)
    #expect(child.exitCode == 0, "\(child)")
  }
}

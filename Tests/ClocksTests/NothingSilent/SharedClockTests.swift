import Foundation
import Testing

@testable import Clocks

/// A clock that test cases share which run at once. They run only when `SharedClockReportTests` asks for
/// them, in a process of their own.
enum SharedClocks {
  static let line: UInt = #line + 1
  static let clock = TestClock()

  static var areAsked: Bool {
    ProcessInfo.processInfo.environment[HangingTests.variable] != nil
  }

  static func sleepASecond() async {
    let task = Task { try? await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    await clock.advance(by: .seconds(1))
    await task.value
  }
}

@Suite struct ClockSharedAtOnceTests {
  /// Lets test cases go on when all have come.
  private actor Barrier {
    static let shared = Barrier()
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func wait(for count: Int) async {
      if waiting.count + 1 == count {
        for task in waiting { task.resume() }
        waiting = []
      } else {
        await withCheckedContinuation { waiting.append($0) }
      }
    }
  }

  @Test(arguments: 0..<3) func threeAtOnce(_: Int) async {
    guard SharedClocks.areAsked else { return }
    await Barrier.shared.wait(for: 3)
    _ = SharedClocks.clock
    await SharedClocks.sleepASecond()
    await Barrier.shared.wait(for: 3)
  }
}

@Suite struct SharedClockReportTests {
  private func run(_ tests: String) async throws -> ChildProcess {
    try await ChildProcess.runSwiftTesting(
      tests, environment: ["CLOCKS_BLOCKED_AFTER": "0.5", HangingTests.variable: "1"])
  }

  @Test func testCasesThatShareAClockAtOnceAreReported() async throws {
    let child = try await run("ClockSharedAtOnceTests")
    let output = child.standardOutput + child.standardError
    #expect(child.exitCode == 1, "\(output)")
    let text =
      "The clock made at ClocksTests/SharedClockTests.swift:\(SharedClocks.line) is used by"
    #expect(output.contains(text), "\(output)")
    #expect(output.contains("test cases at once"), "\(output)")
  }
}

import Foundation
import Testing

@testable import Clocks

/// A clock that concurrent test cases share. They run only in child processes of other tests.
enum SharedClocks {
  static let line: UInt = #line + 1
  static let clock = TestClock()

  static func sleepASecond() async {
    let task = Task { try? await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    await clock.advance(by: .seconds(1))
    await task.value
  }
}

/// Lets test cases continue when all have come.
private actor Barrier {
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

@Suite(.onlyInChild(ChildVariable.hang)) struct ClockSharedAtOnceTests {
  private static let barrier = Barrier()

  @Test(arguments: 0..<3) func threeAtOnce(_: Int) async {
    await Self.barrier.wait(for: 3)
    _ = SharedClocks.clock
    await SharedClocks.sleepASecond()
    await Self.barrier.wait(for: 3)
  }
}

/// The test case that makes the clock is one of those that share it.
@Suite(.onlyInChild(ChildVariable.hang)) struct ClockSharedByTwoTests {
  private static let barrier = Barrier()

  @Test(arguments: 0..<2) func twoAtOnce(_ number: Int) async {
    if number == 0 {
      _ = SharedClocks.clock
      await Self.barrier.wait(for: 2)
    } else {
      await Self.barrier.wait(for: 2)
      await SharedClocks.clock.settle()
    }
    await Self.barrier.wait(for: 2)
  }
}

/// Three tests that have no clock of their own.
@Suite(.onlyInChild(ChildVariable.hang)) struct ClockSharedByTestsTests {
  private static let barrier = Barrier()

  @Test func first() async { await Self.tick() }
  @Test func second() async { await Self.tick() }
  @Test func third() async { await Self.tick() }

  private static func tick() async {
    await barrier.wait(for: 3)
    let clock = SharedClocks.clock
    let ticks = Tally()
    let task = Task {
      for _ in 0..<20 {
        try? await clock.sleep(for: .seconds(1))
        ticks.add()
      }
    }
    // Their counts are uncertain. That is what the report has to say.
    for _ in 1...20 { await clock.advance(by: .seconds(1)) }
    await barrier.wait(for: 3)
    task.cancel()
    await task.value
  }
}

@Suite struct SharedClockReportTests {
  private func run(_ tests: String) async throws -> ChildProcess {
    try await ChildProcess.runSwiftTesting(
      tests, environment: ["CLOCKS_BLOCKED_AFTER": "0.5", ChildVariable.hang: "1"])
  }

  @Test(arguments: ["ClockSharedAtOnceTests", "ClockSharedByTwoTests", "ClockSharedByTestsTests"])
  func parallelTestCasesThatShareAClockAreReported(_ tests: String) async throws {
    let child = try await run(tests)
    #expect(child.exitCode == 1, "\(child)")
    let line = SharedClocks.line
    #expect(child.issues.map(\.line) == [Int(line)], "\(child)")
    #expect(
      child.issues.map(\.text) == [
        "The clock made at ClocksTests/SharedClockTests.swift:\(line) " + Reports.shared
      ])
  }
}

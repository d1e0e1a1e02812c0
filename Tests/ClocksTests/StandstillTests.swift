import Dispatch
import Foundation
import Testing
import XCTest

@testable import Clocks

/// A test that sleeps on a clock that nobody advances.
@Suite struct StandstillTests {
  private static func run(_ test: String) async throws -> (code: Int32, output: String) {
    let child = try await ChildProcess.runSwiftTesting(
      "StandingTests.*\(test)",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.2", StandingTests.variable: "1"])
    return (child.exitCode, child.standardOutput + child.standardError)
  }

  @Test func aTestThatAwaitsATaskThatSleepsForEverFailsAndEnds() async throws {
    let (code, output) = try await Self.run("awaitsATaskThatSleeps")
    #expect(code != 0)
    let expected = [
      "Test awaitsATaskThatSleeps() recorded an issue at StandstillTests.swift:"
        + "\(StandingTests.line):",
      """
      Nothing has happened in the test for 0.2 seconds of real time, tasks sleep on a clock of it, \
      and nobody advances it: call `await clock.advance(by:)`, before the test awaits what the time \
      is to bring about; or let time move by itself, with `withVirtualTime`.
      """,
      "  - until 3.0 seconds, since 0.0 seconds, task \"first\" (#",
      "  - until 7.0 seconds, since 2.0 seconds, task #",
      "They throw a CancellationError now, so that the test can end.",
      "with 1 issue",
    ]
    for text in expected { #expect(output.contains(text), "\(output)") }
  }

  @Test func aTestThatSleepsItselfFailsAndEnds() async throws {
    let (code, output) = try await Self.run("sleepsItself")
    #expect(code != 0)
    #expect(output.contains("Test sleepsItself() recorded an issue at StandstillTests.swift:"))
    #expect(output.contains("with 1 issue"), "\(output)")
  }

  @Test(arguments: ["leavesSleepers", "waitsForSleeps", "isSlowButAdvances"])
  func whatIsNoStandstillIsNoFailure(_ test: String) async throws {
    let (code, output) = try await Self.run(test)
    #expect(code == 0, "\(output)")
    #expect(!output.contains("Nothing has happened"), "\(output)")
  }

  @Test func aClockOfNoKnownTestIsAWarning() async throws {
    let child = try await ChildProcess.run(
      CommandLine.arguments[0], arguments: ["ClocksTests.StandingXCTests/testAwaitsATask"],
      environment: ["CLOCKS_BLOCKED_AFTER": "0.2", StandingTests.variable: "1"])
    #expect(child.exitCode == 0)
    #expect(
      child.standardError.contains(
        "StandstillTests.swift:\(StandingXCTests.line): warning: Nothing has happened in the test"),
      "\(child)")
  }

  @Test func aTestStandsStillOnlyIfSomethingSleepsAndNothingElseHappens() async throws {
    let other = Task.detached { await self.standsStill() }
    await other.value
  }

  /// What the watchdog sees, looked at from a thread that is no test's.
  private func standsStill() async {
    let clock = TestClock()
    let scheduler = clock.scheduler
    func look(whileAnyIsBusy times: Int = 0) async -> Bool {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          // The task that waits for this may not be suspended yet.
          while !scheduler.lock.withLock({ scheduler.isIdle }) { sched_yield() }
          // Once more: the first time it only notes what there is.
          let looks = (0...max(1, times)).map { _ in
            scheduler.newStandstill(after: .zero, isAnyBusy: times > 0) != nil
          }
          continuation.resume(returning: looks.last!)
        }
      }
    }
    #expect(await !look())
    let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    #expect(await look())
    #expect(await look(), "Something has happened since: this task has run.")
    #expect(await look(whileAnyIsBusy: 3) == false)
    #expect(await look(whileAnyIsBusy: 4))
    await clock.advance(by: .seconds(1))
    #expect(await !look())
    await #expect(throws: Never.self) { try await sleeper.value }
    #expect(scheduler.newStandstill(after: .zero) == nil, "The test runs at this moment.")
  }
}

/// Stand still only when they are asked to, by the tests above in a process of their own.
@Suite struct StandingTests {
  static let variable = "CLOCKS_TESTS_STAND"
  static let line: Int = #line + 6

  private var isAsked: Bool { ProcessInfo.processInfo.environment[Self.variable] != nil }

  @Test func awaitsATaskThatSleeps() async throws {
    guard isAsked else { return }
    let clock = TestClock()
    let other = TestClock(now: .init(offset: .seconds(2)))
    let task = Task(name: "first") { try await clock.sleep(for: .seconds(3)) }
    let second = Task { try await other.sleep(for: .seconds(5)) }
    await #expect(throws: CancellationError.self) { try await second.value }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func sleepsItself() async {
    guard isAsked else { return }
    let clock = TestClock()
    await #expect(throws: CancellationError.self) { try await clock.sleep(for: .seconds(3)) }
  }

  /// The tests of which two are over leave tasks behind, and the process goes on.
  @Test(arguments: 1...3) func leavesSleepers(_ number: Int) async {
    guard isAsked else { return }
    let clock = TestClock()
    Task { try await clock.sleep(for: .seconds(number)) }
    await clock.settle()
    if number == 3 {
      await clock.advance(by: .seconds(3))
      await realTimePasses(0.9)
    }
  }

  @Test func waitsForSleeps() async throws {
    guard isAsked else { return }
    let clock = TestClock()
    Task { try await clock.sleep(for: .seconds(1)) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.9) {
      Task { try await clock.sleep(for: .seconds(1)) }
    }
    try await clock.waitForSleeps(atLeast: 2)
    await clock.advance(by: .seconds(1))
  }

  @Test func isSlowButAdvances() async {
    guard isAsked else { return }
    let clock = TestClock()
    Task { try await clock.sleep(for: .seconds(60)) }
    for _ in 1...9 {
      await realTimePasses(0.1)
      await clock.advance(by: .seconds(1))
    }
  }
}

/// Its clock is made when nobody knows which test it is for.
final class StandingXCTests: XCTestCase {
  static let line: Int = #line + 1
  private let clock = TestClock()

  func testAwaitsATask() async throws {
    guard ProcessInfo.processInfo.environment[StandingTests.variable] != nil else { return }
    let clock = clock
    let task = Task { try await clock.sleep(for: .seconds(3)) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.9) { task.cancel() }
    _ = await task.result
  }
}

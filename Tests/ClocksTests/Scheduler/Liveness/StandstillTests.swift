import Dispatch
import Foundation
import TestTraits
import Testing
import XCTest

@testable import Clocks

/// A test that sleeps on a clock that no task advances.
@Suite struct StandstillTests {
  private static func run(_ test: String, blockedAfter seconds: String = "0.2") async throws -> (
    code: Int32, output: String
  ) {
    let child = try await ChildProcess.runSwiftTesting(
      "StandingTests.*\(test)",
      environment: ["CLOCKS_BLOCKED_AFTER": seconds, ChildVariable.stand: "1"])
    return (child.exitCode, (child.standardOutput + child.standardError).withoutMeasuredTime)
  }

  @Test func aTestThatAwaitsATaskThatSleepsForEverFailsAndEnds() async throws {
    let (code, output) = try await Self.run("awaitsATaskThatSleeps")
    #expect(code == 1)
    let expected = [
      "Test awaitsATaskThatSleeps() recorded an issue at StandstillTests.swift:"
        + "\(StandingTests.line):",
      """
      Nothing has happened in the test for 0.2 seconds of real time, tasks sleep on one of its clocks, \
      and no task advances it: call `await clock.advance(by:)`, before the test awaits the result; \
      or let time move by itself, with `withVirtualTime`.
      """,
      "  - until 3.0 seconds, since 0.0 seconds, task \"first\" (#",
      "  - until 7.0 seconds, since 2.0 seconds, task #",
      """
      They throw a CancellationError now, so that the test can end. That error may be reported next.
      """,
      "with 1 issue",
    ]
    for text in expected { #expect(output.contains(text), "\(output)") }
  }

  @Test func aTestThatSleepsItselfFailsAndEnds() async throws {
    let (code, output) = try await Self.run("sleepsItself")
    #expect(code == 1)
    #expect(output.contains("Test sleepsItself() recorded an issue at StandstillTests.swift:"))
    #expect(
      output.contains("Nothing has happened in the test for 0.2 seconds of real time"), "\(output)")
    #expect(output.contains("  - until 3.0 seconds, since 0.0 seconds, task "), "\(output)")
    #expect(output.contains("with 1 issue"), "\(output)")
  }

  @Test(arguments: ["leavesSleepers", "waitsForSleeps", "hasAScope"])
  func aTestThatDoesNotStandStillIsNotReported(_ test: String) async throws {
    let (code, output) = try await Self.run(test)
    #expect(code == 0, "\(output)")
    #expect(!output.contains("Nothing has happened"), "\(output)")
  }

  /// The test takes longer in all than it may stand still, but each of its pauses is far shorter.
  @Test func aTestThatAdvancesSlowlyDoesNotStandStill() async throws {
    let (code, output) = try await Self.run("isSlowButAdvances", blockedAfter: "4")
    #expect(code == 0, "\(output)")
    #expect(!output.contains("Nothing has happened"), "\(output)")
  }

  @Test func aClockOfAPropertyStandsStill() async throws {
    let child = try await ChildProcess.runXCTest(
      "StandingXCTests/testAwaitsATask",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.2", ChildVariable.stand: "1"])
    #expect(child.exitCode == 1)
    #expect(
      (child.standardOutput + child.standardError).contains(
        "StandstillTests.swift:\(StandingXCTests.line): error: "),
      "\(child)")
    #expect(
      (child.standardOutput + child.standardError).contains("Nothing has happened in the test"),
      "\(child)")
  }

  /// What repeated checks find. The scheduler is not registered, so the watchdog of the process
  /// does not check it as well.
  @Test func aTestStandsStillOnlyIfSomethingSleepsAndNothingElseHappens() async {
    let scheduler = Scheduler(origin: .here())
    let virtualClock = VirtualClock(now: .zero)
    scheduler.change { $0.clocks.add(virtualClock) }
    func look(_ times: Int, isAnyBusy: Bool = false, hasScope: Bool = false) -> [Bool] {
      (0..<times).map { _ in
        scheduler.newStandstill(after: .zero, isAnyBusy: isAnyBusy, hasScope: hasScope) != nil
      }
    }
    func somethingHappens() { scheduler.change { $0.activity.externallyStartedJobEnded() } }

    #expect(look(3) == [false, false, false])
    await #expect(throws: CancellationError.self) {
      try await withUnsafeThrowingContinuation { continuation in
        _ = scheduler.change { _ in
          virtualClock.sleeps.add(
            .continuation(continuation, isOwn: false),
            until: .seconds(1), details: .init(registered: .zero, clock: .test))
        }
        // The first check only notes the state. A standstill is reported once.
        #expect(look(3) == [false, true, false])
        somethingHappens()
        #expect(look(1) == [false])
        #expect(scheduler.newStandstill(after: .zero).map { $0.nanoseconds > 0 } == true)
        somethingHappens()
        #expect(look(3) == [false, true, false])
        somethingHappens()
        #expect(look(6, isAnyBusy: true) == [false, false, false, false, true, false])
        scheduler.change { $0.idleness.externallyStartedJobsBegan() }
        #expect(look(3) == [false, false, false])
        scheduler.change { $0.idleness.externallyStartedJobEnded() }
        #expect(look(2) == [false, true])
        somethingHappens()
        #expect(look(3, hasScope: true) == [false, false, false])
        #expect(look(2) == [false, true])
        scheduler.cancelAllSleeps()
      }
    }
    #expect(look(3) == [false, false, false])
  }
}

/// Tests that stand still. They run only if the tests above start them in another process.
@Suite(.onlyInChild(ChildVariable.stand)) struct StandingTests {
  static let line: Int = #line + 3

  @Test func awaitsATaskThatSleeps() async throws {
    let clock = TestClock()
    let other = TestClock(now: .init(offset: .seconds(2)))
    let task = Task(name: "first") { try await clock.sleep(for: .seconds(3)) }
    let second = Task { try await other.sleep(for: .seconds(5)) }
    await #expect(throws: CancellationError.self) { try await second.value }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func sleepsItself() async {
    let clock = TestClock()
    await #expect(throws: CancellationError.self) { try await clock.sleep(for: .seconds(3)) }
  }

  /// Two of the three tests end immediately and leave tasks behind. The process continues.
  @Test(arguments: 1...3) func leavesSleepers(_ number: Int) async {
    let clock = TestClock()
    Task { try await clock.sleep(for: .seconds(number)) }
    await clock.settle()
    if number == 3 {
      await clock.advance(by: .seconds(3))
      await realTimePasses(0.9)
    }
  }

  @Test func waitsForSleeps() async throws {
    let clock = TestClock()
    Task { try await clock.sleep(for: .seconds(1)) }
    onAThread(after: 0.9) {
      Task { try await clock.sleep(for: .seconds(1)) }
    }
    try await clock.waitForSleeps(atLeast: 2)
    await clock.advance(by: .seconds(1))
  }

  @Test func hasAScope() async throws {
    let clock = TestClock()
    Task { try await clock.sleep(for: .seconds(1)) }
    try await withVirtualTime { time in
      await time.holding { await realTimePasses(0.9) }
    }
    await clock.advance(by: .seconds(1))
  }

  @Test func isSlowButAdvances() async {
    let clock = TestClock()
    Task { try await clock.sleep(for: .seconds(60)) }
    for _ in 1...50 {
      await realTimePasses(0.1)
      await clock.advance(by: .seconds(1))
    }
  }
}

/// Its clock is made where no test is known.
final class StandingXCTests: XCTestCase {
  static let line: Int = #line + 1
  private let clock = TestClock()

  func testAwaitsATask() async throws {
    try XCTSkipUnless(ProcessInfo.processInfo.environment[ChildVariable.stand] != nil)
    let clock = clock
    let task = Task { try await clock.sleep(for: .seconds(3)) }
    onStandardError(containing: "no task advances it") { task.cancel() }
    DispatchQueue.global().asyncAfter(deadline: .now() + 60) { task.cancel() }
    _ = await task.result
  }

  /// Calls `body` when the text has been written to standard error.
  ///
  /// How long that takes depends on the load of the machine, because a report has a task dump.
  private func onStandardError(containing text: String, _ body: @escaping @Sendable () -> Void) {
    let original = FileHandle(fileDescriptor: dup(STDERR_FILENO))
    let pipe = Pipe()
    dup2(pipe.fileHandleForWriting.fileDescriptor, STDERR_FILENO)
    Thread.detachNewThread {
      var written = Data()
      while true {
        let data = pipe.fileHandleForReading.availableData
        original.write(data)
        written += data
        if written.range(of: Data(text.utf8)) != nil { body() }
      }
    }
  }
}

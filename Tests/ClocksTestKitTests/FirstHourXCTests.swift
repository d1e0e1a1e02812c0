import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import TestTraits
import Testing
import XCTest

/// Makes a clock before the test that fails. The failure must not be at the line of this property.
final class EarlierClockXCTests: XCTestCase {
  private let clock = TestClock()

  func testMakesAClock() {}
}

/// Tests that stumble. They run only in child processes of `FirstHourXCTestTests`.
final class StumblingXCTests: XCTestCase {
  static let file = #filePath
  /// The line of the property.
  static let line: Int = #line + 1
  private let property = TestClock()

  override func setUpWithError() throws { try Stuck.skipUnlessAsked() }

  func testForgetsALocalClock() async throws {
    let local = TestClock()
    try await local.sleep(for: .seconds(1))
  }

  func testForgetsTheProperty() async throws {
    try await property.sleep(for: .seconds(1))
  }

  func testLosesContinuationWithALocalClock() async {
    let local = TestClock()
    await local.settle()
    await Stuck.losesContinuation()
  }

  func testForgetsTheSameClockAgainAndAgain() async {
    for _ in 1...4 { try? await property.sleep(for: .seconds(1)) }
  }

  func testSleepsAsLongAsTheCode() async throws {
    try await withVirtualTime {
      let toast = Task(name: "toast") { try await Task.sleep(for: .seconds(5)) }
      try await Task.sleep(for: .seconds(5))
      XCTAssertTrue(false, "toast")
      try await toast.value
    }
  }

  func testSkipsAWait() async throws {
    try await withVirtualTime {
      let fetch = Task { await answerFromElsewhere() }
      try await Task.sleep(for: .seconds(30))
      let answer = await fetch.value
      XCTAssertEqual(answer, 0)
    }
  }

  func testSleepsInRealTimeBesideAClock() async throws {
    let clock = TestClock()
    let task = Task { try await Task.sleep(for: .seconds(3600)) }
    await clock.advance(by: .seconds(3600))
    XCTAssertTrue(false, "not injected")
    task.cancel()
    _ = await task.result
  }

  func testWokenTogether() async throws {
    let clock = TestClock()
    let first = Task {
      try await clock.sleep(for: .seconds(5))
      XCTAssertTrue(false, "second has not run")
    }
    let second = Task(name: "second") { try await clock.sleep(for: .seconds(5)) }
    await clock.advance(by: .seconds(5))
    XCTAssertTrue(false, "both have run")
    try await first.value
    try await second.value
  }

  func testFailsWithoutAnyReasonToGive() async throws {
    let clock = TestClock()
    await clock.advance(by: .seconds(5))
    XCTAssertTrue(false, "plain")
    await clock.eventually(within: .seconds(1)) { false }
    try await withVirtualTime { XCTAssertTrue(false, "plain in a scope") }
  }
}

/// Tests that forget to advance, more than once.
@Suite(.onlyIfAskedToBeStuck) struct ForgetfulExamples {
  @Test func theSameClock() async {
    let clock = TestClock()
    for _ in 1...4 { try? await clock.sleep(for: .seconds(1)) }
  }

  @Test func anotherClock() async {
    let clock = TestClock()
    let other = TestClock(now: .seconds(1))
    for _ in 1...2 { try? await clock.sleep(for: .seconds(1)) }
    for _ in 1...2 { try? await other.sleep(for: .seconds(1)) }
  }

  @Test func aClockThatHasMovedSince() async {
    let clock = TestClock()
    for _ in 1...2 { try? await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    try? await clock.sleep(for: .seconds(1))
  }

  @Test func endlessly() async {
    let clock = TestClock()
    while true { try? await clock.sleep(for: .seconds(1)) }
  }

  @MainActor @Test func blocksTheMainThread() async {
    let clock = TestClock()
    await clock.settle()
    let blocked = Task { @MainActor in Stuck.blocks() }
    let other = Task {}
    await blocked.value
    await other.value
  }

  @MainActor @Test func blocksTheMainThreadItself() async {
    let clock = TestClock()
    Task { await clock.advance(by: .seconds(1)) }
    Stuck.blocks()
  }

  @Test func awaitsABlockedJob() async {
    let clock = TestClock()
    let blocked = Task { Stuck.blocks() }
    await clock.settle()
    await blocked.value
  }

  @Test(.virtualTime) func blocksInTheTrait() async {
    let blocked = Task { Stuck.blocks() }
    let other = Task {}
    await blocked.value
    await other.value
  }

  @Test func waitsInAQueue() async {
    let clock = TestClock()
    let queue = DispatchQueue(label: "orders")
    queue.async { Stuck.blocks() }
    queue.async {}
    queue.async {}
    await clock.settle()
  }
}

/// What new users of XCTest stumble over, in child processes.
@Suite struct FirstHourXCTestTests {
  private func run(
    _ tests: [String], library: String = "xctest", blockedAfter: String = "0.5"
  ) async throws -> ChildProcess {
    let child = try await Stuck.run(
      library == "xctest"
        ? tests.map { "ClocksTestKitTests.\($0)" }.joined(separator: ",")
        : "ForgetfulExamples.*/(\(tests.joined(separator: "|")))\\(",
      library: library, blockedAfter: blockedAfter)
    #expect(child.exitCode == 1, "\(child)")
    return child
  }

  private func run(example: String) async throws -> (text: String, issues: [PrintedIssue]) {
    let child = try await run([example], library: "swift-testing")
    return (child.standardOutput, child.issues)
  }

  // MARK: - One report for each test

  @Test(arguments: [("theSameClock", 1), ("anotherClock", 2), ("aClockThatHasMovedSince", 2)])
  func aForgottenAdvanceIsReportedOnceUnlessSomethingNewIsKnown(
    _ example: String, reports: Int
  ) async throws {
    let (text, issues) = try await run(example: example)
    #expect(issues.count == reports, "\(text)")
    #expect(issues.allSatisfy { $0.text.contains("no task advances it") }, "\(text)")
    #expect(text.contains("Test \(example)() failed after"), "\(text)")
    #expect(!text.contains("error: The process ends"), "\(text)")
  }

  @Test func aLoopOfForgottenAdvancesEnds() async throws {
    let (text, issues) = try await run(example: "endlessly")
    #expect(issues.count == 1, "\(text)")
    #expect(text.contains("error: The process ends"), "\(text)")
  }

  @Test func aForgottenAdvanceInXCTestIsReportedOnce() async throws {
    let text = try await run(["StumblingXCTests/testForgetsTheSameClockAgainAndAgain"])
      .standardOutput
    #expect(text.lines(containing: "error: StumblingXCTests").count == 1, "\(text)")
    #expect(text.contains("Executed 1 test, with 1 failure"), "\(text)")
  }

  @Test func eachTestOfXCTestHasItsReport() async throws {
    let text = try await run([
      "StumblingXCTests/testForgetsTheProperty",
      "StumblingXCTests/testForgetsTheSameClockAgainAndAgain",
    ]).standardOutput
    #expect(text.lines(containing: " : failed - ").count == 2, "\(text)")
  }

  // MARK: - Lines

  /// The failure is at the line of the clock that it is about.
  @Test(arguments: [
    ("testForgetsALocalClock", "local = TestClock()"),
    ("testLosesContinuationWithALocalClock", "local = TestClock()"),
    ("testForgetsTheProperty", "private let property = TestClock()"),
  ])
  func aFailureOfXCTestIsAtTheLineOfItsClock(_ test: String, clock: String) async throws {
    let text = try await run(["EarlierClockXCTests/testMakesAClock", "StumblingXCTests/\(test)"])
      .standardOutput
    let line = try #require(
      clock.hasPrefix("private")
        ? StumblingXCTests.line
        : try SourceText(StumblingXCTests.file).line(of: [clock], inFunction: test))
    #expect(text.contains("FirstHourXCTests.swift:\(line): error: "), "line \(line)\n\(text)")
    #expect(text.lines(containing: " : failed - ").count == 1, "\(text)")
  }

  // MARK: - Notes

  @Test(arguments: [
    ("testSleepsAsLongAsTheCode", "1 sleep ends at this very instant, and has not woken yet:"),
    ("testSkipsAWait", "Time jumped 30.0 seconds, to 30.0 seconds, while task #"),
    (
      "testSleepsInRealTimeBesideAClock",
      "there is 1 task asleep on one of the runtime's real clocks"
    ),
    ("testWokenTogether", "1 sleep ends at this very instant, and has not woken yet:"),
  ])
  func aFailedAssertionHasANote(_ test: String, note: String) async throws {
    let text = try await run(["StumblingXCTests/\(test)"]).standardOutput
    let line = try #require(
      try SourceText(StumblingXCTests.file).line(of: ["XCTAssert"], inFunction: test))
    let notes = text.lines(containing: ": note: StumblingXCTests.\(test) : ")
    #expect(notes.count == 1, "\(text)")
    #expect(notes.first?.contains("FirstHourXCTests.swift:\(line): note: ") == true, "\(text)")
    #expect(notes.first?.contains(note) == true, "\(text)")
    #expect(!text.contains("@Test(.virtualTime)"), "\(text)")
  }

  @Test func anAssertionWithoutAReasonHasNoNote() async throws {
    let text = try await run(["StumblingXCTests/testFailsWithoutAnyReasonToGive"]).standardOutput
    #expect(text.lines(containing: "error: StumblingXCTests").count == 3, "\(text)")
    #expect(!text.contains(": note: "), "\(text)")
  }

  // MARK: - Blocked jobs

  @Test(arguments: [
    (
      "blocksTheMainThread",
      "The job holds the main thread, so no other code of the main actor runs;"
    ),
    (
      "blocksTheMainThreadItself",
      "The job holds the main thread, so no other code of the main actor runs;"
    ),
    ("awaitsABlockedJob", "The test goes on without the job;"),
  ])
  func theReportOfABlockedJobSaysHowTheTestEnds(_ example: String, part: String) async throws {
    let (text, issues) = try await run(example: example)
    #expect(issues.count == 1, "\(text)")
    #expect(issues.first?.text.contains(part) == true, "\(text)")
    #expect(
      issues.first?.text.contains("the process ends when no other test can run.") == true, "\(text)"
    )
    #expect(text.contains("error: The process ends with exit code 1"), "\(text)")
  }

  @Test func theReportOfABlockedJobSaysThatTheTestIsAbandoned() async throws {
    let (text, issues) = try await run(example: "blocksInTheTrait")
    #expect(
      issues.first?.text.contains("if the test cannot end without it, the other tests continue.")
        == true, "\(text)")
    #expect(!text.contains("error: The process ends"), "\(text)")
    #expect(text.contains("Test blocksInTheTrait() failed after"), "\(text)")
  }

  // MARK: - Queues

  @Test(.disabled(if: isUnderAddressSanitizer), .enabled(if: areThreadsShown))
  func aBlockedQueueHasLinesInTheDump() async throws {
    let (text, issues) = try await run(example: "waitsInAQueue")
    let dump = try #require(issues.first?.dump, "\(text)")
    #expect(
      dump.contains(
        /- the queue "orders" runs a block, which blocks its thread\n\s+(?:static )?Stuck.blocks\(\) at StuckTestsTests.swift:\d+\n/
      ), "\(text)")
    #expect(dump.contains("- the queue \"orders\" has 2 blocks that have not begun"), "\(text)")
  }
}

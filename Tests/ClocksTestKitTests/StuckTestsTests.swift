import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import TestTraits
import Testing
import XCTest

/// The ways in which a test does not continue. The tests that use them run only in child processes of other tests.
enum Stuck {
  static let variable = "CLOCKS_TESTS_STUCK"
  static let skipped = "It runs only in a child process of another test."

  /// Returns whether `run` has started this process. If so, a signal ends it after the number of seconds in the
  /// variable.
  static func setAlarmIfAsked() -> Bool {
    guard let seconds = ProcessInfo.processInfo.environment[variable].flatMap(UInt32.init) else {
      return false
    }
    alarm(seconds)
    return true
  }

  /// Skips a test of XCTest, except in a child process that `run` has started.
  static func skipUnlessAsked() throws { try XCTSkipUnless(setAlarmIfAsked(), skipped) }

  /// How the last lines of the process begin that was ended.
  static let end = "error: The process ends with exit code 1, because only"

  /// Runs examples in a child process.
  static func run(
    _ tests: String, library: String = "swift-testing", blockedAfter: String = "0.5",
    alarm: Int = 100, keepsProcess: Bool = false
  ) async throws -> ChildProcess {
    try await ChildProcess.runTests(
      tests, library: library,
      environment: [
        "CLOCKS_BLOCKED_AFTER": blockedAfter, variable: "\(alarm)",
        "CLOCKS_KEEP_PROCESS": keepsProcess ? "1" : "0",
      ])
  }

  static func losesContinuation() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  /// Waits for what `start` has begun, which is older than the test's clock.
  static func waits(
    for start: (AsyncStream<Void>.Continuation) -> Void
  ) async throws {
    let (stream, source) = AsyncStream<Void>.makeStream()
    start(source)
    try await Task.sleep(for: .milliseconds(20))
    let clock = TestClock()
    await clock.settle()
    for await _ in stream {}
  }

  static func finishInATask(_ source: AsyncStream<Void>.Continuation) {
    Task {
      try await Task.sleep(for: .seconds(4))
      source.finish()
    }
  }

  private final class Tasks: @unchecked Sendable { var all: [Task<Void, Never>] = [] }

  static func waitsInACircle() async {
    let tasks = Tasks()
    for other in [1, 0] {
      tasks.all.append(
        Task {
          try? await Task.sleep(for: .seconds(1))
          await tasks.all[other].value
        })
    }
    await tasks.all[0].value
  }

  static func yields() async {
    let isReady = Tally()
    while isReady.value == 0 { await Task.yield() }
  }

  static func blocks() { DispatchSemaphore(value: 0).wait() }

  /// The first job holds the main thread for which the second one waits.
  @MainActor static func blocksTheMainThread() {
    let isSignalled = DispatchSemaphore(value: 0)
    Task { @MainActor in isSignalled.signal() }
    isSignalled.wait()
  }

  static func spins() {
    let limit = Date().addingTimeInterval(1)
    while Date() < limit {}
  }

  static func readsAStreamThatAForgottenClockFeeds(_ clock: TestClock<Duration>) async {
    let (stream, source) = AsyncStream<Void>.makeStream()
    let producer = Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        source.yield()
      }
    }
    for await _ in stream { break }
    producer.cancel()
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test, or a suite, except in a child process that `Stuck.run` has started.
  static var onlyIfAskedToBeStuck: Self {
    .enabled(if: Stuck.setAlarmIfAsked(), Comment(rawValue: Stuck.skipped))
  }
}

@Suite(.serialized, .onlyIfAskedToBeStuck) struct StuckTraitExamples {
  @Test(.virtualTime(stuckAfter: .milliseconds(300))) func losesContinuation() async {
    await Stuck.losesContinuation()
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300))) func waitsInACircle() async {
    await Stuck.waitsInACircle()
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(300)))
  func yields() async {
    await Stuck.yields()
  }

  @Test(.virtualTime) func blocks() async { Stuck.blocks() }

  @Test(.virtualTime) func spins() async { Stuck.spins() }

  @Test(.virtualTime(stuckAfter: .milliseconds(300))) func blocksTheMainThread() async {
    await Stuck.blocksTheMainThread()
  }

  @Test(.schedules(10)) func blocksTheMainThreadInASearch() async {
    await Stuck.blocksTheMainThread()
  }

  /// The thread continues after the test was abandoned, and before `comesLater` ends.
  @Test(.virtualTime) func blocksForAWhile() async {
    _ = { Self.comesLaterHasBegun.wait() }()
  }

  @Test(.virtualTime) func scopeWithinLosesContinuation() async throws {
    try await withVirtualTime(stuckAfter: .milliseconds(300)) { _ in await Stuck.losesContinuation()
    }
  }

  @Test(.virtualTime) func losesContinuationInHolding() async throws {
    await (try VirtualTime.required).holding { await Stuck.losesContinuation() }
  }

  @Test func comesAfter() async throws {
    try await Task.sleep(for: .seconds(3))
  }

  @Test func comesLater() async throws {
    Self.comesLaterHasBegun.signal()
    try await Task.sleep(for: .seconds(1))
  }

  private static let comesLaterHasBegun = DispatchSemaphore(value: 0)
}

@Suite(.onlyIfAskedToBeStuck) struct StuckExamples {
  @Test func losesContinuation() async throws {
    try await withVirtualTime(stuckAfter: .milliseconds(300)) { _ in await Stuck.losesContinuation()
    }
  }

  @Test func waitsInACircle() async throws {
    try await withVirtualTime(stuckAfter: .milliseconds(300)) { _ in await Stuck.waitsInACircle() }
  }

  @Test func yields() async throws {
    try await withVirtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(300)) {
      _ in await Stuck.yields()
    }
  }

  @Test func blocks() async throws {
    try await withVirtualTime { _ in Stuck.blocks() }
  }

  @Test func blocksWithAClock() async {
    let clock = TestClock()
    await clock.settle()
    Stuck.blocks()
  }

  @Test func blocksInTheJobThatMadeTheClock() async {
    let clock = TestClock()
    Stuck.blocks()
    await clock.settle()
  }

  @Test func spinsWithAClock() async {
    let clock = TestClock()
    while clock.now.offset < .seconds(1) {}
  }

  @Test func losesContinuationWithAClock() async {
    let clock = TestClock()
    await clock.settle()
    await Stuck.losesContinuation()
  }

  @Test func losesContinuationAfterACancelledSleep() async {
    let task = Task {
      try? await Task.sleep(for: .seconds(1_000))
      await Stuck.losesContinuation()
    }
    let clock = TestClock()
    await clock.settle()
    task.cancel()
    await task.value
  }

  @Test func losesContinuationInHolding() async throws {
    try await withVirtualTime { time in await time.holding { await Stuck.losesContinuation() } }
  }

  @Test func forgetsAClock() async {
    await Stuck.readsAStreamThatAForgottenClockFeeds(TestClock())
  }

  @Test func slowInRealTime() async throws {
    try await Task.sleep(for: .seconds(4))
  }

  /// Waits for a thread, as for a socket.
  @Test func slowWithAClock() async {
    let clock = TestClock()
    await clock.settle()
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        Thread.sleep(forTimeInterval: 4)
        continuation.resume()
      }
    }
  }

  /// The block begins in real time.
  @Test func slowOnAQueueWithAClock() async {
    let clock = TestClock()
    await clock.settle()
    await withCheckedContinuation { continuation in
      DispatchQueue.global().asyncAfter(deadline: .now() + 4) { continuation.resume() }
    }
  }

  @Test func slowInHolding() async throws {
    try await withVirtualTime { time in
      await time.holding {
        await withCheckedContinuation { continuation in
          DispatchQueue.global().asyncAfter(deadline: .now() + 3) {
            Thread.detachNewThread {
              Thread.sleep(forTimeInterval: 3)
              continuation.resume()
            }
          }
        }
      }
    }
  }

  @Test func waitsForAnOlderTask() async throws {
    try await Stuck.waits(for: Stuck.finishInATask)
  }

  /// The task belongs to no test.
  @Test func waitsForAnOlderTaskOfAThread() async throws {
    try await Stuck.waits { source in
      let hasStarted = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        Stuck.finishInATask(source)
        hasStarted.signal()
      }
      hasStarted.wait()
    }
  }

  @Test func waitsForAnOlderBlock() async throws {
    try await Stuck.waits { source in
      DispatchQueue.global().asyncAfter(deadline: .now() + 4) { source.finish() }
    }
  }

  @Test func waitsForAnOlderTimer() async throws {
    let timer = DispatchSource.makeTimerSource()
    try await Stuck.waits { source in
      timer.setEventHandler { source.finish() }
      timer.schedule(deadline: .now() + 4)
      timer.activate()
    }
    timer.cancel()
  }

  @Test func waitsForAProcess() async throws {
    let clock = TestClock()
    await clock.settle()
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sleep")
    process.arguments = ["4"]
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in continuation.resume() }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
  }
}

final class StuckXCTests: XCTestCase {
  private let clock = TestClock()

  override func setUpWithError() throws { try Stuck.skipUnlessAsked() }

  func testLosesContinuation() async throws {
    try await withVirtualTime(stuckAfter: .milliseconds(300)) { _ in await Stuck.losesContinuation()
    }
  }

  func testBlocks() async {
    let clock = TestClock()
    await clock.settle()
    Stuck.blocks()
  }

  func testForgetsTheClockOfTheTestCase() async {
    await Stuck.readsAStreamThatAForgottenClockFeeds(clock)
  }

  func test1LeavesASleepBehind() async {
    let clock = TestClock()
    Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
  }

  func test2IsSlow() async throws {
    try await Task.sleep(for: .seconds(3))
  }

  func test3WaitsForAnOlderTask() async throws {
    try await Stuck.waits(for: Stuck.finishInATask)
  }

  func test4IsSlowInATask() async {
    let clock = TestClock()
    await clock.settle()
    await withCheckedContinuation { continuation in
      Task {
        try await Task.sleep(for: .seconds(4))
        continuation.resume()
      }
    }
  }
}

/// The task that makes the clock is over before the test begins.
final class StuckSetUpXCTests: XCTestCase {
  private var clock: TestClock<Duration>!
  private let property = TestClock()

  override func setUp() async throws {
    try Stuck.skipUnlessAsked()
    clock = TestClock()
  }

  func testForgetsToAdvance() async throws {
    try await clock.sleep(for: .seconds(1))
  }

  func testAdvancesTooLittle() async throws {
    let task = Task { [clock] in try await clock?.sleep(for: .seconds(2)) }
    await clock.advance(by: .seconds(1))
    try await task.value
  }

  func testLosesContinuation() async {
    await clock.settle()
    await Stuck.losesContinuation()
  }

  func testInARow1ForgetsALocalClock() async throws {
    try await TestClock().sleep(for: .seconds(1))
  }

  func testInARow2ForgetsTheProperty() async throws {
    try await property.sleep(for: .seconds(1))
  }

  func testInARow3LosesContinuation() async {
    await property.settle()
    await Stuck.losesContinuation()
  }

  func testLosesContinuationAfterASleep() async throws {
    let task = Task { [clock] in try await clock?.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    try await task.value
    await Stuck.losesContinuation()
  }
}

@Suite(.onlyIfAskedToBeStuck) struct StuckScheduleExamples {
  @Test(.schedules) func pollsInAllOrders() async throws {
    let isReady = Tally()
    while isReady.value == 0 { try await Task.sleep(for: .seconds(1)) }
  }

  @Test(.schedules) func yieldsInAllOrders() async {
    await Stuck.yields()
  }

  @Test(.schedules) func submitsInAllOrders() async {
    @Sendable func submit() { DispatchQueue.global().asyncAfter(deadline: .now() + 1) { submit() } }
    submit()
    await Stuck.losesContinuation()
  }

  @Test(.schedules) func pollsInOneOrder() async throws {
    let tally = Tally()
    let first = Task { tally.add() }
    let second = Task {
      guard tally.value == 0 else { return }
      while true { try await Task.sleep(for: .seconds(1)) }
    }
    await first.value
    try await second.value
  }
}

/// A command that runs a program on one processor.
private enum OneProcessor {
  /// The command, and its arguments before the program; `nil` if it is not installed.
  static let command: (executable: String, arguments: [String])? = {
    let executable = "/usr/bin/taskset"
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    guard FileManager.default.isExecutableFile(atPath: executable),
      let processor = status.firstMatch(of: /Cpus_allowed_list:\s*(\d+)/)
    else { return nil }
    return (executable, ["-c", String(processor.1)])
  }()

  /// Runs examples in a child process.
  static func run(_ tests: String) async throws -> ChildProcess {
    let (executable, arguments) = try #require(command)
    return try await ChildProcess.run(
      executable,
      arguments: arguments + [
        ChildProcess.testBundle, "--testing-library", "swift-testing", "--filter", tests,
      ],
      environment: ["CLOCKS_BLOCKED_AFTER": "0.5", Stuck.variable: "100"], errors: .inOutput)
  }
}

/// A test that does not continue is reported. Then it is abandoned, or the process ends.
@Suite(.enabled(if: areThreadsShown)) struct StuckTestsTests {
  @Test(arguments: [
    ("losesContinuation", "awaits a continuation"), ("waitsInACircle", "A circle: task #"),
    ("yields", "gave up at"), ("blocks", "Stuck.blocks()"), ("spins", "Stuck.spins()"),
    ("blocksForAWhile", "StuckTraitExamples.blocksForAWhile()"),
    ("scopeWithinLosesContinuation", "awaits a continuation"),
    ("losesContinuationInHolding", "a wake-up that was lost"),
    ("blocksTheMainThread", "Stuck.blocksTheMainThread()"),
    ("blocksTheMainThreadInASearch", "Stuck.blocksTheMainThread()"),
  ])
  func aTestWithTheTraitIsAbandonedAndTheNextOneRuns(_ test: String, report: String) async throws {
    let next = test == "blocksForAWhile" ? "comesLater" : "comesAfter"
    let child = try await Stuck.run("StuckTraitExamples.*/(\(test)|\(next))\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 1, "\(output)")
    #expect(output.contains(report), "\(output)")
    #expect(output.contains("Test \(test)() failed after"), "\(output)")
    #expect(output.contains("Test \(next)() passed after"), "\(output)")
    #expect(!output.contains(Stuck.end), "\(output)")
  }

  /// Dispatch adds no thread for one that loops, so the next test gets none of its threads.
  @Test(.enabled(if: OneProcessor.command != nil), arguments: ["spins", "blocks"])
  func theNextTestRunsOnOneProcessor(_ test: String) async throws {
    let child = try await OneProcessor.run("StuckTraitExamples.*/(\(test)|comesAfter)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 1, "\(output)")
    #expect(output.contains("Test \(test)() failed after"), "\(output)")
    #expect(output.contains("Test comesAfter() passed after"), "\(output)")
  }

  /// The sleep of the other test began before the report, so Dispatch has the job that ends it, but no thread for it.
  @Test(.enabled(if: OneProcessor.command != nil))
  func theProcessEndsIfALoopHoldsTheThreadOfTheLastTest() async throws {
    let child = try await OneProcessor.run("StuckExamples.*/(spinsWithAClock|slowInRealTime)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 1, "\(output)")
    #expect(output.contains("\(Stuck.end) 1 stuck test is left."), "\(output)")
  }

  @Test(arguments: [
    ("losesContinuation", "awaits a continuation"), ("waitsInACircle", "A circle: task #"),
    ("yields", "gave up at"), ("blocks", "Stuck.blocks()"),
    ("blocksWithAClock", "StuckExamples.blocksWithAClock()"),
    ("blocksInTheJobThatMadeTheClock", "StuckExamples.blocksInTheJobThatMadeTheClock()"),
    ("spinsWithAClock", "StuckExamples.spinsWithAClock() at"),
    ("forgetsAClock", "no task advances it"),
    ("losesContinuationWithAClock", "a wake-up that was lost"),
    ("losesContinuationAfterACancelledSleep", "a wake-up that was lost"),
    ("losesContinuationInHolding", "a wake-up that was lost"),
  ])
  func theProcessEndsWhenOnlyAStuckTestIsLeft(_ test: String, report: String) async throws {
    let child = try await Stuck.run("StuckExamples.*/\(test)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 1, "\(output)")
    // Under AddressSanitizer, the stack of a thread is not always found.
    if !isUnderAddressSanitizer { #expect(output.contains(report), "\(output)") }
    #expect(output.contains("\(Stuck.end) 1 stuck test is left."), "\(output)")
    #expect(output.contains("made at ClocksTestKitTests/StuckTestsTests.swift:"), "\(output)")
  }

  @Test func theProcessDoesNotEndBeforeASlowTest() async throws {
    let child = try await Stuck.run(
      """
      StuckExamples.*/(slowInRealTime|slowWithAClock|slowOnAQueueWithAClock|waitsForAProcess|slowInHolding|blocks)\\(
      """)
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    let lines = output.split(separator: "\n")
    for test in [
      "slowInRealTime", "slowWithAClock", "slowOnAQueueWithAClock", "waitsForAProcess",
      "slowInHolding",
    ] {
      let passed = try #require(lines.firstIndex { $0.contains("Test \(test)() passed after") })
      let end = try #require(lines.firstIndex { $0.contains(Stuck.end) })
      #expect(passed < end, "\(output)")
    }
  }

  @Test(arguments: [
    "waitsForAnOlderTask", "waitsForAnOlderTaskOfAThread", "waitsForAnOlderBlock",
    "waitsForAnOlderTimer",
  ])
  func workThatIsOlderThanTheClockIsAwaited(_ test: String) async throws {
    let child = try await Stuck.run("StuckExamples.*/\(test)\\(")
    #expect(child.exitCode == 0, "\(child)")
  }

  @Test func aVariableKeepsTheProcess() async throws {
    let child = try await Stuck.run("StuckExamples.*/blocks\\(", alarm: 20, keepsProcess: true)
    #expect(child.exitCode == SIGALRM, "\(child)")
    #expect(child.issues.count == 1, "\(child)")
    #expect(!child.standardOutput.contains(Stuck.end), "\(child)")
  }

  @Test(arguments: ["testLosesContinuation", "testBlocks", "testForgetsTheClockOfTheTestCase"])
  func theProcessEndsWhenATestOfXCTestIsStuck(_ test: String) async throws {
    let child = try await Stuck.run("ClocksTestKitTests.StuckXCTests/\(test)", library: "xctest")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(output.contains("error: StuckXCTests.\(test) : failed"), "\(output)")
    #expect(output.contains("\(Stuck.end) 1 stuck test is left."), "\(output)")
  }

  @Test(arguments: [
    ("testForgetsToAdvance", "no task advances it"),
    ("testAdvancesTooLittle", "no task advances it"),
    ("testLosesContinuation", "a wake-up that was lost"),
    ("testLosesContinuationAfterASleep", "a wake-up that was lost"),
  ])
  func aTestThatUsesAClockOfItsSetUpIsReported(_ test: String, report: String) async throws {
    let child = try await Stuck.run(
      "ClocksTestKitTests.StuckSetUpXCTests/\(test)", library: "xctest")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(output.contains("error: StuckSetUpXCTests.\(test) : failed"), "\(output)")
    #expect(output.contains(report), "\(output)")
  }

  @Test func eachStuckTestOfXCTestIsReported() async throws {
    let tests = [
      "testInARow1ForgetsALocalClock", "testInARow2ForgetsTheProperty",
      "testInARow3LosesContinuation",
    ]
    let child = try await Stuck.run(
      tests.map { "ClocksTestKitTests.StuckSetUpXCTests/\($0)" }.joined(separator: ","),
      library: "xctest")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    for test in tests {
      #expect(output.contains("error: StuckSetUpXCTests.\(test) : failed"), "\(output)")
    }
  }

  @Test(arguments: [
    ["test1LeavesASleepBehind", "test2IsSlow"], ["test3WaitsForAnOlderTask"],
    ["test4IsSlowInATask"],
  ])
  func aSlowTestOfXCTestIsWaitedFor(_ tests: [String]) async throws {
    let child = try await Stuck.run(
      tests.map { "ClocksTestKitTests.StuckXCTests/\($0)" }.joined(separator: ","),
      library: "xctest")
    #expect(child.exitCode == 0, "\(child)")
    // XCTest ends with exit code 0 if it finds no test, too.
    for test in tests {
      #expect(child.standardOutput.contains("'StuckXCTests.\(test)' passed"), "\(child)")
    }
  }

  @Test(arguments: [
    "pollsInAllOrders", "yieldsInAllOrders", "submitsInAllOrders", "pollsInOneOrder",
  ])
  func anExploredLoopIsReportedAfterManySteps(_ test: String) async throws {
    // A run of many steps takes long on a busy machine.
    let child = try await Stuck.run(
      "StuckScheduleExamples.*/\(test)\\(", blockedAfter: "60", alarm: 280)
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(output.contains("steps have run in this order"), "\(output)")
    #expect(output.contains("Test \(test)() failed after"), "\(output)")
  }
}

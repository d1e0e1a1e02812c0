import Clocks
import ClocksSupport
import ClocksTestKit
import Dispatch
import Foundation
import TestTraits
import Testing
import XCTest

/// Drops the jobs that it is given.
private final class ForgetfulExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) { _ = UnownedJob(job) }
}

private let queue = DispatchQueue(label: "orders")

@Sendable private func submitForever() { queue.async(execute: submitForever) }

/// Tests whose work outside the scheduler, or whose loop, never ends. They run only in child processes of
/// `EndlessWorkTests`.
@Suite(.onlyIfAskedToBeStuck) struct EndlessWorkExamples {
  @Test func awaitsABlockedBlock() async {
    let clock = TestClock()
    await clock.settle()
    await withCheckedContinuation { continuation in
      queue.async {
        Stuck.blocks()
        continuation.resume()
      }
    }
  }

  @Test func awaitsABlockThatSpins() async {
    let clock = TestClock()
    await clock.settle()
    let isReady = Tally()
    await withCheckedContinuation { continuation in
      queue.async {
        while isReady.value == 0 {}
        continuation.resume()
      }
    }
  }

  @Test func awaitsADroppedJob() async {
    let clock = TestClock()
    await clock.settle()
    await Task(executorPreference: ForgetfulExecutor()) {}.value
  }

  @Test func awaitsManyBlockedBlocks() async {
    let clock = TestClock()
    await clock.settle()
    await withTaskGroup { group in
      for _ in 0..<100 {
        group.addTask {
          await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
              Stuck.blocks()
              continuation.resume()
            }
          }
        }
      }
    }
  }

  @Test func awaitsBlocksWithoutEnd() async {
    let clock = TestClock()
    submitForever()
    await clock.advance(by: .seconds(1))
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)))
  func awaitsBlocksWithoutEndInAScope() async throws {
    submitForever()
    try await Task.sleep(for: .seconds(1))
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)))
  func leavesBlocksWithoutEnd() async throws {
    submitForever()
  }

  /// After the scope, nothing advances the clock on which the leftover sleeps.
  @Test func leavesBlocksWithoutEndAndASleep() async throws {
    var leftover: Task<Void, Never>?
    try await withVirtualTime(
      stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)
    ) { time in
      let clock = TestClock()
      leftover = Task { try? await clock.sleep(for: .seconds(1)) }
      await time.settle()
      submitForever()
    }
    await leftover?.value
  }

  @Test(
    .virtualTime(
      jumpsAfter: .milliseconds(5), stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)
    ))
  func beatsWithPauses() async throws {
    while true { try await Task.sleep(for: .seconds(1)) }
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)))
  func awaitsATimerWithoutEnd() async throws {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler {}
    timer.schedule(deadline: .now() + 1, repeating: 1)
    timer.activate()
    await Stuck.losesContinuation()
    timer.cancel()
  }

  /// A worker waits on a queue, and a thread does real work for three times the limit.
  @Test func computesBesideAnIdleWorker() async {
    let clock = TestClock()
    await clock.settle()
    queue.async { Stuck.blocks() }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let end = RealTime(in: .milliseconds(1_500))
        while !end.hasPassed {}
        continuation.resume()
      }
    }
    withExtendedLifetime(clock) {}
  }

  /// The test's jobs continue meanwhile.
  @Test func advancesBesideABlockedBlock() async {
    let clock = TestClock()
    queue.async { Stuck.blocks() }
    Task { while true { try await Task.sleep(for: .milliseconds(10)) } }
    await clock.advance(by: .seconds(1))
    await Stuck.losesContinuation()
  }

  @Test func yields() async {
    let clock = TestClock()
    await clock.settle()
    await Stuck.yields()
  }

  @Test func advances() async {
    let (clock, isReady) = (TestClock(), Tally())
    while isReady.value == 0 { await clock.advance(by: .seconds(1)) }
  }

  @Test func advancesASleeper() async {
    let (clock, isReady) = (TestClock(), Tally())
    Task { while true { try await clock.sleep(for: .seconds(1)) } }
    while isReady.value == 0 { await clock.advance(by: .seconds(1)) }
  }

  @Test func settles() async {
    let (clock, isReady) = (TestClock(), Tally())
    while isReady.value == 0 { await clock.settle() }
  }

  @Test func hasAStuckScope() async throws {
    let clock = TestClock()
    await clock.settle()
    try await withVirtualTime(stuckAfter: .milliseconds(300)) { _ in await Stuck.losesContinuation()
    }
    await clock.settle()
  }

  @Test func hasAClockInADetachedTask() async {
    await Task.detached {
      let clock = TestClock()
      await clock.settle()
      await Stuck.losesContinuation()
    }.value
  }

  @Test func sleepsOnAndOn() async {
    let (clock, isReady) = (TestClock(), Tally())
    while isReady.value == 0 { try? await clock.sleep(for: .seconds(1)) }
  }

  @Test func blocksInALoopAndGoesOn() async {
    let (clock, isReady) = (TestClock(), Tally())
    while isReady.value == 0 {
      await clock.settle()
      _ = { DispatchSemaphore(value: 0).wait(timeout: .now() + 1.5) }()
    }
  }
}

/// The first job of a test holds the main thread that another test needs.
@Suite(.onlyIfAskedToBeStuck) struct FirstJobOnMainExamples {
  private static let isBlocked = Tally()

  @Test @MainActor func blocksTheMainThread() async {
    let clock = TestClock()
    Self.isBlocked.add()
    Stuck.blocksTheMainThread()
    await clock.settle()
  }

  @Test func needsTheMainThread() async throws {
    while Self.isBlocked.value == 0 { try await Task.sleep(for: .milliseconds(10)) }
    await MainActor.run {}
  }
}

/// A block of a test holds the main thread, which the test awaits.
@Suite(.onlyIfAskedToBeStuck) struct BlockOnMainExamples {
  @Test(.virtualTime) func awaitsTheMainThread() async {
    DispatchQueue.main.async { Stuck.blocks() }
    await MainActor.run {}
  }

  @Test func awaitsTheMainThreadWithAClock() async {
    let clock = TestClock()
    DispatchQueue.main.async { Stuck.blocks() }
    await clock.settle()
    await MainActor.run {}
  }
}

/// A test ends, and its work holds the main thread.
@Suite(.serialized, .onlyIfAskedToBeStuck) struct LeftoverOnMainExamples {
  @Test(.virtualTime) func leavesAJob() async {
    Task { @MainActor in Stuck.blocks() }
  }

  @Test(.virtualTime) func leavesABlock() async {
    DispatchQueue.main.async { Stuck.blocks() }
  }

  @Test @MainActor func needsTheMainThread() async {
    await Task.yield()
  }
}

final class EndlessXCTests: XCTestCase {
  private let clock = TestClock()

  override func setUpWithError() throws { try Stuck.skipUnlessAsked() }

  func testAwaitsABlockedBlock() async { await EndlessWorkExamples().awaitsABlockedBlock() }
  func testAdvances() async {
    let isReady = Tally()
    while isReady.value == 0 { await clock.advance(by: .seconds(1)) }
  }
  func testYields() async { await EndlessWorkExamples().yields() }

  /// The test ends after it was reported, and before the process would end.
  func testLong1WaitsBesideALoop() {
    let isReported = expectation(description: "reported")
    let loop = Task { [clock] in
      await clock.settle()
      while !Task.isCancelled { await Task.yield() }
    }
    let run = SendableRun(value: testRun)
    Thread.detachNewThread {
      while run.value?.failureCount == 0 { Thread.sleep(forTimeInterval: 0.01) }
      isReported.fulfill()
    }
    wait(for: [isReported], timeout: 60)
    loop.cancel()
  }

  func testLong2ComesNext() async throws {
    let task = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    try await task.value
  }
}

private struct SendableRun: @unchecked Sendable { let value: XCTestRun? }

/// Work that never ends is reported once, and then the test is abandoned, or the process ends.
@Suite(.enabled(if: areThreadsShown)) struct EndlessWorkTests {
  @Test(arguments: [
    ("awaitsABlockedBlock", "that has not ended: \"orders\"."),
    ("awaitsABlockThatSpins", "that has not ended: \"orders\"."),
    ("awaitsADroppedJob", "that an actor or an executor has not run to the end"),
    ("awaitsManyBlockedBlocks", "that has not ended"),
    ("advancesBesideABlockedBlock", "that has not ended: \"orders\"."),
    ("awaitsBlocksWithoutEnd", "has run for more than"),
    ("yields", "has run for more than"), ("advances", "has run for more than"),
    ("advancesASleeper", "has run for more than"), ("settles", "has run for more than"),
    ("hasAStuckScope", "withVirtualTime is stuck"),
    ("hasAClockInADetachedTask", "a wake-up that was lost"),
    ("sleepsOnAndOn", "no task advances it"),
    ("blocksInALoopAndGoesOn", "has held its thread"),
  ])
  func aTestWithAClockIsReportedAndTheProcessEnds(_ test: String, report: String) async throws {
    let child = try await Stuck.run("EndlessWorkExamples.*/\(test)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    let hasSeveral =
      switch test {
      // Each job that blocks for a while is reported, before the loop is.
      case "blocksInALoopAndGoesOn": true
      // The test has a loop, too. On a busy machine, the loop is reported before the process ends.
      case "advancesBesideABlockedBlock": output.contains("has run for more than")
      default: false
      }
    #expect(child.issues.count == 1 || hasSeveral && child.issues.count > 1, "\(output)")
    #expect(output.contains(report), "\(output)")
    #expect(output.contains("\(Stuck.end) 1 stuck test is left."), "\(output)")
  }

  @Test(arguments: [
    "awaitsBlocksWithoutEndInAScope", "beatsWithPauses", "awaitsATimerWithoutEnd",
  ])
  func aTestWithTheTraitIsEnded(_ test: String) async throws {
    let child = try await Stuck.run("EndlessWorkExamples.*/\(test)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    let others = child.issues.filter { !$0.text.contains("gave up at") }
    #expect(child.issues.count == others.count + 1, "\(output)")
    // A sleep of the test that is cancelled throws.
    #expect(others.allSatisfy { $0.text.contains("CancellationError") }, "\(output)")
    #expect(output.contains("Test \(test)() failed after"), "\(output)")
    #expect(!output.contains(Stuck.end), "\(output)")
  }

  @Test(arguments: ["leavesBlocksWithoutEnd", "leavesBlocksWithoutEndAndASleep"])
  func workThatGoesOnAfterATestIsAFailureOfIt(_ test: String) async throws {
    let child = try await Stuck.run("EndlessWorkExamples.*/\(test)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 1, "\(output)")
    #expect(output.contains("but work still goes on: \"orders\""), "\(output)")
    #expect(output.contains("Test \(test)() failed after"), "\(output)")
    #expect(!output.contains(Stuck.end), "\(output)")
  }

  @Test(arguments: ["leavesAJob", "leavesABlock"])
  func workThatHoldsTheMainThreadAfterItsTestIsReported(_ test: String) async throws {
    let child = try await Stuck.run(
      "LeftoverOnMainExamples.*/(\(test)|needsTheMainThread)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    // Under AddressSanitizer, the stack of a thread is not always found.
    if !isUnderAddressSanitizer { #expect(output.contains("Stuck.blocks()"), "\(output)") }
    #expect(output.contains("\(Stuck.end) 1 stuck test is left."), "\(output)")
  }

  @Test(arguments: [true, false])
  func aBlockThatHoldsTheMainThreadIsReportedAndOver(_ hasScope: Bool) async throws {
    let test = hasScope ? "awaitsTheMainThread" : "awaitsTheMainThreadWithAClock"
    let child = try await Stuck.run("BlockOnMainExamples.*/\(test)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(output.contains("that has not ended: \"com.apple.main-thread\"."), "\(output)")
    // The scope waits on without the block, and is then ended by a report of its own.
    #expect(child.issues.count == (hasScope ? 2 : 1), "\(output)")
    #expect(output.contains("Test \(test)() failed after") == hasScope, "\(output)")
    #expect(output.contains("\(Stuck.end) 1 stuck test is left.") == !hasScope, "\(output)")
  }

  @Test func aFirstJobThatHoldsTheMainThreadIsReported() async throws {
    let child = try await Stuck.run("FirstJobOnMainExamples")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 1, "\(output)")
    #expect(output.contains("\(Stuck.end) 1 stuck test is left."), "\(output)")
  }

  @Test func aReportedTestDoesNotEndTheTestsThatShareItsClock() async throws {
    let child = try await Stuck.run("SharedClockReportExamples")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 1, "\(output)")
    #expect(output.contains("no task advances it"), "\(output)")
    #expect(!output.contains(Stuck.end), "\(output)")
  }

  @Test func eachOfTheTestsThatForgetToAdvanceTheirClockIsReported() async throws {
    let child = try await Stuck.run("SharedClockForgottenExamples")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 4, "\(output)")
    #expect(child.issues.allSatisfy { $0.text.contains("no task advances it") }, "\(output)")
    #expect(!output.contains(Stuck.end), "\(output)")
  }

  @Test func eachOfTheTestsThatShareAClockIsReported() async throws {
    let child = try await Stuck.run("SharedClockLossExamples")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 2, "\(output)")
    #expect(output.contains("no task advances it"), "\(output)")
    #expect(output.contains("a wake-up that was lost"), "\(output)")
    #expect(output.contains("\(Stuck.end) 1 stuck test is left."), "\(output)")
  }

  @Test(arguments: ["SharedClockExamples", "EndlessWorkExamples.*/computesBesideAnIdleWorker\\("])
  func workThatEndsIsNotReported(_ tests: String) async throws {
    let child = try await Stuck.run(tests)
    #expect(child.exitCode == 0, "\(child.standardOutput)")
    #expect(child.issues.isEmpty, "\(child.standardOutput)")
  }

  @Test(arguments: ["testAwaitsABlockedBlock", "testAdvances", "testYields"])
  func aTestOfXCTestIsReportedAndTheProcessEnds(_ test: String) async throws {
    let child = try await Stuck.run(
      "ClocksTestKitTests.EndlessXCTests/\(test)", library: "xctest")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(output.contains("error: EndlessXCTests.\(test) : failed"), "\(output)")
    #expect(output.contains("\(Stuck.end) 1 stuck test is left."), "\(output)")
  }

  @Test func theNextTestOfXCTestRunsAfterAReportedOne() async throws {
    let tests = ["testLong1WaitsBesideALoop", "testLong2ComesNext"]
    let child = try await Stuck.run(
      tests.map { "ClocksTestKitTests.EndlessXCTests/\($0)" }.joined(separator: ","),
      library: "xctest")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(output.contains("error: EndlessXCTests.\(tests[0]) : failed"), "\(output)")
    #expect(output.contains("has run for more than"), "\(output)")
    #expect(output.contains("'EndlessXCTests.\(tests[1])' passed"), "\(output)")
  }
}

/// Tests that share a clock. Together they run for long, but none of them does.
@Suite(.serialized, .onlyIfAskedToBeStuck) struct SharedClockExamples {
  private static let clock = TestClock()

  @Test(arguments: 0..<10) func runsForAWhile(_ number: Int) async {
    let end = RealTime(in: .milliseconds(300))
    while !end.hasPassed { await Self.clock.advance(by: .seconds(1)) }
  }
}

/// The first of many tests that share a clock forgets to advance it.
@Suite(.serialized, .onlyIfAskedToBeStuck) struct SharedClockReportExamples {
  private static let clock = TestClock()

  @Test(arguments: 0..<30) func runs(_ number: Int) async throws {
    if number == 0 { return try await forgetsToAdvance(Self.clock) }
    let end = RealTime(in: .milliseconds(400))
    while !end.hasPassed {
      await Self.clock.advance(by: .seconds(1))
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}

/// All tests that share a clock forget to advance it.
@Suite(.serialized, .onlyIfAskedToBeStuck) struct SharedClockForgottenExamples {
  private static let clock = TestClock()

  @Test(arguments: 0..<4) func forgets(_ number: Int) async throws {
    try await forgetsToAdvance(Self.clock)
  }
}

/// The first of two tests that share a clock forgets to advance it, and the second one loses a wake-up.
@Suite(.serialized, .onlyIfAskedToBeStuck) struct SharedClockLossExamples {
  private static let clock = TestClock()

  @Test(arguments: 0..<2) func stops(_ number: Int) async throws {
    if number == 0 { return try await forgetsToAdvance(Self.clock) }
    await Self.clock.settle()
    await Stuck.losesContinuation()
  }
}

/// The report ends the sleep.
private func forgetsToAdvance(_ clock: TestClock<Duration>) async throws {
  await #expect(throws: CancellationError.self) { try await clock.sleep(for: .seconds(1)) }
}

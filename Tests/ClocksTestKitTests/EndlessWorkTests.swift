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

/// Tests whose work outside the scheduler, or whose loop, never ends. They do nothing unless `EndlessWorkTests` starts
/// them in a child process.
@Suite struct EndlessWorkExamples {
  @Test func awaitsABlockedBlock() async {
    guard Stuck.isAsked else { return }
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
    guard Stuck.isAsked else { return }
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
    guard Stuck.isAsked else { return }
    let clock = TestClock()
    await clock.settle()
    await Task(executorPreference: ForgetfulExecutor()) {}.value
  }

  @Test func awaitsManyBlockedBlocks() async {
    guard Stuck.isAsked else { return }
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
    guard Stuck.isAsked else { return }
    let clock = TestClock()
    submitForever()
    await clock.advance(by: .seconds(1))
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)))
  func awaitsBlocksWithoutEndInAScope() async throws {
    guard Stuck.isAsked else { return }
    submitForever()
    try await Task.sleep(for: .seconds(1))
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)))
  func leavesBlocksWithoutEnd() async throws {
    if Stuck.isAsked { submitForever() }
  }

  @Test(
    .virtualTime(
      jumpsAfter: .milliseconds(5), stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)
    ))
  func beatsWithPauses() async throws {
    guard Stuck.isAsked else { return }
    while true { try await Task.sleep(for: .seconds(1)) }
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(500)))
  func awaitsATimerWithoutEnd() async throws {
    guard Stuck.isAsked else { return }
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler {}
    timer.schedule(deadline: .now() + 1, repeating: 1)
    timer.activate()
    await Stuck.losesContinuation()
    timer.cancel()
  }

  /// A worker waits on a queue, and a thread does real work for three times the limit.
  @Test func computesBesideAnIdleWorker() async {
    guard Stuck.isAsked else { return }
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
    guard Stuck.isAsked else { return }
    let clock = TestClock()
    queue.async { Stuck.blocks() }
    Task { while true { try await Task.sleep(for: .milliseconds(10)) } }
    await clock.advance(by: .seconds(1))
    await Stuck.losesContinuation()
  }

  @Test func yields() async {
    guard Stuck.isAsked else { return }
    let clock = TestClock()
    await clock.settle()
    await Stuck.yields()
  }

  @Test func advances() async {
    guard Stuck.isAsked else { return }
    let (clock, isReady) = (TestClock(), Tally())
    while isReady.value == 0 { await clock.advance(by: .seconds(1)) }
  }

  @Test func advancesASleeper() async {
    guard Stuck.isAsked else { return }
    let (clock, isReady) = (TestClock(), Tally())
    Task { while true { try await clock.sleep(for: .seconds(1)) } }
    while isReady.value == 0 { await clock.advance(by: .seconds(1)) }
  }

  @Test func settles() async {
    guard Stuck.isAsked else { return }
    let (clock, isReady) = (TestClock(), Tally())
    while isReady.value == 0 { await clock.settle() }
  }

  @Test func hasAStuckScope() async throws {
    guard Stuck.isAsked else { return }
    let clock = TestClock()
    await clock.settle()
    try await withVirtualTime(stuckAfter: .milliseconds(300)) { _ in await Stuck.losesContinuation()
    }
    await clock.settle()
  }

  @Test func hasAClockInADetachedTask() async {
    guard Stuck.isAsked else { return }
    await Task.detached {
      let clock = TestClock()
      await clock.settle()
      await Stuck.losesContinuation()
    }.value
  }

  @Test func sleepsOnAndOn() async {
    guard Stuck.isAsked else { return }
    let (clock, isReady) = (TestClock(), Tally())
    while isReady.value == 0 { try? await clock.sleep(for: .seconds(1)) }
  }

  @Test func blocksInALoopAndGoesOn() async {
    guard Stuck.isAsked else { return }
    let (clock, isReady) = (TestClock(), Tally())
    while isReady.value == 0 {
      await clock.settle()
      _ = { DispatchSemaphore(value: 0).wait(timeout: .now() + 1.5) }()
    }
  }
}

/// A test ends, and its work holds the main thread.
@Suite(.serialized) struct LeftoverOnMainExamples {
  @Test(.virtualTime) func leavesAJob() async {
    guard Stuck.isAsked else { return }
    Task { @MainActor in Stuck.blocks() }
  }

  @Test(.virtualTime) func leavesABlock() async {
    guard Stuck.isAsked else { return }
    DispatchQueue.main.async { Stuck.blocks() }
  }

  @Test @MainActor func needsTheMainThread() async {
    guard Stuck.isAsked else { return }
    await Task.yield()
  }
}

final class EndlessXCTests: XCTestCase {
  private let clock = TestClock()

  func testAwaitsABlockedBlock() async { await EndlessWorkExamples().awaitsABlockedBlock() }
  func testAdvances() async {
    guard Stuck.isAsked else { return }
    let isReady = Tally()
    while isReady.value == 0 { await clock.advance(by: .seconds(1)) }
  }
  func testYields() async { await EndlessWorkExamples().yields() }
}

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
    // Each job that blocks for a while is reported, before the loop is.
    let isOne = child.issues.count == 1
    #expect(isOne || test == "blocksInALoopAndGoesOn" && child.issues.count > 1, "\(output)")
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

  @Test func workThatGoesOnAfterATestIsAFailureOfIt() async throws {
    let child = try await Stuck.run("EndlessWorkExamples.*/leavesBlocksWithoutEnd\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(child.issues.count == 1, "\(output)")
    #expect(output.contains("but work still goes on: \"orders\""), "\(output)")
    #expect(output.contains("Test leavesBlocksWithoutEnd() failed after"), "\(output)")
    #expect(!output.contains(Stuck.end), "\(output)")
  }

  @Test(arguments: ["leavesAJob", "leavesABlock"])
  func workThatHoldsTheMainThreadAfterItsTestIsReported(_ test: String) async throws {
    let child = try await Stuck.run(
      "LeftoverOnMainExamples.*/(\(test)|needsTheMainThread)\\(")
    let output = child.standardOutput
    #expect(child.exitCode == 1, "\(output)")
    #expect(output.contains("Stuck.blocks()"), "\(output)")
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
}

/// Tests that share a clock run for long together, and not one by one.
@Suite(.serialized) struct SharedClockExamples {
  private static let clock = TestClock()

  @Test(arguments: 0..<10) func runsForAWhile(_ number: Int) async {
    guard Stuck.isAsked else { return }
    let end = RealTime(in: .milliseconds(300))
    while !end.hasPassed { await Self.clock.advance(by: .seconds(1)) }
  }
}

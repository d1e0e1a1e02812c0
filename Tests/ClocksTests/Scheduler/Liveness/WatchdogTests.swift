import Dispatch
import Foundation
import Testing

@testable import Clocks

/// A job that holds its thread while the rest of its test waits.
@Suite struct WatchdogTests {
  @Test func aJobThatBlocksItsThreadIsAFailure() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "BlockedTests",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.1", ChildVariable.block: "1"])
    let output = child.standardOutput + child.standardError
    #expect(child.exitCode == 1)
    let expected = [
      "Test blocksUntilTheOtherTaskHasRun() recorded an issue at WatchdogTests.swift:"
        + "\(BlockedTests.line):",
      "A job of task #",
      """
      has held its thread for more than 0.1 seconds of real time, and the rest of the test waits \
      for it: \
      1 job is ready. A test's tasks run one at a time, so a job that blocks its thread (by a semaphore, a \
      lock, a synchronous wait) until another task has run waits forever: await the other task instead.
      """,
    ]
    for text in expected { #expect(output.contains(text), "\(output)") }
  }

  @Test func aBusyJobForWhichNothingWaitsIsReportedSeparately() async {
    let clock = TestClock()
    // The second check finds it; the watchdog of the process may have made the first.
    let alone =
      clock.scheduler.newBlockage(after: .zero) ?? clock.scheduler.newBlockage(after: .zero)
    #expect(alone != nil)
    #expect(alone?.waiting == nil)
    #expect(
      alone?.description.contains(
        "in a scope a loop that waits for `Date()` or `ContinuousClock.now` must sleep.") == true)
    #expect(clock.scheduler.newBlockage(after: .zero) == nil)
    // This job was started externally, and now another one waits for it.
    let task = Task {}
    let awaited =
      clock.scheduler.newBlockage(after: .zero) ?? clock.scheduler.newBlockage(after: .zero)
    #expect(awaited?.waiting == 1)
    #expect(clock.scheduler.newBlockage(after: .zero) == nil)
    #expect(awaited?.hasDelayedBlock == false)
    await task.value
  }

  /// In a search, the limit is lower, and the text states the limit that was used.
  @Test func aLoneJobOfASearchIsReportedAfterTenSeconds() {
    var options = ScopeOptions()
    #expect(options.limitOfLoneJob(.seconds(30)) == .seconds(30))
    options.isExplored = true
    #expect(options.limitOfLoneJob(.seconds(30)) == .seconds(10))
    #expect(options.limitOfLoneJob(.seconds(3)) == .seconds(3))
    let blockage = Blockage(task: 1, number: 1, limit: .seconds(10), waiting: nil)
    #expect(
      blockage.description.contains(" for more than 10.0 seconds of real time, and nothing else"))
    #expect(blockage.description.hasSuffix(" cannot be part of a search: use a fake."))
    let inATest = Blockage(task: 1, number: 1, limit: Environment.blockedAfter, waiting: nil)
    #expect(inATest.description.hasSuffix(" allow more with CLOCKS_BLOCKED_AFTER."))
  }

  /// The block waits for time, time waits for the job, and the job may wait for the block.
  @Test func aDelayedBlockIsNamed() async throws {
    try await withVirtualTime { time in
      DispatchQueue(label: "later").asyncAfter(deadline: .now() + 1) {}
      let found =
        time.scheduler.newBlockage(after: .zero) ?? time.scheduler.newBlockage(after: .zero)
      #expect(
        found?.description.hasSuffix(
          """

          A delayed block is pending: it begins only when virtual time moves, and that waits for this job.
          """) == true)
    }
  }
}

/// Blocks only if the test above starts it in another process.
@Suite(.onlyInChild(ChildVariable.block)) struct BlockedTests {
  static let line: Int = #line + 3

  @Test func blocksUntilTheOtherTaskHasRun() async {
    let clock = TestClock()
    let log = Log<Int>()
    let blocked = Task {
      // It waits for a task that could only run after it, until the test continues without it.
      clock.scheduler.waitUntilAbandoned()
    }
    Task { log.add(1) }
    await clock.settle()
    await blocked.value
    #expect(log.all == [1])
  }
}

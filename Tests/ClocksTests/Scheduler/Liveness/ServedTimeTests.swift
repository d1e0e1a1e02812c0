import Foundation
import TestTraits
import Testing

@testable import Clocks

/// A busy machine delays every thread. That alone must not cause a report.
@Suite struct ServedTimeTests {
  /// An interval of a second, in milliseconds. Returns how much of it counts.
  private func served(
    real: UInt64 = 1_000, run: UInt64, waited: UInt64, hasServedBlock: Bool = true
  ) -> UInt64 {
    let million: UInt64 = 1_000_000
    let interval = MachineLoad.Interval(
      planned: 1_000 * million, real: real * million, run: run * million,
      waits: [waited * million],
      hasServedBlock: hasServedBlock)
    return real - interval.withheld / million
  }

  @Test func timeCountsInFullWhereEachThreadHasAProcessor() {
    #expect(served(run: 0, waited: 0) == 1_000)
    #expect(served(run: 10, waited: 5) == 1_000)
    #expect(served(run: 2_000, waited: 0) == 1_000)
  }

  @Test func timeCountsByTheShareThatThreadsHaveOfAProcessor() {
    #expect(served(run: 500, waited: 500) == 500)
    #expect(served(run: 1_200, waited: 800) == 600)
    #expect(served(run: 100, waited: 900) == 100)
    #expect(served(run: 10, waited: 990) == 63)
  }

  @Test func aSixteenthOfTimeCountsWhileDispatchHasNoThread() {
    #expect(served(run: 2_000, waited: 0, hasServedBlock: false) == 63)
    // All threads are blocked, so a longer wait would bring no thread: all of the time counts.
    #expect(served(run: 5, waited: 0, hasServedBlock: false) == 1_000)
  }

  @Test func aLateCheckCountsAsAPlannedOne() {
    #expect(served(real: 3_000, run: 3_000, waited: 0) == 1_000)
    #expect(served(real: 8_000, run: 8_000, waited: 0) == 1_000)
    #expect(served(real: 32_000, run: 0, waited: 0) == 2_000)
  }

  /// In a process of its own, because it lengthens all limits of the process.
  @Test func servedTimeNeverRunsBackwards() async {
    await #expect(processExitsWith: .success) {
      let instant = ServedTime()
      ServedTime.checkBegins(withholding: 10_000_000_000, nextIn: .seconds(60))
      #expect(instant.lasts(.zero))
      #expect(!instant.lasts(.nanoseconds(1)))
      // The interval as a whole was longer than the time since the instant.
      #expect(instant.withheld < .seconds(10))
    }
  }

  /// A check writes a report, and notes an instant after that.
  @Test func timeBeforeAnInstantIsNotWithheldFromIt() async {
    await #expect(processExitsWith: .success) {
      ServedTime.checkBegins(withholding: 0, nextIn: .zero)
      usleep(320_000)
      let instant = ServedTime()
      usleep(50_000)
      // Of the interval, at least 300 ms were withheld before the instant.
      ServedTime.checkBegins(withholding: 310_000_000, nextIn: .seconds(60))
      #expect(instant.withheld <= .milliseconds(10))
      #expect(instant.lasts(.milliseconds(40)))
    }
  }

  /// A check that writes a report may take long. The jobs that are checked after that must not seem older.
  @Test func aSixteenthOfTimeCountsWhileACheckIsMissing() async {
    await #expect(processExitsWith: .success) {
      let before = ServedTime()
      ServedTime.checkBegins(withholding: 0, nextIn: .zero)
      usleep(1_010_000)
      let since = ServedTime()
      usleep(1_000_000)
      let least = since.nanosecondsSince
      let (withheld, withheldBefore) = (since.withheld, before.withheld)
      let most = since.nanosecondsSince
      #expect(withheld >= .nanoseconds(least - least / 16))
      #expect(withheld <= .nanoseconds(most - most / 16))
      #expect(withheldBefore >= withheld)
      ServedTime.checkBegins(withholding: 0, nextIn: .seconds(60))
      #expect(before.lasts(.seconds(2)))
      #expect(since.lasts(.seconds(1)))
    }
  }

  /// In a process of its own, because it occupies all threads of Dispatch.
  private func run(_ test: String, blockedAfter: String) async throws -> ChildProcess {
    try await ChildProcess.runSwiftTesting(
      "BusyPoolExamples.*/\(test)\\(",
      environment: ["CLOCKS_BLOCKED_AFTER": blockedAfter, ChildVariable.busyPool: "1"])
  }

  @Test(arguments: ["waitsForWorkThatHasNoThread", "waitsForAQueueThatHasNoThread"])
  func aJobThatWaitsForAThreadIsNotBlocked(_ test: String) async throws {
    let child = try await run(test, blockedAfter: "0.5")
    #expect(child.exitCode == 0, "\(child)")
    #expect(child.standardError.contains("with 1 test in 1 suite passed"), "\(child)")
  }

  @Test func aJobThatWaitsForeverIsReportedAlthoughThePoolIsBusy() async throws {
    let child = try await run("waitsForever", blockedAfter: "0.1")
    #expect(child.exitCode == 1, "\(child)")
    #expect(child.issues.first?.test == "waitsForever()", "\(child)")
    #expect(
      child.issues.first?.text.contains("has held its thread for more than 0.1 seconds") == true,
      "\(child)")
  }
}

@Suite(.serialized, .onlyInChild(ChildVariable.busyPool)) struct BusyPoolExamples {
  /// Loops on all threads of Dispatch's pool, for some seconds of real time.
  private func occupyPool(for seconds: Double) {
    let end = DispatchTime.now().uptimeNanoseconds + UInt64(seconds * 1e9)
    for _ in 0..<(4 * ProcessInfo.processInfo.activeProcessorCount) {
      // A thread submits the block, so it does not belong to the test.
      Thread.detachNewThread { DispatchQueue.global().async { while uptime() < end {} } }
    }
  }

  @Test func waitsForWorkThatHasNoThread() async {
    // A sixteenth of this second counts, and up to a quarter before it is seen that Dispatch has no thread.
    occupyPool(for: 1)
    let clock = TestClock()
    await clock.settle()
    let semaphore = DispatchSemaphore(value: 0)
    // A library's own thread submits it, so the test does not count it.
    Thread.detachNewThread { DispatchQueue.global().async { semaphore.signal() } }
    Self.wait(for: semaphore)
  }

  @Test func waitsForAQueueThatHasNoThread() async {
    // The serial queues of a process share 255 threads.
    let areSubmitted = DispatchGroup()
    for _ in 0..<300 {
      areSubmitted.enter()
      Thread.detachNewThread {
        DispatchQueue(label: "taken").async { usleep(2_000_000) }
        areSubmitted.leave()
      }
    }
    areSubmitted.wait()
    let end = uptime() + 2_000_000_000
    Thread.detachNewThread { while uptime() < end {} }
    let clock = TestClock()
    await clock.settle()
    let semaphore = DispatchSemaphore(value: 0)
    Thread.detachNewThread { DispatchQueue(label: "late").async { semaphore.signal() } }
    Self.wait(for: semaphore)
  }

  @Test func waitsForever() async {
    occupyPool(for: 10)
    let clock = TestClock()
    await clock.settle()
    Self.wait(for: DispatchSemaphore(value: 0))
  }

  private static func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }
}

private func uptime() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

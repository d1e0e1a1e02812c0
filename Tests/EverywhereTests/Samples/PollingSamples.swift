import Foundation
import Synchronization
import Testing
import XCTest

/// A flag that a loop polls, without suspending, until it is set or a limit of time is reached.
private final class PolledFlag: Sendable {
  private let isSet = Atomic(false)

  func set() { isSet.store(true, ordering: .sequentiallyConsistent) }

  private var isReady: Bool { isSet.load(ordering: .sequentiallyConsistent) }

  /// Returns whether the flag was set before the limit.
  func poll(seconds: Double) -> Bool {
    let start = Date()
    while !isReady { if Date().timeIntervalSince(start) >= seconds { return false } }
    return true
  }

  func poll(_ limit: Duration) -> Bool {
    let start = ContinuousClock.now
    while !isReady { if ContinuousClock.now - start >= limit { return false } }
    return true
  }
}

/// Each also passes in real time.
final class EverywhereXCTPollingSamples: SampleCase, @unchecked Sendable {
  private let flag = PolledFlag()

  func testAReadyTask() {
    Task.detached { [flag] in flag.set() }
    XCTAssert(flag.poll(seconds: 3))
  }

  func testASleepingTask() {
    Task.detached { [flag] in
      try await Task.sleep(for: .milliseconds(50))
      flag.set()
    }
    XCTAssert(flag.poll(seconds: 30))
  }

  func testATaskThatSleepsAgainAndAgain() {
    Task.detached { [flag] in
      for _ in 0..<10 {
        await Task.yield()
        try await Task.sleep(for: .milliseconds(10))
      }
      flag.set()
    }
    XCTAssert(flag.poll(seconds: 3))
  }

  /// While the task computes, no time passes.
  func testATaskThatComputes() {
    Task.detached { [flag] in
      waitInRealTime(0.3)
      flag.set()
    }
    XCTAssert(flag.poll(seconds: 3))
  }

  func testADelayedBlock() {
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { [flag] in flag.set() }
    XCTAssert(flag.poll(seconds: 3))
  }

  func testABlockThatSleeps() {
    DispatchQueue.global().async { [flag] in
      Thread.sleep(forTimeInterval: 0.05)
      flag.set()
    }
    XCTAssert(flag.poll(seconds: 3))
  }

  func testAThreadThatSleeps() {
    Thread.detachNewThread { [flag] in
      Thread.sleep(forTimeInterval: 0.05)
      flag.set()
    }
    XCTAssert(flag.poll(seconds: 3))
  }

  func testATimerSource() {
    let timer = DispatchSource.makeTimerSource()
    timer.schedule(deadline: .now() + 0.05)
    timer.setEventHandler { [flag] in flag.set() }
    timer.activate()
    XCTAssert(flag.poll(seconds: 3))
    timer.cancel()
  }

  /// A block polls, and the test waits for the block.
  func testABlockThatPolls() async {
    Task.detached { [flag] in
      try await Task.sleep(for: .milliseconds(50))
      flag.set()
    }
    let isSet = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [flag] in continuation.resume(returning: flag.poll(seconds: 3))
      }
    }
    XCTAssert(isSet)
  }

  /// The sleep ends after the limit.
  func testTheLimitComesFirst() async throws {
    let task = Task.detached { try await Task.sleep(for: .seconds(60)) }
    XCTAssertFalse(flag.poll(seconds: 0.5))
    task.cancel()
    _ = await task.result
  }

  /// The main actor is not free before the loop has ended.
  @MainActor func testATaskOfTheSameActor() async {
    let task = Task { @MainActor [flag] in flag.set() }
    XCTAssertFalse(flag.poll(seconds: 0.5))
    await task.value
  }
}

/// Each also passes in real time.
@Suite(.enabled(if: runsSamples)) struct EverywherePollingSamples {
  private let flag = PolledFlag()

  @Test func aReadyTask() {
    Task { flag.set() }
    #expect(flag.poll(.seconds(3)))
  }

  @Test func aSleepingTask() {
    Task {
      try await Task.sleep(for: .milliseconds(50))
      flag.set()
    }
    #expect(flag.poll(.seconds(30)))
  }

  @Test func aTaskOfTheMainActor() {
    Task { @MainActor in flag.set() }
    #expect(flag.poll(.seconds(3)))
  }

  /// Both loops poll at the same time.
  @Test func twoLoops() async {
    let other = PolledFlag()
    async let first = flag.poll(.seconds(3))
    async let second = other.poll(.seconds(3))
    Task {
      try await Task.sleep(for: .milliseconds(50))
      flag.set()
      try await Task.sleep(for: .milliseconds(50))
      other.set()
    }
    #expect(await (first, second) == (true, true))
  }

  @Test func nothingElse() { #expect(!flag.poll(.milliseconds(500))) }
}

import Foundation
import Synchronization
import TestTraits
import Testing
import XCTest

final class Flag: Sendable {
  private let value = Atomic(false)
  var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }
  func set() { value.store(true, ordering: .sequentiallyConsistent) }
  func spin() { while !isSet {} }
}

extension DispatchSemaphore {
  // `wait` is not available in async functions.
  fileprivate func block() { wait() }
  fileprivate func block(seconds: Double) -> DispatchTimeoutResult {
    wait(timeout: .now() + seconds)
  }
}

/// Tests that hold their threads in waits that are not seen. Each test also passes in real time.
final class EverywhereXCTHeldSamples: TimedSamples, @unchecked Sendable {
  func testSync() {
    let queue = DispatchQueue(label: "serial")
    queue.async { Thread.sleep(forTimeInterval: 0.3) }
    queue.sync { check(3) }
    check(3)
  }

  func testBarrier() async throws {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    queue.async { Thread.sleep(forTimeInterval: 0.2) }
    queue.async { Thread.sleep(forTimeInterval: 0.3) }
    queue.sync(flags: .barrier) { check(3) }
    check(3)
    // The test is exact again.
    async let other: Void? = try? await Task.sleep(for: .milliseconds(900))
    try await Task.sleep(for: .milliseconds(200))
    check(5)
    _ = await other
    check(12)
  }

  func testOperations() {
    let queue = OperationQueue()
    queue.addOperation { Thread.sleep(forTimeInterval: 0.3) }
    queue.waitUntilAllOperationsAreFinished()
    check(3)
  }

  func testWorkItem() {
    let item = DispatchWorkItem { Thread.sleep(forTimeInterval: 0.3) }
    DispatchQueue.global().async(execute: item)
    XCTAssertEqual(item.wait(timeout: .now() + 0.2), .timedOut)
    check(2)
    XCTAssertEqual(item.wait(timeout: .now() + 0.2), .success)
    check(3)
    let other = DispatchWorkItem { Thread.sleep(forTimeInterval: 0.3) }
    DispatchQueue.global().async(execute: other)
    other.wait()
    check(6)
  }

  func testConditionOfATask() {
    let (condition, flag) = (NSCondition(), Flag())
    Task {
      try await Task.sleep(for: .milliseconds(300))
      flag.set()
      condition.broadcast()
    }
    condition.lock()
    while !flag.isSet { condition.wait() }
    condition.unlock()
    check(3)
  }

  func testConditionOfABlock() {
    let (condition, flag) = (NSCondition(), Flag())
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) {
      condition.lock()
      flag.set()
      condition.broadcast()
      condition.unlock()
    }
    condition.lock()
    while !flag.isSet { condition.wait() }
    condition.unlock()
    check(3)
  }

  private func waitForALock() {
    let (lock, flag) = (NSLock(), Flag())
    DispatchQueue.global().async {
      lock.withLock {
        flag.set()
        Thread.sleep(forTimeInterval: 0.3)
      }
    }
    while !flag.isSet { usleep(1000) }
    lock.withLock { check(3) }
  }

  func testLock() { waitForALock() }

  /// The task's job counts as externally started, because it has slept.
  func testLockInATask() async { waitForALock() }

  func testSemaphoreOfATask() async {
    let semaphore = DispatchSemaphore(value: 0)
    Task {
      try await Task.sleep(for: .milliseconds(300))
      semaphore.signal()
    }
    semaphore.block()
    check(3)
  }

  func testALimitThatIsNotReached() {
    let semaphore = DispatchSemaphore(value: 0)
    Task {
      try await Task.sleep(for: .milliseconds(300))
      semaphore.signal()
    }
    XCTAssertEqual(semaphore.wait(timeout: .now() + 1), .success)
    check(3)
  }

  func testALimitThatIsReached() async throws {
    let (semaphore, flag) = (DispatchSemaphore(value: 0), Flag())
    Task {
      try await Task.sleep(for: .milliseconds(600))
      flag.set()
    }
    XCTAssertEqual(semaphore.block(seconds: 0.4), .timedOut)
    check(4)
    XCTAssertFalse(flag.isSet)
    try await Task.sleep(for: .milliseconds(300))
    check(7)
    XCTAssertTrue(flag.isSet)
  }

  func testLimitsOfBlocks() async {
    let semaphore = DispatchSemaphore(value: 0)
    let done = expectation(description: "blocks have waited")
    done.expectedFulfillmentCount = 3
    for seconds in [0.3, 0.6] {
      DispatchQueue.global().async { [self] in
        XCTAssertEqual(semaphore.block(seconds: seconds), seconds < 0.5 ? .timedOut : .success)
        check(seconds < 0.5 ? 3 : 5)
        done.fulfill()
      }
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.5) {
      semaphore.signal()
      done.fulfill()
    }
    await fulfillment(of: [done], timeout: 5)
  }

  /// Dispatch starts a thread for the last block when it sees that the other threads are blocked.
  func testABlockForWhichThereIsNoThread() {
    let done = expectation(description: "all blocks have ended")
    done.expectedFulfillmentCount = 8
    let semaphore = DispatchSemaphore(value: 0)
    for _ in 0..<7 {
      DispatchQueue.global().async {
        semaphore.wait()
        done.fulfill()
      }
    }
    DispatchQueue.global().async {
      for _ in 0..<7 { semaphore.signal() }
      done.fulfill()
    }
    Task {
      try await Task.sleep(for: .seconds(600))
      XCTFail("time has moved")
    }
    wait(for: [done], timeout: 300)
    if !Self.isReal { check(0) }
  }

  /// Dispatch starts a thread for the timer a second after the first block has begun.
  func testATimerForWhichThereIsNoThread() {
    let (queue, timer) = (DispatchQueue(label: "concurrent", attributes: .concurrent), Flag())
    let done = expectation(description: "all blocks have ended")
    done.expectedFulfillmentCount = ProcessInfo.processInfo.activeProcessorCount
    for _ in 0..<done.expectedFulfillmentCount {
      queue.async {
        Thread.sleep(forTimeInterval: 1.1)
        if !Self.isReal { XCTAssertTrue(timer.isSet) }
        done.fulfill()
      }
    }
    queue.asyncAfter(deadline: .now() + 0.2) { timer.set() }
    wait(for: [done], timeout: 5)
    check(11)
  }

  func testLimitsOfConditions() {
    let (condition, flag) = (NSCondition(), Flag())
    Task {
      try await Task.sleep(for: .milliseconds(300))
      flag.set()
      condition.broadcast()
    }
    condition.lock()
    XCTAssertFalse(condition.wait(until: Date() + 0.1))
    check(1)
    let end = Date() + 1
    while !flag.isSet, condition.wait(until: end) {}
    condition.unlock()
    XCTAssertTrue(flag.isSet)
    check(3)
  }

  func testLimitsOfGroups() {
    let group = DispatchGroup()
    DispatchQueue.global().async(group: group) { Thread.sleep(forTimeInterval: 0.3) }
    XCTAssertEqual(group.wait(timeout: .now() + 0.2), .timedOut)
    check(2)
    XCTAssertEqual(group.wait(timeout: .now() + 0.2), .success)
    check(3)
    group.enter()
    Task {
      try await Task.sleep(for: .milliseconds(200))
      group.leave()
    }
    group.wait()
    check(5)
  }

  @MainActor
  func testTheMainActorIsHeld() async {
    let semaphore = DispatchSemaphore(value: 0)
    let done = expectation(description: "the main actor is free")
    Task { @MainActor in
      check(3)
      done.fulfill()
    }
    Task.detached {
      try await Task.sleep(for: .milliseconds(300))
      semaphore.signal()
    }
    semaphore.block()
    check(3)
    await fulfillment(of: [done], timeout: 5)
  }
}

/// A test that depends on the number of Dispatch's threads, so it is the first of its process.
final class EverywhereXCTFewThreadsSamples: TimedSamples, @unchecked Sendable {
  /// The method holds its thread before the task begins, so the task begins beside the method.
  func testBlocksBesideATaskThatHasNotBegun() {
    let condition = NSCondition()
    let count = Atomic(0)
    let task = Task { try await Task.sleep(for: .seconds(100)) }
    // At least six times as many as Dispatch has threads: not all libraries count the processors alike.
    let processors = max(
      ProcessInfo.processInfo.activeProcessorCount, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let all = 6 * processors
    for _ in 0..<all {
      DispatchQueue.global().async {
        Thread.sleep(forTimeInterval: 0.05)
        condition.lock()
        count.add(1, ordering: .relaxed)
        condition.signal()
        condition.unlock()
      }
    }
    condition.lock()
    while count.load(ordering: .relaxed) < all { condition.wait() }
    condition.unlock()
    // Dispatch starts another thread for each second of real time that a busy machine takes.
    XCTAssertGreaterThan(Date().timeIntervalSince(start), 0.09)
    task.cancel()
  }
}

/// Synchronous tests with loops that do not wait. They pass in real time, where tasks run in parallel.
final class EverywhereXCTSpinSamples: TimedSamples, @unchecked Sendable {
  func testSpinsUntilATaskRuns() {
    let flag = Flag()
    Task { flag.set() }
    flag.spin()
  }

  func testSpinsUntilATaskHasSlept() {
    let flag = Flag()
    Task {
      try await Task.sleep(for: .milliseconds(300))
      flag.set()
    }
    flag.spin()
    if !Self.isReal { check(3) }
  }

  func testSpinsUntilABlockRuns() {
    let flag = Flag()
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { flag.set() }
    flag.spin()
    if !Self.isReal { check(3) }
  }

  /// A job that has slept counts as externally started.
  func testATaskThatHasSleptSpins() async {
    let flag = Flag()
    Task.detached {
      try await Task.sleep(for: .milliseconds(300))
      flag.set()
    }
    await Task.detached {
      usleep(1_000)
      flag.spin()
    }.value
    if !Self.isReal { check(3) }
  }
}

/// Blocks that occupy all threads of a global queue, while a task sleeps.
final class EverywhereXCTSpinningBlockSamples: TimedSamples, @unchecked Sendable {
  func testUtilityBlocksSpin() {
    let (flag, done) = (Flag(), expectation(description: "slept"))
    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
      DispatchQueue.global(qos: .utility).async { flag.spin() }
    }
    Task {
      try await Task.sleep(for: .seconds(1))
      flag.set()
      done.fulfill()
    }
    wait(for: [done], timeout: 30)
  }
}

/// Parallel tests that hold threads of the pool.
@Suite(.enabled(if: runsSamples)) struct EverywhereHeldSamples {
  @Test func waitsWithALimit() {
    let semaphore = DispatchSemaphore(value: 0)
    Task {
      try await Task.sleep(for: .seconds(600))
      semaphore.signal()
    }
    #expect(semaphore.wait(timeout: .now() + 300) == .timedOut)
    #expect(semaphore.wait(timeout: .now() + 600) == .success)
  }

  @Test(arguments: 1...8) func waitsForATaskThatSleeps(_ count: Int) {
    let start = ContinuousClock.now
    let semaphore = DispatchSemaphore(value: 0)
    Task {
      for _ in 0..<count { try await Task.sleep(for: .seconds(600)) }
      semaphore.signal()
    }
    semaphore.wait()
    let time = ContinuousClock.now - start
    #expect(time >= .seconds(600 * count) && time < .seconds(600 * count + 1))
  }
}

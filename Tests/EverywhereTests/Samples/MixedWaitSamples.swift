import Foundation
import Synchronization
import XCTest

/// A thread of the process that outlives the tests that use it.
private final class Worker: @unchecked Sendable {
  static let polls = Worker { _ in usleep(10_000) }
  static let sleeps = Worker { _ in Thread.sleep(forTimeInterval: 0.01) }
  static let waits = Worker { $0.wait() }

  private let lock = NSLock()
  private var work: [@Sendable () -> Void] = []
  private let isAdded = DispatchSemaphore(value: 0)

  private init(wait: @escaping @Sendable (DispatchSemaphore) -> Void) {
    Thread.detachNewThread { [self] in
      while true {
        wait(isAdded)
        let next = lock.withLock { work.isEmpty ? nil : work.removeFirst() }
        next?()
      }
    }
  }

  func add(_ body: @escaping @Sendable () -> Void) {
    lock.withLock { work.append(body) }
    isAdded.signal()
  }
}

/// Tests in which waits of different kinds meet. Each test also passes in real time.
final class EverywhereXCTMixedSamples: TimedSamples, @unchecked Sendable {
  // MARK: - The main thread polls

  /// The test reads no clock, so only the polls let time pass.
  func testPollsOfTheRunLoop() {
    let isOver = Atomic(false)
    Task {
      try await Task.sleep(for: .milliseconds(300))
      isOver.store(true, ordering: .relaxed)
    }
    while !isOver.load(ordering: .relaxed) {
      _ = RunLoop.current.run(mode: .default, before: .distantPast)
    }
    check(3)
  }

  // MARK: - Blocks submit each other

  private static func submitUntil(_ isOver: Flag, on queue: DispatchQueue) {
    queue.async { if !isOver.isSet { Self.submitUntil(isOver, on: queue) } }
  }

  func testBlocksThatSubmitEachOtherWhileTheMethodSleeps() {
    let isOver = Flag()
    Self.submitUntil(isOver, on: DispatchQueue(label: "serial"))
    Self.submitUntil(isOver, on: .global())
    Thread.sleep(forTimeInterval: 0.3)
    isOver.set()
    check(3)
  }

  func testBlocksThatSubmitEachOtherWhileATaskSleeps() async throws {
    let isOver = Flag()
    Self.submitUntil(isOver, on: DispatchQueue(label: "serial"))
    try await Task.sleep(for: .milliseconds(300))
    isOver.set()
    check(3)
  }

  // MARK: - The main thread is held while a job needs it

  func testSleepsWhileTheMainActorHasAJob() {
    Task { @MainActor in }
    Thread.sleep(forTimeInterval: 0.3)
    check(3)
  }

  func testWaitsWhileTheMainActorHasAJob() {
    let semaphore = DispatchSemaphore(value: 0)
    Task { @MainActor in }
    Task.detached {
      try await Task.sleep(for: .milliseconds(300))
      semaphore.signal()
    }
    semaphore.wait()
    check(3)
  }

  func testACallbackSleepsWhileTheMainActorHasAJob() {
    let done = expectation(description: "slept")
    _ = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { [self] _ in
      Task { @MainActor in }
      Thread.sleep(forTimeInterval: 0.3)
      check(5)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    check(5)
  }

  // MARK: - Beside a thread that waits without end

  private func besideAThread(_ body: (DispatchSemaphore) -> Void) {
    let (never, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Thread { never.wait() }.start()
    body(done)
    never.signal()
  }

  func testATaskBlocksAfterItHasSlept() {
    besideAThread { done in
      Task {
        try await Task.sleep(for: .milliseconds(200))
        usleep(100_000)
        done.signal()
      }
      done.wait()
      check(3)
    }
  }

  func testATaskSleepsTwiceForACondition() {
    besideAThread { _ in
      let (condition, flag) = (NSCondition(), Flag())
      Task {
        for _ in 0..<2 { try await Task.sleep(for: .milliseconds(300)) }
        flag.set()
        condition.broadcast()
      }
      condition.lock()
      while !flag.isSet { condition.wait() }
      condition.unlock()
      check(6)
    }
  }

  // MARK: - A resumed thread waits again

  private func passBlock(tenths: Int, _ done: XCTestExpectation) {
    RunLoop.main.perform { [self] in
      XCTAssertEqual(DispatchSemaphore(value: 0).wait(timeout: .now() + 0.3), .timedOut)
      check(tenths)
      done.fulfill()
    }
  }

  func testABlockOfTheRunLoopWaitsWithALimit() {
    let done = expectation(description: "waited")
    Task {
      try await Task.sleep(for: .milliseconds(200))
      passBlock(tenths: 5, done)
    }
    wait(for: [done], timeout: 5)
  }

  /// The other thread may be outside work, so the wait of the method keeps time from jumping.
  func testABlockOfTheRunLoopWaitsBesideAThread() {
    besideAThread { _ in
      let done = expectation(description: "waited")
      DispatchQueue.global().async { [self] in
        waitInRealTime(0.05)
        passBlock(tenths: 3, done)
      }
      wait(for: [done], timeout: 5)
    }
  }

  func testATimerWaitsForALock() {
    let (done, lock) = (expectation(description: "waited"), NSLock())
    let isHeld = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      lock.withLock {
        isHeld.signal()
        Thread.sleep(forTimeInterval: 0.5)
      }
    }
    isHeld.wait()
    _ = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { [self] _ in
      lock.withLock { check(5) }
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
  }

  func testABlockTakesTheSignalOfTheMethod() {
    let shared = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      shared.wait()
      Thread.sleep(forTimeInterval: 0.3)
      shared.signal()
    }
    // The block is the first that waits.
    Thread.sleep(forTimeInterval: 0.1)
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { shared.signal() }
    shared.wait()
    check(5)
  }

  func testABlockTakesTheSignalOfAThread() {
    let pool = DispatchSemaphore(value: 0)
    let done = expectation(description: "both")
    done.expectedFulfillmentCount = 2
    DispatchQueue.global().async {
      pool.wait()
      usleep(100_000)
      pool.signal()
      done.fulfill()
    }
    Thread.sleep(forTimeInterval: 0.1)
    Thread.detachNewThread {
      pool.wait()
      done.fulfill()
    }
    Thread.sleep(forTimeInterval: 0.1)
    pool.signal()
    wait(for: [done], timeout: 5)
    check(3)
  }

  // MARK: - What outlives a test

  private func useWorkers() {
    for worker in [Worker.polls, .sleeps, .waits] {
      let done = expectation(description: "worked")
      worker.add { done.fulfill() }
      wait(for: [done], timeout: 5)
    }
  }

  func testUsesWorkers() {
    useWorkers()
    // Moves virtual time ahead of real time before the threads sleep in real time.
    Thread.sleep(forTimeInterval: Self.isReal ? 0 : 2)
  }
  func testUsesWorkersAgain() { useWorkers() }
  func testUsesWorkersAThirdTime() { useWorkers() }

  // MARK: - Work outside the test's control

  @MainActor func testTheMainActorReads() async {
    let flag = Flag()
    let other = Task.detached {
      try await Task.sleep(for: .seconds(60))
      flag.set()
    }
    let pipe = popen("sleep 0.3; echo done", "r")!
    var line = [CChar](repeating: 0, count: 16)
    fgets(&line, 16, pipe)
    XCTAssertEqual(line.prefix(5), "done\n".utf8.map { CChar($0) }[...])
    XCTAssertEqual(pclose(pipe), 0)
    XCTAssertFalse(flag.isSet)
    other.cancel()
  }

  // MARK: - Queues

  func testAConcurrentQueue() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let begun = expectation(description: "the last block")
    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
      queue.async { Thread.sleep(forTimeInterval: 3) }
    }
    queue.async { begun.fulfill() }
    wait(for: [begun], timeout: 2)
  }

  // MARK: - Work items and run loops

  func testAnItemThatIsPerformed() {
    nonisolated(unsafe) let item = DispatchWorkItem {}
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { item.perform() }
    XCTAssertEqual(item.wait(timeout: .now() + 2), .success)
    check(3)
  }

  func testACallbackRunsTheRunLoopShortly() {
    let done = expectation(description: "fired")
    _ = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { [self] _ in
      RunLoop.current.run(until: Date() + 0.05)
      XCTAssertLessThan(Date().timeIntervalSince(start), 0.5)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
  }
}

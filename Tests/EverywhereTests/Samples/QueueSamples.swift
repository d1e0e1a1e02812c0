import Foundation
import Testing
import XCTest

/// Blocks that cannot begin, or that hold a thread in a wait. Each test also passes in real time.
final class EverywhereXCTQueueSamples: TimedSamples, @unchecked Sendable {
  // MARK: - Blocks that cannot begin

  func testASuspendedQueue() async throws {
    let (queue, flag) = (DispatchQueue(label: "suspended"), Flag())
    queue.suspend()
    queue.async { flag.set() }
    try await Task.sleep(for: .milliseconds(200))
    XCTAssertFalse(flag.isSet)
    queue.resume()
    try await Task.sleep(for: .milliseconds(200))
    XCTAssertTrue(flag.isSet)
    check(4)
  }

  func testAQueueIsSuspendedTwice() {
    let queue = DispatchQueue(label: "suspended", attributes: .concurrent)
    let done = expectation(description: "block")
    queue.suspend()
    queue.suspend()
    queue.async { [self] in
      check(3)
      done.fulfill()
    }
    queue.resume()
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { queue.resume() }
    wait(for: [done], timeout: 5)
    check(3)
  }

  func testAnInactiveQueue() async throws {
    let (queue, flag) = (DispatchQueue(label: "inactive", attributes: .initiallyInactive), Flag())
    queue.async { flag.set() }
    try await Task.sleep(for: .milliseconds(200))
    XCTAssertFalse(flag.isSet)
    queue.activate()
    try await Task.sleep(for: .milliseconds(200))
    XCTAssertTrue(flag.isSet)
    check(4)
  }

  func testASuspendedTarget() async throws {
    let (target, flag) = (DispatchQueue(label: "target"), Flag())
    target.suspend()
    DispatchQueue(label: "queue", target: target).async { flag.set() }
    try await Task.sleep(for: .milliseconds(200))
    XCTAssertFalse(flag.isSet)
    target.resume()
    try await Task.sleep(for: .milliseconds(200))
    XCTAssertTrue(flag.isSet)
    check(4)
  }

  /// The target runs one block after the other, whatever the queues are.
  func testBlocksWithOneTargetSleep() {
    let target = DispatchQueue(label: "target")
    let queues = [
      DispatchQueue(label: "serial", target: target),
      DispatchQueue(label: "concurrent", attributes: .concurrent, target: target),
      DispatchQueue(label: "above", target: DispatchQueue(label: "between", target: target)),
    ]
    let all = (1...3).map { expectation(description: "block \($0)") }
    for (number, (queue, done)) in zip(1..., zip(queues, all)) {
      queue.async { [self] in
        Thread.sleep(forTimeInterval: 0.2)
        check(2 * number)
        done.fulfill()
      }
    }
    wait(for: all, timeout: 5)
    check(6)
  }

  func testABlockBehindASyncOfItsTarget() {
    let target = DispatchQueue(label: "target")
    let done = expectation(description: "block")
    DispatchQueue(label: "serial", target: target).sync {
      DispatchQueue(label: "other", target: target).async { done.fulfill() }
      Thread.sleep(forTimeInterval: 0.3)
    }
    wait(for: [done], timeout: 5)
    check(3)
  }

  func testTheTargetIsTheMainQueue() {
    let done = expectation(description: "block")
    DispatchQueue(label: "first", target: .main).async { [self] in
      XCTAssertTrue(Thread.isMainThread)
      Thread.sleep(forTimeInterval: 0.3)
      check(3)
    }
    DispatchQueue(label: "second", target: .main).async { [self] in
      check(3)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    check(3)
  }

  func testABarrierBehindABlockThatSleeps() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let done = expectation(description: "barrier")
    let last = expectation(description: "behind the barrier")
    queue.async { Thread.sleep(forTimeInterval: 0.3) }
    queue.async(flags: .barrier) { [self] in
      check(3)
      Thread.sleep(forTimeInterval: 0.2)
      done.fulfill()
    }
    queue.async { [self] in
      check(5)
      last.fulfill()
    }
    wait(for: [done, last], timeout: 5)
    check(5)
  }

  func testABlockBehindASyncThatSleeps() {
    let (queue, done) = (DispatchQueue(label: "serial"), expectation(description: "block"))
    queue.sync {
      queue.async { done.fulfill() }
      Thread.sleep(forTimeInterval: 0.3)
    }
    wait(for: [done], timeout: 5)
    check(3)
  }

  func testABlockBehindASyncThatWaits() {
    let (queue, done) = (DispatchQueue(label: "serial"), expectation(description: "block"))
    let lock = NSLock()
    let isHeld = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      lock.withLock {
        isHeld.signal()
        Thread.sleep(forTimeInterval: 0.3)
      }
    }
    isHeld.wait()
    queue.sync {
      queue.async { done.fulfill() }
      lock.withLock {}
    }
    wait(for: [done], timeout: 5)
    check(3)
  }

  // MARK: - Blocks and callbacks that hold a thread

  /// The other thread may be outside work, so the wait of the method keeps time from jumping.
  private func besideAThread(_ body: (XCTestExpectation) -> Void) {
    let (never, done) = (DispatchSemaphore(value: 0), expectation(description: "waited"))
    Thread { never.wait() }.start()
    body(done)
    wait(for: [done], timeout: 5)
    never.signal()
  }

  private func waitWithALimit(_ done: XCTestExpectation) {
    XCTAssertEqual(DispatchSemaphore(value: 0).wait(timeout: .now() + 0.3), .timedOut)
    check(3)
    done.fulfill()
  }

  func testABlockOfTheMainQueueWaitsBesideAThread() {
    besideAThread { done in DispatchQueue.main.async { self.waitWithALimit(done) } }
  }

  func testTheMainActorWaitsBesideAThread() {
    besideAThread { done in Task { @MainActor in self.waitWithALimit(done) } }
  }

  func testACallbackOfAThreadWaitsWithALimit() {
    let (fired, done) = (XCTestExpectation(description: "fired"), expectation(description: "done"))
    Thread.detachNewThread {
      _ = Timer.scheduledTimer(withTimeInterval: 0.1, repeats: false) { _ in
        XCTAssertEqual(DispatchSemaphore(value: 0).wait(timeout: .now() + 0.3), .timedOut)
        fired.fulfill()
      }
      XCTAssertEqual(XCTWaiter.wait(for: [fired], timeout: 2), .completed)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    check(4)
  }

  func testATimerOfAThreadRepeats() {
    let done = expectation(description: "three times")
    done.expectedFulfillmentCount = 3
    done.assertForOverFulfill = false
    Thread.detachNewThread {
      let timer = Timer.scheduledTimer(withTimeInterval: 0.3, repeats: true) { _ in done.fulfill() }
      RunLoop.current.run(until: Date() + 1.2)
      timer.invalidate()
    }
    wait(for: [done], timeout: 3)
    check(9)
  }

  /// Whichever of the two takes the first signal, the block has slept at the end.
  func testAMethodAndABlockShareASemaphore() {
    let (semaphore, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    DispatchQueue.global().async {
      semaphore.wait()
      Thread.sleep(forTimeInterval: 0.3)
      semaphore.signal()
      done.signal()
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { semaphore.signal() }
    semaphore.wait()
    semaphore.signal()
    done.wait()
    check(4)
  }

  // MARK: - Waits that must not let time pass

  func testPolls() {
    let semaphore = DispatchSemaphore(value: 0)
    let task = Task { try await Task.sleep(for: .seconds(100)) }
    for _ in 0..<1_000 { XCTAssertEqual(semaphore.wait(timeout: .now()), .timedOut) }
    task.cancel()
    check(0)
  }

  func testABlockSignalsAgainAndAgain() {
    let semaphore = DispatchSemaphore(value: 0)
    let task = Task { try await Task.sleep(for: .seconds(100)) }
    for _ in 0..<1_000 {
      DispatchQueue.global().async { semaphore.signal() }
      semaphore.wait()
    }
    task.cancel()
    check(0)
  }
}

/// A method that waits with a limit, while many blocks begin at different instants.
final class EverywhereXCTLimitSamples: TimedSamples, @unchecked Sendable {
  private func submitBlocks(_ end: @escaping @Sendable () -> Void) {
    for count in 1...100 {
      let instant = DispatchTime.now() + 0.1 + Double(count) / 10_000
      DispatchQueue.global().asyncAfter(deadline: instant, execute: end)
    }
  }

  func testASemaphoreWithALimit() {
    let semaphore = DispatchSemaphore(value: 0)
    for _ in 1...10 {
      submitBlocks { semaphore.signal() }
      for _ in 1...100 { XCTAssertEqual(semaphore.wait(timeout: .now() + 5), .success) }
    }
    check(11)
  }

  func testAGroupWithALimit() {
    let group = DispatchGroup()
    for _ in 1...10 {
      for _ in 1...100 { group.enter() }
      submitBlocks { group.leave() }
      XCTAssertEqual(group.wait(timeout: .now() + 5), .success)
    }
    check(11)
  }

  /// The thread belongs to no test. It is created while the method waits.
  func testAThreadEndsAWaitWithALimit() {
    let semaphore = DispatchSemaphore(value: 0)
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) {
      var thread = pthread_t()
      pthread_create(
        &thread, nil,
        { argument in
          sleep(1)
          Unmanaged<DispatchSemaphore>.fromOpaque(argument!).takeUnretainedValue().signal()
          return nil
        }, Unmanaged.passRetained(semaphore).toOpaque())
      pthread_detach(thread)
    }
    XCTAssertEqual(semaphore.wait(timeout: .now() + 300), .success)
  }
}

@Suite(.enabled(if: runsSamples)) struct EverywhereQueueSamples {
  @Test func aSyncOnTheMainQueueSleeps() async {
    let start = Date()
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        DispatchQueue.main.sync {
          let begin = Date()
          Thread.sleep(forTimeInterval: 0.3)
          #expect(Date().timeIntervalSince(begin) >= 0.3)
        }
        continuation.resume()
      }
    }
    let time = Date().timeIntervalSince(start)
    #expect(time >= 0.3 && time < 0.5)
  }
}

@Suite(.enabled(if: runsSamples)) struct EverywhereIterationSamples {
  /// Dispatch may run both iterations on one thread.
  @Test func iterationsSleep() {
    let start = Date()
    DispatchQueue.concurrentPerform(iterations: 2) { _ in Thread.sleep(forTimeInterval: 600) }
    let time = Date().timeIntervalSince(start)
    #expect((600..<601).contains(time) || (1200..<1201).contains(time))
  }
}

import Foundation
import Synchronization
import XCTest

/// Blocks on the main queue that block the main thread. Each test also passes in real time.
final class EverywhereXCTMainQueueSamples: TimedSamples, @unchecked Sendable {
  func testBlocksSleep() {
    let done = expectation(description: "blocks have slept")
    done.expectedFulfillmentCount = 2
    for count in 1...2 {
      DispatchQueue.main.async { [self] in
        Thread.sleep(forTimeInterval: 0.2)
        check(2 * count)
        done.fulfill()
      }
    }
    wait(for: [done], timeout: 5)
    check(4)
  }

  func testABlockSleepsInAnAsyncTest() async throws {
    let done = expectation(description: "a block has slept")
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.1) { [self] in
      let (clock, uptime) = (ContinuousClock.now, DispatchTime.now().uptimeNanoseconds)
      Thread.sleep(forTimeInterval: 0.3)
      check(4)
      XCTAssertGreaterThan(ContinuousClock.now - clock, .seconds(0.29))
      XCTAssertGreaterThan(DispatchTime.now().uptimeNanoseconds - uptime, 290_000_000)
      done.fulfill()
    }
    try await Task.sleep(for: .milliseconds(200))
    check(2)
    await fulfillment(of: [done], timeout: 5)
    check(4)
  }

  /// What needs the main thread begins when the block ends.
  func testABlockDelaysTheMainThread() async throws {
    let done = expectation(description: "the main thread is free")
    done.expectedFulfillmentCount = 4
    DispatchQueue.main.async { [self] in
      DispatchQueue.main.async { [self] in
        check(3)
        done.fulfill()
      }
      RunLoop.main.perform { [self] in
        check(3)
        done.fulfill()
      }
      RunLoop.main.add(
        Timer(timeInterval: 0.1, repeats: false) { [self] _ in
          check(3)
          done.fulfill()
        }, forMode: .common)
      Thread.sleep(forTimeInterval: 0.3)
      check(3)
    }
    try await Task.sleep(for: .milliseconds(100))
    check(1)
    await MainActor.run { check(3) }
    done.fulfill()
    await fulfillment(of: [done], timeout: 5)
    check(3)
  }

  func testABlockWaits() {
    let slept = expectation(description: "a task has slept")
    let done = expectation(description: "a block has waited")
    Task {
      try await Task.sleep(for: .milliseconds(300))
      slept.fulfill()
    }
    DispatchQueue.main.async { [self] in
      wait(for: [slept], timeout: 5)
      if !Self.isReal { check(3) }
      Thread.sleep(forTimeInterval: 0.2)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    if !Self.isReal { check(5) }
  }

  func testABlockRunsTheRunLoop() {
    let done = expectation(description: "a block has run the run loop")
    DispatchQueue.main.async { [self] in
      let fired = Atomic(0)
      let timer = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: true) { _ in
        fired.add(1, ordering: .relaxed)
        Thread.sleep(forTimeInterval: 0.1)
      }
      RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.5))
      timer.invalidate()
      XCTAssertEqual(fired.load(ordering: .relaxed), 2)
      check(5)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
  }

  /// The block sleeps while a task that it has started waits for the main thread.
  func testABlockStartsATask() {
    let done = expectation(description: "tasks have run")
    done.expectedFulfillmentCount = 2
    DispatchQueue.main.async { [self] in
      Task { @MainActor in
        check(3)
        try await Task.sleep(for: .milliseconds(100))
        check(4)
        done.fulfill()
      }
      Task.detached { [self] in
        try await Task.sleep(for: .milliseconds(100))
        check(1)
        done.fulfill()
      }
      Thread.sleep(forTimeInterval: 0.3)
    }
    wait(for: [done], timeout: 5)
    if !Self.isReal { check(4) }
  }

  func testHandlersAndOperationsSleep() async {
    let timer = DispatchSource.makeTimerSource(queue: .main)
    let done = expectation(description: "a handler and an operation have slept")
    done.expectedFulfillmentCount = 2
    timer.schedule(deadline: .now() + 0.1)
    timer.setEventHandler { [self] in
      check(2)
      usleep(200_000)
      check(4)
      done.fulfill()
    }
    timer.resume()
    OperationQueue.main.addOperation { [self] in
      Thread.sleep(forTimeInterval: 0.2)
      check(2)
      done.fulfill()
    }
    await fulfillment(of: [done], timeout: 5)
    timer.cancel()
  }

  /// The test's wait is woken by the block of the run loop while a task holds the main thread.
  func testATaskOfTheMainThreadSleeps() {
    let done = expectation(description: "a block of the run loop has begun")
    Task { @MainActor in
      RunLoop.main.perform { [self] in
        check(3)
        done.fulfill()
      }
      usleep(300_000)
    }
    wait(for: [done], timeout: 5)
  }
}

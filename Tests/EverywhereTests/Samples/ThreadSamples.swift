import Foundation
import XCTest

/// Threads that tests start. Each test also passes in real time.
final class EverywhereXCTThreadSamples: TimedSamples, @unchecked Sendable {
  /// Keeps a processor busy. The thread may be in virtual time, so this reads a clock that no test has.
  private static func work(milliseconds: Int) {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_RAW, &time)
    let end = time.tv_sec * 1000 + time.tv_nsec / 1_000_000 + milliseconds
    while time.tv_sec * 1000 + time.tv_nsec / 1_000_000 < end {
      clock_gettime(CLOCK_MONOTONIC_RAW, &time)
    }
  }

  /// As packages do that support versions of XCTest without `fulfillment(of:)`.
  private func wait(
    onAThreadFor expectations: [XCTestExpectation], timeout: Double, workBefore: Int = 0,
    workAfter: Int = 0
  ) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        Self.work(milliseconds: workBefore)
        wait(for: expectations, timeout: timeout)
        Self.work(milliseconds: workAfter)
        continuation.resume()
      }
    }
  }

  private func fulfill(after seconds: Double) -> XCTestExpectation {
    let done = expectation(description: "a task")
    Task {
      try await Task.sleep(for: .seconds(seconds))
      done.fulfill()
    }
    return done
  }

  func testAThreadWaits() async {
    await wait(onAThreadFor: [fulfill(after: 0.3)], timeout: 5)
    check(3)
  }

  /// The thread is late. In virtual time, time must not pass meanwhile.
  func testAThreadWaitsLate() async {
    async let other: Void? = try? await Task.sleep(for: .seconds(0.9))
    await wait(onAThreadFor: [fulfill(after: 0.3)], timeout: 5, workBefore: 40)
    check(3)
    _ = await other
    check(9)
  }

  func testAThreadGoesOnAfterItsWait() async {
    async let other: Void? = try? await Task.sleep(for: .seconds(0.9))
    await wait(onAThreadFor: [fulfill(after: 0.3)], timeout: 5, workAfter: 40)
    check(3)
    _ = await other
    check(9)
  }

  /// An object of `Thread`, which is started later.
  func testAnObjectWaitsLate() async {
    async let other: Void? = try? await Task.sleep(for: .seconds(0.9))
    await withCheckedContinuation { continuation in
      let thread = Thread { [self] in
        Self.work(milliseconds: 40)
        wait(for: [fulfill(after: 0.3)], timeout: 5)
        continuation.resume()
      }
      thread.start()
    }
    check(3)
    _ = await other
    check(9)
  }

  func testAThreadTimesOut() async {
    let never = expectation(description: "never")
    never.isInverted = true
    await wait(onAThreadFor: [never], timeout: 0.5, workBefore: 40, workAfter: 40)
    check(5)
  }

  func testThreadsWaitAtTheSameTime() async {
    async let first: Void = wait(onAThreadFor: [fulfill(after: 0.2)], timeout: 5, workBefore: 40)
    async let second: Void = wait(onAThreadFor: [fulfill(after: 0.6)], timeout: 5, workAfter: 40)
    await first
    check(2)
    await second
    check(6)
  }

  func testAThreadWaitsTwice() async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        wait(for: [fulfill(after: 0.3)], timeout: 5)
        Self.work(milliseconds: 40)
        wait(for: [fulfill(after: 0.3)], timeout: 5)
        continuation.resume()
      }
    }
    check(6)
  }

  func testAThreadSleeps() {
    let done = expectation(description: "the thread has slept")
    Thread.detachNewThread { [self] in
      let clock = ContinuousClock.now
      let uptime = DispatchTime.now().uptimeNanoseconds
      Thread.sleep(forTimeInterval: 0.3)
      check(3)
      XCTAssertGreaterThan(ContinuousClock.now - clock, .seconds(0.29))
      XCTAssertGreaterThan(DispatchTime.now().uptimeNanoseconds - uptime, 290_000_000)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    check(3)
  }

  func testAThreadExits() async throws {
    let exits = Flag()
    Thread.detachNewThread { [self] in
      Thread.sleep(forTimeInterval: 0.1)
      check(1)
      exits.set()
      Thread.exit()
    }
    try await Task.sleep(for: .milliseconds(300))
    XCTAssertTrue(exits.isSet)
    check(3)
  }

  func testAThreadPolls() async throws {
    let (isOver, hasEnded) = (Flag(), Flag())
    let thread = Thread {
      while !isOver.isSet { usleep(10_000) }
      hasEnded.set()
    }
    thread.start()
    try await Task.sleep(for: .milliseconds(300))
    check(3)
    isOver.set()
    try await Task.sleep(for: .milliseconds(100))
    XCTAssertTrue(hasEnded.isSet)
    check(4)
  }

  func testABlockOfAThreadIsDelayed() {
    let done = expectation(description: "a block of the thread")
    Thread.detachNewThread {
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { done.fulfill() }
    }
    wait(for: [done], timeout: 5)
    check(3)
  }

  /// As in tests of semaphores: the threads wait until the test signals, and may wait forever.
  func testThreadsWaitForSemaphores() async throws {
    let (semaphore, never) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let done = expectation(description: "threads were signalled")
    done.expectedFulfillmentCount = 3
    Thread { never.wait() }.start()
    async let other: Void? = try? await Task.sleep(for: .seconds(0.9))
    for _ in 0..<3 {
      Thread.detachNewThread {
        semaphore.wait()
        Self.work(milliseconds: 20)
        done.fulfill()
      }
    }
    try await Task.sleep(for: .milliseconds(200))
    for _ in 0..<3 { semaphore.signal() }
    await fulfillment(of: [done], timeout: 5)
    check(2)
    _ = await other
    check(9)
    never.signal()
  }

  func testASignalBeforeAThreadWaits() async throws {
    let semaphore = DispatchSemaphore(value: 0)
    semaphore.signal()
    let done = expectation(description: "the thread was signalled")
    Thread.detachNewThread {
      for _ in 0..<2 { semaphore.wait() }
      done.fulfill()
    }
    try await Task.sleep(for: .milliseconds(200))
    semaphore.signal()
    await fulfillment(of: [done], timeout: 5)
    check(2)
  }

  func testATaskOfAThread() {
    let done = expectation(description: "a task of the thread")
    Thread.detachNewThread {
      Task {
        try await Task.sleep(for: .milliseconds(200))
        done.fulfill()
      }
    }
    wait(for: [done], timeout: 5)
    check(2)
  }
}

/// Blocks that sleep on dispatch queues. Each test also passes in real time.
final class EverywhereXCTBlockSamples: TimedSamples, @unchecked Sendable {
  func testABlockSleeps() {
    let done = expectation(description: "a block has slept")
    DispatchQueue.global().async { [self] in
      let (clock, uptime) = (ContinuousClock.now, DispatchTime.now().uptimeNanoseconds)
      Thread.sleep(forTimeInterval: 0.3)
      check(3)
      XCTAssertGreaterThan(ContinuousClock.now - clock, .seconds(0.29))
      XCTAssertGreaterThan(DispatchTime.now().uptimeNanoseconds - uptime, 290_000_000)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
  }

  /// Foundation's locks sleep like this until they are free. Time stands still, because the other block runs.
  func testABlockSleepsForNoTime() async {
    let flag = Flag()
    let done = expectation(description: "blocks have run")
    done.expectedFulfillmentCount = 2
    DispatchQueue.global().async {
      flag.spin()
      done.fulfill()
    }
    DispatchQueue.global().async {
      sleep(0)
      usleep(0)
      flag.set()
      done.fulfill()
    }
    await fulfillment(of: [done], timeout: 5)
    if !Self.isReal { check(0) }
  }

  func testBlocksSleepAtTheSameTime() async {
    let done = expectation(description: "blocks have slept")
    done.expectedFulfillmentCount = 2
    DispatchQueue.global().async { [self] in
      usleep(200_000)
      check(2)
      done.fulfill()
    }
    DispatchQueue.global().async { [self] in
      usleep(400_000)
      check(4)
      done.fulfill()
    }
    await fulfillment(of: [done], timeout: 5)
  }

  /// No block behind one that sleeps can begin, so none of them keeps time from moving.
  func testBlocksSleepOneAfterAnother() async throws {
    let queue = DispatchQueue(label: "serial")
    let done = expectation(description: "blocks have slept")
    for count in 1...3 {
      queue.async { [self] in
        Thread.sleep(forTimeInterval: 0.2)
        check(2 * count)
        if count == 3 { done.fulfill() }
      }
    }
    try await Task.sleep(for: .milliseconds(300))
    check(3)
    await fulfillment(of: [done], timeout: 5)
  }

  func testOperationsSleep() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let done = expectation(description: "operations have slept")
    for count in 1...2 {
      queue.addOperation { [self] in
        Thread.sleep(forTimeInterval: 0.2)
        check(2 * count)
        if count == 2 { done.fulfill() }
      }
    }
    await fulfillment(of: [done], timeout: 5)
  }

  func testATimerBehindABlockThatSleeps() async {
    let queue = DispatchQueue(label: "serial, with a timer")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let done = expectation(description: "the timer has fired")
    timer.schedule(deadline: .now() + 0.1)
    timer.setEventHandler { [self] in
      check(3)
      usleep(200_000)
      check(5)
      done.fulfill()
    }
    timer.resume()
    queue.async { Thread.sleep(forTimeInterval: 0.3) }
    await fulfillment(of: [done], timeout: 5)
    timer.cancel()
  }

  func testABlockWaits() async {
    let slept = expectation(description: "a task has slept")
    let done = expectation(description: "a block has waited")
    Task {
      try await Task.sleep(for: .milliseconds(300))
      slept.fulfill()
    }
    DispatchQueue(label: "waits").async { [self] in
      wait(for: [slept], timeout: 5)
      if !Self.isReal { check(3) }
      done.fulfill()
    }
    await fulfillment(of: [done], timeout: 5)
  }

  func testABlockSleepsWhileTasksDo() async throws {
    let done = expectation(description: "a block has slept")
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { [self] in
      check(1)
      for count in 2...4 {
        Thread.sleep(forTimeInterval: 0.1)
        check(count)
      }
      done.fulfill()
    }
    try await Task.sleep(for: .milliseconds(200))
    check(2)
    try await Task.sleep(for: .milliseconds(500))
    check(7)
    await fulfillment(of: [done], timeout: 5)
  }
}

/// Threads that do not end before the tests do. Each test also passes in real time.
final class EverywhereXCTServerSamples: TimedSamples, @unchecked Sendable {
  /// Starts a thread that answers each byte with a byte, until the pipe is closed.
  private func startServer() -> (requests: FileHandle, answers: FileHandle) {
    let (requests, answers) = (Pipe(), Pipe())
    Thread.detachNewThread {
      var byte: UInt8 = 0
      while true {
        var events = [
          pollfd(
            fd: requests.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        ]
        poll(&events, 1, -1)
        guard read(events[0].fd, &byte, 1) == 1 else { return }
        write(answers.fileHandleForWriting.fileDescriptor, &byte, 1)
      }
    }
    return (requests.fileHandleForWriting, answers.fileHandleForReading)
  }

  func testAThreadServes() async throws {
    let (requests, answers) = startServer()
    for byte in UInt8(0)..<3 {
      try requests.write(contentsOf: [byte])
      XCTAssertEqual(try answers.read(upToCount: 1), Data([byte]))
      try await Task.sleep(for: .milliseconds(200))
    }
    try requests.close()
  }
}

import Foundation
import XCTest

/// Threads that tests start. Each test also passes in real time.
final class EverywhereXCTThreadSamples: XCTestCase, @unchecked Sendable {
  private static let isReal = ProcessInfo.processInfo.environment["CLOCKS_EVERYWHERE"] == "real"

  private var start = Date()

  override func setUp() {
    guard runsSamples else { return }
    start = Date()
  }

  override func invokeTest() {
    if runsSamples { super.invokeTest() }
  }

  private func check(_ tenths: Int, line: UInt = #line) {
    // In real time, a wait of XCTest notices its fulfillment up to a tenth of a second late.
    XCTAssertEqual(
      Date().timeIntervalSince(start), Double(tenths) / 10, accuracy: Self.isReal ? 0.19 : 0.011,
      line: line)
  }

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

  /// Outside the waits of XCTest, a thread sleeps in real time, and its clocks show that.
  func testAThreadSleepsInRealTime() {
    let done = expectation(description: "the thread has slept")
    Thread.detachNewThread {
      let start = Date()
      let clock = ContinuousClock.now
      let uptime = DispatchTime.now().uptimeNanoseconds
      Thread.sleep(forTimeInterval: 0.25)
      XCTAssertGreaterThan(DispatchTime.now().uptimeNanoseconds - uptime, 240_000_000)
      XCTAssertGreaterThan(Date().timeIntervalSince(start), 0.24)
      XCTAssertGreaterThan(ContinuousClock.now - clock, .seconds(0.24))
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    check(Self.isReal ? 3 : 0)
  }

  func testABlockOfAThreadIsDelayed() {
    let done = expectation(description: "a block of the thread")
    Thread.detachNewThread {
      Self.work(milliseconds: 40)
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
        try await Task.sleep(for: .milliseconds(20))
        done.fulfill()
      }
    }
    wait(for: [done], timeout: 5)
  }
}

/// Threads that do not end before the tests do. Each test also passes in real time.
final class EverywhereXCTServerSamples: XCTestCase {
  override func invokeTest() {
    if runsSamples { super.invokeTest() }
  }

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

import CoreFoundation
import Foundation
import XCTest

/// Timers of run loops, and what polls by them. Each test also passes in real time.
final class EverywhereXCTTimerSamples: TimedSamples, @unchecked Sendable {
  private final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var instants: [Date] = []

    func add() { lock.withLock { instants.append(Date()) } }
    var isEmpty: Bool { lock.withLock { instants.isEmpty } }
    func tenths(since start: Date) -> [Int] {
      lock.withLock { instants.map { Int(($0.timeIntervalSince(start) * 10).rounded()) } }
    }
  }

  private let log = Log()

  private func expectLog() -> XCTNSPredicateExpectation {
    XCTNSPredicateExpectation(predicate: NSPredicate { [log] _, _ in !log.isEmpty }, object: nil)
  }

  private func logLater() {
    Task { [log] in
      try await Task.sleep(for: .milliseconds(300))
      log.add()
    }
  }

  func testPredicate() {
    logLater()
    wait(for: [expectLog()], timeout: 5)
    check(3)
  }

  @MainActor func testPredicateInAnAsyncTest() async {
    logLater()
    await fulfillment(of: [expectLog()], timeout: 5)
    check(3)
  }

  @MainActor func testPredicateAndWaitForExpectations() {
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { [log] in log.add() }
    expectation(for: NSPredicate { [log] _, _ in !log.isEmpty }, evaluatedWith: nil)
    waitForExpectations(timeout: 5)
    check(3)
  }

  func testPredicateThatHolds() {
    log.add()
    wait(for: [expectLog()], timeout: 5)
    check(0)
  }

  func testPredicateThatNeverHolds() {
    XCTAssertEqual(XCTWaiter.wait(for: [expectLog()], timeout: 0.6), .timedOut)
    check(6)
  }

  /// Nothing in virtual time says when the thread has ended.
  func testPredicateForAThread() {
    Thread.detachNewThread { [log] in
      waitInRealTime(0.3)
      log.add()
    }
    wait(for: [expectLog()], timeout: 5)
  }

  func testTimersFireInOrder() {
    let done = expectation(description: "fired")
    let timers = [5, 2, 4].map { tenths in
      Timer.scheduledTimer(withTimeInterval: Double(tenths) / 10, repeats: false) { [log] _ in
        log.add()
        if tenths == 5 { done.fulfill() }
      }
    }
    wait(for: [done], timeout: 5)
    XCTAssertEqual(log.tenths(since: start), [2, 4, 5])
    XCTAssertTrue(timers.allSatisfy { !$0.isValid })
    check(5)
  }

  func testTimersRepeat() {
    let done = expectation(description: "fired")
    done.expectedFulfillmentCount = 4
    let timer = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: true) { [log] _ in
      log.add()
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    timer.invalidate()
    XCTAssertEqual(log.tenths(since: start), [2, 4, 6, 8])
    check(8)
  }

  /// A task sleeps and a timer is set, in turn.
  func testATimerSetByABlock() {
    let done = expectation(description: "fired")
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.2) { [log] in
      log.add()
      _ = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { _ in
        log.add()
        Task {
          try await Task.sleep(for: .milliseconds(200))
          log.add()
          done.fulfill()
        }
      }
    }
    wait(for: [done], timeout: 5)
    XCTAssertEqual(log.tenths(since: start), [2, 4, 6])
    check(6)
  }

  func testATimerSetByATask() {
    let done = expectation(description: "fired")
    Task.detached { [log] in
      try await Task.sleep(for: .milliseconds(100))
      RunLoop.main.add(
        Timer(fire: Date() + 0.2, interval: 0, repeats: false) { _ in
          log.add()
          done.fulfill()
        }, forMode: .default)
    }
    wait(for: [done], timeout: 5)
    XCTAssertEqual(log.tenths(since: start), [3])
    check(3)
  }

  func testAnInvalidatedTimerDoesNotFire() {
    let timer = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { [log] _ in log.add() }
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.1) { timer.invalidate() }
    RunLoop.current.run(until: Date() + 0.4)
    XCTAssertTrue(log.isEmpty)
    check(4)
  }

  /// A timer that fires does not end the run.
  func testOneRunLastsUntilItsLimit() {
    let timer = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: true) { [log] _ in log.add() }
    _ = RunLoop.current.run(mode: .default, before: start + 0.7)
    timer.invalidate()
    XCTAssertEqual(log.tenths(since: start), [2, 4, 6])
    check(7)
  }

  /// The thread might do real work for which the test waits.
  func testRunsLastUntilTheirLimitsBesideAThread() {
    let end = DispatchSemaphore(value: 0)
    Thread.detachNewThread { end.wait() }
    defer { end.signal() }
    let timer = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: true) { [log] _ in log.add() }
    XCTAssertEqual(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.7, false), .timedOut)
    check(7)
    _ = RunLoop.current.run(mode: .default, before: start + 0.9)
    timer.invalidate()
    XCTAssertEqual(log.tenths(since: start), [2, 4, 6, 8])
    check(9)
  }

  func testABlockEndsARun() {
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.3) { [log] in log.add() }
    _ = RunLoop.current.run(mode: .default, before: start + 5)
    XCTAssertEqual(log.tenths(since: start), [3])
    check(3)
  }

  func testAJobOfTheMainActorEndsARun() {
    let task = Task { @MainActor [log] in
      try await Task.sleep(for: .milliseconds(300))
      log.add()
      // A sleep begins, and time must not move before the run has ended.
      try await Task.sleep(for: .milliseconds(100))
      log.add()
    }
    while log.tenths(since: start).isEmpty {
      _ = RunLoop.current.run(mode: .default, before: start + 5)
    }
    XCTAssertEqual(log.tenths(since: start), [3])
    check(3)
    // Else the task would end a run of the next test.
    task.cancel()
  }

  func testABlockOfSyncEndsARun() {
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { DispatchQueue.main.sync {} }
    _ = RunLoop.current.run(mode: .default, before: start + 5)
    check(3)
  }

  /// The block is handled before the thread waits, together with one that was passed to the run loop.
  func testABlockThatIsReadyEndsARun() {
    RunLoop.main.perform { [log] in log.add() }
    DispatchQueue.main.async { [log] in log.add() }
    _ = RunLoop.current.run(mode: .default, before: start + 5)
    XCTAssertEqual(log.tenths(since: start), [0, 0])
    check(0)
  }

  /// The test itself calls the function by which Foundation runs a run loop.
  func testARunOfCoreFoundation() {
    let timer = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: true) { [log] _ in log.add() }
    XCTAssertEqual(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.7, false), .timedOut)
    timer.invalidate()
    XCTAssertEqual(log.tenths(since: start), [2, 4, 6])
    check(7)
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.2) { [log] in log.add() }
    XCTAssertEqual(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 5, true), .handledSource)
    check(9)
  }

  func testATimerIsMoved() {
    let done = expectation(description: "fired")
    let timer = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { [log] _ in
      log.add()
      done.fulfill()
    }
    timer.fireDate = start + 0.5
    wait(for: [done], timeout: 5)
    XCTAssertEqual(log.tenths(since: start), [5])
    check(5)
  }

  /// The outer run of the run loop continues after the inner one.
  func testACallbackRunsTheRunLoop() {
    let done = expectation(description: "fired")
    let timers = [2, 4, 8].map { tenths in
      Timer.scheduledTimer(withTimeInterval: Double(tenths) / 10, repeats: false) { [log] _ in
        log.add()
        if tenths == 2 { RunLoop.current.run(until: Date() + 0.4) }
        if tenths == 8 { done.fulfill() }
      }
    }
    wait(for: [done], timeout: 5)
    XCTAssertEqual(log.tenths(since: start), [2, 4, 8])
    XCTAssertTrue(timers.allSatisfy { !$0.isValid })
    check(8)
  }

  /// A timer does not end the inner run. It ends at its limit, because the run loop still has the timer of the
  /// callback.
  func testACallbackRunsTheRunLoopForOneSource() {
    let done = expectation(description: "ran")
    let start = start
    let inner = Timer.scheduledTimer(withTimeInterval: 0.5, repeats: false) { [log] _ in log.add() }
    _ = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { [log] _ in
      log.add()
      _ = RunLoop.current.run(mode: .default, before: start + 0.9)
      log.add()
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    XCTAssertEqual(log.tenths(since: start), [2, 5, 9])
    XCTAssertFalse(inner.isValid)
    check(9)
  }

  /// The run ends with the timer, because the run loop then has nothing left.
  func testABlockRunsTheRunLoopForOneSource() {
    let done = expectation(description: "ran")
    let start = start
    _ = Timer.scheduledTimer(withTimeInterval: 0.5, repeats: false) { [log] _ in log.add() }
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.2) { [log] in
      log.add()
      _ = RunLoop.current.run(mode: .default, before: start + 0.9)
      log.add()
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
    XCTAssertEqual(log.tenths(since: start), [2, 5, 5])
    check(5)
  }

  /// The wait ends while a callback of its run loop sleeps.
  func testACallbackSleepsWhenTheWaitEnds() {
    let done = expectation(description: "slept")
    Task {
      try await Task.sleep(for: .milliseconds(300))
      done.fulfill()
    }
    _ = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { [log] _ in
      Thread.sleep(forTimeInterval: 0.4)
      log.add()
    }
    wait(for: [done], timeout: 5)
    XCTAssertEqual(log.tenths(since: start), [6])
    check(6)
  }

  /// The callback is a job of the test, so time does not move while it runs.
  func testACallbackTakesRealTime() {
    let done = expectation(description: "slept")
    Task { [log] in
      try await Task.sleep(for: .milliseconds(300))
      log.add()
      done.fulfill()
    }
    let timer = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: false) { [log] _ in
      let end = DispatchTime.now().uptimeNanoseconds + 20_000_000
      while DispatchTime.now().uptimeNanoseconds < end {}
      log.add()
    }
    wait(for: [done], timeout: 5)
    timer.invalidate()
    XCTAssertEqual(log.tenths(since: start), [2, 3])
  }

  /// Each block passes the next one, as long as the task sleeps. Time moves although no thread is ever idle, so
  /// the instant of the last block is not exact.
  func testBlocksPassBlocks() {
    let done = expectation(description: "a block has seen that the task has slept")
    let log = log
    @Sendable func poll() {
      if log.isEmpty { RunLoop.main.perform { poll() } } else { done.fulfill() }
    }
    logLater()
    RunLoop.main.perform { poll() }
    wait(for: [done], timeout: 5)
  }

  /// The thread ends before its timer fires. At the time for that, another timer has the timer's file descriptor.
  func testAThreadEndsBeforeItsTimer() {
    let made = expectation(description: "made a timer")
    let before = KernelTimer.all
    nonisolated(unsafe) var timers: Set<CInt> = []
    Thread.detachNewThread { [log] in
      _ = Timer.scheduledTimer(withTimeInterval: 0.3, repeats: false) { _ in log.add() }
      timers = KernelTimer.all.subtracting(before)
      made.fulfill()
    }
    wait(for: [made], timeout: 5)
    for _ in 0..<3_000 where timers.allSatisfy(KernelTimer.isTimer) { waitInRealTime(0.01) }
    XCTAssertFalse(timers.allSatisfy(KernelTimer.isTimer), "the thread's timer is closed")
    let others = (0..<64).map { _ in KernelTimer.make() }
    defer { for timer in others { close(timer) } }
    Thread.sleep(forTimeInterval: 0.6)
    var files = others.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    XCTAssertEqual(poll(&files, nfds_t(files.count), 0), 0)
    XCTAssertTrue(log.isEmpty)
  }

  /// A repeating timer that the test does not stop does not keep the test from ending.
  func testATimerIsLeftBehind() {
    _ = Timer.scheduledTimer(withTimeInterval: 0.2, repeats: true) { [log] _ in log.add() }
    RunLoop.current.run(until: Date() + 0.5)
    XCTAssertEqual(log.tenths(since: start), [2, 4])
  }
}

/// A timer that is set before the test begins.
final class EverywhereXCTOuterTimerSamples: SampleCase {
  nonisolated(unsafe) private static var hasFired = false

  override class func setUp() {
    guard runsSamples else { return }
    _ = Timer.scheduledTimer(withTimeInterval: 60, repeats: false) { _ in hasFired = true }
  }

  func testATimerOfTheSuiteFires() {
    let expectation = XCTNSPredicateExpectation(
      predicate: NSPredicate { _, _ in Self.hasFired }, object: nil)
    wait(for: [expectation], timeout: 120)
  }
}

import Clocks
import ClocksTestKit
import Foundation
import Testing
import XCTest

/// Waits of Foundation, Dispatch and the C library. They block their threads, and take real time in a scope, too,
/// whatever the virtual time is.
@Suite struct FoundationTests {
  private static let blocked: [(name: String, wait: @Sendable () -> Void)] = [
    ("Thread.sleep(forTimeInterval:)", { Thread.sleep(forTimeInterval: 0.02) }),
    ("Thread.sleep(until:)", { Thread.sleep(until: Date() + 0.02) }),
    ("usleep", { usleep(20_000) }),
    ("NSCondition.wait(until:)", { wait(until: Date() + 0.02) }),
    ("NSConditionLock.lock(before:)", { lock(before: Date() + 0.02) }),
    ("NSLock.lock(before:)", { lockTwice(NSLock(), before: Date() + 0.02) }),
    ("NSRecursiveLock.lock(before:)", { lockOnTwoThreads(before: Date() + 0.02) }),
    ("DispatchSemaphore.wait(timeout:)", { waitForSemaphore() }),
    (
      "DispatchSemaphore.wait(wallTimeout:)",
      { _ = DispatchSemaphore(value: 0).wait(wallTimeout: .now() + 0.02) }
    ),
    ("DispatchGroup.wait(timeout:)", { waitForGroup() }),
    ("DispatchWorkItem.wait(timeout:)", { waitForItem() }),
  ]

  @Test(.virtualTime, arguments: blocked.indices) func waitsTakeRealTime(_ index: Int) async throws
  {
    let (name, wait) = Self.blocked[index]
    // A wait that is too long by the difference of the two times fails here within minutes, not within a
    // year.
    for seconds in [0, 200, 3_600_000, 36_000_000] {
      try await Task.sleep(for: .seconds(seconds))
      let date = Date()
      let start = realNow()
      wait()
      let passed = realNow() - start
      try #require(
        passed >= .milliseconds(19) && passed < .seconds(190), "\(name), after \(seconds) seconds")
      #expect(Date() == date, "\(name)")
    }
    #expect(VirtualTime.current?.now.offset == .seconds(39_600_200))
  }

  @Test(.virtualTime) func waitsOnAQueueTakeRealTime() async throws {
    try await Task.sleep(for: .seconds(3_600_000))
    let start = realNow()
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        wait(until: Date() + 0.02)
        Thread.sleep(forTimeInterval: 0.02)
        continuation.resume()
      }
    }
    let passed = realNow() - start
    #expect(passed >= .milliseconds(38) && passed < .seconds(600))
    #expect(VirtualTime.current?.now.offset == .seconds(3_600_000))
  }

  @Test(.virtualTime) func datesAreVirtual() async throws {
    let start = (Date(), NSDate(), Date.now)
    try await Task.sleep(for: .seconds(3600))
    #expect(Date().timeIntervalSince(start.0) == 3600)
    #expect(NSDate().timeIntervalSince(start.1 as Date) == 3600)
    #expect(Date.now.timeIntervalSince(start.2) == 3600)
    #expect(start.0.timeIntervalSinceNow == -3600)
    #expect(start.1.timeIntervalSinceNow == -3600)
    #expect(Date(timeIntervalSinceNow: 1).timeIntervalSince(start.0) == 3601)
  }

  /// The thread is not part of the test, so it may read earlier instants than the test has read.
  @Test(.virtualTime) func threadsReadRealTime() async throws {
    try await Task.sleep(for: .seconds(3_600_000))
    let (instant, date) = (ContinuousClock.now, Date())
    let time = try VirtualTime.required
    let areEarlier = await time.holding {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(returning: ContinuousClock.now < instant && Date() < date)
        }
      }
    }
    #expect(areEarlier)
  }

  @Test(.virtualTime) func theUptimeIsVirtual() async throws {
    let start = ProcessInfo.processInfo.systemUptime
    try await Task.sleep(for: .seconds(360_000))
    #expect(abs(ProcessInfo.processInfo.systemUptime - start - 360_000) < 0.001)
  }

  /// A C function that the test calls itself is not replaced.
  @Test(.virtualTime) func clocksOfTheCLibraryAreReal() async throws {
    func readings() -> [Double] {
      var (date, uptime, ofDay) = (timespec(), timespec(), timeval())
      clock_gettime(CLOCK_REALTIME, &date)
      clock_gettime(CLOCK_MONOTONIC, &uptime)
      gettimeofday(&ofDay, nil)
      return [date.tv_sec, uptime.tv_sec, ofDay.tv_sec, time(nil)].map(Double.init)
        + [Double(clock()) / Double(CLOCKS_PER_SEC)]
    }
    let start = readings()
    try await Task.sleep(for: .seconds(360_000))
    #expect(zip(readings(), start).allSatisfy { $0 - $1 < 300_000 })
  }

  /// The handlers of Dispatch sources of other kinds than timers run on behalf of the test, too.
  @Test(.virtualTime) func sourcesOfOtherKinds() async throws {
    let time = try #require(VirtualTime.current)
    try await Task.sleep(for: .seconds(360_000))
    let source = DispatchSource.makeUserDataAddSource()
    let now = DispatchTime.now()
    let seen = await time.holding {
      await withCheckedContinuation { continuation in
        source.setEventHandler { continuation.resume(returning: DispatchTime.now()) }
        source.resume()
        source.add(data: 1)
      }
    }
    #expect(seen == now)
    source.cancel()
  }
}

private func wait(until date: Date) {
  let condition = NSCondition()
  condition.withLock { while condition.wait(until: date) {} }
}

private func lock(before date: Date) {
  _ = NSConditionLock(condition: 0).lock(whenCondition: 1, before: date)
}

private func lockTwice(_ lock: NSLock, before date: Date) {
  lock.lock()
  #expect(!lock.lock(before: date))
  lock.unlock()
}

private func lockOnTwoThreads(before date: Date) {
  let (lock, isLocked, isDone) = (
    NSRecursiveLock(), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
  )
  Thread.detachNewThread {
    lock.lock()
    isLocked.signal()
    isDone.wait()
    lock.unlock()
  }
  isLocked.wait()
  #expect(!lock.lock(before: date))
  isDone.signal()
}

private func waitForSemaphore() {
  _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.02)
}

private func waitForGroup() {
  let group = DispatchGroup()
  group.enter()
  _ = group.wait(timeout: .now() + 0.02)
  group.leave()
}

private func waitForItem() {
  let item = DispatchWorkItem {}
  _ = item.wait(timeout: .now() + 0.02)
  item.perform()
}

/// Run loops: the open-source Foundation runs only that of the main thread, which XCTest leaves free.
final class MainRunLoopTests: XCTestCase {
  /// Returns how long a run loop ran, at each of three virtual times.
  @MainActor
  private func times(_ run: @escaping @MainActor () -> Void) async throws -> [Duration] {
    try await withVirtualTime { @MainActor time in
      var times: [Duration] = []
      for hours in [0, 1000, 10_000] {
        try await Task.sleep(for: .seconds(3600 * hours))
        let (start, date) = (realNow(), Date())
        run()
        times.append(realNow() - start)
        XCTAssertEqual(Date(), date)
      }
      XCTAssertEqual(time.now.offset, .seconds(3600 * 11_000))
      return times
    }
  }

  /// The main thread runs the block on behalf of the test, whose thread waits.
  func testSyncOnTheMainQueue() async throws {
    try await withVirtualTime { _ in
      try await Task.sleep(for: .seconds(3600))
      let now = (ContinuousClock.now, DispatchTime.now())
      DispatchQueue.main.sync {
        XCTAssertTrue(Thread.isMainThread)
        XCTAssertEqual(ContinuousClock.now, now.0)
        XCTAssertEqual(DispatchTime.now(), now.1)
      }
    }
  }

  private func areAsAsked(_ times: [Duration]) -> Bool {
    times.count == 3 && times.allSatisfy { $0 >= .milliseconds(19) && $0 < .seconds(600) }
  }

  @MainActor func testRunUntil() async throws {
    let times = try await times {
      let timer = Timer(fire: Date() + 3600, interval: 0, repeats: false) { _ in }
      RunLoop.current.add(timer, forMode: .default)
      RunLoop.current.run(until: Date() + 0.02)
      timer.invalidate()
    }
    XCTAssertTrue(areAsAsked(times), "\(times)")
  }

  @MainActor func testRunBefore() async throws {
    let times = try await times {
      let timer = Timer(fire: Date() + 3600, interval: 0, repeats: false) { _ in }
      RunLoop.current.add(timer, forMode: .default)
      _ = RunLoop.current.run(mode: .default, before: Date() + 0.02)
      timer.invalidate()
    }
    XCTAssertTrue(areAsAsked(times), "\(times)")
  }

  @MainActor func testTimer() async throws {
    let ticks = Tally()
    let times = try await times {
      let timer = Timer(fire: Date() + 0.02, interval: 0, repeats: false) { _ in ticks.add() }
      RunLoop.current.add(timer, forMode: .default)
      let before = ticks.value
      for _ in 0..<10 where ticks.value == before {
        RunLoop.current.run(until: Date() + 0.1)
      }
      timer.invalidate()
    }
    XCTAssertTrue(areAsAsked(times), "\(times)")
    XCTAssertEqual(ticks.value, 3)
  }
}

import Dispatch
import XCTest

@testable import Clocks

/// XCTest creates the properties of every test case before the first test, outside any task.
final class TestClockXCTests: XCTestCase {
  let clock = TestClock()

  func testAClockInAPropertyIsProcessWide() async {
    let log = Log<Int>()
    let clock = clock
    let ticker = Task {
      for tick in 1... {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<100 { await Task.yield() }
        await MainActor.run {}
        log.add(tick)
      }
    }
    for tick in 1...10 {
      await clock.advance(by: .seconds(1))
      XCTAssertEqual(log.all.last, tick)
    }
    ticker.cancel()
    await clock.settle()
    XCTAssertEqual(clock.pendingSleeps.count, 0)
    XCTAssertTrue(clock.scheduler.isProcessWide)
  }

  func testAClockOfASynchronousTestSharesTheScheduler() {
    XCTAssertIdentical(clock.scheduler, TestClock().scheduler)
  }

  func testALocalClock() async throws {
    let clock = TestClock()
    let counter = Counter()
    let task = Task.detached {
      try await clock.sleep(for: .seconds(1))
      await counter.incrementSlowly(yields: 100)
    }
    await clock.advance(by: .seconds(1))
    let count = await counter.count
    XCTAssertEqual(count, 1)
    try await task.value
  }

  @MainActor func testOnTheMainActor() async {
    var ticks = 0
    let clock = clock
    let ticker = Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        await Task.yield()
        ticks += 1
      }
    }
    for tick in 1...10 {
      await clock.advance(by: .seconds(1))
      XCTAssertEqual(ticks, tick)
    }
    ticker.cancel()
  }

  func testASynchronousTestThatWaitsForAnExpectation() {
    let clock = clock
    let expectation = expectation(description: "the tea is ready")
    Task {
      try await clock.sleep(for: .seconds(3600))
      await MainActor.run { expectation.fulfill() }
    }
    Task { await clock.advance(by: .seconds(3600)) }
    wait(for: [expectation], timeout: 60)
  }

  func testManyInARow() async {
    for _ in 0..<200 {
      let counter = Counter()
      let clock = TestClock()
      for second in 1...5 {
        Task {
          try await clock.sleep(for: .seconds(second))
          await counter.incrementSlowly(yields: second)
        }
      }
      for second in 1...5 {
        await clock.advance(by: .seconds(1))
        let count = await counter.count
        XCTAssertEqual(count, second)
      }
    }
  }

  func testRealSleepsAndOrdinaryTasksGoOn() async throws {
    let start = ContinuousClock.now
    await withTaskGroup { group in
      for number in 0..<1_000 {
        group.addTask {
          if number % 100 == 0 { try? await Task.sleep(for: .milliseconds(5)) }
          await MainActor.run { MainActor.preconditionIsolated() }
        }
      }
    }
    XCTAssertGreaterThanOrEqual(ContinuousClock.now - start, .milliseconds(5))
  }
}

/// `setUp`, the test and `tearDown` run in different tasks.
final class TestClockInSetUpXCTests: XCTestCase {
  var clock: TestClock<Duration>!

  override func setUp() async throws { clock = TestClock() }

  override func tearDown() async throws { clock = nil }

  func testAClockMadeInSetUp() async {
    XCTAssertIdentical(TestClock().scheduler, clock.scheduler)
    for _ in 0..<20 {
      let log = Log<Int>()
      Task { [clock = clock!] in
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<100 { await Task.yield() }
        log.add(1)
      }
      await clock.advance(by: .seconds(1))
      XCTAssertEqual(log.all, [1])
    }
  }
}

/// A clock that is made in `setUp`, in a process without a process-wide owner.
///
/// With a clock in a property of a test case, the result would depend on that clock.
final class OnlyClockInSetUpXCTests: XCTestCase {
  func testAClockMadeInSetUpIsTheOnlyOneOfTheProcess() async throws {
    let child = try await ChildProcess.runXCTest(
      "TestClockInSetUpXCTests/testAClockMadeInSetUp", environment: [:])
    XCTAssertEqual(child.exitCode, 0, "\(child)")
    XCTAssertEqual(
      child.standardOutput.lines(containing: "Executed 1 test, with 0 failures").count, 2)
  }
}

/// A clock in a property of one test case does not affect the tests of other classes.
final class WithoutClocksXCTests: XCTestCase {
  /// A loop that would never end on a scheduler.
  func testCancelsAnEndlessLoop() async {
    let started = expectation(description: "started")
    let task = Task {
      started.fulfill()
      while !Task.isCancelled {}
    }
    await fulfillment(of: [started], timeout: 60)
    task.cancel()
    await task.value
  }

  func testBlocksAThreadUntilAnotherTaskHasRun() async {
    let done = DispatchSemaphore(value: 0)
    Task.detached { done.signal() }
    XCTAssertTrue(done.waits(atMost: 60))
  }
}

/// A test case with a clock in a property.
final class ClockInPropertyXCTests: XCTestCase {
  let clock = TestClock()

  func testAdvances() async {
    await clock.advance(by: .seconds(1))
    XCTAssertEqual(clock.now.offset, .seconds(1))
  }
}

/// A clock in a property of one class does not affect another class, in a process that runs only these two.
final class ClockInOtherClassXCTests: XCTestCase {
  func testAClassWithoutClocksIsNotAffected() async throws {
    let tests = ["testCancelsAnEndlessLoop", "testBlocksAThreadUntilAnotherTaskHasRun"]
    for test in tests {
      let child = try await ChildProcess.runXCTest(
        "ClockInPropertyXCTests/testAdvances,ClocksTests.WithoutClocksXCTests/\(test)",
        environment: ["CLOCKS_BLOCKED_AFTER": "10"])
      XCTAssertEqual(child.exitCode, 0, "\(child)")
      let passed = child.standardOutput.lines(containing: " passed (").map {
        $0.split(separator: "'")[1]
      }
      // In this order, so that the clock has been used when the other class begins.
      XCTAssertEqual(
        passed, ["ClockInPropertyXCTests.testAdvances", "WithoutClocksXCTests.\(test)"], "\(child)")
    }
  }
}

/// Runs between a test case with a clock in a property and other test cases.
final class LateFirstUseXCTests: XCTestCase {
  let clock = TestClock()

  /// The clock was made before the test, and the task before the clock was used.
  func testIsExactFromItsFirstUseOn() async {
    for _ in 0..<50 {
      let log = Log<Int>()
      let task = Task { [clock] in
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<20 { await Task.yield() }
        log.add(1)
      }
      await clock.advance(by: .seconds(1))
      XCTAssertEqual(log.all, [1])
      _ = await task.result
    }
  }
}

extension DispatchSemaphore {
  fileprivate func waits(atMost seconds: Double) -> Bool {
    wait(timeout: .now() + seconds) == .success
  }
}

import Clocks
import ClocksTestKit
import Foundation
import XCTest

/// Waits for expectations of XCTest in a scope: virtual, although they hold a thread.
final class WaitXCTests: XCTestCase {
  /// Waits, although async code should not. Returns whether the expectation was fulfilled in time.
  private static func hold(
    for expectation: XCTestExpectation, _ timeout: TimeInterval = 5000
  ) -> Bool {
    XCTWaiter.wait(for: [expectation], timeout: timeout) == .completed
  }

  /// Starts work that takes an hour and ends with the fulfillment.
  private static func work(_ expectation: XCTestExpectation) {
    Task {
      try await Task.sleep(for: .seconds(1800))
      DispatchQueue.global().asyncAfter(deadline: .now() + 1800) { expectation.fulfill() }
    }
  }

  func testAThreadOfThePoolWaits() async throws {
    try await withVirtualTime { time in
      let (done, never) = (XCTestExpectation(), XCTestExpectation())
      Self.work(done)
      XCTAssertTrue(Self.hold(for: done))
      XCTAssertEqual(time.now.offset, .seconds(3600))
      XCTAssertFalse(Self.hold(for: never))
      XCTAssertEqual(time.now.offset, .seconds(8600))
      try await Task.sleep(for: .seconds(1))
      XCTAssertEqual(time.now.offset, .seconds(8601))
    }
  }

  @MainActor func testTheMainActorWaits() async throws {
    let mainJobs = Tally()
    try await withVirtualTime { @MainActor time in
      let (done, never) = (XCTestExpectation(), XCTestExpectation())
      Task { @MainActor in mainJobs.add() }
      Self.work(done)
      XCTAssertTrue(Self.hold(for: done))
      XCTAssertEqual(time.now.offset, .seconds(3600))
      XCTAssertFalse(Self.hold(for: never))
      XCTAssertEqual(time.now.offset, .seconds(8600))
      XCTAssertEqual(mainJobs.value, 0)
      try await Task.sleep(for: .seconds(1))
      XCTAssertEqual(mainJobs.value, 1)
      XCTAssertEqual(time.now.offset, .seconds(8601))
    }
  }

  func testFulfillment() async throws {
    try await withVirtualTime { time in
      let (done, never) = (XCTestExpectation(), XCTestExpectation())
      Self.work(done)
      let first = await XCTWaiter().fulfillment(of: [done], timeout: 5000)
      XCTAssertEqual(first, .completed)
      XCTAssertEqual(time.now.offset, .seconds(3600))
      let second = await XCTWaiter().fulfillment(of: [never], timeout: 5000)
      XCTAssertEqual(second, .timedOut)
      XCTAssertEqual(time.now.offset, .seconds(8600))
    }
  }

  /// The task continues in a scope that is over, so the rest of its timeout passes in real time.
  func testTheScopeEndsBeforeTheWait() async throws {
    let ended = XCTestExpectation(description: "ended")
    try await withVirtualTime { _ in
      Task {
        XCTAssertFalse(Self.hold(for: XCTestExpectation(), 0.05))
        ended.fulfill()
      }
      await Task.yield()
    }
    let result = await XCTWaiter().fulfillment(of: [ended], timeout: 60)
    XCTAssertEqual(result, .completed)
  }
}

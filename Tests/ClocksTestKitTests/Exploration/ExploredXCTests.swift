import Clocks
import Foundation
import XCTest

/// Samples that other tests run in child processes, for their files and failures.
final class ExploredXCTests: XCTestCase {
  private struct Oh: Error {}

  private actor Box {
    var value = 0
    func set(_ value: Int) { self.value = value }
  }

  private func skipUnlessAskedFor() throws {
    guard ProcessInfo.processInfo.environment["CLOCKS_TESTS_EXPLORED_SAMPLES"] != nil else {
      throw XCTSkip("Another test runs it.")
    }
  }

  private static func race() async -> Int {
    print("The body runs")
    let box = Box()
    let first = Task { await box.set(1) }
    let second = Task { await box.set(2) }
    _ = await (first.value, second.value)
    return await box.value
  }

  func testPasses() async throws {
    try skipUnlessAskedFor()
    try await withSchedules(100) { _ in
      let value = await Self.race()
      try await withVirtualTime { _ in try await Task.sleep(for: .seconds(1)) }
      XCTAssertTrue([1, 2].contains(value))
    }
  }

  func testCrashes() async throws {
    try skipUnlessAskedFor()
    try await withSchedules(100) { _ in
      let value = await Self.race()
      precondition(value == 2)
    }
  }

  func testFails() async throws {
    try skipUnlessAskedFor()
    try await withSchedules(100) { _ in
      let value = await Self.race()
      XCTAssertTrue(value == 2, "it is \(value)")
    }
  }

  /// Fails only in the run that is recorded after the search.
  func testFailsAfterItsSearch() async throws {
    try skipUnlessAskedFor()
    nonisolated(unsafe) var runs = 0
    try await withSchedules(2) { _ in
      _ = await Self.race()
      runs += 1
      XCTAssertLessThan(runs, 3)
    }
  }

  func testThrows() async throws {
    try skipUnlessAskedFor()
    try await withSchedules(100) { _ in
      if await Self.race() == 1 { throw Oh() }
    }
  }

  func testSkips() async throws {
    try skipUnlessAskedFor()
    try await withSchedules(100) { _ in
      _ = await Self.race()
      throw XCTSkip("Not on this machine.")
    }
    XCTFail("It goes on.")
  }

  func testSkipsInAReplay() async throws {
    try skipUnlessAskedFor()
    try await withSchedules(.schedule("1::0000")) { _ in throw XCTSkip("Not on this machine.") }
  }

  /// A failure before the skip is a failure.
  func testFailsAndSkips() async throws {
    try skipUnlessAskedFor()
    try await withSchedules(100) { _ in
      XCTFail("It fails first.")
      throw XCTSkip("Not on this machine.")
    }
  }

  func testDeadlock() async throws {
    try skipUnlessAskedFor()
    try await withSchedules(100) { _ in
      await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
  }
}

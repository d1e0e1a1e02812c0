import Clocks
import Foundation
import XCTest

/// Run in a process of their own, for the files that they leave and the failures that they record.
final class ExploredXCTests: XCTestCase {
  private actor Box {
    var value = 0
    func set(_ value: Int) { self.value = value }
  }

  private func explore(expected: Set<Int>) async throws {
    guard ProcessInfo.processInfo.environment["CLOCKS_EXPLORED_SAMPLES"] != nil else {
      throw XCTSkip("It is run by another test.")
    }
    try await withSchedules(100) { _ in
      let box = Box()
      let first = Task { await box.set(1) }
      let second = Task { await box.set(2) }
      _ = await (first.value, second.value)
      let value = await box.value
      XCTAssertTrue(expected.contains(value), "it is \(value)")
    }
  }

  func testPasses() async throws { try await explore(expected: [1, 2]) }

  func testFails() async throws { try await explore(expected: [2]) }
}

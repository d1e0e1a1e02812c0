import Clocks
import XCTest

/// `TraceFolderTests` runs these tests in a process of their own for the files that they write. The file names
/// contain the lines of the calls.
final class TraceXCTests: XCTestCase {
  func testTwoScopesOfOneLine() async throws {
    for seconds in 1...2 {
      try await withVirtualTime { _ in
        try await Task.sleep(for: .seconds(seconds))
      }
    }
  }

  func testAClock() async throws {
    let slept = expectation(description: "slept")
    do {
      // The recording ends with the clock.
      let clock = TestClock()
      Task(name: "sleeper") {
        try await clock.sleep(for: .seconds(3))
        slept.fulfill()
      }
      await clock.advance(by: .seconds(3))
    }
    await fulfillment(of: [slept], timeout: 5)
  }
}

/// Makes no clock.
final class UntracedXCTests: XCTestCase {
  func testOne() {}
  func testTwo() async throws { try await Task.sleep(for: .milliseconds(1)) }
}

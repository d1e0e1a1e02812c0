import Clocks
import XCTest

/// Run in a process of their own, too, for the files that they leave; the lines of the calls are in the names of
/// the files.
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

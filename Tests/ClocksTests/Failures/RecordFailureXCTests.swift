import XCTest

/// What a recorded failure does to an XCTest test: seen from outside, in a child process, because a
/// test cannot watch itself fail on Linux.
final class RecordFailureXCTests: XCTestCase {
  private let failure =
    "/Sea/Waves.swift:42: error: DeliberateXCTestFailures.testFailure : failed - "
    + "The sea is not wet."

  func testFailureReachesXCTestAtTheCallersLine() async throws {
    let child = try await ChildProcess.runXCTest(.inTest)
    XCTAssertEqual(child.standardOutput.lines(containing: "The sea"), [failure])
    XCTAssertEqual(child.standardError, "")
    XCTAssertEqual(child.exitCode, 1)
  }

  func testFailureOfADetachedTaskReachesXCTest() async throws {
    let child = try await ChildProcess.runXCTest(.inDetachedTask)
    XCTAssertEqual(child.standardOutput.lines(containing: "The sea"), [failure])
    XCTAssertEqual(child.standardError, "")
    XCTAssertEqual(child.exitCode, 1)
  }

  /// The test would pass otherwise.
  func testFailureThatCannotReachXCTestEndsTheProcess() async throws {
    let child = try await ChildProcess.runXCTest(.undeliverable)
    XCTAssertEqual(child.exitCode, 1)
    XCTAssertTrue(
      child.standardError.hasPrefix(
        """
        /Sea/Waves.swift:42: error: The sea is not wet.
        error: This process runs tests with XCTest, but Clocks has not found its function that records a failure,
        """), "\(child)")
    XCTAssertEqual(
      child.standardOutput.lines(containing: "missing:"),
      ["missing: how XCTest records a failure (XCTFail)"])
  }

  func testWhereNoTestRunsTheFailureIsALineOnStandardError() async throws {
    let child = try await ChildProcess.runXCTestInDisguise(.afterTheLastTest)
    XCTAssertEqual(
      child.standardError, "/Sea/Waves.swift:42: error: The sea is not wet.\n")
    XCTAssertEqual(child.standardOutput.lines(containing: "The sea"), [])
    XCTAssertEqual(child.exitCode, 0)
  }

  func testInDoubtTheFailureGoesToTheTestLibraryAndToStandardError() async throws {
    let child = try await ChildProcess.runXCTestInDisguise(.inTest)
    XCTAssertEqual(child.standardOutput.lines(containing: "The sea"), [failure])
    XCTAssertEqual(
      child.standardError, "/Sea/Waves.swift:42: error: The sea is not wet.\n")
    XCTAssertEqual(child.exitCode, 1)
  }
}

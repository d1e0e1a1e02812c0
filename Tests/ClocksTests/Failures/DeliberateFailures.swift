import Foundation
import Testing
import XCTest

@testable import Clocks

/// Failures that a parent process asks for: `ChildProcess` runs this test bundle again with the
/// name of one of them in the environment, and looks at what the test library made of it. In an
/// ordinary run the tests below do nothing.
enum DeliberateFailures: String {
  case inTest
  case inDetachedTask
  case afterTheLastTest

  static let variable = "CLOCKS_TESTS_DELIBERATE_FAILURE"

  static func failAsAsked() async {
    let asked = ProcessInfo.processInfo.environment[variable].flatMap(Self.init(rawValue:))
    switch asked {
    case .inTest:
      fail()
    case .inDetachedTask:
      await Task.detached { fail() }.value
    case .afterTheLastTest:
      atexit { DeliberateFailures.fail() }
    case nil:
      break
    }
  }

  /// The place is made up, so that it does not move when this file is edited.
  static func fail() {
    Clocks.recordFailure(
      "The sea is not wet.", fileID: "Sea/Waves.swift", filePath: "/Sea/Waves.swift", line: 42,
      column: 7)
  }
}

final class DeliberateXCTestFailures: XCTestCase {
  func testFailure() async {
    await DeliberateFailures.failAsAsked()
  }
}

@Suite struct DeliberateSwiftTestingFailures {
  @Test func failure() async {
    await DeliberateFailures.failAsAsked()
  }
}

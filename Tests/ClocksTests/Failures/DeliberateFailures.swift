import ClocksSupport
import Foundation
import Testing
import XCTest

@testable import Clocks

/// Failures that a parent process asks for through the environment.
///
/// `ChildProcess` runs this test bundle again, and the parent checks how the test library reports the failure.
/// Otherwise the tests below are skipped.
enum DeliberateFailures: String {
  case inTest
  case inDetachedTask
  case afterTheLastTest
  /// Reported by the symbols of the test library, without the calls that ClocksTestKit registers.
  case bySymbol
  /// Reported by the calls that ClocksTestKit registers, without the symbols.
  case withoutSymbols
  /// Reported with neither the calls nor the symbols.
  case undeliverable

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
    case .bySymbol:
      CompiledSwiftTesting.registered = nil
      fail()
    case .withoutSymbols:
      forgetSymbols()
      fail()
    case .undeliverable:
      CompiledSwiftTesting.registered = nil
      forgetSymbols()
      print("missing: \(TestLibraries.missing.joined(separator: ", "))")
      fail()
    case nil:
      break
    }
  }

  private static func forgetSymbols() {
    SwiftTesting.recordSymbol = "Issue.record"
    XCTest.failSymbol = "XCTFail"
  }

  /// Records a failure at an invented place, which does not move when this file is edited.
  static func fail() {
    Clocks.recordFailure(
      "The sea is not wet.",
      at: CallSite(fileID: "Sea/Waves.swift", filePath: "/Sea/Waves.swift", line: 42, column: 7))
  }
}

final class DeliberateXCTestFailures: XCTestCase {
  func testFailure() async throws {
    try XCTSkipUnless(ProcessInfo.processInfo.environment[DeliberateFailures.variable] != nil)
    await DeliberateFailures.failAsAsked()
  }
}

@Suite(.onlyInChild(DeliberateFailures.variable)) struct DeliberateSwiftTestingFailures {
  @Test func failure() async {
    await DeliberateFailures.failAsAsked()
  }
}

extension ChildProcess {
  /// Runs only an XCTest test that fails as requested.
  static func runXCTest(_ failure: DeliberateFailures) async throws -> ChildProcess {
    try await runXCTest(
      "DeliberateXCTestFailures/testFailure",
      environment: [DeliberateFailures.variable: failure.rawValue])
  }

  /// Runs only a Swift Testing test that fails as requested.
  static func runSwiftTesting(_ failure: DeliberateFailures) async throws -> ChildProcess {
    try await runSwiftTesting(
      "DeliberateSwiftTestingFailures",
      environment: [DeliberateFailures.variable: failure.rawValue])
  }

  /// Runs only an XCTest test that fails as requested, under a name that is not that of a test bundle.
  static func runXCTestInDisguise(_ failure: DeliberateFailures) async throws -> ChildProcess {
    try await runXCTestInDisguise(
      "DeliberateXCTestFailures/testFailure",
      environment: [DeliberateFailures.variable: failure.rawValue])
  }
}

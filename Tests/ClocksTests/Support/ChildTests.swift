import Foundation

extension ChildProcess {
  /// Runs the Swift Testing tests that match.
  static func runSwiftTesting(
    _ tests: String, environment: [String: String]
  ) async throws -> ChildProcess {
    try await runTests(tests, environment: environment, errors: .apart)
  }

  /// Runs only one XCTest test of this target.
  static func runXCTest(
    _ test: String, environment: [String: String], executable: String = testBundle
  ) async throws -> ChildProcess {
    try await runTests(
      "ClocksTests.\(test)", library: "xctest", environment: environment, executable: executable,
      errors: .apart)
  }

  /// Runs only one XCTest test, under a name that is not that of a test bundle.
  ///
  /// There the first clock installs the hooks. In a test process they are installed at load.
  static func runXCTestInDisguise(
    _ test: String, environment: [String: String]
  ) async throws -> ChildProcess {
    try await withTemporaryPath { folder in
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder)/app", withDestinationPath: testBundle)
      return try await runXCTest(test, environment: environment, executable: "\(folder)/app")
    }
  }
}

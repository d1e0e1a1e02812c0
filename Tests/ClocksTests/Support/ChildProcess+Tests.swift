import Foundation

/// The variables with which a test asks a child process for the tests that run only there.
enum ChildVariable {
  static let block = "CLOCKS_TESTS_BLOCK"
  static let blockedThreads = "CLOCKS_TESTS_BLOCKED_THREADS"
  static let busyPool = "CLOCKS_TESTS_BUSY_POOL"
  static let endOnActor = "CLOCKS_TESTS_END_ON_ACTOR"
  static let handlers = "CLOCKS_TESTS_HANDLERS"
  static let hang = "CLOCKS_TESTS_HANG"
  static let resumingExecutor = "CLOCKS_TESTS_RESUMING_EXECUTOR"
  static let signal = "CLOCKS_TESTS_SIGNAL"
  static let stand = "CLOCKS_TESTS_STAND"
  static let stuckPoller = "CLOCKS_TESTS_STUCK_POLLER"
  static let unfinishedCreation = "CLOCKS_TESTS_UNFINISHED_CREATION"
}

extension ChildProcess {
  /// Runs the Swift Testing tests that match.
  static func runSwiftTesting(
    _ tests: String, environment: [String: String]
  ) async throws -> ChildProcess {
    try await runTests(tests, environment: environment, errors: .apart)
  }

  /// Runs XCTest tests of this target: a class, a test, or a list with commas.
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

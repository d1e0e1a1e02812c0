import Clocks
import Foundation
import TestTraits

/// A process that has run to its end: what it wrote, and how it ended.
struct ChildProcess: Sendable {
  var standardOutput: String
  var standardError: String
  var exitCode: Int32

  /// The issues that Swift Testing has printed.
  var issues: [PrintedIssue] { PrintedIssue.all(in: standardOutput + "\n" + standardError) }

  /// Runs an XCTest test that fails as asked, and nothing else, in a process of its own.
  static func runXCTest(_ failure: DeliberateFailures) async throws -> ChildProcess {
    try await runXCTest(
      "DeliberateXCTestFailures/testFailure",
      environment: [DeliberateFailures.variable: failure.rawValue])
  }

  /// Runs a Swift Testing test that fails as asked, and nothing else, in a process of its own.
  static func runSwiftTesting(_ failure: DeliberateFailures) async throws -> ChildProcess {
    try await run(
      testBundle,
      arguments: [
        "--testing-library", "swift-testing", "--filter", "DeliberateSwiftTestingFailures",
      ],
      environment: [DeliberateFailures.variable: failure.rawValue])
  }

  /// Runs the Swift Testing tests whose name matches, with the given environment.
  static func runSwiftTesting(
    _ tests: String, environment: [String: String]
  ) async throws -> ChildProcess {
    try await run(
      testBundle, arguments: ["--testing-library", "swift-testing", "--filter", tests],
      environment: environment)
  }

  /// Runs an XCTest test that fails as asked, under a name that is not that of a test bundle.
  static func runXCTestInDisguise(_ failure: DeliberateFailures) async throws -> ChildProcess {
    try await runXCTestInDisguise(
      "DeliberateXCTestFailures/testFailure",
      environment: [DeliberateFailures.variable: failure.rawValue])
  }

  /// Runs an XCTest test, and nothing else, in a process of its own.
  static func runXCTest(
    _ test: String, environment: [String: String]
  ) async throws -> ChildProcess {
    try await run(testBundle, arguments: ["ClocksTests.\(test)"], environment: environment)
  }

  /// Runs an XCTest test in a child process, under a name that is not that of a test bundle.
  ///
  /// There the first clock installs the hooks; in a test process they are installed at load.
  static func runXCTestInDisguise(
    _ test: String, environment: [String: String]
  ) async throws -> ChildProcess {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "Clocks-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let app = directory.appending(path: "app")
    try FileManager.default.createSymbolicLink(
      at: app, withDestinationURL: URL(fileURLWithPath: testBundle))
    return try await run(
      app.path, arguments: ["ClocksTests.\(test)"], environment: environment)
  }

  /// The executable of the test bundle: on Linux both test libraries are started from it.
  private static var testBundle: String { CommandLine.arguments[0] }

  static func run(
    _ executable: String, arguments: [String] = [], environment: [String: String] = [:]
  ) async throws -> ChildProcess {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    // The tests compare what the test library prints to the letter.
    process.environment?["NO_COLOR"] = "1"
    // XCTest itself leaks at the end of an asynchronous test, and AddressSanitizer says so.
    process.environment?["ASAN_OPTIONS"] = "detect_leaks=0"
    let standardOutput = Pipe()
    let standardError = Pipe()
    process.standardOutput = standardOutput
    process.standardError = standardError
    try process.run()

    // Reading blocks, so it is done on threads of its own: the pool that runs the tests is small.
    // Both pipes are read at the same time, so that the child never waits for a full one.
    async let output = readToEnd(of: standardOutput)
    async let error = readToEnd(of: standardError)
    let texts = await (output, error)
    process.waitUntilExit()
    return ChildProcess(
      standardOutput: texts.0, standardError: texts.1, exitCode: process.terminationStatus)
  }

  private static func readToEnd(of pipe: Pipe) async -> String {
    let handle = pipe.fileHandleForReading
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let data = (try? handle.readToEnd()) ?? Data()
        continuation.resume(returning: String(decoding: data, as: UTF8.self))
      }
    }
  }
}

extension String {
  /// The lines in which the text occurs.
  func lines(containing text: String) -> [String] {
    split(separator: "\n").filter { $0.contains(text) }.map(String.init)
  }
}

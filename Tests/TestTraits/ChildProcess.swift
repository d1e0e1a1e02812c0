import Dispatch
import Foundation

/// The outputs and the exit code of a process that has ended.
package struct ChildProcess: Sendable {
  package var standardOutput: String
  /// Empty if the errors went to the standard output or to a file.
  package var standardError: String
  /// The exit code, or the number of the signal that has ended the process.
  package var exitCode: Int32
  package var isEndedBySignal: Bool

  /// The issues that Swift Testing has printed.
  package var issues: [PrintedIssue] { PrintedIssue.all(in: standardOutput + "\n" + standardError) }

  /// Returns the lines of the standard output that contain `text`.
  package func lines(containing text: String) -> [String] {
    standardOutput.lines(containing: text)
  }

  /// Where a child process writes its standard error.
  package enum Errors {
    case apart
    case inOutput
    case to(FileHandle)
  }

  /// The executable of the test bundle: on Linux it starts both test libraries.
  package static var testBundle: String { URL(fileURLWithPath: CommandLine.arguments[0]).path }

  /// Runs the tests of this bundle that match, in a child process.
  ///
  /// - Parameters:
  ///   - tests: A regular expression for Swift Testing, or the name of an XCTest test.
  ///   - library: `swift-testing` or `xctest`.
  ///   - mayPassNone: Whether the process may succeed without a test that passes. Otherwise the call throws then: a
  ///     process in which all tests are skipped succeeds, and with XCTest also one in which no test matches.
  package static func runTests(
    _ tests: String, library: String = "swift-testing", environment: [String: String],
    executable: String = testBundle, errors: Errors = .inOutput, mayPassNone: Bool = false
  ) async throws -> ChildProcess {
    let child = try await run(
      executable,
      arguments: library == "xctest" ? [tests] : ["--testing-library", library, "--filter", tests],
      environment: environment, errors: errors)
    if case .to = errors { return child }
    if child.exitCode == 0, !mayPassNone, !child.hasPassedATest {
      throw NoTestHasPassed(description: "No test that matches \(tests) has passed:\n\(child)")
    }
    return child
  }

  /// Whether a test of either library has passed.
  private var hasPassedATest: Bool {
    (standardOutput + standardError).contains(
      /Test Case '.+' passed|Test [^ ]+\(.*\).* passed after/)
  }

  /// Many children have limits in real time, so only a few run at the same time.
  private static let permits = DispatchSemaphore(value: 4)

  /// A child that has not ended after `limit` seconds is killed, and the call throws.
  ///
  /// Each child has a thread of its own, because the threads of the pool may be busy with other tests.
  package static func run(
    _ executable: String, arguments: [String] = [], environment: [String: String] = [:],
    errors: Errors = .apart, limit: Double = 300
  ) async throws -> ChildProcess {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        permits.wait()
        let child = Result {
          try runNow(
            executable, arguments: arguments, environment: environment, errors: errors, limit: limit
          )
        }
        permits.signal()
        continuation.resume(with: child)
      }
    }
  }

  private static func runNow(
    _ executable: String, arguments: [String], environment: [String: String], errors: Errors,
    limit: Double
  ) throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    // The tests compare the whole text that the test library prints.
    environment["NO_COLOR"] = "1"
    // XCTest itself leaks at the end of an asynchronous test, and AddressSanitizer reports it.
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    var child = try RunningChild(
      executable, arguments: arguments, environment: environment, errors: errors)
    let status = try child.waitForEnd(limit: limit)
    let signal = status & 0x7f
    return ChildProcess(
      standardOutput: child.output.text, standardError: child.errors?.text ?? "",
      exitCode: signal == 0 ? (status >> 8) & 0xff : signal, isEndedBySignal: signal != 0)
  }
}

/// The signal that a failed precondition raises.
package let trapSignal: CInt = {
  #if arch(x86_64) || arch(i386)
    SIGILL
  #else
    SIGTRAP
  #endif
}()

/// A child process has succeeded, and no test has passed in it.
package struct NoTestHasPassed: Error, CustomStringConvertible {
  package var description: String
}

/// Calls `body` with a path at which nothing exists, and afterwards removes the file or folder there.
package func withTemporaryPath<Result>(
  _ body: (String) async throws -> Result
) async throws -> Result {
  let path = FileManager.default.temporaryDirectory.appending(path: "Clocks-\(UUID())").path
  defer { try? FileManager.default.removeItem(atPath: path) }
  return try await body(path)
}

extension String {
  /// Returns the lines that contain `text`.
  package func lines(containing text: String) -> [String] {
    split(separator: "\n").filter { $0.contains(text) }.map(String.init)
  }
}

extension ChildProcess {
  /// The command `clocks-everywhere`, which is built beside the test bundle.
  package static var command: String {
    URL(fileURLWithPath: testBundle).deletingLastPathComponent()
      .appendingPathComponent("clocks-everywhere").path
  }
}

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
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    // The tests compare the whole text that the test library prints.
    process.environment?["NO_COLOR"] = "1"
    // XCTest itself leaks at the end of an asynchronous test, and AddressSanitizer reports it.
    process.environment?["ASAN_OPTIONS"] = "detect_leaks=0"
    let outputPipe = Pipe()
    let errorPipe = Pipe()
    process.standardOutput = outputPipe
    switch errors {
    case .apart: process.standardError = errorPipe
    case .inOutput: process.standardError = outputPipe
    case .to(let file): process.standardError = file
    }
    try process.run()
    // If the process does not write into it, the pipe ends only when this end is closed.
    if case .apart = errors {} else { try errorPipe.fileHandleForWriting.close() }

    let identifier = process.processIdentifier
    let (isOver, isDecided) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let kills = Log<Int32>()
    Thread.detachNewThread {
      defer { isDecided.signal() }
      guard isOver.wait(timeout: .now() + limit) == .timedOut else { return }
      kills.add(kill(identifier, SIGKILL))
    }

    // The pipes are read at the same time: the child must not wait for a full one.
    let errorText = Log<String>()
    let hasReadErrors = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      errorText.add(readToEnd(of: errorPipe))
      hasReadErrors.signal()
    }
    let outputText = readToEnd(of: outputPipe)
    hasReadErrors.wait()
    process.waitUntilExit()
    isOver.signal()
    // The thread above may have killed the child, and not noted that yet.
    isDecided.wait()
    let errorOutput = errorText.all.joined()
    guard !kills.all.contains(0) else {
      throw HungChild(
        description: "The child had not ended after \(limit) seconds:\n\(outputText)\(errorOutput)")
    }
    return ChildProcess(
      standardOutput: outputText, standardError: errorOutput, exitCode: process.terminationStatus,
      isEndedBySignal: process.terminationReason == .uncaughtSignal)
  }

  private static func readToEnd(of pipe: Pipe) -> String {
    let data = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
    return String(decoding: data, as: UTF8.self)
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

/// A child process did not end in time, and was killed.
package struct HungChild: Error, CustomStringConvertible {
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

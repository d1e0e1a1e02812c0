import Foundation

/// Tests that have run in a process of their own: what it wrote to both of its outputs, and how it ended.
struct ChildTests: Sendable {
  var output: String
  var exitCode: Int32

  /// Runs the tests of this bundle whose name matches.
  ///
  /// - Parameters:
  ///   - tests: What the names match; for XCTest, the name.
  ///   - library: `swift-testing` or `xctest`.
  ///   - executable: The path of this bundle.
  ///   - errors: Where standard error goes, if not into the output.
  static func run(
    _ tests: String, library: String = "swift-testing", environment: [String: String],
    executable: String = CommandLine.arguments[0], errors: FileHandle? = nil
  ) async throws -> ChildTests {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments =
      library == "xctest" ? [tests] : ["--testing-library", library, "--filter", tests]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.environment?["NO_COLOR"] = "1"
    // XCTest itself leaks, and AddressSanitizer says so.
    process.environment?["ASAN_OPTIONS"] = "detect_leaks=0"
    let pipe = Pipe()
    process.standardOutput = pipe
    if let errors { process.standardError = errors } else { process.standardError = pipe }
    try process.run()
    // Reading blocks, so it is done on a thread of its own: the pool that runs the tests is small.
    let data = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(returning: (try? pipe.fileHandleForReading.readToEnd()) ?? Data())
      }
    }
    process.waitUntilExit()
    return ChildTests(
      output: String(decoding: data, as: UTF8.self), exitCode: process.terminationStatus)
  }
}

/// A folder for the time of a test.
func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: "Clocks-\(UUID())").path
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try await body(folder)
}

import Foundation
import TestTraits
import Testing

/// A test bundle that does not contain this package, run by the command with the preloaded library.
@Suite struct PlainBundleTests {
  private static let sources = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("PlainBundle")

  /// Compiles a source file to a test bundle in a folder, and returns its path.
  private func compile(_ source: String, in folder: String) async throws -> String {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let bundle = "\(folder)/Plain.xctest"
    let source = Self.sources.appendingPathComponent(source).path
    let compiler = try await ChildProcess.run(
      "/usr/bin/env", arguments: ["swiftc", "-swift-version", "5", source, "-o", bundle],
      errors: .inOutput)
    try #require(compiler.exitCode == 0, "\(compiler.standardOutput)")
    return bundle
  }

  @Test(
    .enabled(if: EverywhereCommandTests.isTested && areThreadsShown), .disabled(if: hasSanitizer))
  func theClocksAndWaitsOfTheBundleAreVirtual() async throws {
    try await withTemporaryPath { folder in
      let bundle = try await compile("PlainTests.swift", in: folder)
      let child = try await ChildProcess.run(
        ChildProcess.command, arguments: [bundle], errors: .inOutput)
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      #expect(
        child.standardOutput.contains(
          // Readings in the signal handler take up to two thousandths of a second.
          /clocks-everywhere: 4 tests: 4 passed; .* and 63\.50 s of virtual time\n/),
        "\(child.standardOutput)")
      #expect(!child.standardOutput.contains("cannot see"), "\(child.standardOutput)")
    }
  }

  /// For example a plug-in that is under test.
  @Test(.enabled(if: EverywhereCommandTests.isTested), .disabled(if: hasSanitizer))
  func aLibraryThatIsLoadedLateDoesNotPrepareTheProcess() async throws {
    try await withTemporaryPath { folder in
      let bundle = try await compile("LateTests.swift", in: folder)
      let library = URL(fileURLWithPath: ChildProcess.command).deletingLastPathComponent()
        .appendingPathComponent("libClocksEverywhere.so").path
      for variables in [[:], ["CLOCKS_EVERYWHERE": "1"]] {
        let child = try await ChildProcess.run(
          bundle, environment: variables.merging(["LATE_LIBRARY": library]) { $1 },
          errors: .inOutput)
        #expect(child.exitCode == 0, "\(child.standardOutput)")
        #expect(child.standardOutput.contains("Executed 1 test, with 0 failures"))
      }
    }
  }
}

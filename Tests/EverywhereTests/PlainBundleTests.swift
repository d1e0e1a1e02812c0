import Foundation
import TestTraits
import Testing

/// A test bundle that does not contain this package, run by the command with the preloaded library.
@Suite struct PlainBundleTests {
  private static let source = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("PlainBundle/PlainTests.swift").path

  @Test(
    .enabled(if: EverywhereCommandTests.isTested && areThreadsShown), .disabled(if: hasSanitizer))
  func theClocksAndWaitsOfTheBundleAreVirtual() async throws {
    try await withTemporaryPath { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let bundle = "\(folder)/Plain.xctest"
      let compiler = try await ChildProcess.run(
        "/usr/bin/env",
        arguments: ["swiftc", "-swift-version", "5", Self.source, "-o", bundle], errors: .inOutput)
      try #require(compiler.exitCode == 0, "\(compiler.standardOutput)")
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
}

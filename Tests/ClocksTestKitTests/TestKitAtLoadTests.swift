#if os(Linux)
  import Foundation
  import Synchronization
  import Testing
  import XCTest

  @testable import Clocks

  /// The preparations of the test kit at load, which only test processes need.
  @Suite struct TestKitAtLoadTests {
    @Test func aTestProcessHashesWithFixedSeedsAndReadsVirtualTime() async throws {
      let reports = [try await report("tests.xctest"), try await report("tests.xctest")]
      #expect(reports[0].hasSuffix("true"))
      #expect(reports[0] == reports[1])
    }

    /// A server that links the test kit must keep its protection against hash flooding.
    @Test func anotherProcessKeepsItsRandomSeedsAndItsClocks() async throws {
      let reports = [try await report("app"), try await report("app")]
      #expect(reports.allSatisfy { $0.hasSuffix("false") })
      #expect(reports[0] != reports[1])
    }

    @Test func anotherProcessMayHaveAnyEnvironment() async throws {
      _ = try await report("app", environment: ["CLOCKS_BLOCKED_AFTER": "abc", "CLOCKS_DOOR": "x"])
    }

    @Test(arguments: [
      ("/build/debug/packageTests.xctest", true), (".xctest", true), ("", false),
      ("/build/debug/app", false), ("/build/packageTests.xctest/app", false), ("xctest", false),
    ])
    func aTestProcessIsKnownByItsExecutable(_ executable: String, _ isTest: Bool) {
      executable.withCString { executable in
        var arguments: [UnsafePointer<CChar>?] = [executable]
        #expect(TestProcess.isCurrent(1, &arguments) == isTest)
      }
      #expect(!TestProcess.isCurrent(0, nil))
    }

    /// Runs the test bundle under another name, and returns what `AtLoadXCTests` has printed.
    private func report(
      _ name: String, environment: [String: String] = [:]
    ) async throws -> String {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let executable = folder.appending(path: name)
      try FileManager.default.createSymbolicLink(
        at: executable, withDestinationURL: URL(fileURLWithPath: CommandLine.arguments[0]))
      let child = try await ChildProcess.runTests(
        "ClocksTestKitTests.AtLoadXCTests/testReport", library: "xctest",
        environment: environment.merging([AtLoadXCTests.variable: "1"]) { $1 },
        executable: executable.path)
      #expect(child.exitCode == 0, "\(child)")
      return try #require(
        child.standardOutput.split(separator: "\n").first { $0.contains("at load:") }
      )
      .description
    }
  }

  /// Runs only in child processes of `TestKitAtLoadTests`.
  final class AtLoadXCTests: XCTestCase {
    static let variable = "CLOCKS_TESTS_AT_LOAD"

    func testReport() throws {
      try XCTSkipUnless(
        ProcessInfo.processInfo.environment[Self.variable] != nil, Stuck.skipped)
      let areRedirected =
        RuntimeClocks.isForAll.load(ordering: .relaxed) && RuntimeClocks.missing.isEmpty
      print("at load: \("abc".hashValue) \(areRedirected)")
    }
  }
#endif

#if os(Linux)
  import Foundation
  import Synchronization
  import Testing
  import XCTest

  @testable import Clocks
  import ClocksSupport

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

    /// A program whose name does not end in `.xctest`, as other build systems make them.
    @Test(arguments: [("tests-test-runner", "xctest"), ("app", "swift-testing")])
    func aTestProcessMayHaveAnotherName(_ name: String, library: String) async throws {
      #expect(try await report(name, library: library).hasSuffix("true"))
    }

    @Test func aTestProcessThatIsNotKnownSaysThatItsClocksAreReal() async throws {
      let child = try await run("app")
      let warnings = child.lines(containing: "warning: ")
      #expect(
        warnings.map { $0.contains("reads of ContinuousClock and Date (the process did not show") }
          == [true], "\(child)")
    }

    @Test(arguments: [
      (["/build/debug/packageTests.xctest"], true), ([".xctest"], true), ([""], false),
      (["/build/debug/app"], false), (["/build/packageTests.xctest/app"], false),
      (["xctest"], false),
      (["/build/debug/Tests-test-runner"], true), (["-test-runner"], true),
      (["test-runner"], false),
      (["/build/debug/app", "--testing-library", "xctest"], true),
      (["/build/debug/app", "--filter", "a", "--testing-library=swift-testing"], true),
      (["/build/debug/app", "--testing"], false), (["/build/debug/app", "a.xctest"], false),
      (["/build/debug/app", "Tests-test-runner"], false), ([], false),
    ])
    func aTestProcessIsKnownByItsArguments(_ arguments: [String], _ isTest: Bool) {
      var pointers = arguments.map { UnsafePointer(strdup($0)) }
      defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
      #expect(TestProcess.isCurrent(CInt(arguments.count), &pointers) == isTest)
      #expect(!TestProcess.isCurrent(0, nil))
    }

    private func report(
      _ name: String, library: String = "xctest", environment: [String: String] = [:]
    ) async throws -> String {
      let child = try await run(name, library: library, environment: environment)
      return try #require(child.lines(containing: AtLoadReport.mark).first)
    }

    /// Runs the test bundle under another name. It prints an `AtLoadReport`.
    private func run(
      _ name: String, library: String = "xctest", environment: [String: String] = [:]
    ) async throws -> ChildProcess {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let executable = folder.appending(path: name)
      try FileManager.default.createSymbolicLink(
        at: executable, withDestinationURL: URL(fileURLWithPath: CommandLine.arguments[0]))
      let child = try await ChildProcess.runTests(
        library == "xctest" ? "ClocksTestKitTests.AtLoadXCTests/testReport" : "AtLoadSample",
        library: library,
        environment: environment.merging([AtLoadReport.variable: "1"]) { $1 },
        executable: executable.path)
      #expect(child.exitCode == 0, "\(child)")
      return child
    }
  }

  enum AtLoadReport {
    /// Set in the child processes of `TestKitAtLoadTests`, the only ones that print the report.
    static let variable = "CLOCKS_TESTS_AT_LOAD"
    static let mark = "at load:"

    static var isWanted: Bool { ProcessInfo.processInfo.environment[variable] != nil }

    /// Prints a hash value, and whether scopes read virtual time.
    static func print() {
      _ = SchedulerCapability.current
      let areRedirected =
        RuntimeClocks.isForAll.load(ordering: .relaxed) && RuntimeClocks.missing.isEmpty
      Swift.print("\(mark) \("abc".hashValue) \(areRedirected)")
    }
  }

  final class AtLoadXCTests: XCTestCase {
    func testReport() throws {
      try XCTSkipUnless(AtLoadReport.isWanted, Stuck.skipped)
      AtLoadReport.print()
    }
  }

  @Suite struct AtLoadSample {
    @Test(.enabled(if: AtLoadReport.isWanted)) func prints() { AtLoadReport.print() }
  }
#endif

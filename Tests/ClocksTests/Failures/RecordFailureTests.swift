import ClocksSupport
import TestTraits
import Testing

@testable import Clocks

/// The issues that Swift Testing records for failures. `RecordFailureXCTests` checks XCTest.
@Suite struct RecordFailureTests {
  @Test func failureReachesSwiftTestingAtTheCallersLine() async throws {
    let issues = try await recordedIssues { DeliberateFailures.fail() }
    #expect(issues == [seaIsNotWet])
  }

  @Test func callSiteIsThePlaceWhereItIsMade() {
    let callSite = CallSite()
    let here = #_sourceLocation
    #expect(callSite.fileID.description == here.fileID)
    #expect(callSite.filePath.description == here.path)
    #expect(Int(callSite.line) == here.line - 1)
  }

  @Test func placeThatSwiftTestingWouldStopAtIsMadeAPlace() async throws {
    let issues = try await recordedIssues {
      recordFailure(
        "Lost.", at: CallSite(fileID: "Waves.swift", filePath: "/Sea", line: 0, column: .max))
    }
    let place = SourceLocation(
      fileID: "Unknown/Waves.swift", filePath: "/Sea", line: 1, column: .max)
    #expect(issues == [RecordedIssue("Lost.", at: place)])
  }

  /// The compiler cannot check the interface through which strings and structs are passed.
  ///
  /// If one of them were released twice, AddressSanitizer would report it here.
  @Test func failuresFromManyTasks() async throws {
    let issues = try await recordedIssues {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<40 {
          group.addTask {
            recordFailure("A message too long to be kept inside a string: \(number)", at: .init())
          }
        }
      }
    }
    #expect(
      Set(issues.map(\.message))
        == Set((0..<40).map { "A message too long to be kept inside a string: \($0)" }))
    #expect(issues.count == 40)
  }

  /// If both libraries run tests in one process, its arguments do not show which library runs a test.
  @Test func swiftTestingIsKnownToRunATaskOfATest() async {
    #expect(SwiftTesting.isRunningThisTask)
    async let child = SwiftTesting.isRunningThisTask
    #expect(await child)
    #expect(await Task.detached { SwiftTesting.isRunningThisTask }.value == false)
  }

  @Test func failureOfADetachedTaskReachesSwiftTesting() async throws {
    let child = try await ChildProcess.runSwiftTesting(.inDetachedTask)
    #expect(
      child.standardError.lines(containing: "Waves.swift")
        == ["✘ Test «unknown» recorded an issue at Waves.swift:42:7: Issue recorded"])
    #expect(child.standardError.lines(containing: "The sea") == ["↳ The sea is not wet."])
    #expect(child.exitCode == 1)
  }

  @Test(arguments: [DeliberateFailures.inTest, .bySymbol, .withoutSymbols])
  func eachWayToSwiftTestingReachesTheTest(_ failure: DeliberateFailures) async throws {
    let child = try await ChildProcess.runSwiftTesting(failure)
    #expect(
      child.standardError.lines(containing: "Waves.swift")
        == ["✘ Test failure() recorded an issue at Waves.swift:42:7: Issue recorded"])
    #expect(child.standardError.lines(containing: "The sea") == ["↳ The sea is not wet."])
    #expect(child.exitCode == 1)
  }

  /// The test would pass otherwise.
  @Test func failureThatCannotReachSwiftTestingEndsTheProcess() async throws {
    let child = try await ChildProcess.runSwiftTesting(.undeliverable)
    #expect(child.exitCode == 1)
    #expect(
      child.standardError.contains(
        """
        /Sea/Waves.swift:42: error: The sea is not wet.
        error: This process runs tests with Swift Testing, but Clocks has not found its function that records \
        a failure, so the failure above cannot reach its test. The process ends with code 1, because the test \
        would pass. Use a version of Clocks that knows this version of Swift Testing, or link ClocksTestKit to \
        the test.

        """), "\(child)")
    #expect(
      child.standardOutput.contains(
        "missing: how Swift Testing records a failure (Issue.record)\n"), "\(child)")
  }

  @Test(.unless(.exitTestsHaveOtherTexts)) func failureOfAnExitTestReachesItsParent() async throws {
    let issues = try await recordedIssues {
      await #expect(processExitsWith: .success) { DeliberateFailures.fail() }
    }
    #expect(issues == [seaIsNotWet])
  }

  @Test(
    arguments: [
      (["/a/Package.xctest", "--testing-library", "swift-testing"], true, .swiftTesting),
      (["/a/Package.xctest", "--testing-library=swift-testing"], true, .swiftTesting),
      (["/a/testing-helper", "--testing-library", "swift-testing"], false, .swiftTesting),
      (["/a/Package.xctest", "--testing-library", "xctest"], false, .xcTest),
      (["/a/Package.xctest"], true, .xcTest),
      (["/a/Package.xctest", "Tests.Case/test"], true, .xcTest),
      (["/a/Package.xctest"], false, .swiftTesting),
      (["/a/Tests-test-runner"], true, .xcTest),
      (["/a/Tests-test-runner", "--testing-library", "swift-testing"], true, .swiftTesting),
      (["/a/app", "/a/Tests-test-runner"], true, nil),
      (["/a/app", "--testing"], true, nil),
      (["/a/app"], true, nil),
      ([], true, nil),
    ] as [([String], Bool, TestLibraries.Library?)])
  func argumentsTellWhichLibraryRuns(
    arguments: [String], isXCTestToBeAssumed: Bool, library: TestLibraries.Library?
  ) {
    #expect(
      TestLibraries.library(runBy: arguments, isXCTestToBeAssumed: isXCTestToBeAssumed) == library)
  }

  private var seaIsNotWet: RecordedIssue {
    RecordedIssue(
      "The sea is not wet.",
      at: SourceLocation(
        fileID: "Sea/Waves.swift", filePath: "/Sea/Waves.swift", line: 42, column: 7))
  }
}

import Clocks
import Testing

/// Runs each test of the process in virtual time, although the tests do not ask for it.
package enum EverywhereTests {
  /// Prepares the process, before it has a second thread. Only the first call has an effect.
  package static func begin() { _ = hasBegun }

  private static let hasBegun: Void = {
    #if os(Linux) && canImport(Glibc)
      if !TestDeclarations.add(EverywhereTrait()) {
        Everywhere.warn("Swift Testing is of another version, so its tests run in real time.")
      }
      Everywhere.begin()
    #endif
  }()
}

/// Runs each test case in a scope of its own, and records how the test case ends.
struct EverywhereTrait: TestTrait, SuiteTrait, TestScoping {
  /// Whether this trait, on a suite around the test, has already created the scope.
  @TaskLocal private static var isInside = false

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard !Self.isInside, let testCase else { return try await function() }
    let record = EverywhereRecord(
      test.id.moduleName + "." + test.id.nameComponents.joined(separator: "/"),
      arguments: test.isParameterized ? TimelineAttachments.arguments(of: testCase) : "")
    defer { record.end() }
    let location = test.sourceLocation
    let handler = IssueHandlingTrait.compactMapIssues { issue in
      if issue.isFailure { record.add(failure: "\(issue)") }
      return issue
    }
    let isOwn = test.traits.contains { $0 is VirtualTimeTrait || $0 is SchedulesTrait }
    try await Self.$isInside.withValue(true) {
      try await handler.provideScope(for: test, testCase: testCase) {
        try await withoutActuallyEscaping(function) { function in
          do {
            if isOwn {
              record.noteOwnScope()
              return try await function()
            }
            let report: @Sendable (String) -> Void = {
              Issue.record(Comment(rawValue: $0), sourceLocation: location)
            }
            try await Everywhere.run(record, report: report, function)
          } catch {
            if isUnrecorded(error) { record.add(failure: "Caught error: \(error)") }
            throw error
          }
        }
      }
    }
  }
}

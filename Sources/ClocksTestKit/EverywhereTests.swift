import Clocks
import ClocksSupport
import Testing

/// Runs each test of the process in virtual time, although the tests do not ask for it.
package enum EverywhereTests {
  /// Prepares the process, before it has a second thread. Only the first call has an effect.
  package static func begin() { _ = hasBegun }

  private static let hasBegun: Void = {
    #if os(Linux) && canImport(Glibc)
      if TestDeclarations.add(EverywhereTrait()) {
        CompiledSwiftTesting.willCreateTask = UnknownDeclarations.check
      } else {
        Everywhere.warn(
          "Clocks does not know this version of Swift Testing, so its tests run in real time.")
      }
      Everywhere.begin()
    #endif
  }()
}

/// Tests that Swift Testing declares by a function that `TestDeclarations` does not replace, so they lack the trait.
enum UnknownDeclarations {
  /// Guards `known`. Rank `leaf`.
  private static let lock = Lock(.leaf)
  nonisolated(unsafe) private static var known: Set<Test.ID> = []

  /// Warns of the current test if it lacks the trait. Only the first call for each test has an effect.
  @Sendable static func check() {
    guard let test = Test.current, !test.isSuite, Environment.everywhere != "real",
      !test.traits.contains(where: { $0 is EverywhereTrait }),
      lock.withLock({ known.insert(test.id).inserted })
    else { return }
    Everywhere.warn(
      "\(test.id.fullName) runs in real time: Clocks does not know the function that declares it.")
  }
}

extension Test.ID {
  /// For example `Shop.Cart/total()`.
  var fullName: String { moduleName + "." + nameComponents.joined(separator: "/") }
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
      test.id.fullName, arguments: TimelineAttachments.arguments(of: testCase))
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
          // The program traps if the function is still retained at the end, and an abandoned run retains it
          // permanently. So what the run has retained is released.
          let holders = ClosureRetainBalance.countHolders(of: function)
          defer { holders.releaseReferences(to: function) }
          do {
            if isOwn {
              record.noteVirtualTime()
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

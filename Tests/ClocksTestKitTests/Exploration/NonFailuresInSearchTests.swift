import Clocks
import ClocksTestKit
import TestTraits
import Testing

/// Warnings and known issues are no failures. A search lets the test library record each of them once.
@Suite struct NonFailuresInSearchTests {
  /// Returns how many issues the body records, and records none.
  private func countIssues(
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws -> Int {
    let (test, testCase) = try (#require(Test.current), #require(Test.Case.current))
    let seen = Tally()
    let trait: IssueHandlingTrait = .compactMapIssues { _ in
      seen.add()
      return nil
    }
    try await trait.provideScope(for: test, testCase: testCase) { try await body() }
    return seen.value
  }

  private func twoTasks() async throws {
    async let first: Void = Task.sleep(for: .seconds(1))
    async let second: Void = Task.sleep(for: .seconds(1))
    _ = try await (first, second)
  }

  @Test func aKnownIssue() async throws {
    let schedules = Tally()
    let count = try await countIssues {
      try await withSchedules(20) { _ in
        schedules.add()
        try await twoTasks()
        withKnownIssue { #expect(Bool(false)) }
        withKnownIssue { #expect(Bool(false)) }
      }
    }
    #expect(schedules.value > 2)
    #expect(count == 2)
  }

  #if compiler(>=6.3)
    @Test func aWarning() async throws {
      let schedules = Tally()
      let count = try await countIssues {
        try await withSchedules(20) { _ in
          schedules.add()
          try await twoTasks()
          Issue.record("A warning", severity: .warning)
        }
      }
      #expect(schedules.value > 2)
      #expect(count == 1)
    }
  #endif
}

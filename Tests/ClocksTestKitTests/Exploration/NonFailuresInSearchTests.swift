import Clocks
import ClocksTestKit
import TestTraits
import Testing

/// Warnings and known issues are not failures. A search lets the test library record each of them once.
@Suite struct NonFailuresInSearchTests {
  /// Returns how many issues a search passes on if the test calls `record` in each run. None is recorded.
  private func issuesOfASearch(_ record: @escaping @Sendable () -> Void) async throws -> Int {
    let (test, testCase) = try (#require(Test.current), #require(Test.Case.current))
    let (issues, runs) = (Tally(), Tally())
    let trait: IssueHandlingTrait = .compactMapIssues { _ in
      issues.add()
      return nil
    }
    try await trait.provideScope(for: test, testCase: testCase) {
      try await withSchedules(20) { _ in
        runs.add()
        async let first: Void = Task.sleep(for: .seconds(1))
        async let second: Void = Task.sleep(for: .seconds(1))
        _ = try await (first, second)
        record()
      }
    }
    #expect(runs.value > 2)
    return issues.value
  }

  @Test func knownIssues() async throws {
    let count = try await issuesOfASearch {
      withKnownIssue { #expect(Bool(false)) }
      withKnownIssue { #expect(Bool(false)) }
    }
    #expect(count == 2)
  }

  #if compiler(>=6.3)
    @Test func aWarning() async throws {
      let count = try await issuesOfASearch { Issue.record("A warning", severity: .warning) }
      #expect(count == 1)
    }

    /// They have one place, and may differ.
    @Test func threeWarningsOfALoop() async throws {
      let count = try await issuesOfASearch {
        for number in 1...3 { Issue.record("Warning \(number)", severity: .warning) }
      }
      #expect(count == 3)
    }
  #endif
}

import Testing

/// A trait that runs a test repeatedly, some of the runs concurrently.
///
/// Each run is a test of its own: it has its own instance of the suite, and the traits after this one. So the
/// trait works like an argument for each repetition, but without a line of output for each.
public struct RepeatedTrait: TestTrait, TestScoping {
  /// The number of the run that the current task belongs to, from 0.
  @TaskLocal public static var number = 0

  let count: Int

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withoutActuallyEscaping(function) { function in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count {
          if number >= 16 { try await group.next() }
          group.addTask {
            try await Self.$number.withValue(number) {
              try await Self.name(number)
                .provideScope(for: test, testCase: testCase, performing: function)
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  /// Adds the number of the repetition to each failure.
  private static func name(_ number: Int) -> IssueHandlingTrait {
    .compactMapIssues { issue in
      var issue = issue
      issue.comments.append("In repetition \(number).")
      return issue
    }
  }
}

extension Trait where Self == RepeatedTrait {
  /// Runs the test `count` times.
  public static func repeated(_ count: Int) -> Self { Self(count: count) }
}

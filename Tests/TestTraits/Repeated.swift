import Testing

/// Runs a test again and again, some of the runs side by side, each as a test of its own: with an
/// instance of the suite of its own, and with the traits that come after this one.
///
/// It is what an argument for each repetition would be, without a line of output for each.
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

  /// Has each failure name the repetition.
  private static func name(_ number: Int) -> IssueHandlingTrait {
    .compactMapIssues { issue in
      var issue = issue
      issue.comments.append("In repetition \(number).")
      return issue
    }
  }
}

extension Trait where Self == RepeatedTrait {
  /// Runs the test so many times.
  public static func repeated(_ count: Int) -> Self { Self(count: count) }
}

import Clocks
import Testing

/// Runs a test, and adds to each failure of it that time has jumped over work outside the scope, if it has.
func withNoteOnSkippedWait(
  in time: VirtualTime, for test: Test, _ testCase: Test.Case?,
  _ function: @Sendable () async throws -> Void
) async throws {
  let trait = IssueHandlingTrait.compactMapIssues { issue in
    guard issue.isFailure,
      let note = time.noteOnSkippedWait(afterTimeout: issue.error.map(isTimeout) ?? false)
    else { return issue }
    var issue = issue
    issue.comments.append(Comment(rawValue: note))
    return issue
  }
  try await trait.provideScope(for: test, testCase: testCase) {
    do {
      try await function()
    } catch
      where isUnrecorded(error) && time.noteOnSkippedWait(afterTimeout: isTimeout(error)) != nil
    {
      // The test library would record it, too, but where nobody can add to it.
      Issue.record(error, sourceLocation: test.sourceLocation)
    }
  }
}

/// Whether an error says that something took too long, whosever it is.
private func isTimeout(_ error: any Error) -> Bool {
  let text = "\(type(of: error)) \(error)".lowercased()
  return ["timeout", "timed out", "timedout", "deadline"].contains(where: text.contains)
}

/// Whether an error that a test throws is a failure which nobody has recorded yet.
func isUnrecorded(_ error: any Error) -> Bool {
  // The test library's own errors say that something was recorded, or that the test is skipped.
  !String(reflecting: type(of: error)).hasPrefix("Testing.") && !Task.isCancelled
}

import Clocks
import Testing

/// Runs a test, and adds a note to each of its failures if time has jumped during external work.
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
      // The test library would record it outside this trait, which could not add the note.
      Issue.record(error, sourceLocation: test.sourceLocation)
    }
  }
}

/// Returns whether the text of an error mentions a timeout. Any module may define such errors.
private func isTimeout(_ error: any Error) -> Bool {
  let text = "\(type(of: error)) \(error)".lowercased()
  return ["timeout", "timed out", "timedout", "deadline"].contains(where: text.contains)
}

/// Returns whether an error that a test throws is a failure that has not been recorded yet.
func isUnrecorded(_ error: any Error) -> Bool {
  // An error of the test library means that an issue was recorded, or that the test is skipped.
  !String(reflecting: type(of: error)).hasPrefix("Testing.") && !Task.isCancelled
}

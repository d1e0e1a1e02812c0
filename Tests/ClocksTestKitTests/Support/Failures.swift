/// The text and the line of a recorded failure.
struct Failure: Equatable, Sendable, CustomStringConvertible {
  var text: String
  var line: Int

  var description: String { "line \(line): \(text)" }
}

/// Runs the operation and returns the failures that it records, in order, without their task dumps.
///
/// They do not fail the test, and the test library prints none of them.
func failures(_ body: () async throws -> Void) async throws -> [Failure] {
  try await recordedIssues(body).map { issue in
    let text = issue.message
      // The runtime numbers the tasks, so the numbers differ between runs.
      .replacing(/task #\d+/, with: "task #")
      // Other tests check the task dumps.
      .replacing(/(?s)\n\nWhere the test's .*?(?=\nWhat happened:|\z)/, with: "")
    return Failure(text: text, line: issue.line)
  }
}

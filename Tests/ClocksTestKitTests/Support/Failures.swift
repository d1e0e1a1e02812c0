import Clocks
import ClocksTestKit
import Testing

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

/// Returns the first token in the text of a failure.
func token(in text: String, at location: SourceLocation = #_sourceLocation) throws -> String {
  let match = text.firstMatch(of: /schedule\("([^"]*)"\)/)
  return String(try #require(match?.1, "\(text)", sourceLocation: location))
}

/// Replays the schedule of a token, and expects that the operation fails in it.
func expectFailure(
  replaying token: String, at location: SourceLocation = #_sourceLocation,
  _ operation: @escaping (VirtualTime) async throws -> Void
) async throws {
  let found = try await failures {
    try await withSchedules(.schedule(token), operation: operation)
  }
  #expect(found.count == 1, "\(found)", sourceLocation: location)
  // A schedule that is not possible, or in which the operation passes, is a failure, too.
  #expect(
    !found.contains { $0.text.contains("The token belongs to another test") }, "\(found)",
    sourceLocation: location)
}

extension TestScoping {
  /// Runs a body as the current test with this trait.
  func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
    try await provideScope(for: Test.current!, testCase: Test.Case.current, performing: body)
  }
}

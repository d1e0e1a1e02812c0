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

/// Replays the schedule of a failure that a search has found, and expects the same failure.
///
/// The failure is that of an expectation without a comment, which has the same line, or an error.
func expectReplay(
  of found: Failure, at location: SourceLocation = #_sourceLocation,
  _ operation: @escaping (VirtualTime) async throws -> Void
) async throws {
  let token = try token(in: found.text, at: location)
  let error = found.text.split(separator: "Schedule ", omittingEmptySubsequences: false)[0]
  try await expectFailure(
    error.isEmpty ? "" : "\(error)Schedule \(token).", atLine: found.line, replaying: token,
    at: location, operation)
}

/// Replays the schedule of a token, and expects one failure.
///
/// A token that does not fit is a failure, too, but has another text. An error has the line that is expected.
func expectFailure(
  _ text: String = "", atLine line: Int, replaying token: String,
  at location: SourceLocation = #_sourceLocation,
  _ operation: @escaping (VirtualTime) async throws -> Void
) async throws {
  let found = try await failures {
    try await withSchedules(.schedule(token), line: UInt(line), operation: operation)
  }
  #expect(found == [Failure(text: text, line: line)], sourceLocation: location)
}

extension TestScoping {
  /// Runs a body as the current test with this trait.
  func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
    try await provideScope(for: Test.current!, testCase: Test.Case.current, performing: body)
  }
}

import Foundation
import Testing

/// A failure as a test's author sees it.
struct Failure: Equatable, Sendable, CustomStringConvertible {
  var text: String
  var line: Int

  var description: String { "line \(line): \(text)" }
}

/// Runs the code and returns the failures that it records, in order; they do not fail the test, and
/// nothing of them is printed.
func failures(_ body: () async throws -> Void) async throws -> [Failure] {
  let failures = Failures()
  let trait = IssueHandlingTrait.compactMapIssues { issue in
    let text = issue.comments.map(\.rawValue).joined(separator: "\n")
      // The numbers of tasks are the runtime's.
      .replacing(/task #\d+/, with: "task #")
      // Where the tasks are is looked at elsewhere.
      .replacing(/(?s)\n\nWhere the test's .*?(?=\nWhat happened:|\z)/, with: "")
    failures.append(Failure(text: text, line: issue.sourceLocation?.line ?? 0))
    return nil
  }
  try await withoutActuallyEscaping(body) { body in
    nonisolated(unsafe) let body = body
    try await trait.provideScope(for: Test.current!, testCase: Test.Case.current) {
      try await body()
    }
  }
  return failures.all
}

private final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  /// Guarded by `lock`.
  private var failures: [Failure] = []

  func append(_ failure: Failure) { lock.withLock { failures.append(failure) } }

  var all: [Failure] { lock.withLock { failures } }
}

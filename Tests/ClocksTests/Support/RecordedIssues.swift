import ClocksSupport
import Testing

@testable import Clocks

/// Runs the code and returns the issues that it records, in order; they do not fail the test, and
/// nothing of them is printed.
func recordedIssues(
  _ body: () async throws -> Void
) async throws -> [RecordedIssue] {
  let issues = Issues()
  let trait = IssueHandlingTrait.compactMapIssues { issue in
    issues.append(RecordedIssue(issue))
    return nil
  }
  try await withoutActuallyEscaping(body) { body in
    nonisolated(unsafe) let body = body
    try await trait.provideScope(for: Test.current!, testCase: Test.Case.current) {
      try await body()
    }
  }
  return issues.all
}

/// What a test wants to know about an issue, in a form that is easily compared and printed.
struct RecordedIssue: Equatable, Sendable {
  var message: String
  var fileID: String
  var filePath: String
  var line: Int
  var column: Int

  init(_ message: String, at location: SourceLocation) {
    self.message = message
    fileID = location.fileID
    filePath = location.path
    line = location.line
    column = location.column
  }

  init(_ issue: Issue) {
    self.init(
      issue.comments.map(\.rawValue).joined(separator: "\n"),
      at: issue.sourceLocation
        ?? SourceLocation(fileID: "Nowhere/Nowhere", filePath: "Nowhere", line: 1, column: 1))
  }
}

private final class Issues: @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`.
  private var issues: [RecordedIssue] = []

  func append(_ issue: RecordedIssue) { lock.withLock { issues.append(issue) } }

  var all: [RecordedIssue] { lock.withLock { issues } }

  deinit { lock.destroy() }
}

extension SourceLocation {
  /// The file's path, under the name that the older of the test libraries have for it, too.
  var path: String {
    #if compiler(>=6.3)
      filePath
    #else
      _filePath
    #endif
  }
}

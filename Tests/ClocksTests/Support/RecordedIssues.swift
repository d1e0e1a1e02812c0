import Testing

@testable import Clocks

/// Runs the code and returns the issues that it records, in order; they do not fail the test.
///
/// They are looked at afterwards and not by `withKnownIssue`'s matcher: an expectation that fails
/// there is itself an issue to be matched, and so on without end.
func recordedIssues(
  _ body: () async throws -> Void
) async rethrows -> [RecordedIssue] {
  let issues = Issues()
  try await withKnownIssue(isIntermittent: true) {
    try await body()
  } matching: { issue in
    issues.append(RecordedIssue(issue))
    return true
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

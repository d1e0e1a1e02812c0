import Testing

/// Runs the operation and returns the issues that it records, in order. They do not fail the test, and the
/// test library prints none of them.
package func recordedIssues(_ body: () async throws -> Void) async throws -> [RecordedIssue] {
  let issues = Log<RecordedIssue>()
  let trait = IssueHandlingTrait.compactMapIssues { issue in
    issues.add(RecordedIssue(issue))
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

/// The text and the place of an issue, easy to compare and to print.
package struct RecordedIssue: Equatable, Sendable {
  package var message: String
  package var fileID: String
  package var filePath: String
  package var line: Int
  package var column: Int

  package init(_ message: String, at location: SourceLocation) {
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

extension SourceLocation {
  /// The path of the file. Swift Testing before 6.3 has the property under another name.
  package var path: String {
    #if compiler(>=6.3)
      filePath
    #else
      _filePath
    #endif
  }
}

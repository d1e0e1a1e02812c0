import Clocks
import Testing

/// Runs a body, and passes each failure of the current test through the gate meanwhile.
@Sendable func withIssues(
  through gate: IssueGate, _ body: @escaping @Sendable () async -> Void
) async {
  guard let test = Test.current, let testCase = Test.Case.current else { return await body() }
  let trait: IssueHandlingTrait = .compactMapIssues { issue in
    guard issue.isFailure else { return issue }
    let place = issue.sourceLocation.map { "\($0.fileID):\($0.line):\($0.column)" } ?? ""
    let kind = "\(issue.kind)".prefix { $0 != ":" && $0 != "\n" }
    switch gate.handle(key: "\(IssueGate.keyPrefix)\(place) \(kind)", text: "\(issue)") {
    case .isKept: return nil
    case .passes: return issue
    case .passesWith(let explanation):
      var issue = issue
      issue.comments.append(Comment(rawValue: explanation))
      return issue
    }
  }
  try? await trait.provideScope(for: test, testCase: testCase) { await body() }
}

#if compiler(<6.3)
  extension Issue {
    /// Swift 6.2 has no warnings: every issue that is not a known one is a failure. The property that marks
    /// known issues is not public.
    var isFailure: Bool {
      let context = Mirror(reflecting: self).children.first { $0.label == "knownIssueContext" }
      return context.map { "\($0.value)" == "nil" } ?? true
    }
  }
#endif

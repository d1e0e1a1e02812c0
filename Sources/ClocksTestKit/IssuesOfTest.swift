import Clocks
import Testing

/// Lets Clocks call Swift Testing without looking up symbols, whose names may change.
func registerSwiftTesting() {
  CompiledSwiftTesting.registered = CompiledSwiftTesting(
    record: { message, fileID, filePath, line, column in
      let location = SourceLocation(
        fileID: fileID, filePath: filePath, line: line, column: column)
      Issue.record(Comment(rawValue: message), sourceLocation: location)
    },
    isRunningTest: { Test.current != nil },
    isRunningCase: { Test.Case.current != nil })
  IssueGate.install = withIssues
  TimelineRequest.nameTest = {
    Test.current.map { TimelineAttachments.name($0, Test.Case.current) }
  }
  TimelineRequest.attach = { TimelineAttachments.attach($0, inTraceFolder: false) }
}

/// Runs a body. Until it ends, `gate` decides which failures of the current test are recorded.
@Sendable func withIssues(
  through gate: IssueGate, _ body: @escaping @Sendable () async -> Void
) async {
  guard let test = Test.current, let testCase = Test.Case.current else { return await body() }
  let trait: IssueHandlingTrait = .compactMapIssues { issue in
    let place = issue.sourceLocation.map { "\($0.fileID):\($0.line):\($0.column)" } ?? ""
    let kind = "\(issue.kind)".prefix { $0 != ":" && $0 != "\n" }
    let key = "\(place) \(kind)"
    guard issue.isFailure else { return gate.passes(key: key) ? issue : nil }
    switch gate.handle(key: key, text: "\(issue)") {
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

/// Runs a test, and adds a note to each of its failures if time has jumped during external work, or if sleeps are due.
func withNotesOnFailures(
  in time: VirtualTime, for test: Test, _ testCase: Test.Case?,
  _ function: @Sendable () async throws -> Void
) async throws {
  let trait = IssueHandlingTrait.compactMapIssues { issue in
    guard issue.isFailure,
      let note = time.noteOnFailure(afterTimeout: issue.error.map(isTimeout) ?? false)
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
      // The test library would record the error outside this trait, which could not add the note.
      Issue.record(error, sourceLocation: test.sourceLocation)
    }
  }
}

/// Returns whether the text of an error mentions a timeout. Any module may define such errors.
private func isTimeout(_ error: any Error) -> Bool {
  "\(type(of: error)) \(error)".mentionsTimeout
}

/// Returns whether an error that a test throws is a failure that has not been recorded yet.
func isUnrecorded(_ error: any Error) -> Bool {
  // An error of the test library means that an issue was recorded, or that the test is skipped.
  !String(reflecting: type(of: error)).hasPrefix("Testing.") && !Task.isCancelled
}

#if compiler(<6.3)
  extension Issue {
    /// In Swift 6.2, no issue is only a warning: every issue that is not a known one is a failure. The property that
    /// marks known issues is not public.
    var isFailure: Bool {
      let context = Mirror(reflecting: self).children.first { $0.label == "knownIssueContext" }
      return context.map { "\($0.value)" == "nil" } ?? true
    }
  }
#endif

import Clocks
import ClocksSupport
import Synchronization
import Testing

/// Adds what happened to the first failure of a test.
final class Explanation: Sendable {
  private let request: TimelineRequest
  private let lines: Int
  private let isGiven = Atomic(false)

  init(_ request: TimelineRequest, lines: Int) {
    self.request = request
    self.lines = lines
  }

  func add(to issue: Issue) -> Issue {
    guard issue.isFailure else { return issue }
    // A failure of a scope explains itself.
    let isExplained = issue.comments.contains {
      $0.rawValue.contains(RecordedTimeline.explanationHeading)
    }
    if isExplained { isGiven.store(true, ordering: .relaxed) }
    guard !isExplained, let explanation = request.timeline?.explanation(lines: lines),
      !isGiven.exchange(true, ordering: .relaxed)
    else { return issue }
    var issue = issue
    issue.comments.append(Comment(rawValue: explanation))
    return issue
  }
}

/// Attaches recordings to tests of Swift Testing.
enum TimelineAttachments {
  /// Has the clocks know the names of tests, and what to attach to them.
  static func register() { _ = registration }

  private static let registration: Void = TimelineHooks.set(
    name: { Test.current.map { name($0, Test.Case.current) } },
    attach: { attach($0, inTraceFolder: false) })

  /// Attaches a recording to the current test, if there is one.
  ///
  /// - Parameter inTraceFolder: Whether it is left in the folder of `CLOCKS_TRACE`, too, if there is one.
  static func attach(_ timeline: RecordedTimeline, inTraceFolder: Bool) {
    guard !timeline.isEmpty else { return }
    if inTraceFolder { timeline.leaveInTraceFolder() }
    guard Test.current != nil else { return }
    let name = timeline.title.fileName
    Attachment.record(timeline.svg, named: name + ".svg")
    Attachment.record(timeline.traceEvents, named: name + ".json")
  }

  /// For example `PollerTests.polls(every: 3)`.
  static func name(_ test: Test, _ testCase: Test.Case?) -> String {
    let name = test.id.nameComponents.joined(separator: ".")
    guard let testCase, testCase.isParameterized else { return name }
    let arguments = argumentDescriptions(of: testCase)
    return arguments.isEmpty ? name : "\(name) \(arguments.joined(separator: ", "))"
  }

  /// What the arguments of a case are, as far as they can be found: the test library keeps them to itself.
  private static func argumentDescriptions(of testCase: Test.Case) -> [String] {
    func values(_ value: Any, depth: Int) -> [String] {
      guard depth < 8 else { return [] }
      let mirror = Mirror(reflecting: value)
      if "\(mirror.subjectType)" == "Argument",
        let argument = mirror.children.first(where: { $0.label == "value" })
      {
        return [String(describingForTest: argument.value)]
      }
      guard mirror.displayStyle != .class else { return [] }
      return mirror.children.flatMap { child in
        child.label == "body" ? [] : values(child.value, depth: depth + 1)
      }
    }
    return values(testCase, depth: 0)
  }
}

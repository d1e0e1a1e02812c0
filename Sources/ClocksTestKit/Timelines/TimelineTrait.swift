import Clocks
import ClocksSupport
import Synchronization
public import Testing

/// A trait that records timelines of tests and adds them to failures.
///
/// ```swift
/// @Test(.virtualTime, .timeline) func polls() async throws {
///   let time = try VirtualTime.required
///   let poller = Task(name: "poller") { try await Task.sleep(for: .seconds(3)) }
///   time.mark("the poller has started")
///   try await poller.value
/// }
/// ```
///
/// The trait records a scope of virtual time, or the clocks that the test makes; without these, a failure says
/// that there is no recording. A recording contains tasks and their creators, jobs, sleeps, moves of time, and
/// marks. The first failure of a test shows the end of the timeline as text, with a lane for each task. A picture
/// (SVG) and the events for Perfetto and Chrome (JSON) are attached to the test; `swift test --attachments-path
/// FOLDER` keeps them.
///
/// On a suite, the trait applies to each test in it, including those of inner suites. Each case of a
/// parameterized test has a recording of its own.
///
/// An event costs some 100 nanoseconds and 40 bytes. After a million events the earliest are dropped.
public struct TimelineTrait: TestTrait, SuiteTrait, TestScoping {
  var lines: Int
  var events: Int

  /// Whether the trait applies to inner suites, too: always `true`.
  public var isRecursive: Bool { true }

  /// Runs a test case and records its timeline. The test library calls this function.
  ///
  /// - Parameters:
  ///   - test: The test.
  ///   - testCase: The case.
  ///   - function: Runs the case.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let request = TimelineRequest(limit: events, lines: max(lines, 3)) {
      TimelineAttachments.attach($0, inTraceFolder: true)
    }
    let explanation = FailureExplanation(request)
    try await request.run {
      try await IssueHandlingTrait.compactMapIssues { explanation.add(to: $0) }
        .provideScope(for: test, testCase: testCase) {
          do {
            try await function()
          } catch  where isUnrecorded(error) {
            // The test library would record the error outside this trait, without an explanation.
            Issue.record(error, sourceLocation: test.sourceLocation)
          }
        }
    }
  }
}

extension Trait where Self == TimelineTrait {
  /// Records a timeline of each test.
  public static var timeline: Self { timeline() }

  /// Records a timeline of each test.
  ///
  /// - Parameters:
  ///   - lines: The number of lines that a failure shows at most; less than 4 counts as 4.
  ///   - events: How many of the latest events are kept at least; less than one counts as one.
  public static func timeline(lines: Int = 40, events: Int = 1_000_000) -> Self {
    TimelineTrait(lines: lines, events: events)
  }
}

/// Adds the timeline to the first failure of a test.
private final class FailureExplanation: Sendable {
  private let request: TimelineRequest
  private let isGiven = Atomic(false)
  private static let nothing = """
    The trait `.timeline` has recorded nothing: the test has no virtual time, and has made no TestClock. \
    Write `.virtualTime` beside it.
    """

  init(_ request: TimelineRequest) { self.request = request }

  func add(to issue: Issue) -> Issue {
    guard issue.isFailure else { return issue }
    // A failure that the scope records contains an explanation already, and a second trait adds none.
    let isExplained = issue.comments.contains {
      $0.rawValue.contains(RecordedTimeline.explanationHeading) || $0.rawValue == Self.nothing
    }
    if isExplained { isGiven.store(true, ordering: .relaxed) }
    guard !isExplained, let explanation, !isGiven.exchange(true, ordering: .relaxed) else {
      return issue
    }
    var issue = issue
    issue.comments.append(Comment(rawValue: explanation))
    return issue
  }

  private var explanation: String? {
    guard let timeline = request.timeline else { return Self.nothing }
    return timeline.explanation(lines: request.lines)
  }
}

/// Attaches recordings to tests of Swift Testing.
enum TimelineAttachments {
  /// Attaches a recording to the current test, if there is one.
  ///
  /// - Parameter inTraceFolder: Whether to write the recording into the folder of `CLOCKS_TRACE` as well, if
  ///   that is set.
  static func attach(_ timeline: RecordedTimeline, inTraceFolder: Bool) {
    guard !timeline.isEmpty else { return }
    if inTraceFolder { timeline.leaveInTraceFolder() }
    guard Test.current != nil else { return }
    let name = timeline.title.fileName
    Attachment.record(timeline.svg, named: name + ".svg")
    Attachment.record(timeline.traceEvents, named: name + ".json")
  }

  /// Returns the test's name and the arguments of a test case, for example `PollerTests.polls(every:) 3`.
  static func name(_ test: Test, _ testCase: Test.Case?) -> String {
    let name = test.id.nameComponents.joined(separator: ".")
    let arguments = testCase.map(arguments) ?? ""
    return arguments.isEmpty ? name : "\(name) \(arguments)"
  }

  /// Returns the arguments of a case as far as reflection finds them. The test library has no function for that.
  static func arguments(of testCase: Test.Case) -> String {
    guard testCase.isParameterized else { return "" }
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
    return values(testCase, depth: 0).joined(separator: ", ")
  }
}

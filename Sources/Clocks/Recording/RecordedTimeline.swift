/// What happened in a test: which tasks were created and by whom, when they ran, slept, woke and were
/// cancelled, how time moved, and the test's own marks.
///
/// It is a value: what happens later is not in it. Recording begins with
/// ``VirtualTime/recordTimeline(events:)``, ``TestClock/recordTimeline(events:)``, with the trait
/// `.timeline` of ClocksTestKit, or in every test with the environment variable `CLOCKS_TRACE`.
public struct RecordedTimeline: Sendable {
  /// What the test is called.
  public var title: String

  private let recording: Recording

  init(title: String, _ recording: Recording) {
    self.title = title
    self.recording = recording
  }

  /// Whether nothing happened.
  public var isEmpty: Bool { recording.events.count == 0 && recording.marks.isEmpty }

  /// The number of events, those included that were dropped because there were too many.
  public var eventCount: Int { recording.events.count + recording.events.dropped }

  /// A picture, as SVG, for light and dark pages: a lane for each task, virtual time from left to right.
  ///
  /// Time is in proportion, but where nothing happens for long, it is compressed. Long names are cut, and
  /// have their whole as a title. Of a very long history the latest 20,000 events are drawn, and the
  /// latest 1,000 tasks; the picture says what is left out. It names nothing that differs from run to
  /// run. O(n log n) with n events.
  public var svg: String {
    TimelinePicture(
      HistoryBuilder.build(recording, limit: TimelinePicture.mostEvents), title: title
    ).svg
  }

  /// The same in the trace-event format of JSON, which Perfetto and Chrome open, with virtual time as
  /// time.
  ///
  /// A thread stands for a task. Of a very long history it has the latest 200,000 events. O(n) with n
  /// events.
  public var traceEvents: String {
    TraceEvents.json(
      HistoryBuilder.build(recording, limit: TraceEvents.mostEvents), title: title)
  }

  /// What happened last, as text: a lane for each task, virtual time on the left. O(n) with n events.
  ///
  /// Unnamed tasks have their numbers, as in the package's failures. Without a named task beside it,
  /// `test` is the one that runs the test itself.
  ///
  /// - Parameters:
  ///   - width: The number of columns, at least 40.
  ///   - lines: The number of lines, at least 3; the end is kept.
  public func lanes(width: Int = 100, lines: Int = 40) -> String {
    history(for: lines).lanes(width: width, limit: lines).joined(separator: "\n")
  }

  /// The beginning of an explanation.
  package static let explanationHeading = "What happened:"

  /// The lanes as a part of a failure that is recorded now, which stands in the last line, in the lane of
  /// the task that runs; `nil` if there is nothing else to tell.
  ///
  /// - Parameter lines: The number of lines, that of the heading included.
  package func explanation(lines: Int) -> String? {
    var history = history(for: lines)
    guard !history.steps.isEmpty else { return nil }
    history.steps.append(
      .init(time: history.end.time, task: history.running, by: nil, kind: .fails))
    return ([Self.explanationHeading] + history.lanes(limit: lines - 1)).joined(separator: "\n")
  }

  /// What has to be known of the past for so many lines.
  private func history(for lines: Int) -> History {
    HistoryBuilder.build(recording, limit: 100 * max(lines, 3))
  }
}

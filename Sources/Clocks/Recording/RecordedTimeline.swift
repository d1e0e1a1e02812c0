import ClocksDrawing

/// The recording of a test: when tasks were created, ran, slept, woke and were cancelled, how time moved,
/// and the marks of the test.
///
/// A timeline is a value: later events do not change it. Recording begins with
/// ``VirtualTime/recordTimeline(events:)``, ``TestClock/recordTimeline(events:)``, with the trait
/// `.timeline` of ClocksTestKit, or in every test with the environment variable `CLOCKS_TRACE`.
public struct RecordedTimeline: Sendable {
  /// The name of the test.
  public var title: String

  let events: EventStore
  private let context: RecordingContext

  init(title: String, events: EventStore, _ context: RecordingContext) {
    self.title = title
    self.events = events
    self.context = context
  }

  /// Whether the timeline contains no events.
  public var isEmpty: Bool { events.count == 0 }

  /// The number of events, including those that were dropped because there were too many.
  public var eventCount: Int { events.count + events.dropped }

  /// The timeline as an SVG picture: a lane for each task, virtual time from left to right.
  ///
  /// The picture suits light and dark pages. Time is in proportion, but long gaps are compressed. Long
  /// names are cut, and a tooltip shows the full text. The picture shows the latest 20,000 events and the
  /// latest 1,000 tasks, and says what it leaves out. It contains nothing that differs from run to run.
  /// O(n log n) with n events.
  public var svg: String {
    TimelinePicture(history(limit: TimelinePicture.mostEvents), title: title).svg
  }

  /// The timeline in the trace-event format (JSON), which Perfetto and Chrome open, with virtual time as
  /// time.
  ///
  /// Each task is shown as a thread. The text contains the latest 200,000 events. O(n) with n events.
  public var traceEvents: String {
    TraceEvents.json(history(limit: TraceEvents.mostEvents), title: title)
  }

  /// Returns the end of the timeline as text: a lane for each task, virtual time on the left.
  ///
  /// Unnamed tasks have their numbers, as in the package's failures; `test` is the task that runs the test
  /// itself. O(n) with n events.
  ///
  /// - Parameters:
  ///   - width: The number of columns, at least 40.
  ///   - lines: The number of lines, at least 3. If there are more, the first ones are left out.
  public func lanes(width: Int = 100, lines: Int = 40) -> String {
    history(forLines: lines).lanes(width: width, limit: lines).joined(separator: "\n")
  }

  package static let explanationHeading = "What happened:"

  /// Returns a heading and the lanes, with the failure that is being recorded now as the last row.
  ///
  /// Returns `nil` if nothing happened before the failure.
  package func explanation(lines: Int) -> String? {
    var history = history(forLines: lines)
    guard history.stepCount > 0 else { return nil }
    history.addFailure()
    return ([Self.explanationHeading] + history.lanes(limit: lines - 1)).joined(separator: "\n")
  }

  /// Returns the history of the latest events, as many as the last `lines` lines need.
  private func history(forLines lines: Int) -> History {
    let lines = max(lines, 3)
    let (limit, isTooMany) = lines.multipliedReportingOverflow(by: 100)
    guard !isTooMany, limit < events.count else { return history() }
    let latest = history(limit: limit)
    // Most jobs of a task that yields in a loop are not shown as lines, so the latest events may have too few lines.
    return latest.stepCount < lines ? history() : latest
  }

  func history(limit: Int = .max) -> History {
    HistoryBuilder.build(
      context, count: events.count, dropped: events.dropped, limit: limit,
      forEachEvent: events.forEachEvent)
  }
}

/// The latest events of a recording: at least `limit`, if there were as many.
///
/// Copies of the store share blocks of events, because each place in a block is written only once. So a copy
/// costs O(blocks), and stays unchanged while events are added. The recorder's lock guards `append`.
struct EventStore: Sendable {
  private static let blockLength = 4_096

  private final class Block: @unchecked Sendable {
    let events = UnsafeMutablePointer<RecordedEvent>.allocate(capacity: EventStore.blockLength)
    deinit { events.deallocate() }
  }

  /// The least number of events that are kept.
  let limit: Int
  private var blocks: [Block] = []
  private var countInLast = EventStore.blockLength
  private(set) var dropped = 0

  init(limit: Int) { self.limit = limit }

  var count: Int { blocks.count * Self.blockLength - (Self.blockLength - countInLast) }

  /// Adds an event. Drops the earliest block if `limit` events remain without it. Amortized O(1).
  @inline(__always)
  mutating func append(_ event: RecordedEvent) {
    if countInLast == Self.blockLength { addBlock() }
    blocks[blocks.count - 1].events.advanced(by: countInLast).initialize(to: event)
    countInLast += 1
  }

  @inline(never)
  private mutating func addBlock() {
    if blocks.count > 1, count - Self.blockLength >= limit {
      blocks.removeFirst()
      dropped += Self.blockLength
    }
    blocks.append(Block())
    countInLast = 0
  }

  /// Calls `body` with each event, the earliest first. O(n).
  func forEachEvent(_ body: (RecordedEvent) -> Void) {
    for place in 0..<count {
      body(blocks[place / Self.blockLength].events[place % Self.blockLength])
    }
  }
}

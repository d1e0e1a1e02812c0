import ClocksSupport
import Synchronization

#if canImport(Dispatch)
  import Dispatch
#endif

/// A request to record the tests, or scopes, that begin while it is in force.
package final class TimelineRequest: Sendable {
  @TaskLocal static var current: TimelineRequest?

  /// Names the current task's test. Set at load.
  nonisolated(unsafe) package static var nameTest: (@Sendable () -> String?)?
  /// Attaches a timeline to the current task's test. Set at load.
  nonisolated(unsafe) package static var attach: (@Sendable (RecordedTimeline) -> Void)?

  /// The number of requests in force in the process, so that most tests need not look for one.
  private static let count = Atomic(0)

  static var isAnyInForce: Bool { count.load(ordering: .relaxed) > 0 }

  let limit: Int
  package let lines: Int
  /// Receives each recording when its test, or scope, is over.
  let delivery: @Sendable (RecordedTimeline) -> Void
  private let lock = Lock(.leaf)
  /// Guarded by the lock.
  nonisolated(unsafe) private var recorders: [Recorder] = []

  package init(limit: Int, lines: Int, delivery: @escaping @Sendable (RecordedTimeline) -> Void) {
    self.limit = max(limit, 1)
    self.lines = lines
    self.delivery = delivery
  }

  /// Runs `operation` with the request in force. A scope around the call is recorded, too.
  package func run(_ operation: () async throws -> Void) async rethrows {
    Self.count.add(1, ordering: .relaxed)
    defer {
      Self.count.subtract(1, ordering: .relaxed)
      for recorder in lock.withLock({ recorders }) { recorder.deliver() }
    }
    try await Self.$current.withValue(self) {
      Scheduler.running?.beginRecording(by: self)?.beginTest()
      try await operation()
    }
  }

  func add(_ recorder: Recorder) { lock.withLock { recorders.append(recorder) } }

  /// The recording of the scheduler that runs the current task; otherwise the latest one of this request.
  package var timeline: RecordedTimeline? {
    let known = lock.withLock { recorders }
    let running = Scheduler.running?.recorder
    // The running recording is not known here if it was begun before, or by another request.
    return (known.first { $0 === running } ?? known.last ?? running)?.timeline
  }
}

extension ScopeOptions {
  /// Whether a recording was requested, but the runs with these options deliver one for failures only.
  ///
  /// If so, a test that passes has to run once more for its timeline.
  var wasToBeRecorded: Bool {
    switch recording {
    case .asAskedFor: false
    case .onTrial: Environment.traceFolder != nil
    case .never(let refusals): refusals.isKnown
    }
  }
}

extension Scheduler {
  var recorder: Recorder? { change { $0.recorder } }

  /// Whether requests for recordings of whole tests apply to this scheduler. A refusal by `.never` is noted.
  private var mayBeRecorded: Bool {
    for scheduler in sequence(first: self, next: { $0.parent }) {
      switch scheduler.scope?.options.recording {
      case .never(let refusals):
        refusals.note()
        return false
      case .onTrial where scheduler !== self: return false
      case .onTrial, .asAskedFor, nil: break
      }
    }
    return true
  }

  private var isOnTrial: Bool {
    if case .onTrial = scope?.options.recording { true } else { false }
  }

  /// Begins to record if that was requested. Called when a clock or a scope is made.
  @inline(__always)
  func recordIfAskedFor(on clock: VirtualClock) {
    if TimelineRequest.isAnyInForce || Environment.traceFolder != nil {
      beginRecordingIfAskedFor(on: clock)
    }
  }

  @inline(never)
  private func beginRecordingIfAskedFor(on clock: VirtualClock) {
    let recorder =
      if let request = TimelineRequest.current {
        beginRecording(by: request, on: clock)
      } else {
        Environment.traceFolder.flatMap { beginRecording(into: $0, on: clock) }
      }
    if scope == nil { recorder?.beginTest() }
  }

  /// Begins the recording of a request. Returns the recorder; `nil` if there is one already, or none is allowed.
  fileprivate func beginRecording(
    by request: TimelineRequest, on clock: VirtualClock? = nil
  ) -> Recorder? {
    guard mayBeRecorded,
      let recorder = beginRecording(
        limit: request.limit, lines: request.lines, on: clock, delivery: request.delivery)
    else { return nil }
    request.add(recorder)
    return recorder
  }

  /// Begins to record for the folder of `CLOCKS_TRACE`.
  private func beginRecording(into folder: String, on clock: VirtualClock) -> Recorder? {
    guard mayBeRecorded else { return nil }
    let origin = report.origin
    let isOnTrial = isOnTrial
    let recorder = beginRecording(limit: Recorder.standardLimit, on: clock) { timeline in
      defer { if !isOnTrial { TraceFolder.hasDelivered() } }
      guard !timeline.isEmpty else { return }
      TraceFolder.write(timeline, to: folder, at: origin)
      TimelineRequest.attach?(timeline)
    }
    if let recorder, !isOnTrial { TraceFolder.deliverAtExit(recorder) }
    return recorder
  }

  func record(events: Int, on clock: VirtualClock) {
    beginRecording(limit: max(events, 1), on: clock)?.beginTest()
  }

  /// Begins to record. Returns the recorder; `nil` if there is one already.
  ///
  /// - Parameter clock: The clock that has the present, outside a scope. Without it, the recording begins at zero.
  @discardableResult
  func beginRecording(
    limit: Int, lines: Int = 40, on clock: VirtualClock? = nil,
    delivery: (@Sendable (RecordedTimeline) -> Void)? = nil
  ) -> Recorder? {
    guard recorder == nil else { return nil }
    let origin = report.origin
    let file = "\(origin.fileID)".split(separator: "/").last?.split(separator: ".").first ?? ""
    let title =
      TimelineRequest.nameTest?() ?? scope?.options.testName ?? "\(file):\(origin.line)"
    let start = change { _ in scope?.virtualClock.now ?? clock?.time ?? .zero }
    let recorder = Recorder(
      title, limit: limit, lines: lines, startingAt: start, delivery: delivery)
    return change { state in
      guard state.recorder == nil else { return nil }
      state.recorder = recorder
      return recorder
    }
  }

  func endRecording() {
    if !isOnTrial { recorder?.deliver() }
  }
}

/// The folder of `CLOCKS_TRACE`, into which tests write their timelines.
enum TraceFolder {
  /// Guards the properties below. Rank `leaf`.
  private static let lock = Lock(.leaf)
  /// The file names that were used in this process, each with the number of its last copy.
  nonisolated(unsafe) private static var given: [String: Int] = [:]
  nonisolated(unsafe) private static var unfinished: [@Sendable () -> Recorder?] = []
  private static let hasWarned = Atomic(false)
  #if canImport(Dispatch)
    /// The group that each recording enters when it is to be delivered at exit, and leaves when it is delivered.
    private static let undelivered = DispatchGroup()
  #endif

  /// Writes a picture and a trace. Names are used once in a process, so that parallel tests do not collide.
  static func write(_ timeline: RecordedTimeline, to folder: String, at origin: CallSite) {
    XCTestTimelines.noteTimeline()
    let path = "\(folder)/\(freeName(timeline.title.fileName))"
    do throws(TextFile.WriteError) {
      try TextFile.makeFolder(folder)
      try TextFile.write(timeline.svg, to: path + ".svg")
      try TextFile.write(timeline.traceEvents, to: path + ".json")
    } catch {
      // One warning is enough: the cause is probably the same for all files.
      guard !hasWarned.exchange(true, ordering: .relaxed) else { return }
      warn("\(Environment.Variable.traceFolder.name): \(error)", at: origin)
    }
  }

  private static func freeName(_ name: String) -> String {
    // Some file systems ignore case.
    let key = name.lowercased()
    return lock.withLock {
      var (free, count) = (name, given[key, default: 1])
      while given[free.lowercased()] != nil {
        count += 1
        free = "\(name)-\(count)"
      }
      given[free.lowercased()] = 1
      given[key] = count
      return free
    }
  }

  /// Delivers a recording when the process exits, unless it was delivered before.
  ///
  /// At exit, the process waits up to 10 seconds for recordings that other threads are still writing.
  static func deliverAtExit(_ recorder: Recorder) {
    #if canImport(Dispatch)
      undelivered.enter()
    #endif
    lock.withLock {
      if unfinished.count > 64 { unfinished.removeAll { $0() == nil } }
      unfinished.append { [weak recorder] in recorder }
    }
    _ = atExit
  }

  private static let atExit = atexit {
    for recorder in TraceFolder.lock.withLock({ TraceFolder.unfinished }) { recorder()?.deliver() }
    #if canImport(Dispatch)
      _ = TraceFolder.undelivered.wait(timeout: .now() + .seconds(10))
    #endif
  }

  static func hasDelivered() {
    #if canImport(Dispatch)
      undelivered.leave()
    #endif
  }
}

extension RecordedTimeline {
  /// Writes the timeline into the folder of `CLOCKS_TRACE`, if it is set.
  package func leaveInTraceFolder() {
    if let folder = Environment.traceFolder { TraceFolder.write(self, to: folder, at: .unknown) }
  }
}

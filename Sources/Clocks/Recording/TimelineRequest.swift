import ClocksSupport
import Synchronization

/// Asks that what happens be recorded in the tests, or scopes, that begin while it is in force.
package final class TimelineRequest: Sendable {
  @TaskLocal static var current: TimelineRequest?

  /// The number of requests in force in the process: where there is none, nobody looks for one.
  private static let count = Atomic(0)

  static var isAnyInForce: Bool { count.load(ordering: .relaxed) > 0 }

  /// How many events are kept.
  let limit: Int
  /// How many lines are added to a failure.
  let lines: Int
  /// What becomes of each recording when its test, or scope, is over.
  let delivery: @Sendable (RecordedTimeline) -> Void
  private let lock = Lock(.leaf)
  /// Guarded by the lock.
  nonisolated(unsafe) private var recorders: [Recorder] = []

  package init(
    limit: Int, lines: Int, delivery: @escaping @Sendable (RecordedTimeline) -> Void
  ) {
    self.limit = max(limit, 1)
    self.lines = lines
    self.delivery = delivery
  }

  deinit { lock.destroy() }

  /// Runs `operation` with the request in force, also for a scope that has begun before.
  package func run(_ operation: () async throws -> Void) async rethrows {
    Self.count.add(1, ordering: .relaxed)
    defer {
      Self.count.subtract(1, ordering: .relaxed)
      for recorder in lock.withLock({ recorders }) { recorder.deliver() }
    }
    try await Self.$current.withValue(self) {
      // A scope around it, or a clock that the test has already made.
      if let scheduler = Scheduler.running, scheduler.beginRecording(by: self) {
        scheduler.recorder?.beginTest()
      }
      try await operation()
    }
  }

  func add(_ recorder: Recorder) { lock.withLock { recorders.append(recorder) } }

  /// What was recorded where the current task runs; else what was recorded last.
  package var timeline: RecordedTimeline? {
    let known = lock.withLock { recorders }
    let running = Scheduler.running?.recorder
    return (known.first { $0 === running } ?? known.last)?.timeline
  }
}

/// What a test kit that knows the test library adds.
package enum TimelineHooks {
  private static let lock = Lock(.leaf)
  nonisolated(unsafe) private static var hooks:
    (name: @Sendable () -> String?, attach: @Sendable (RecordedTimeline) -> Void)?

  /// - Parameters:
  ///   - name: The name of the test that the current task runs.
  ///   - attach: Attaches a recording to the test that the current task runs, if there is one.
  package static func set(
    name: @escaping @Sendable () -> String?,
    attach: @escaping @Sendable (RecordedTimeline) -> Void
  ) {
    lock.withLock { hooks = (name, attach) }
  }

  static var testName: String? { lock.withLock { hooks }?.name() }

  static func attach(_ timeline: RecordedTimeline) { lock.withLock { hooks }?.attach(timeline) }
}

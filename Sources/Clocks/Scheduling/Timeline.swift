/// One course of time: the present, and the sleeps that wait for the future.
///
/// A timeline is always one scheduler's, and that scheduler's lock guards all of it: every method
/// is called with the lock held. Instants are distances from the origin.
final class Timeline<Duration: DurationProtocol & Hashable>: Sendable {
  typealias Sleeps = SleepQueue<Duration>

  @exclusivity(unchecked) nonisolated(unsafe) var now: Duration
  @exclusivity(unchecked) nonisolated(unsafe) var sleeps = Sleeps()
  /// Who waits for sleeps to arrive, by number.
  nonisolated(unsafe) var arrivals: [UInt64: SleepArrival] = [:]
  nonisolated(unsafe) var nextArrival: UInt64 = 0

  init(now: Duration) {
    self.now = now
  }

  /// Takes the earliest sleep if it is due by `target`, and moves time to its deadline. O(log n).
  @specialized(where Duration == Swift.Duration)
  func popEarliest(dueBy target: Duration?) -> Sleeps.Sleeper? {
    guard let deadline = sleeps.earliestDeadline else { return nil }
    if let target, deadline > target { return nil }
    if deadline > now { now = deadline }
    return sleeps.popEarliest()
  }

  /// Takes out those who waited for as many sleeps as there are now.
  func takeFulfilledArrivals() -> [SleepArrival] {
    guard !arrivals.isEmpty else { return [] }
    let count = sleeps.count
    let fulfilled = arrivals.filter { $0.value.count <= count }
    for number in fulfilled.keys { arrivals.removeValue(forKey: number) }
    return fulfilled.sorted { $0.key < $1.key }.map(\.value)
  }
}

/// The sleeps on one timeline, whatever its instants are. Called with the lock held.
protocol SleepHolder: AnyObject, Sendable {
  /// Whether a task sleeps, and nobody waits for more of them to come.
  var isWaitingForTime: Bool { get }
  /// A line for each pending sleep, in the order in which they would wake; to be called without the
  /// lock, because it describes instants of the user's.
  var pendingLines: @Sendable () -> [String] { get }
  /// Takes out all sleeps.
  func removeAllSleeps() -> [UnsafeContinuation<Void, any Error>]
}

extension Timeline: SleepHolder {
  var isWaitingForTime: Bool { sleeps.count > 0 && arrivals.isEmpty }

  var pendingLines: @Sendable () -> [String] {
    { [sleeps] in sleeps.pending.map(\.line) }
  }

  func removeAllSleeps() -> [UnsafeContinuation<Void, any Error>] {
    (0..<sleeps.count).compactMap { _ in
      if case .continuation(let continuation, _) = sleeps.popEarliest() {
        continuation
      } else {
        nil
      }
    }
  }
}

extension SleepQueue.Sleeper {
  /// The step that wakes the sleeper.
  var wake: IdleStep {
    switch self {
    case .continuation(let continuation, let isOwn): .wake(continuation, isOwn: isOwn)
    case .job(let job): .run(job)
    }
  }
}

extension SleepQueue.Pending {
  /// For example `until 3.0 seconds, since 1.0 seconds, task "poll" (#42), on ContinuousClock`.
  var line: String {
    let id = details.taskID
    let task = details.taskName.map { "task \"\($0)\" (#\(id))" } ?? "task #\(id)"
    return "until \(deadline), since \(details.registered), \(task), on \(details.clock.rawValue)"
  }
}

/// The kinds of clock on which a task may sleep.
enum ClockKind: String, Sendable {
  case test = "TestClock"
  case continuous = "ContinuousClock"
  case suspending = "SuspendingClock"
}

import ClocksSupport

/// One course of time: the present, and the sleeps that wait for the future.
///
/// A virtual clock is a part of one scheduler's state: it is used within `Scheduler.change` only.
/// Instants are distances from the origin.
final class VirtualClock<Duration: DurationProtocol & Hashable>: Sendable {
  typealias Sleeps = SleepQueue<Duration>

  // The scheduler's lock makes every access exclusive, so they are not checked a second time.
  @exclusivity(unchecked) nonisolated(unsafe) var now: Duration
  @exclusivity(unchecked) nonisolated(unsafe) var sleeps = Sleeps()
  /// Those who wait for sleeps to come, by the order in which they began to.
  @exclusivity(unchecked) nonisolated(unsafe) private(set) var waiters: [UInt64: SleepsWaiter] = [:]
  @exclusivity(unchecked) nonisolated(unsafe) private var nextWaiter: UInt64 = 0

  /// Those who are told of each sleep that is registered.
  @exclusivity(unchecked) nonisolated(unsafe) private(set) var listeners: [UInt64: Listener] = [:]

  /// The test cases that use the clock whose time this is.
  let users = ClockUsers()

  init(now: Duration) {
    self.now = now
  }

  /// Takes the earliest sleep if it is due by `target`, and moves time to its deadline. Among sleeps
  /// of one deadline, `order` decides. O(log n); with a chooser O(n).
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  func popEarliest(dueBy target: Duration?, _ order: Order) -> Sleeper? {
    guard let deadline = sleeps.earliestDeadline else { return nil }
    if let target, deadline > target { return nil }
    if order.slack.attoseconds > 0 { return popLate(deadline, dueBy: target, order) }
    if deadline > now { now = deadline }
    if order.chooser != nil, case .sleep(let number, _) = order.first(among: dueSleeps()) {
      return sleeps.remove(number)
    }
    return sleeps.popEarliest()
  }

  /// Takes a sleep that the chooser wants, before the earliest one has waited for longer than the slack
  /// beyond its deadline.
  @inline(never)
  private func popLate(_ deadline: Duration, dueBy target: Duration?, _ order: Order) -> Sleeper? {
    guard let slack = order.slack as? Duration else { return sleeps.popEarliest() }
    let latest = max(now, saturatingSum(deadline, slack))
    let last = target.map { min($0, latest) } ?? latest
    let due = sleeps.pending.prefix { $0.deadline <= last }
    let candidates = ScratchBuffer(
      due.map { Candidate.sleep(number: $0.number, task: $0.details.taskID) })
    guard case .sleep(let number, _) = order.first(among: candidates),
      let chosen = due.first(where: { $0.number == number })
    else { return nil }
    if chosen.deadline > now { now = chosen.deadline }
    return sleeps.remove(number)
  }

  /// The sleeps that are due now, in the order in which they would wake by themselves. O(n).
  func dueSleeps() -> ScratchBuffer<Candidate> {
    if Duration.self == Swift.Duration.self {
      let virtualClock = unsafeDowncast(self, to: VirtualClock<Swift.Duration>.self)
      return virtualClock.sleeps.candidates(dueBy: virtualClock.now)
    }
    let due = sleeps.pending.prefix { $0.deadline <= now }
    return ScratchBuffer(due.map { Candidate.sleep(number: $0.number, task: $0.details.taskID) })
  }

  /// The present in the standard library's durations; `nil` if the clock has others.
  var time: Swift.Duration? { now as? Swift.Duration }

  /// The present, and the sleep that was taken out last; for a listener, who is told of each wake.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  func trace() -> (now: Swift.Duration?, removed: (number: UInt64, task: UInt64)?) {
    (time, sleeps.removed)
  }

  // MARK: - Hearing of sleeps

  /// Somebody who is told of each sleep that is registered, without the lock.
  typealias Listener = @Sendable (Sleeps.Pending) -> Void

  /// Adds somebody; returns the number to be removed by.
  func add(_ listener: @escaping Listener) -> UInt64 {
    nextWaiter += 1
    listeners[nextWaiter] = listener
    return nextWaiter
  }

  /// Takes out somebody; to be let go of without the lock.
  func removeListener(_ number: UInt64) -> Listener? { listeners.removeValue(forKey: number) }

  // MARK: - Waiting for sleeps

  /// Whether somebody is to be told of each sleep that comes.
  @inline(__always)
  var isAwaited: Bool { !waiters.isEmpty || !listeners.isEmpty }

  /// Adds somebody who waits for sleeps, unless there are enough; returns whether it was added.
  func add(_ waiter: SleepsWaiter) -> Bool {
    guard sleeps.count < waiter.count else { return false }
    nextWaiter += 1
    waiter.number = nextWaiter
    waiters[nextWaiter] = waiter
    return true
  }

  /// Takes out somebody who waits, if it still does.
  func remove(_ waiter: SleepsWaiter) -> SleepsWaiter? {
    waiters.removeValue(forKey: waiter.number)
  }

  /// Takes out those who waited for as many sleeps as there are now.
  func takeFulfilledWaiters() -> [SleepsWaiter] {
    guard !waiters.isEmpty else { return [] }
    let count = sleeps.count
    let fulfilled = waiters.filter { $0.value.count <= count }
    for number in fulfilled.keys { waiters.removeValue(forKey: number) }
    return fulfilled.sorted { $0.key < $1.key }.map(\.value)
  }
}

// Not generic, because a debug build takes a hundred times as long for what is.
extension VirtualClock where Duration == Swift.Duration {
  /// Whether a sleep is due now. O(1).
  var isAnyDue: Bool { sleeps.isAnyDue(by: now) }
  /// Whether a task sleeps. O(1).
  var hasSleeps: Bool { sleeps.hasAny() }
}

/// Says what tasks sleep for.
typealias SleepTexts = @Sendable () -> [(task: UInt64, name: String?, text: String)]

/// The sleeps on one virtual clock, whatever its instants are: what the watchdog asks of a clock.
protocol SleepSource: AnyObject, Sendable {
  /// Whether a task sleeps.
  var hasSleeps: Bool { get }
  /// Whether somebody waits for sleeps to come.
  var isAwaitingSleeps: Bool { get }
  /// A line for each pending sleep, in the order in which they would wake; to be called without the
  /// lock, because it describes instants of the user's.
  var pendingLines: @Sendable () -> [String] { get }
  /// The tasks that sleep, in no order.
  var sleepingTasks: [UnownedJob] { get }
  /// What each task that sleeps is waiting for; to be called without the lock, for the same reason.
  var sleepTexts: SleepTexts { get }
  /// Takes out all sleeps.
  func removeAllSleeps() -> [Sleeper]
}

extension VirtualClock: SleepSource {
  var hasSleeps: Bool { sleeps.count > 0 }

  var isAwaitingSleeps: Bool { !waiters.isEmpty }

  var pendingLines: @Sendable () -> [String] {
    { [sleeps] in sleeps.pending.map(\.line) }
  }

  var sleepingTasks: [UnownedJob] { sleeps.pending.compactMap(\.details.task?.job) }

  var sleepTexts: SleepTexts {
    { [sleeps] in
      sleeps.pending.map {
        ($0.details.taskID, $0.taskName, "until \($0.deadline) on \($0.details.clock.rawValue)")
      }
    }
  }

  func removeAllSleeps() -> [Sleeper] {
    (0..<sleeps.count).map { _ in sleeps.popEarliest() }
  }
}

extension SleepQueue.Pending {
  /// For example `until 3.0 seconds, since 1.0 seconds, task "poll" (#42), on ContinuousClock`.
  var line: String { "until \(deadline), since \(details.registered), \(sleeper)" }

  /// Who sleeps, and on which clock.
  private var sleeper: String {
    if details.clock == .dispatch { return taskName ?? "a queue" }
    let id = details.taskID
    let task = taskName.map { "task \"\($0)\" (#\(id))" } ?? "task #\(id)"
    return "\(task), on \(details.clock.rawValue)"
  }
}

/// The virtual clocks of a test, apart from that of a scope.
struct ClockRegistry {
  /// Each virtual clock, with the number of clocks that there were before it.
  private var virtualClocks: [ObjectIdentifier: (number: Int, virtualClock: any SleepSource)] = [:]
  private var nextNumber = 0

  mutating func add(_ virtualClock: any SleepSource) {
    virtualClocks[ObjectIdentifier(virtualClock)] = (nextNumber, virtualClock)
    nextNumber += 1
  }

  /// Removes a virtual clock, to be released without a lock.
  mutating func remove(_ virtualClock: any SleepSource) -> (any SleepSource)? {
    virtualClocks.removeValue(forKey: ObjectIdentifier(virtualClock))?.virtualClock
  }

  /// The virtual clocks in the order in which their clocks were made. O(n log n) with n clocks.
  var all: [any SleepSource] {
    virtualClocks.values.sorted { $0.number < $1.number }.map(\.virtualClock)
  }
}

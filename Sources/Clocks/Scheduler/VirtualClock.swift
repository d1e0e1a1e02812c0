import ClocksSupport

/// The present and the pending sleeps of one `TestClock`, or of one scope. Instants are distances from
/// the origin.
///
/// A part of one scheduler's state: used within `Scheduler.change` only, so accesses are exclusive.
final class VirtualClock<Duration: DurationProtocol & Hashable>: Sendable {
  typealias Sleeps = SleepQueue<Duration>
  /// Receives each sleep that is registered. Called without the lock.
  typealias Listener = @Sendable (Sleeps.Pending) -> Void

  @exclusivity(unchecked) nonisolated(unsafe) var now: Duration
  @exclusivity(unchecked) nonisolated(unsafe) var sleeps = Sleeps()
  @exclusivity(unchecked) nonisolated(unsafe) private(set) var waiters: [UInt64: SleepsWaiter] = [:]
  @exclusivity(unchecked) nonisolated(unsafe) private var nextWaiter: UInt64 = 0
  /// The listeners, by numbers that grow in order of arrival.
  @exclusivity(unchecked) nonisolated(unsafe) private(set) var listeners: [UInt64: Listener] = [:]

  let users = ClockUsers()

  init(now: Duration) { self.now = now }

  /// Takes the earliest sleep if it is due by `target`, and moves time to its deadline. O(log n); with a
  /// chooser O(n).
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  func popEarliest(dueBy target: Duration?, _ order: Order) -> Sleeper? {
    guard let deadline = sleeps.earliestDeadline else { return nil }
    if let target, deadline > target { return nil }
    if order.slack.attoseconds > 0 { return popLate(deadline, dueBy: target, order) }
    if deadline > now { now = deadline }
    if order.chooser != nil {
      var due = ScratchBuffer<Candidate>()
      appendDueSleeps(to: &due)
      if case .sleep(let number, _) = order.first(among: due) { return sleeps.remove(number) }
    }
    return sleeps.popEarliest()
  }

  /// Takes the sleep that the chooser prefers, among those due within the slack after the earliest deadline.
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

  /// Appends the sleeps that are due now, in wake order. O(n).
  func appendDueSleeps(to candidates: inout ScratchBuffer<Candidate>) {
    if Duration.self == Swift.Duration.self {
      let virtualClock = unsafeDowncast(self, to: VirtualClock<Swift.Duration>.self)
      return virtualClock.sleeps.appendCandidates(dueBy: virtualClock.now, to: &candidates)
    }
    for sleep in sleeps.pending.prefix(while: { $0.deadline <= now }) {
      candidates.append(.sleep(number: sleep.number, task: sleep.details.taskID))
    }
  }

  /// The present in the standard library's durations; `nil` if the clock has others.
  var time: Swift.Duration? { now as? Swift.Duration }

  /// The present, and the sleep that was removed last, for a listener of wakes.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  func trace() -> (now: Swift.Duration?, removed: (number: UInt64, task: UInt64)?) {
    (time, sleeps.removed)
  }

  /// Adds a listener. Returns the number by which it is removed.
  func add(_ listener: @escaping Listener) -> UInt64 {
    nextWaiter += 1
    listeners[nextWaiter] = listener
    return nextWaiter
  }

  /// Removes a listener and returns it, so that the caller can release it without the lock.
  func removeListener(_ number: UInt64) -> Listener? { listeners.removeValue(forKey: number) }

  /// Whether a waiter or a listener has to be notified of each sleep that is registered.
  @inline(__always)
  var isAwaited: Bool { !waiters.isEmpty || !listeners.isEmpty }

  /// Adds a waiter for sleeps, unless enough are pending. Returns whether it was added.
  func add(_ waiter: SleepsWaiter) -> Bool {
    guard sleeps.count < waiter.count else { return false }
    nextWaiter += 1
    waiter.number = nextWaiter
    waiters[nextWaiter] = waiter
    return true
  }

  func remove(_ waiter: SleepsWaiter) -> SleepsWaiter? {
    waiters.removeValue(forKey: waiter.number)
  }

  /// Removes the waiters for which enough sleeps are pending, and returns them in order of arrival.
  func takeFulfilledWaiters() -> [SleepsWaiter] {
    guard !waiters.isEmpty else { return [] }
    let count = sleeps.count
    let fulfilled = waiters.filter { $0.value.count <= count }
    for number in fulfilled.keys { waiters.removeValue(forKey: number) }
    return fulfilled.sorted { $0.key < $1.key }.map(\.value)
  }
}

// These properties are not generic, because generic code is a hundred times as slow in a debug build.
extension VirtualClock where Duration == Swift.Duration {
  var isAnyDue: Bool { sleeps.isAnyDue(by: now) }
  var hasSleeps: Bool { sleeps.hasAny() }
}

/// A sleep that has just been registered, and the listeners to notify of it.
struct SleepNews<Duration: DurationProtocol & Hashable> {
  let sleep: VirtualClock<Duration>.Sleeps.Pending
  let listeners: [UInt64: VirtualClock<Duration>.Listener]

  /// Notifies the listeners in order of arrival. The caller holds no lock.
  func tell() {
    for (_, listener) in listeners.sorted(by: { $0.key < $1.key }) { listener(sleep) }
  }
}

/// A call of `waitForSleeps(atLeast:)`. The code that removes it from `VirtualClock.waiters` ends it, exactly once.
final class SleepsWaiter: Sendable {
  /// The number of pending sleeps that ends the wait.
  let count: Int
  /// The waiter's key in the `waiters` of its virtual clock; 0 before the waiter is added.
  nonisolated(unsafe) var number: UInt64 = 0

  /// Guards `state`. Rank `leaf`.
  private let lock = Lock(.leaf)
  nonisolated(unsafe) private var state = State.begun

  private enum State {
    case begun
    case waiting(UnsafeContinuation<Void, any Error>)
    case ended(Result<Void, any Error>)
  }

  init(count: Int) { self.count = count }

  deinit { lock.destroy() }

  func succeed() { end(.success(())) }

  func fail(_ error: any Error) { end(.failure(error)) }

  private func end(_ result: Result<Void, any Error>) {
    let continuation: UnsafeContinuation<Void, any Error>? = lock.withLock {
      defer { state = .ended(result) }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(with: result)
  }

  nonisolated(nonsending) func wait() async throws {
    try await withUnsafeThrowingContinuation { continuation in
      let result: Result<Void, any Error>? = lock.withLock {
        if case .ended(let result) = state { return result }
        state = .waiting(continuation)
        return nil
      }
      if let result { continuation.resume(with: result) }
    }
  }
}

/// Describes the sleeps of tasks.
typealias SleepTexts = @Sendable () -> [(task: UInt64, name: String?, text: String)]

/// The sleeps on one virtual clock with any kind of duration. The closures describe instants with the
/// user's code, so they are called without the lock.
protocol SleepSource: AnyObject, Sendable {
  var hasSleeps: Bool { get }
  var isAwaitingSleeps: Bool { get }
  /// A line for each pending sleep, in wake order.
  var pendingLines: @Sendable () -> [String] { get }
  var sleepingTasks: [UnownedJob] { get }
  var sleepTexts: SleepTexts { get }
  func removeAllSleeps() -> [Sleeper]
}

extension VirtualClock: SleepSource {
  var hasSleeps: Bool { sleeps.count > 0 }

  var isAwaitingSleeps: Bool { !waiters.isEmpty }

  var pendingLines: @Sendable () -> [String] { { [sleeps] in sleeps.pending.map(\.line) } }

  var sleepingTasks: [UnownedJob] { sleeps.pending.compactMap(\.details.task?.job) }

  var sleepTexts: SleepTexts {
    { [sleeps] in
      sleeps.pending.map {
        ($0.details.taskID, $0.taskName, "until \($0.deadline) on \($0.details.clock.rawValue)")
      }
    }
  }

  func removeAllSleeps() -> [Sleeper] { (0..<sleeps.count).map { _ in sleeps.popEarliest() } }
}

extension SleepQueue.Pending {
  /// For example `until 3.0 seconds, since 1.0 seconds, task "poll" (#42), on ContinuousClock`.
  var line: String { "until \(deadline), since \(details.registered), \(sleeper)" }

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

  /// Removes a virtual clock, which the caller releases without a lock.
  mutating func remove(_ virtualClock: any SleepSource) -> (any SleepSource)? {
    virtualClocks.removeValue(forKey: ObjectIdentifier(virtualClock))?.virtualClock
  }

  /// The virtual clocks in the order in which their clocks were made. O(n log n) with n clocks.
  var all: [any SleepSource] {
    virtualClocks.values.sorted { $0.number < $1.number }.map(\.virtualClock)
  }
}

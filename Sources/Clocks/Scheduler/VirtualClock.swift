import ClocksSupport

/// The present and the pending sleeps of one `TestClock`, or of one scope.
///
/// Instants are distances from the origin, or the keys of such distances: see `CustomDurations`.
///
/// A part of one scheduler's state: used within `Scheduler.change` only, so accesses are exclusive.
final class VirtualClock: Sendable {
  /// Receives each sleep that is registered. Called without the lock.
  typealias Listener = @Sendable (SleepQueue.Pending) -> Void

  @exclusivity(unchecked) nonisolated(unsafe) var now: Duration
  @exclusivity(unchecked) nonisolated(unsafe) var sleeps: SleepQueue
  @exclusivity(unchecked) nonisolated(unsafe) private(set) var waiters: [UInt64: SleepsWaiter] = [:]
  @exclusivity(unchecked) nonisolated(unsafe) private var nextWaiter: UInt64 = 0
  /// The listeners, by numbers that grow in order of arrival.
  @exclusivity(unchecked) nonisolated(unsafe) private(set) var listeners: [UInt64: Listener] = [:]
  /// Whether a waiter or a listener has to be notified of each sleep that is registered.
  @exclusivity(unchecked) nonisolated(unsafe) private(set) var isAwaited = false

  let users = ClockUsers()
  /// `nil` if the clock has the standard library's durations, and instants are not keys.
  let custom: (any CustomDurations)?

  init(now: Duration, _ custom: (any CustomDurations)? = nil) {
    self.now = now
    self.custom = custom
    sleeps = SleepQueue(custom)
  }

  /// The present; `nil` if instants are keys.
  var time: Duration? { custom == nil ? now : nil }

  var hasSleeps: Bool { sleeps.count > 0 }

  var isAnyDue: Bool { sleeps.isAnyDue(by: now) }

  /// Whether a sleep with this deadline has to wait for time to move.
  func isFuture(_ deadline: Duration) -> Bool { sleeps.isLater(deadline, than: now) }

  /// Moves time to `instant`, but not back.
  func move(to instant: Duration) { if sleeps.isLater(instant, than: now) { now = instant } }

  /// The instant that is `duration` later than the present.
  func instant(after duration: Duration) -> Duration {
    custom?.sum(now, duration) ?? saturatingSum(now, duration)
  }

  /// Takes the earliest sleep if it is due by `target`, and moves time to its deadline. O(log n); with a
  /// chooser O(n).
  func popEarliest(dueBy target: Duration?, _ order: Order) -> Sleeper? {
    guard let deadline = sleeps.earliestDeadline else { return nil }
    if let target, sleeps.isLater(deadline, than: target) { return nil }
    if order.slack.attoseconds > 0, custom == nil {
      return popLate(deadline, dueBy: target, order)
    }
    move(to: deadline)
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
    let latest = max(now, saturatingSum(deadline, order.slack))
    let last = target.map { min($0, latest) } ?? latest
    let due = sleeps.pending.prefix { $0.deadline <= last }
    let candidates = ScratchBuffer(
      due.map { Candidate.sleep(number: $0.number, task: $0.details.taskID) })
    guard case .sleep(let number, _) = order.first(among: candidates),
      let chosen = due.first(where: { $0.number == number })
    else { return nil }
    move(to: chosen.deadline)
    return sleeps.remove(number)
  }

  /// Appends the sleeps that are due now, in wake order. O(n).
  func appendDueSleeps(to candidates: inout ScratchBuffer<Candidate>) {
    sleeps.appendCandidates(dueBy: now, to: &candidates)
  }

  /// Removes all sleeps and returns what was to happen at their deadlines, in wake order.
  func removeAllSleeps() -> [Sleeper] { (0..<sleeps.count).map { _ in sleeps.popEarliest() } }

  /// Adds a listener. Returns the number by which it is removed.
  func add(_ listener: @escaping Listener) -> UInt64 {
    nextWaiter += 1
    listeners[nextWaiter] = listener
    isAwaited = true
    return nextWaiter
  }

  /// Removes a listener and returns it, so that the caller can release it without the lock.
  func removeListener(_ number: UInt64) -> Listener? {
    defer { isAwaited = !waiters.isEmpty || !listeners.isEmpty }
    return listeners.removeValue(forKey: number)
  }

  /// Adds a waiter for sleeps, unless enough are pending. Returns whether it was added.
  func add(_ waiter: SleepsWaiter) -> Bool {
    guard sleeps.count < waiter.count else { return false }
    nextWaiter += 1
    waiter.number = nextWaiter
    waiters[nextWaiter] = waiter
    isAwaited = true
    return true
  }

  func remove(_ waiter: SleepsWaiter) -> SleepsWaiter? {
    defer { isAwaited = !waiters.isEmpty || !listeners.isEmpty }
    return waiters.removeValue(forKey: waiter.number)
  }

  /// Removes the waiters for which enough sleeps are pending, and returns them in order of arrival.
  func takeFulfilledWaiters() -> [SleepsWaiter] {
    guard !waiters.isEmpty else { return [] }
    let count = sleeps.count
    let fulfilled = waiters.filter { $0.value.count <= count }
    for number in fulfilled.keys { waiters.removeValue(forKey: number) }
    isAwaited = !waiters.isEmpty || !listeners.isEmpty
    return fulfilled.sorted { $0.key < $1.key }.map(\.value)
  }
}

/// The durations of a `TestClock` whose durations are not those of the standard library.
///
/// The scheduler knows one type of durations, that of the standard library. On such a clock, a `Duration` in the
/// scheduler's state is a *key*: it stands for a value of the clock's own type. Only this table can compare and add
/// keys. The key `.zero` stands for the zero of the clock's type.
protocol CustomDurations: AnyObject, Sendable {
  func isLater(_ a: Duration, than b: Duration) -> Bool
  func sum(_ a: Duration, _ b: Duration) -> Duration
  func description(of key: Duration) -> String
}

/// What the scheduler does at the deadline of an entry in a `SleepQueue`.
enum Sleeper: Sendable {
  /// Resumes the sleeping task. `isOwn` says whether the clock's scheduler owns the task.
  case continuation(UnsafeContinuation<Void, any Error>, isOwn: Bool)
  /// Runs the runtime's job that resumes the sleeping task.
  case job(ReadyJob)
  case work(TimedCallback)
}

/// A sleep that has just been registered, and the listeners to notify of it.
struct SleepNews {
  let sleep: SleepQueue.Pending
  let listeners: [UInt64: VirtualClock.Listener]

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

// Texts of sleeps. Custom durations are described by the user's code, so the closures are called without the lock.
extension VirtualClock {
  var isAwaitingSleeps: Bool { !waiters.isEmpty }

  /// A line for each pending sleep, in wake order.
  var pendingLines: @Sendable () -> [String] {
    { [sleeps = sleeps.pending] in sleeps.map(self.line) }
  }

  /// A line for each pending sleep whose deadline has come, in wake order.
  var dueLines: @Sendable () -> [String] {
    { [sleeps = sleeps.pending, now] in sleeps.prefix { $0.deadline <= now }.map(self.line) }
  }

  var sleepingTasks: [UnownedJob] { sleeps.pending.compactMap(\.details.task?.job) }

  var sleepTexts: SleepTexts {
    { [sleeps = sleeps.pending] in
      sleeps.map {
        let text = "until \(self.description(of: $0.deadline)) on \($0.details.clock.rawValue)"
        return ($0.details.taskID, $0.taskName, text)
      }
    }
  }

  /// For example `until 3.0 seconds, since 1.0 seconds, task "poll" (#42), on ContinuousClock`.
  func line(of sleep: SleepQueue.Pending) -> String {
    let since = description(of: sleep.details.registered)
    return "until \(description(of: sleep.deadline)), since \(since), \(sleep.sleeper)"
  }

  private func description(of instant: Duration) -> String {
    custom?.description(of: instant) ?? "\(instant)"
  }
}

extension SleepQueue.Pending {
  fileprivate var sleeper: String {
    if details.clock == .dispatch { return taskName ?? "a queue" }
    let id = details.taskID
    let task = taskName.map { "task \"\($0)\" (#\(id))" } ?? "task #\(id)"
    return "\(task), on \(details.clock.rawValue)"
  }
}

/// The virtual clocks of a test, apart from that of a scope.
struct ClockRegistry {
  /// Each virtual clock, with the number of clocks that there were before it.
  private var virtualClocks: [ObjectIdentifier: (number: Int, virtualClock: VirtualClock)] = [:]
  private var nextNumber = 0

  mutating func add(_ virtualClock: VirtualClock) {
    virtualClocks[ObjectIdentifier(virtualClock)] = (nextNumber, virtualClock)
    nextNumber += 1
  }

  /// Removes a virtual clock, which the caller releases without a lock.
  mutating func remove(_ virtualClock: VirtualClock) -> VirtualClock? {
    virtualClocks.removeValue(forKey: ObjectIdentifier(virtualClock))?.virtualClock
  }

  /// The virtual clocks in the order in which their clocks were made. O(n log n) with n clocks.
  var all: [VirtualClock] {
    virtualClocks.values.sorted { $0.number < $1.number }.map(\.virtualClock)
  }
}

import ClocksSupport

/// The present and the pending sleeps of one `TestClock`, or of one scope.
///
/// Instants are distances from the origin, or the keys of such distances: see `CustomDurations`.
///
/// A part of one scheduler's state: variables are used only with the scheduler's lock held.
final class VirtualClock: Sendable {
  /// Receives each sleep that is registered. Called without the lock.
  typealias Listener = @Sendable (SleepQueue.Pending) -> Void

  /// Set by `move`, which publishes it.
  nonisolated(unsafe) var now: Duration
  nonisolated(unsafe) var sleeps: SleepQueue
  /// The waits for sleeps, in order of arrival.
  nonisolated(unsafe) private(set) var waiters: [SleepsWaiter] = [] {
    didSet { isAwaited = !waiters.isEmpty || !listeners.isEmpty }
  }
  /// The listeners, in order of arrival.
  nonisolated(unsafe) private var listeners: [(number: UInt64, notify: Listener)] = []
  {
    didSet { isAwaited = !waiters.isEmpty || !listeners.isEmpty }
  }
  nonisolated(unsafe) private var lastListener: UInt64 = 0
  /// Whether a waiter or a listener has to be notified of each sleep that is registered.
  nonisolated(unsafe) private(set) var isAwaited = false

  /// The time that readings of the system's clocks return; `nil` if this is not the clock of a scope.
  let published: PublishedTime?
  let users = ClockUsers()
  /// Where the test made the clock; `nil` for the clock of a scope.
  nonisolated(unsafe) var origin: CallSite?
  /// `nil` if the clock has the standard library's durations, and instants are not keys.
  let custom: (any CustomDurations)?
  /// The number of clocks that were added to the `ClockRegistry` before this one.
  nonisolated(unsafe) fileprivate var number = 0

  init(now: Duration, _ custom: (any CustomDurations)? = nil, published: PublishedTime? = nil) {
    self.now = now
    self.custom = custom
    self.published = published
    sleeps = SleepQueue(custom)
  }

  /// The present; `nil` if instants are keys.
  var time: Duration? { custom == nil ? now : nil }

  var hasSleeps: Bool { sleeps.count > 0 }

  var isAnyDue: Bool { sleeps.isAnyDue(by: now) }

  /// Whether a sleep with this deadline has to wait for time to move.
  func isFuture(_ deadline: Duration) -> Bool { sleeps.isLater(deadline, than: now) }

  /// Moves time to `instant`, but not back.
  func move(to instant: Duration) {
    guard sleeps.isLater(instant, than: now) else { return }
    now = instant
    if let published { published.now.write(instant) }
  }

  /// The instant that is `duration` later than the present.
  func instant(after duration: Duration) -> Duration {
    custom?.sum(now, duration) ?? saturatingSum(now, duration)
  }

  /// Takes the earliest sleep if it is due by `target`, and moves time to its deadline.
  ///
  /// O(log n); with a chooser, O(n + k²) with k sleeps among which it chooses.
  func popEarliest(dueBy target: Duration?, _ order: Order) -> Sleeper? {
    guard let deadline = sleeps.earliestDeadline else { return nil }
    if let target, sleeps.isLater(deadline, than: target) { return nil }
    if order.slack.attoseconds > 0, custom == nil {
      return popLate(deadline, dueBy: target, order)
    }
    move(to: deadline)
    // A pattern, because a debug build calls a generic function to compare with `nil`.
    if case .some = order.chooser {
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

  /// Appends the sleeps that are due now, in wake order. O(k²) with k such sleeps.
  func appendDueSleeps(to candidates: inout ScratchBuffer<Candidate>) {
    sleeps.appendCandidates(dueBy: now, to: &candidates)
  }

  /// Removes all sleeps. Returns their sleepers, in wake order.
  func removeAllSleeps() -> [Sleeper] { (0..<sleeps.count).map { _ in sleeps.popEarliest() } }

  /// Adds a listener. Returns the number by which it is removed.
  func add(_ listener: @escaping Listener) -> UInt64 {
    lastListener += 1
    listeners.append((lastListener, listener))
    return lastListener
  }

  /// Removes a listener and returns it, so that the caller can release it without the lock.
  func removeListener(_ number: UInt64) -> Listener? {
    listeners.firstIndex { $0.number == number }.map { listeners.remove(at: $0).notify }
  }

  /// Adds a waiter for sleeps, unless enough are pending. Returns whether it was added.
  func add(_ waiter: SleepsWaiter) -> Bool {
    guard sleeps.count < waiter.count else { return false }
    waiters.append(waiter)
    return true
  }

  /// Removes a waiter. Returns `false` if it was removed before.
  func remove(_ waiter: SleepsWaiter) -> Bool {
    guard let index = waiters.firstIndex(where: { $0 === waiter }) else { return false }
    waiters.remove(at: index)
    return true
  }

  /// Removes the waiters for which enough sleeps are pending, and returns them in order of arrival.
  func takeFulfilledWaiters() -> [SleepsWaiter] {
    let count = sleeps.count
    defer { waiters.removeAll { $0.count <= count } }
    return waiters.filter { $0.count <= count }
  }

  /// Returns a function that notifies the listeners of a sleep that was registered, and ends fulfilled waits.
  ///
  /// The caller calls the function without a lock.
  ///
  /// - Parameter sleep: The sleep; `nil` if the listeners are not notified.
  func news(of sleep: SleepQueue.Pending?) -> () -> Void {
    let listeners = sleep == nil ? [] : listeners
    let fulfilled = takeFulfilledWaiters()
    return {
      if let sleep { for listener in listeners { listener.notify(sleep) } }
      for waiter in fulfilled { waiter.succeed() }
    }
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

/// The action of the scheduler at the deadline of an entry in a `SleepQueue`.
enum Sleeper: Sendable {
  /// Resumes the sleeping task. `isOwn` says whether the clock's scheduler owns the task.
  case continuation(UnsafeContinuation<Void, any Error>, isOwn: Bool)
  /// Runs the runtime's job that resumes the sleeping task.
  case job(ReadyJob)
  case work(TimedCallback)

  var isDelayedBlock: Bool {
    if case .work(let callback) = self { callback.isDelayedBlock } else { false }
  }
}

/// A call of `waitForSleeps(atLeast:)`. The code that removes it from `VirtualClock.waiters` ends it, exactly once.
final class SleepsWaiter: Sendable {
  /// The number of pending sleeps that ends the wait.
  let count: Int
  /// The task that waits. Set before the waiter is added.
  nonisolated(unsafe) var continuation: UnsafeContinuation<Void, any Error>?

  init(count: Int) { self.count = count }

  func succeed() { continuation?.resume() }

  func fail(_ error: any Error) { continuation?.resume(throwing: error) }
}

// Texts of sleeps. Custom durations are described by the user's code, so the closures are called without the lock.
extension VirtualClock {
  /// A line for each pending sleep, in wake order.
  var pendingLines: @Sendable () -> [String] {
    { [sleeps = sleeps.pending] in sleeps.map(self.line) }
  }

  /// The pending sleeps that end with a scope, in wake order.
  ///
  /// A task of another test may sleep on a clock that was made in the scope. That sleep continues.
  func sleeps(ofTasksOf scheduler: Scheduler) -> [SleepQueue.Pending] {
    guard self !== scheduler.scope?.virtualClock else { return sleeps.pending }
    return sleeps.pending.filter { sleep in
      let owner = TaskOwnership.shared.knownOwner(of: sleep.details.taskID)
      return owner == nil || owner === scheduler
    }
  }

  func lines(ofTasksOf scheduler: Scheduler) -> @Sendable () -> [String] {
    { [sleeps = sleeps(ofTasksOf: scheduler)] in sleeps.map(self.line) }
  }

  /// A line for each pending sleep whose deadline has come, in wake order.
  var dueLines: @Sendable () -> [String] {
    { [due = sleeps.pending.prefix { !isFuture($0.deadline) }] in due.map(self.line) }
  }

  var sleepingTasks: [UnownedJob] { sleeps.pending.compactMap(\.details.task?.job) }

  /// Descriptions of the sleeps of tasks.
  var sleepTexts: @Sendable () -> [(task: UInt64, name: String?, text: String)] {
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
    let times = "until \(description(of: sleep.deadline)), since \(since)"
    let (name, id) = (sleep.taskName, sleep.details.taskID)
    if sleep.details.clock == .dispatch { return "\(times), \(name ?? "a queue")" }
    let task = name.map { "task \"\($0)\" (#\(id))" } ?? "task #\(id)"
    return "\(times), \(task), on \(sleep.details.clock.rawValue)"
  }

  private func description(of instant: Duration) -> String {
    custom?.description(of: instant) ?? "\(instant)"
  }
}

/// The virtual clocks of a test, apart from that of a scope.
struct ClockRegistry {
  private var virtualClocks: [ObjectIdentifier: VirtualClock] = [:]
  private var nextNumber = 0

  mutating func add(_ virtualClock: VirtualClock) {
    virtualClock.number = nextNumber
    nextNumber += 1
    virtualClocks[ObjectIdentifier(virtualClock)] = virtualClock
  }

  /// Removes a virtual clock, if it was added. The caller releases it without a lock.
  mutating func remove(_ virtualClock: VirtualClock) -> VirtualClock? {
    virtualClocks.removeValue(forKey: ObjectIdentifier(virtualClock))
  }

  /// The virtual clocks in the order in which their clocks were made. O(n log n) with n clocks.
  var all: [VirtualClock] { virtualClocks.values.sorted { $0.number < $1.number } }
}

/// The timers of all deadlines on the `ContinuousClock`: one heap, and one sleep, until the first.
///
/// It has no thread: a task of its own sleeps on the clock. That makes it as good as the clock where
/// the machine is suspended, and where time is late; and what is due when a sleep ends rings even if
/// the clock says that it is too early. When deadlines come in later and later, which they do if all
/// timeouts are of the same length, that one sleep serves very many of them. One that comes before
/// those that are here needs a new sleep, and the old one is cancelled.
///
/// Every alarm rings in a task of its own, because somebody's cancellation handlers run there: they
/// keep no other alarm waiting.
///
/// Only where time is real: see `RealTime`.
final class SharedTimers: @unchecked Sendable {
  /// A sleep until something is due.
  struct Sleep: Equatable, Sendable {
    /// Later sleeps have higher numbers. Only the latest has a meaning.
    let number: UInt64
    let deadline: Int64
    let slack: Int64
  }

  private struct State {
    var heap = TimerHeap()
    /// What is slept until, or is about to be: at the latest.
    var latest = Int64.max
    var lastNumber: UInt64 = 0
    /// The task that sleeps, and the number of its sleep.
    var sleeper: (number: UInt64, task: Task<Void, Never>)?

    /// The sleep until the first deadline, if there is one.
    mutating func nextSleep() -> Sleep? {
      guard let (deadline, slack) = heap.first() else {
        latest = .max
        return nil
      }
      latest = deadline + slack
      lastNumber += 1
      return Sleep(number: lastNumber, deadline: deadline, slack: slack)
    }
  }

  static let shared = SharedTimers(now: { RealTime.now }, sleep: { await RealTime.sleep($0) })

  /// Nothing is resumed, cancelled or called under its lock.
  private let state = Guarded(State())

  private let now: @Sendable () -> Int64
  private let sleep: @Sendable (Sleep) async -> Void

  /// - Parameters:
  ///   - now: Reads the clock.
  ///   - sleep: Sleeps on it, until it is time or the task is cancelled.
  init(
    now: @escaping @Sendable () -> Int64, sleep: @escaping @Sendable (Sleep) async -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  deinit { state.destroy() }

  /// The number of deadlines that are waited for.
  var count: Int { state.withLock { $0.heap.count } }

  /// Has an alarm ring when an instant of the `ContinuousClock`, as `RealTime` reads it, has passed.
  /// The tolerance is in attoseconds, too.
  func add(
    at reading: Int128, tolerance: Int128?, _ alarm: any Alarm
  ) -> TimerHeap.Ticket {
    add(RealTime.units(reading), slack: RealTime.units(max(0, tolerance ?? 0)), alarm)
  }

  /// Has an alarm ring when a deadline has passed, and keeps it until then.
  func add(_ deadline: Int64, slack: Int64, _ alarm: any Alarm) -> TimerHeap.Ticket {
    let (ticket, sleep) = state.withLock { state in
      let ticket = state.heap.add(deadline, slack: slack, alarm)
      return (ticket, deadline + slack < state.latest ? state.nextSleep() : nil)
    }
    if let sleep { begin(sleep) }
    return ticket
  }

  /// Lets a deadline be forgotten, unless it has passed.
  func remove(_ ticket: TimerHeap.Ticket) {
    let alarm = state.withLock { $0.heap.remove(ticket) }
    // Not under the lock: it may be the last who holds the alarm.
    withExtendedLifetime(alarm) {}
  }

  // MARK: - Sleeping

  /// Has a new task sleep, and then do what is due, in place of the one that has slept until now.
  @inline(never)
  private func begin(_ sleep: Sleep) {
    // Detached: it is nobody's who happens to be the first to set a deadline.
    let task = Task.detached(priority: .high) { [self] in
      var next: Sleep? = sleep
      while let sleep = next {
        await self.sleep(sleep)
        next = end(sleep)
      }
    }
    let replaced: Task<Void, Never>? = state.withLock { state in
      if let sleeper = state.sleeper, sleeper.number > sleep.number { return task }
      defer { state.sleeper = (sleep.number, task) }
      return state.sleeper?.task
    }
    replaced?.cancel()
  }

  /// Has everybody ring who is due when a sleep has ended, and says how long to sleep next.
  private func end(_ sleep: Sleep) -> Sleep? {
    // The sleep has ended: its deadline has passed, whatever the clock says.
    let now = max(now(), sleep.deadline)
    let (passed, next): ([any Alarm], Sleep?) = state.withLock { state in
      guard state.lastNumber == sleep.number else { return ([], nil) }
      return (state.heap.takePassed(at: now), state.nextSleep())
    }
    for alarm in passed { Task.detached(priority: .high) { alarm.ring() } }
    return next
  }
}

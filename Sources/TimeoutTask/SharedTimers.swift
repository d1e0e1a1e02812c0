/// The timers of all deadlines on the `ContinuousClock`: one heap, and one sleep until the first.
///
/// There is no thread. A task sleeps on the clock, so the timers keep the clock's rules when the
/// machine is suspended or the clock is late. When a sleep ends, its deadline has passed, even if
/// the clock's reading is earlier. If all timeouts have one length, deadlines are added in order,
/// and one sleep serves very many of them. An earlier deadline needs a new sleep, and the old sleep
/// is cancelled.
///
/// Each alarm rings in a task of its own, because it runs cancellation handlers of user code: a
/// slow handler does not delay other alarms.
///
/// Used only in real time: see `RealTime.isCertain`.
final class SharedTimers: @unchecked Sendable {
  /// A sleep until a deadline, in the units of `RealTime`.
  struct Sleep: Equatable, Sendable {
    /// Later sleeps have higher numbers. Only the latest sleep counts.
    let number: UInt64
    let deadline: Int64
    let slack: Int64
  }

  private struct State {
    var heap = TimerHeap()
    /// The end of the current sleep at the latest: its deadline and slack.
    var latest = Int64.max
    var lastNumber: UInt64 = 0
    /// The task that sleeps, and the number of its sleep.
    var sleeper: (number: UInt64, task: Task<Void, Never>)?

    /// Returns a new sleep until the first deadline, if there is one.
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

  /// No alarm rings, no task is cancelled and no alarm released under its lock.
  private let state = Guarded(State())

  private let now: @Sendable () -> Int64
  private let sleep: @Sendable (Sleep) async -> Void

  /// - Parameters:
  ///   - now: Reads the clock.
  ///   - sleep: Sleeps on the clock, until the deadline or until the task is cancelled.
  init(
    now: @escaping @Sendable () -> Int64, sleep: @escaping @Sendable (Sleep) async -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  deinit { state.destroy() }

  /// The number of deadlines in the heap.
  var count: Int { state.withLock { $0.heap.count } }

  /// Adds an alarm at a reading of `RealTime`. Both numbers are attoseconds.
  func add(
    at reading: Int128, tolerance: Int128?, _ alarm: any Alarm
  ) -> TimerHeap.Ticket {
    add(RealTime.units(reading), slack: RealTime.units(max(0, tolerance ?? 0)), alarm)
  }

  /// Adds an alarm that rings when a deadline has passed, and retains it until then. O(log n).
  func add(_ deadline: Int64, slack: Int64, _ alarm: any Alarm) -> TimerHeap.Ticket {
    let (ticket, sleep) = state.withLock { state in
      let ticket = state.heap.add(deadline, slack: slack, alarm)
      return (ticket, deadline + slack < state.latest ? state.nextSleep() : nil)
    }
    if let sleep { begin(sleep) }
    return ticket
  }

  /// Removes a deadline, unless it has passed. O(1) amortized.
  func remove(_ ticket: TimerHeap.Ticket) {
    let alarm = state.withLock { $0.heap.remove(ticket) }
    // Not under the lock: this may release the last reference to the alarm.
    withExtendedLifetime(alarm) {}
  }

  // MARK: - Sleeping

  /// Starts a task that sleeps and rings what is due, in place of the task that has slept until
  /// now.
  @inline(never)
  private func begin(_ sleep: Sleep) {
    // Detached, because the task serves all deadlines and not only the caller's.
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

  /// Rings the alarms that are due when a sleep has ended. Returns the next sleep.
  private func end(_ sleep: Sleep) -> Sleep? {
    // The sleep has ended, so its deadline has passed, even if the clock's reading is earlier.
    let now = max(now(), sleep.deadline)
    let (passed, next): ([any Alarm], Sleep?) = state.withLock { state in
      guard state.lastNumber == sleep.number else { return ([], nil) }
      return (state.heap.takePassed(at: now), state.nextSleep())
    }
    for alarm in passed { Task.detached(priority: .high) { alarm.ring() } }
    return next
  }
}

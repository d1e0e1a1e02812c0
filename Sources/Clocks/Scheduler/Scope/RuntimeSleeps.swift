import ClocksSupport

/// The tasks of a scope that sleep on the runtime's own clocks, or that an executor delays.
///
/// The runtime provides the job that wakes a sleep at its deadline, but does not report that a sleep was
/// cancelled. So this table finds the cancelled sleeps.
struct RuntimeSleeps: ~Copyable {
  typealias Token = SleepQueue.Token

  private enum Entry: TaskTableEntry {
    case none
    /// The token may name a sleep that has ended; cancelling such a sleep has no effect.
    case sleeping(Token)
    /// An executor delays the task's job, or the task is in `Task.sleep(_:)`. Cancelling the task does not end that.
    case delayed(Token)
    /// The task was cancelled before it was suspended, and continues. The runtime's job still has to run.
    case cancelledEarly(ReadyJob)

    var isNone: Bool {
      if case .none = self { true } else { false }
    }
  }

  private struct Begun {
    /// The retained task as a word.
    var task: UInt
    var sleep: Token
  }

  private var entries = TaskTable<Entry>()
  /// The sleeps that began in the running job, or in the job that has just ended.
  private var begun = ScratchBuffer<Begun>()
  private var cancelledEarly: [UInt64] = []

  deinit {
    for index in 0..<begun.count { _ = RetainedTask(takingOver: begun[index].task) }
  }

  /// Notes that a task begins to sleep. Returns the job of its previous sleep, if that job still has to run.
  mutating func begin(_ sleep: Token, of task: UnownedTask, _ id: UInt64) -> ReadyJob? {
    begun.append(Begun(task: task.handle.asWord, sleep: sleep))
    return replace(id, by: .sleeping(sleep))
  }

  /// Notes that a task continues only after a delayed job. Returns the job of its previous sleep, as `begin` does.
  mutating func beginDelay(_ delay: Token, of task: UInt64) -> ReadyJob? {
    replace(task, by: .delayed(delay))
  }

  private mutating func replace(_ task: UInt64, by entry: Entry) -> ReadyJob? {
    guard case .cancelledEarly(let job) = entries.replace(task, by: entry) else { return nil }
    cancelledEarly.removeAll { $0 == task }
    return job
  }

  func isDelayed(_ task: UInt64) -> Bool {
    if case .delayed = entries[task] { true } else { false }
  }

  @_transparent
  var haveBegun: Bool { begun.count > 0 }

  /// Ends the sleeps whose tasks were cancelled before the end of the job that began the sleep.
  ///
  /// Thread A runs the job, which begins a sleep. Thread B cancels the task before thread A suspends it. Then the task
  /// continues immediately and never becomes ready. After the job, the task may not have continued yet, so the
  /// runtime's job has to wait: otherwise it might end the sleep without an error.
  ///
  /// - Returns: The cancelled tasks, which the caller releases without a lock; and jobs of their previous sleeps,
  ///   which still have to run. `nil` if there is no cancelled task.
  mutating func endCancelled(
    on virtualClock: VirtualClock
  ) -> (tasks: [RetainedTask], jobs: [ReadyJob])? {
    var ended: (tasks: [RetainedTask], jobs: [ReadyJob])?
    while begun.count > 0 {
      let last = begun.remove(at: begun.count - 1)
      let task = RetainedTask(takingOver: last.task)
      guard task.isCancelled else { continue }
      if ended == nil { ended = ([], []) }
      ended?.tasks.append(task)
      guard case .job(let job) = virtualClock.sleeps.cancel(last.sleep) else { continue }
      if let job = replace(task.id, by: .cancelledEarly(job)) { ended?.jobs.append(job) }
      cancelledEarly.append(task.id)
    }
    return ended
  }

  /// Returns the job that would have ended the sleep of a task that became ready, if the task slept.
  ///
  /// If the sleep is pending, only a cancellation can have made the task ready. The job has nothing more to do, so
  /// it runs now and not at the deadline.
  mutating func taskBecameReady(_ id: UInt64, on virtualClock: VirtualClock) -> ReadyJob? {
    switch entries.remove(id) {
    case .none, .delayed:
      return nil
    case .cancelledEarly(let job):
      cancelledEarly.removeAll { $0 == id }
      return job
    case .sleeping(let sleep):
      guard case .job(let job) = virtualClock.sleeps.cancel(sleep) else { return nil }
      return job
    }
  }

  mutating func delayEnded(of task: UInt64) {
    if isDelayed(task) { entries.remove(task) }
  }

  /// Returns the delayed job of a cancelled task, if there is one: the cancellation itself does not make it ready.
  mutating func endDelay(of task: UInt64, on virtualClock: VirtualClock) -> ReadyJob? {
    guard case .delayed(let delay) = entries[task] else { return nil }
    entries.remove(task)
    guard case .job(let job) = virtualClock.sleeps.cancel(delay) else { return nil }
    return job
  }

  /// Returns the jobs of sleeps whose tasks were cancelled early and have continued.
  mutating func takeCancelledEarly() -> [ReadyJob] {
    defer { cancelledEarly = [] }
    return cancelledEarly.compactMap {
      if case .cancelledEarly(let job) = entries.remove($0) { job } else { nil }
    }
  }
}

/// The tasks of a scope that sleep on the runtime's own clocks, or that an executor delays.
///
/// The runtime provides the job that wakes a sleep at its deadline, but does not report that a sleep was
/// cancelled. So cancelled sleeps are found here.
struct RuntimeSleeps: ~Copyable {
  typealias Token = SleepQueue<Duration>.Token

  private struct Entry: TaskTableEntry {
    enum State {
      case none
      /// The token may be that of a sleep that has ended: to cancel that has no effect.
      case sleeping(Token)
      /// The task is ready, and its executor has handed its job over, to run it later.
      case delayed(Token)
      /// The task was cancelled before it was suspended, and goes on. The runtime's job is still to be run.
      case cancelledEarly(ReadyJob)
    }

    static var none: Self { Self(state: .none) }
    var state: State

    var isNone: Bool {
      if case .none = state { true } else { false }
    }
  }

  private var entries = TaskTable<Entry>()
  /// The sleeps that began in the job that runs, or has just ended.
  private var begun: [(task: RetainedTask, sleep: Token)] = []
  private var cancelledEarly: [UInt64] = []

  /// Notes that a task begins to sleep. Returns the job of its sleep before, if that is still to be run.
  mutating func begin(_ sleep: Token, of task: RetainedTask) -> ReadyJob? {
    begun.append((task, sleep))
    return replace(task.id, by: .sleeping(sleep))
  }

  /// The executor of the task runs it later. Returns as `begin` does.
  mutating func beginDelay(_ delay: Token, of task: UInt64) -> ReadyJob? {
    replace(task, by: .delayed(delay))
  }

  private mutating func replace(_ task: UInt64, by state: Entry.State) -> ReadyJob? {
    let old = entries[task].state
    entries.set(task, to: Entry(state: state))
    guard case .cancelledEarly(let job) = old else { return nil }
    cancelledEarly.removeAll { $0 == task }
    return job
  }

  func isDelayed(_ task: UInt64) -> Bool {
    if case .delayed = entries[task].state { true } else { false }
  }

  @inline(__always)
  var haveBegun: Bool { begun.count > 0 }

  /// Ends the sleeps whose tasks were cancelled before the job had ended that began them.
  ///
  /// Thread A: the task's job begins a sleep. Thread B: cancels the task before it is suspended. Then the
  /// task goes on immediately and never becomes ready; when the job has ended, it may have gone on, or be
  /// resumed any moment. It does not sleep, but the runtime's job has to wait, or it might end the sleep
  /// without an error.
  ///
  /// - Returns: The cancelled tasks, to be released without a lock; and jobs of their sleeps before, to
  ///   be run.
  mutating func endCancelled(
    on virtualClock: VirtualClock<Duration>
  ) -> (tasks: [RetainedTask], jobs: [ReadyJob]) {
    var ended: (tasks: [RetainedTask], jobs: [ReadyJob]) = ([], [])
    while let (task, sleep) = begun.popLast() {
      guard task.isCancelled else { continue }
      ended.tasks.append(task)
      guard case .job(let job) = virtualClock.sleeps.cancel(sleep) else { continue }
      if let job = replace(task.id, by: .cancelledEarly(job)) { ended.jobs.append(job) }
      cancelledEarly.append(task.id)
    }
    return ended
  }

  /// The job of the sleep of a task that has become ready, if it slept.
  ///
  /// If the sleep is pending, only a cancellation can have made the task ready. Its job is run now and
  /// not at the deadline, where it has nothing to do.
  mutating func taskBecameReady(_ id: UInt64, on virtualClock: VirtualClock<Duration>) -> ReadyJob?
  {
    switch entries.remove(id).state {
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

  /// To be run now: the task's cancellation does not make it ready.
  mutating func endDelay(of task: UInt64, on virtualClock: VirtualClock<Duration>) -> ReadyJob? {
    guard case .delayed(let delay) = entries[task].state else { return nil }
    entries.remove(task)
    guard case .job(let job) = virtualClock.sleeps.cancel(delay) else { return nil }
    return job
  }

  /// Returns the jobs of sleeps whose tasks were cancelled early and have gone on.
  mutating func takeCancelledEarly() -> [ReadyJob] {
    defer { cancelledEarly = [] }
    return cancelledEarly.compactMap {
      if case .cancelledEarly(let job) = entries.remove($0).state { job } else { nil }
    }
  }
}

/// The sleeps in a scope on the runtime's own clocks, which nobody injected.
///
/// The runtime hands us the job that is to wake a sleep, at its deadline; its protocol for sleeping
/// executors does not say when a sleep is cancelled. So a cancelled one is found out here.
struct RuntimeSleeps: ~Copyable {
  typealias Token = SleepQueue<Duration>.Token

  /// The sleep of each task that sleeps. It may name one that has ended: to cancel that does nothing,
  /// for the number of a sleep is never used again.
  private var sleeps = TaskTable<SleepOfTask>()
  /// The delay of each task that somebody's executor has run later. The same is true.
  private var delays: [UInt64: Token] = [:]
  /// The sleeps that began in the job that runs, or has just ended.
  private var begun: [BegunSleep] = []
  /// The job of each sleep that was over before its task was suspended, by task.
  private var ended: [UInt64: ReadyJob] = [:]

  private struct SleepOfTask: TaskTableEntry {
    static var none: Self { Self(token: nil) }
    var token: Token?
    var isNone: Bool { token == nil }
  }

  /// Notes a sleep that has just begun.
  mutating func begin(_ sleep: Token, of task: RetainedTask) {
    sleeps.set(task.id, to: SleepOfTask(token: sleep))
    begun.append(BegunSleep(task: task, sleep: sleep))
  }

  /// Notes that a task runs later.
  mutating func beginDelay(_ delay: Token, of task: UInt64) { delays[task] = delay }

  /// Whether sleeps have begun in the job that has just ended.
  var haveBegun: Bool { begun.count > 0 }

  /// Takes out the sleeps that began in the job that has just ended.
  mutating func takeBegun() -> [BegunSleep] {
    defer { begun = [] }
    return begun
  }

  /// Ends a sleep whose task was cancelled before the job had ended that began it.
  ///
  /// If another thread cancels a task after its sleep has begun and before the task is suspended,
  /// the task goes on at once, and never becomes ready. So when the job has ended, the task may have
  /// gone on, or be resumed any moment: it does not sleep any more, but the runtime's job must wait,
  /// or it might end the sleep without an error.
  mutating func endCancelled(_ sleep: BegunSleep, on virtualClock: VirtualClock<Duration>) {
    if case .job(let job) = virtualClock.sleeps.cancel(sleep.sleep) { ended[sleep.task.id] = job }
  }

  /// The job of the sleep of a task that has become ready, if it slept.
  ///
  /// If its sleep is still pending, only a cancellation can have made it ready. The runtime would run
  /// the sleep's job at the deadline, where it has nothing left to do; it is run now instead.
  mutating func taskBecameReady(_ id: UInt64, on virtualClock: VirtualClock<Duration>) -> ReadyJob?
  {
    if !ended.isEmpty, let job = ended.removeValue(forKey: id) { return job }
    guard
      let sleep = sleeps.remove(id).token,
      case .job(let job) = virtualClock.sleeps.cancel(sleep)
    else { return nil }
    return job
  }

  /// The job of a task that somebody's executor delays, to be run now: the task's cancellation alone
  /// does not make it ready.
  mutating func endDelay(of task: UInt64, on virtualClock: VirtualClock<Duration>) -> ReadyJob? {
    guard
      let delay = delays.removeValue(forKey: task),
      case .job(let job) = virtualClock.sleeps.cancel(delay)
    else { return nil }
    return job
  }

  /// Takes out the jobs of sleeps whose tasks were cancelled and have not become ready: they have
  /// gone on.
  mutating func takeEnded() -> [ReadyJob] {
    defer { ended = [:] }
    return Array(ended.values)
  }
}

/// Is told what a scheduler and its clocks do, in the order in which it happens.
///
/// It is called while the scheduler's lock is held, so it runs no code of the user's, and calls
/// nothing of the scheduler's. When nobody listens, an event costs a comparison with `nil`.
protocol EventListener: AnyObject, Sendable {
  func hear(_ event: SchedulerEvent)

  /// Is shown a task that was seen for the first time, and does not run yet.
  func see(_ task: UnownedJob, _ id: UInt64)

  /// The scheduler is no more, and nothing happens any more. Called without a lock.
  func isOver()

  /// What it has to add to a failure of the test, if it has something. Asked for without a lock.
  var explanation: String? { get }
}

extension EventListener {
  func see(_ task: UnownedJob, _ id: UInt64) {}

  func isOver() {}

  var explanation: String? { nil }
}

/// Something that happens in a test. Tasks are named by their numbers; 0 stands for no task.
enum SchedulerEvent: Hashable, Sendable {
  /// A task was seen for the first time.
  case taskCreated(UInt64, by: UInt64)
  /// A job has become ready; `by` is the task that the thread ran.
  case jobEnqueued(task: UInt64, by: UInt64, ExecutorKind)
  /// A job is about to run.
  case jobBegan(task: UInt64, ExecutorKind)
  /// The job that began last has ended.
  case jobEnded(task: UInt64)
  /// A task has begun to sleep. The deadline is `nil` if the clock has durations of its own.
  case sleepRegistered(number: UInt64, task: UInt64, until: Duration?)
  /// The deadline of a sleep has come, and its task is resumed.
  case sleepWoken(number: UInt64, task: UInt64)
  /// A sleep on a `TestClock` was cancelled.
  case sleepCancelled(number: UInt64, task: UInt64)
  /// Time has moved; it is `nil` if the clock has durations of its own.
  case timeMoved(to: Duration?)
  /// A task has gone where its jobs are not seen.
  case taskBecameExternal(UInt64)
  /// A task has come back from there, or sleeps.
  case taskReturned(UInt64)
}

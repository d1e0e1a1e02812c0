/// What a scheduler does next: `SchedulerState` decides it, and `Scheduler.perform` does it.
enum Action {
  /// Runs a job.
  case run(ReadyJob)
  /// Resumes a task whose sleep has woken. `isOwn` says whether it is the scheduler's.
  case wake(UnsafeContinuation<Void, any Error>, isOwn: Bool)
  /// The same for a task of the scheduler's, which then runs at once: its job needs not become ready first,
  /// because it has been noted as begun.
  case wakeAndRun(UnsafeContinuation<Void, any Error>, task: UInt64)
  /// Resumes a task that waited for the scheduler to be idle. `isOwn` says whether it is the
  /// scheduler's.
  case finish(UnsafeContinuation<Void, Never>, isOwn: Bool)
  /// Begins work whose instant has come.
  case begin(TimedCallback)
  /// Cancels tasks.
  case cancel([RetainedTask])
  /// Reports what is wrong with a scope whose body goes on although it was cancelled.
  case report(ScopeProblem)
  /// Looks at tasks that began to sleep on a clock of the runtime's in the job that has just ended:
  /// whether they were cancelled before they were suspended.
  case inspect([BegunSleep])
  /// Looks at the tasks that may be away.
  case look
  /// Goes on on another thread.
  case move(to: ExecutorKind)
  /// Does nothing until something happens; or until an alarm rings, if one is to be set.
  case rest(Alarm?)

  /// When to look again if nothing happens.
  struct Alarm: Sendable, Equatable {
    var number: Int
    var duration: Duration
  }
}

/// A sleep on a clock of the runtime's in the job that began it.
struct BegunSleep: Sendable {
  var task: RetainedTask
  var sleep: SleepQueue<Duration>.Token
}

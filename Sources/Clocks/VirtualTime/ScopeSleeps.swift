/// The runtime's own clocks in a scope: what they read when it began, and the sleeps on them, which
/// nobody injected.
///
/// The scope's scheduler owns it. The scheduler's lock guards its state; methods that are not told
/// to be called with the lock held take it themselves.
final class ScopeSleeps: RuntimeSleeps {
  /// What the runtime's clocks read when the scope began.
  let start = RuntimeClockReadings()
  /// The scope; set before it has a task.
  nonisolated(unsafe) weak var scope: VirtualTime?

  /// Whether `Date` reads the scope's time as well.
  let freezesDate: Bool

  private let timeline: Timeline<Duration>

  /// The sleep of each task that sleeps on one of the runtime's clocks. An entry may be outdated.
  nonisolated(unsafe) private var sleeps: [UInt64: Timeline<Duration>.Sleeps.Token] = [:]
  /// The delay of each task that somebody's executor has run later. An entry may be outdated.
  nonisolated(unsafe) private var delays: [UInt64: Timeline<Duration>.Sleeps.Token] = [:]
  /// The sleeps that began in jobs which may not have ended yet. The tasks are kept.
  nonisolated(unsafe) private var begun:
    [(task: RuntimeDoor.TaskReference, sleep: Timeline<Duration>.Sleeps.Token)] = []
  /// The job of each sleep that was over before its task was suspended, by task.
  nonisolated(unsafe) private var cancelled: [UInt64: UnownedJob] = [:]

  init(_ timeline: Timeline<Duration>, freezesDate: Bool) {
    self.timeline = timeline
    self.freezesDate = freezesDate
  }

  func sleep(
    _ task: RuntimeDoor.TaskReference, _ job: UnownedJob, for delay: Duration,
    on clock: ClockKind, _ scheduler: Scheduler
  ) {
    let name = task.id == RuntimeDoor.currentTaskID ? RuntimeDoor.currentTaskName : nil
    let delay = RuntimeClockReadings.areFrozen ? delay : delay.roundedUpAfterReadingTheClockTwice
    let isDelay = RuntimeDoor.taskID(of: job) == task.id
    // In the queue of an actor that is at work for somebody else.
    if ThreadContext.current?.pointee.scheduler !== scheduler { scheduler.visit() }
    let arrivals: [SleepArrival]? = scheduler.lock.withLock {
      let deadline = saturatingSum(timeline.now, delay)
      guard deadline > timeline.now else { return nil }
      let token = timeline.sleeps.reserve()
      _ = timeline.sleeps.suspend(
        token, .job(job), until: deadline,
        details: .init(
          registered: timeline.now, taskName: name, task: task, taskID: task.id, clock: clock,
          tolerance: nil))
      if isDelay {
        delays[task.id] = token
      } else {
        sleeps[task.id] = token
        task.keep()
        begun.append((task, token))
      }
      return timeline.takeFulfilledArrivals()
    }
    guard let arrivals else {
      scheduler.enqueue(job, taskID: RuntimeDoor.taskID(of: job), lane: .pool)
      return
    }
    for arrival in arrivals { arrival.fulfil() }
  }

  /// If another thread cancels a task after its sleep has begun and before the task is suspended,
  /// the task goes on at once, and never becomes ready. Once its job has ended, a task that has not
  /// been cancelled is suspended. One that has been may have gone on, or be resumed any moment: it
  /// does not sleep any more, but the job must wait, or it might end the sleep without an error.
  func jobHasEnded() -> [RuntimeDoor.TaskReference] {
    guard !begun.isEmpty else { return [] }
    for (task, sleep) in begun where task.isCancelled {
      if case .job(let job) = timeline.sleeps.cancel(sleep) { cancelled[task.id] = job }
    }
    defer { begun.removeAll(keepingCapacity: true) }
    return begun.map(\.task)
  }

  /// Whatever makes a task ready while it sleeps is its cancellation: the runtime's protocol for
  /// sleeping executors does not tell us, and would run the sleep's job at the deadline, where it
  /// has nothing left to do. It is run now instead.
  func taskBecameReady(_ id: UInt64) -> UnownedJob? {
    if let job = cancelled.removeValue(forKey: id) { return job }
    guard
      let token = sleeps.removeValue(forKey: id),
      case .job(let job) = timeline.sleeps.cancel(token)
    else { return nil }
    return job
  }

  /// Has a task run now that somebody's executor delays; its cancellation alone does not make it
  /// ready.
  func endDelay(of task: UInt64, _ scheduler: Scheduler) {
    let job: UnownedJob? = scheduler.lock.withLock {
      guard
        let delay = delays.removeValue(forKey: task),
        case .job(let job) = timeline.sleeps.cancel(delay)
      else { return nil }
      return job
    }
    if let job { scheduler.enqueue(job, taskID: task, lane: .pool) }
  }

  /// Runs the jobs of sleeps whose tasks were cancelled and have not become ready: they have gone on.
  func endCancelledSleeps(_ scheduler: Scheduler) {
    let jobs = scheduler.lock.withLock {
      defer { cancelled = [:] }
      return cancelled.values
    }
    for job in jobs {
      scheduler.enqueue(job, taskID: RuntimeDoor.taskID(of: job), lane: .pool)
    }
  }
}

extension Duration {
  /// The delay that was probably meant, where it was computed as the difference of a deadline and a
  /// clock that had moved on since the deadline was computed: it comes out a little too short, and
  /// is rounded up to three or four digits.
  var roundedUpAfterReadingTheClockTwice: Duration {
    var unit: Int128 = 1_000_000_000_000
    while unit * 10_000 <= attoseconds { unit *= 10 }
    let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: unit)
    guard remainder > 0 else { return self }
    return Duration(attoseconds: (quotient + 1) * unit)
  }
}

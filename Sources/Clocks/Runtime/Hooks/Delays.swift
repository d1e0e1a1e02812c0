// Sleeps on the runtime's own clocks, which nobody injected: the runtime wakes them by a job that is
// to run later.

extension RuntimeHooks {
  /// The task that a job is; `nil` if it is no task.
  static func delayedTask(_ job: UnownedJob) -> UnownedTask? {
    taskID(of: job) == 0 ? nil : UnownedTask(job: job)
  }

  /// The owner of a task that is the current one or about to be delayed, if its time is virtual.
  static func virtualOwner(of task: UnownedTask) -> TaskOwner? {
    guard !TaskOwnership.shared.isEmpty else { return nil }
    let running = runningOwner
    let owner =
      task.id == UnownedTask.currentID
      ? running : TaskOwnership.shared.owner(ofReadyJob: task.id, on: running).owner
    return owner?.isVirtual == true ? owner : nil
  }

  /// Takes over a job that is to run after a while, if the time of the task that waits for it is
  /// virtual.
  static func delayVirtually(
    _ job: UnownedJob, by delay: @autoclosure () -> Duration, clock: ClockKind
  ) -> Bool {
    guard let task = UnownedTask.current ?? delayedTask(job), let owner = virtualOwner(of: task)
    else { return false }
    owner.enqueue(DelayedJob(job: job, task: task.job, delay: delay(), clock: clock))
    return true
  }

  /// Tells the owner of a task, if it has one, that the task sleeps in real time.
  static func noteRealSleep(_ job: UnownedJob, for delay: @autoclosure () -> Duration?) {
    guard !TaskOwnership.shared.isEmpty, let task = UnownedTask.current ?? delayedTask(job),
      let owner = TaskOwnership.shared.knownOwner(of: task.id), let delay = delay()
    else { return }
    owner.sleepsInRealTime(task.id, for: delay)
  }

  /// Keeps a foreign job back that is to run later, if the next one is to be kept back, and says so.
  static func delayStep(_ job: UnownedJob) -> Bool {
    guard let context = ThreadContext.current, case .next = context.pointee.capture else {
      return false
    }
    context.pointee.capture = .job(job)
    return true
  }

  /// The delay that was meant by the difference of a deadline and a clock that was read later than
  /// the deadline was computed.
  ///
  /// - Parameter owner: That of the task that has read the clock.
  static func meantDelay(_ delay: Duration, of owner: TaskOwner?) -> Duration {
    RuntimeClocks.areVirtual(for: owner) ? delay : delay.roundedUpAfterReadingTheClockTwice
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

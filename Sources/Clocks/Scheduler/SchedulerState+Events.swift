extension SchedulerState {
  /// Takes a job that has become ready. Amortized O(1).
  ///
  /// - Parameters:
  ///   - isFromOutside: Whether something outside the scope has made it ready.
  ///   - isFromOutsideTest: Whether something outside the whole test has.
  @inline(__always)
  mutating func jobIsReady(_ job: ReadyJob, isFromOutside: Bool, isFromOutsideTest: Bool = false) {
    if isAbandoned { return }
    if !dropped.isEmpty, dropped.contains(job.taskID) { return }
    if idleness.away > 0, externalTasks.hasArrived(job.taskID) { taskReturned(job.taskID) }
    if let scope {
      if let over = scope.runtimeSleeps.taskBecameReady(job.taskID, on: scope.virtualClock) {
        makeReady(over)
        scope.sleepWasCancelled(of: job.taskID)
      } else if isFromOutsideTest {
        scope.arrives(job)
      }
      scope.pace.somethingHappens()
      if isFromOutside { requests.jobCameFromOutside() }
    }
    makeReady(job, isFromOutside: isFromOutside)
  }

  /// Takes the job of a task that the scheduler's thread has just resumed. Amortized O(1).
  @inline(__always)
  mutating func take(_ job: ReadyJob) {
    if listener != nil { note(.jobEnqueued(task: job.taskID, by: 0, job.executor)) }
    jobIsReady(job, isFromOutside: false)
  }

  @inline(__always)
  mutating func makeReady(_ job: ReadyJob, isFromOutside: Bool = false) {
    idleness.ready.append(job)
    if let chooser = order.chooser { chooser.jobIsReady(job, isFromOutside: isFromOutside) }
  }

  /// Notes that the sleep of a task on a test's clock was cancelled. O(1).
  func sleepWasCancelled(_ sleep: (number: UInt64, task: UInt64)) {
    if listener != nil { note(.sleepCancelled(number: sleep.number, task: sleep.task)) }
    scope?.sleepWasCancelled(of: sleep.task)
  }

  /// Takes somebody who wants to know, or who moves time. O(1).
  mutating func append(_ waiter: IdleWaiter) {
    requests.append(waiter)
    runaway.isAtRest()
  }

  /// Takes somebody who looks at each instant. O(1).
  mutating func append(observer: InstantObserver) {
    requests.append(observer: observer)
    runaway.isAtRest()
  }

  /// A running job of the test's that the scheduler did not start has begun, or is found out.
  mutating func externallyStartedJobBegan() { idleness.externallyStartedJobs += 1 }

  mutating func externallyStartedJobEnded() {
    scope?.mustSetAlarm = true
    idleness.externallyStartedJobEnded()
    activity.externallyStartedJobEnded()
  }

  /// A task runs, or is about to, where its jobs are not seen.
  mutating func taskBecameExternal(_ task: UInt64) {
    idleness.away += 1
    if listener != nil { note(.taskBecameExternal(task)) }
  }

  /// A task has come back from there, or sleeps.
  mutating func taskReturned(_ task: UInt64) {
    scope?.mustSetAlarm = true
    idleness.away -= 1
    if listener != nil { note(.taskReturned(task)) }
  }

  /// What follows from the ringing of an alarm. If something happens at this moment, there is a new
  /// alarm when it is over.
  mutating func alarmRings(_ number: Int, isAnyBusy: Bool) -> ScopeState.AlarmOutcome {
    guard idleness.isIdle, let scope else { return .nothing }
    return scope.alarmRings(number, isAnyBusy: isAnyBusy)
  }

  /// Stops the program if something is out of order; for tests.
  func checkInvariants() {
    idleness.checkInvariants()
    externalTasks.checkInvariants()
    requests.checkInvariants()
    scope?.pace.checkInvariants()
    scope?.virtualClock.sleeps.checkInvariants()
  }
}

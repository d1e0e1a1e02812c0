import ClocksSupport

// What may come next where a chooser decides.
extension SchedulerState {
  /// Whether a sleep may wake although a job is ready.
  var mayWakeSleep: Bool {
    dueSleeps().count > 0 || order.chooser?.mayStall == true && earlySleep != nil
  }

  /// The ready jobs and the sleeps that may come next.
  var candidates: ScratchBuffer<Candidate> {
    var candidates = idleness.ready.candidates
    let due = dueSleeps()
    for index in 0..<due.count { candidates.append(due[index]) }
    if due.count == 0, order.chooser?.mayStall == true, let earlySleep {
      candidates.append(earlySleep)
    }
    return candidates
  }

  /// The sleep to which time may jump in a stall; `nil` if there is none.
  private var earlySleep: Candidate? {
    guard let scope, scope.mayJump, idleWaiters.isEmpty, let chooser = order.chooser,
      !idleness.externalTasks.areOutstanding, idleness.dispatchedBlocks.count == 0,
      let deadline = scope.virtualClock.sleeps.earliestDeadline,
      let sleep = scope.virtualClock.sleeps.earliest
    else { return nil }
    let task = sleep.task?.id ?? 0
    guard let limit = chooser.stallLimit(of: sleep.number, task: task),
      deadline - scope.virtualClock.now <= limit
    else { return nil }
    return .early(number: sleep.number, task: task)
  }
}

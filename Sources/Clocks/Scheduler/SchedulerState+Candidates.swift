import ClocksSupport

// The candidates among which a chooser decides what comes next.
extension SchedulerState {
  /// Whether the candidates may include a sleep. O(1).
  var mayOfferSleep: Bool {
    if idleWaiters.isEmpty, let scope, !scope.virtualClock.isAnyDue {
      return order.chooser?.mayStall == true
    }
    return true
  }

  /// Returns the chooser's choice among the ready jobs and the sleeps that may come next; `nil` if there are none.
  mutating func firstCandidate() -> Candidate? {
    var candidates = ScratchBuffer<Candidate>()
    swap(&candidates, &keptCandidates)
    defer { swap(&candidates, &keptCandidates) }
    candidates.removeAll()
    idleness.ready.appendCandidates(to: &candidates)
    let jobs = candidates.count
    appendDueSleeps(to: &candidates)
    if candidates.count == jobs, order.chooser?.mayStall == true, let earlySleep {
      candidates.append(earlySleep)
    }
    return order.first(among: candidates)
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

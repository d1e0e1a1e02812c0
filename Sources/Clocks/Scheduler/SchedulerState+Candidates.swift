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
    if candidates.count == jobs, let earlySleep {
      candidates.append(earlySleep)
    }
    let first = order.first(among: candidates)
    // The sleeps that are due after a stall are candidates, too.
    if case .job(let position, _, _) = first, stalls(before: position) { return firstCandidate() }
    return first
  }

  /// Lets time pass before a ready job begins, if the chooser wants a stall there. Returns whether time has passed.
  private mutating func stalls(before position: Int) -> Bool {
    guard mayStall, let virtualClock = scope?.virtualClock,
      let length = order.chooser?.stall(before: position)
    else { return false }
    let before = isObserved ? virtualClock.time : nil
    virtualClock.move(to: virtualClock.instant(after: length))
    if isObserved { noteTime(since: before, on: virtualClock, hasWoken: false) }
    return true
  }

  /// Whether time may pass although a job is ready.
  private var mayStall: Bool {
    guard let chooser = order.chooser, chooser.mayStall, let scope else { return false }
    return scope.mayJump && idleWaiters.isEmpty && !idleness.externalTasks.areOutstanding
      && idleness.dispatchedBlocks.count == 0
  }

  /// The sleep to which time may jump in a stall; `nil` if there is none.
  private var earlySleep: Candidate? {
    guard mayStall, let scope, let chooser = order.chooser,
      let sleep = scope.virtualClock.sleeps.first,
      let limit = chooser.stallLimit(of: sleep.number, task: sleep.details.taskID),
      sleep.deadline - scope.virtualClock.now <= limit
    else { return nil }
    return .early(number: sleep.number, task: sleep.details.taskID)
  }

  /// Appends the sleeps that are due now on the virtual clock that the next turn moves.
  private func appendDueSleeps(to candidates: inout ScratchBuffer<Candidate>) {
    // The usual case. It has to be fast, because this function is called for each job.
    if idleWaiters.isEmpty, let scope, !scope.virtualClock.isAnyDue { return }
    clockOfTurn?.appendDueSleeps(to: &candidates)
  }

  mutating func wakeDueSleep(_ number: UInt64, of task: UInt64) -> Action? {
    guard let sleeper = clockOfTurn?.sleeps.remove(number) else { return nil }
    sleepWoke(number, of: task)
    return wake(sleeper)
  }

  /// The virtual clock that the next turn moves.
  private var clockOfTurn: VirtualClock? {
    switch turn {
    case .waiter(let waiter): waiter.movedClock
    case .jump: scope!.virtualClock
    case .cancellation, nil: nil
    }
  }
}

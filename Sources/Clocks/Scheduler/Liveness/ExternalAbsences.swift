import ClocksSupport

/// Finds external work that does not come back: blocks, and tasks on actors and executors.
extension Scheduler {
  /// Returns the external work that has made no progress for longer than `limit`, if the test waits for it.
  ///
  /// The test then waits for `continueAfterAbsence` in place of that work, so that it does not end before the report.
  /// O(external tasks).
  ///
  /// - Parameters:
  ///   - isAnyRunning: Whether another test has something to run, such as an actor that the work awaits.
  ///   - mayBeLost: Whether the test also counts as waiting if it does nothing else.
  func newAbsence(
    after limit: Duration, isAnyRunning: Bool = false, mayBeLost: Bool = false
  ) -> Absence? {
    let mayBeLost = mayBeLost && !isTestOver
    let due: (changes: UInt64, isMissed: Bool)? = change { state in
      let isMissed = state.isExternalWorkMissed
      // If the test awaits the work, it does not matter what else happens in the test.
      let changes = isMissed ? state.externalChanges : state.changes
      let isWaiting = !isAnyRunning && (isMissed || mayBeLost && state.isExternalWorkLeft)
      // A busy process may do real work for the test.
      let isPatient = !isMissed && state.activity.absence.isProcessBusy
      let isDue = state.activity.absence.isDue(
        isWaiting ? changes : nil, after: limit, isPatient: isPatient)
      return isDue ? (changes, isMissed) : nil
    }
    guard let due else { return nil }
    // A task may have returned unseen since the check began: a report for another test takes long.
    ExternalTaskRegistry.checkTasks(always: true)
    if !due.isMissed, RealSleeps.mayWake(self) || MachineLoad.mayOutsideAct {
      // Something outside the test may still end the work, so the limit begins again.
      change { $0.activity.absence = Watch() }
      return nil
    }
    let found: (absence: Absence?, released: [RetainedTask]) = change { state in
      // A job may have run meanwhile.
      guard due.changes == (due.isMissed ? state.externalChanges : state.changes) else {
        return (nil, [])
      }
      var found = state.idleness.abandonExternalWork()
      found.absence?.nanoseconds = state.activity.absence.nanoseconds
      return found
    }
    return found.absence
  }

  /// Whether the external work is nothing but blocks that wait for events of files, or for connections.
  ///
  /// A server's loop waits in this way for as long as the test lasts.
  var waitsForEvents: Bool {
    let threads = change { state in
      state.idleness.externalTasks.areOutstanding
        ? nil : state.idleness.dispatchedBlocks.knownThreads
    }
    return threads?.allSatisfy(OutsideWork.waitsForEvents) ?? false
  }

  func continueAfterAbsence() {
    change { state in
      state.idleness.absenceWasReported()
      state.scope?.mustSetAlarm = true
      if let scope = state.scope, scope.scope.options.isUnedited,
        state.idleness.dispatchedBlocks.abandoned > 0
      {
        scope.pace.blocksAreAbandoned()
      }
    }
  }
}

extension SchedulerState {
  /// Counts all that happens in the test: while this stays the same, nothing does.
  var changes: UInt64 { activity.count &+ externalChanges }

  fileprivate var externalChanges: UInt64 {
    idleness.externalTasks.changes &+ idleness.dispatchedBlocks.changes
  }

  private var isAnyWorkOutstanding: Bool {
    idleness.externalTasks.areOutstanding || idleness.dispatchedBlocks.count > 0
  }

  /// Whether nothing but external work is left, so that a test that is not over waits for it.
  fileprivate var isExternalWorkLeft: Bool {
    scope == nil && !idleness.mayRun && isAnyWorkOutstanding
  }

  /// Whether the test cannot continue without its external work, as far as that is known.
  fileprivate var isExternalWorkMissed: Bool {
    if !idleWaiters.isEmpty || scope?.isOver == false { return isAnyWorkOutstanding }
    // An external task prevents the report of a standstill. So if a task sleeps on a clock, the absence is reported.
    return idleness.externalTasks.running > 0
      || (idleness.externalTasks.external > 0 && virtualClocks.contains(where: \.hasSleeps))
  }
}

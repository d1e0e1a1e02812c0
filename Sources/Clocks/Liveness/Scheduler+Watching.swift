/// What the watchdog asks of a scheduler.
extension Scheduler {
  /// The job that has held its thread for longer than `limit` while others wait for it, if there is
  /// one that was not known yet. To be asked again and again. O(1).
  func newBlockage(after limit: Duration) -> Blockage? {
    change { state in
      let waiting = state.idleness.ready.count
      let othersWait = waiting > 0 || !state.idleWaiters.isEmpty || state.scope?.isAwaited == true
      return state.activity.findBlockage(after: limit, state.idleness, othersWait: othersWait).map {
        Blockage(task: $0.task, number: $0.number, waiting: waiting)
      }
    }
  }

  /// What whoever listens has to add to a failure.
  var explanation: String {
    change { $0.listener }?.explanation.map { "\n" + $0 } ?? ""
  }

  /// Goes on without a job that holds its thread, so that the test can end. If the job ends after
  /// all, that changes nothing any more.
  func abort(_ blockage: Blockage) {
    RuntimeHooks.threadIsBlocked()
    change { $0.abortJob(blockage.number) }
  }

  /// What waits for time that nobody moves, if nothing has happened in the test for longer than
  /// `limit`. To be asked again and again. O(clocks), and O(n log n) with n pending sleeps where
  /// there is something to tell.
  ///
  /// - Parameters:
  ///   - isAnyBusy: Whether another test has something to run.
  ///   - hasScope: Whether a scope of virtual time is under way within the test. Then it is the scope
  ///     that notices when nothing happens.
  func newStandstill(
    after limit: Duration, isAnyBusy: Bool = false, hasScope: Bool = false
  ) -> Standstill? {
    change {
      // A test that has left sleeping tasks behind waits for nothing any more.
      $0.testLifetime.areOver
        ? nil : $0.findStandstill(after: limit, isAnyBusy: isAnyBusy, hasScope: hasScope)
    }
  }

  /// Has the sleeps of all clocks throw a `CancellationError`; those on the runtime's clocks, which are
  /// left of a scope that has ended, just end.
  func cancelAllSleeps() {
    handBackDelayedWork()
    for sleeper in change({ $0.virtualClocks.flatMap { $0.removeAllSleeps() } }) {
      switch sleeper {
      case .continuation(let sleeper, _): sleeper.resume(throwing: CancellationError())
      case .job(let job): change { $0.jobIsReady(job, isFromOutside: false) }
      case .work: break
      }
    }
  }

  /// Remembers a clock's time.
  func add(_ virtualClock: any SleepSource) {
    guard virtualClock !== scope?.virtualClock else { return }
    change { $0.clocks.add(virtualClock) }
  }

  func remove(_ virtualClock: any SleepSource) {
    // What is taken out is freed outside the lock.
    _ = change { $0.clocks.remove(virtualClock) }
  }

  /// The time and the pending sleeps of a test whose time is virtual throughout.
  var scopeDescription: String {
    guard let virtualClock = scope?.virtualClock else { return "" }
    let (now, sleeps) = change { _ in (virtualClock.now, virtualClock.sleeps) }
    let pending = sleeps.pending.map(\.line)
    return "It is \(now). Pending sleeps: \(pending.isEmpty ? "none" : "\n" + pending.listed)"
  }
}

extension SchedulerState {
  /// The times of all clocks.
  var virtualClocks: [any SleepSource] {
    clocks.all + (scope.map { [$0.virtualClock] } ?? [])
  }

  fileprivate mutating func findStandstill(
    after limit: Duration, isAnyBusy: Bool, hasScope: Bool
  ) -> Standstill? {
    // As long as a scope is under way, it notices itself when it is stuck.
    let isAtRest =
      idleness.isIdle && idleWaiters.isEmpty && (scope?.isOver ?? true) && !hasScope
    let virtualClocks = isAtRest ? virtualClocks : []
    // Whoever waits for sleeps waits for work outside.
    let isWaiting =
      virtualClocks.contains(where: \.hasSleeps)
      && !virtualClocks.contains(where: \.isAwaitingSleeps)
    let isFound = activity.findStandstill(
      after: limit, isWaiting: isWaiting, isAnyBusy: isAnyBusy)
    return isFound
      ? Standstill(sleeps: virtualClocks.filter(\.hasSleeps).map(\.pendingLines)) : nil
  }

  fileprivate mutating func abortJob(_ number: UInt64) {
    guard activity.isRunning(number, idleness) else { return }
    activity.jobHasEnded()
    idleness.abandonRunning()
  }
}

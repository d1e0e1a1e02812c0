/// What work on queues of Dispatch's means for a test.
extension Scheduler {
  /// Work of the test is on a queue, or runs there; returns its number.
  func dispatchedBlockBegan(_ label: String) -> UInt64 {
    change { state in
      state.idleness.away += 1
      state.scope?.pace.somethingHappens()
      // Its thread and the test's run side by side.
      state.order.chooser?.asked(.outsideWork)
      return state.work.begin(on: label)
    }
  }

  /// It has run.
  func dispatchedBlockEnded(_ number: UInt64) {
    change { state in
      state.externalTasks.somethingHappens()
      state.scope?.pace.somethingHappens()
      if state.work.end(number) { state.idleness.away -= 1 }
    }
  }

  /// Has work begin when the scope's time has come so far; says whether it will. Not while `holding`
  /// keeps time from moving: its operation may wait for the work.
  func begin(_ work: TimedCallback, after delay: Duration) -> Bool {
    guard let scope else { return false }
    let fulfilled: [SleepsWaiter]? = change { state in
      guard state.scope?.pace.unlimitedHolds == 0 else { return nil }
      let virtualClock = scope.virtualClock
      let deadline = saturatingSum(virtualClock.now, delay)
      let details = SleepQueue<Duration>.Details(
        registered: virtualClock.now, task: nil, clock: .dispatch, tolerance: nil)
      let sleep = virtualClock.sleeps.add(
        .work(work), until: deadline, name: work.name, details: details)
      state.work.delay(work, sleep)
      return virtualClock.takeFulfilledWaiters()
    }
    // Whoever delays work may hold a lock.
    guard let fulfilled else { return false }
    if !fulfilled.isEmpty {
      RuntimeHooks.startThread(on: .pool) {
        for waiter in fulfilled { waiter.succeed() }
      }
    }
    return true
  }

  /// Takes out work that was to begin later.
  func takeOut(_ work: TimedCallback) {
    // What it holds is let go of without the lock.
    _ = change { state in
      state.work.endDelay(work).flatMap { scope?.virtualClock.sleeps.cancel($0) }
    }
  }

  /// Has all work begin in real time that was to begin at an instant of the scope's.
  func handBackDelayedWork() {
    guard let virtualClock = scope?.virtualClock else { return }
    let works: [(work: TimedCallback, delay: Duration)] = change { state in
      let deadlines = Dictionary(
        virtualClock.sleeps.pending.map { ($0.number, $0.deadline) }, uniquingKeysWith: { $1 })
      return state.work.endDelays().compactMap { token in
        guard case .work(let work) = virtualClock.sleeps.cancel(token) else { return nil }
        return (work, (deadlines[token.number] ?? virtualClock.now) - virtualClock.now)
      }
    }
    for (work, delay) in works { work.handBack(delay) }
  }
}

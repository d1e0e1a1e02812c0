/// How a test and the scopes within it wait for each other.
///
/// A test is not idle while a scope within it is busy, because the scope continues by itself (`BusyScopes`). The time
/// of a scope does not jump while a job of the test around it can run, because that job may end what the scope waits
/// for. Each scheduler stores whether one of its jobs can run (`Scheduler.canRun`). A scope reads that when its time
/// may jump. If it withholds the jump, it waits in `waiting` until that test has nothing to run.
struct Nesting {
  /// Whether there is a test around this one, or a scope within it. Nothing below is used otherwise.
  var isNested = false
  /// Whether the scope counts as busy in the test around it.
  fileprivate var isCountedAsBusy = false
  /// Whether the scope is in `waiting` of a test around it, or about to be.
  fileprivate var isWaiting = false
  /// The scopes within the test that withhold a jump while the test can run.
  fileprivate var waiting: [Scheduler] = []
}

/// The effect of a change of state on the test around a scope, and on the scopes within a test.
struct NestingChange {
  /// 1 if the scope has become busy since the last change, -1 if it is idle again, otherwise 0.
  let busy: Int
  /// Whether the scope has begun to withhold a jump.
  let waits: Bool
  /// The scopes that waited for the test, which cannot run any more.
  let released: [Scheduler]
}

extension SchedulerState {
  fileprivate var isBusyScope: Bool {
    guard let scope, !isAbandoned else { return false }
    // The last job of a scope that is over resumes the test around it. So only jobs count then.
    if scope.isOver { return idleness.mayRun }
    return !idleness.isIdle || isJumpWithheld
  }

  /// Whether time would jump if the test around the scope could not run.
  fileprivate var isJumpWithheld: Bool {
    guard let scope, !isAbandoned, !scope.isOver else { return false }
    return scope.pace.isTestAroundRunning && !scope.pace.isPauseOver && scope.movesTime
      && scope.pace.holds == 0 && (scope.virtualClock.hasSleeps || !idleWaiters.observers.isEmpty)
  }

  /// Whether a job of the test can run. A reported job, which holds its thread, does not count.
  fileprivate var mayRun: Bool {
    !isAbandoned && idleness.mayRun && !activity.isRunningReportedJob(idleness)
  }
}

extension Scheduler {
  /// Returns the change since the last call; `nil` if there is none. Requires the lock.
  @inline(never)
  func takeNestingChange(_ state: inout SchedulerState) -> NestingChange? {
    let (isBusy, mayRun) = (state.isBusyScope, state.mayRun)
    let busy = isBusy == state.nesting.isCountedAsBusy ? 0 : isBusy ? 1 : -1
    state.nesting.isCountedAsBusy = isBusy
    let waits = !state.nesting.isWaiting && state.idleness.isIdle && state.isJumpWithheld
    if waits { state.nesting.isWaiting = true }
    canRun.store(mayRun, ordering: .releasing)
    var released: [Scheduler] = []
    if !mayRun { swap(&released, &state.nesting.waiting) }
    guard busy != 0 || waits || !released.isEmpty else { return nil }
    return NestingChange(busy: busy, waits: waits, released: released)
  }

  @inline(never)
  func note(_ nesting: NestingChange) {
    if nesting.busy != 0 {
      parent?.change { $0.idleness.busyScopes.note(self, nesting.busy) }
    }
    if nesting.waits { waitForTestAround() }
    for (index, scope) in nesting.released.enumerated() {
      // A released scope that ends makes a job of this test ready. Then the remaining scopes wait again. Otherwise the
      // end of each scope would release all others.
      let others = nesting.released[index...]
      if canRun.load(ordering: .acquiring), waitAgain(others) {
        for other in others { other.leaveTestAroundIfOver() }
        return
      }
      scope.testAroundStopped()
    }
  }

  /// Lets released scopes wait again, if the test can run. Returns whether it can.
  private func waitAgain(_ scopes: ArraySlice<Scheduler>) -> Bool {
    change { state in
      guard state.mayRun else { return false }
      state.nesting.waiting += scopes
      return true
    }
  }

  /// Whether a job of the test, or of one around it, can run. Any thread may read this, without a lock.
  var canAnyRun: Bool { canRun.load(ordering: .acquiring) || parent?.canAnyRun == true }

  /// Lets the scope's time wait for the jobs of the test around it.
  func joinTestAround() { parent?.change { $0.nesting.isNested = true } }

  /// Waits until the nearest test around the scope that can run stops, which it may have done by now.
  private func waitForTestAround() {
    guard let parent else { return }
    let waits = sequence(first: parent) { $0.parent }.contains { test in
      test.change { state in
        guard state.mayRun else { return false }
        state.nesting.waiting.append(self)
        return true
      }
    }
    if waits { leaveTestAroundIfOver() } else { testAroundStopped() }
  }

  /// Must be called when the scope was added to a list: thread B may have closed or abandoned the scope before, and
  /// found nothing to remove.
  private func leaveTestAroundIfOver() {
    if change({ $0.isAbandoned || $0.scope?.isOver == true }) { leaveTestAround() }
  }

  /// Lets time jump, unless another test around the scope can run.
  private func testAroundStopped() {
    change { state in
      state.nesting.isWaiting = false
      state.scope?.pace.ignoresTestAround = false
    }
  }

  /// Ends the wait of a scope that is over or abandoned.
  ///
  /// Otherwise a test around it might release the last reference to it while a caller of `change` holds a lock.
  func leaveTestAround() {
    guard let parent, change({ $0.nesting.isWaiting }) else { return }
    for test in sequence(first: parent, next: \.parent) {
      test.change { $0.nesting.waiting.removeAll { $0 === self } }
    }
  }
}

struct BusyScopes {
  private var counts: [ObjectIdentifier: Int] = [:]
  /// Kept apart from `counts`, because a dictionary is slow in a debug build.
  private(set) var areAny = false

  /// Notes that a scope is busy (`change` is 1), or idle again (-1).
  ///
  /// Thread A may note 1, and thread B -1. If thread B comes first, the scope counts as busy until thread A comes.
  mutating func note(_ scope: Scheduler, _ change: Int) {
    let count = counts[ObjectIdentifier(scope), default: 0] + change
    counts[ObjectIdentifier(scope)] = count == 0 ? nil : count
    areAny = !counts.isEmpty
  }
}

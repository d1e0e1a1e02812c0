/// How a test and the scopes within it wait for each other.
///
/// A test is not idle while a scope within it is busy, because the scope continues by itself (`BusyScopes`). The time
/// of a scope does not jump while a job of the test around it can run, because that job may end what the scope waits
/// for (`AutoAdvance.testAround`).
struct Nesting {
  /// Whether there is a test around this one, or a scope within it. Nothing below is used otherwise.
  var isNested = false
  /// Whether the scope counts as busy in the test around it.
  fileprivate var isCountedAsBusy = false
  /// The scopes within the test that have begun and not ended.
  fileprivate var scopes: [Scheduler] = []
  /// Whether the test counts as running in these scopes.
  fileprivate var isCountedAsRunning = false
}

/// What a change of the state means to the test around a scope, and to the scopes within a test.
struct NestingChange {
  /// 1 if the scope has become busy since the last change, -1 if it is idle again, and else 0.
  let busy: Int
  /// 1 if the test can run and could not at the last change, -1 if it cannot any more, and else 0.
  let running: Int
  /// The scopes to which `running` matters.
  let scopes: [Scheduler]
}

extension SchedulerState {
  /// Returns what has changed since the last call; `nil` if nothing has.
  @inline(never)
  mutating func takeNestingChange() -> NestingChange? {
    let busy = Self.change(&nesting.isCountedAsBusy, to: isBusyScope)
    let running =
      nesting.scopes.isEmpty ? 0 : Self.change(&nesting.isCountedAsRunning, to: isRunning)
    guard busy != 0 || running != 0 else { return nil }
    return NestingChange(busy: busy, running: running, scopes: running == 0 ? [] : nesting.scopes)
  }

  private static func change(_ flag: inout Bool, to value: Bool) -> Int {
    guard flag != value else { return 0 }
    flag = value
    return value ? 1 : -1
  }

  private var isBusyScope: Bool {
    guard let scope, !isAbandoned else { return false }
    // The last job of a scope that is over resumes the test around it. So only jobs count then.
    if scope.isOver { return idleness.mayRun }
    return !idleness.isIdle || isJumpWithheld(in: scope)
  }

  /// Whether time would jump if the test around the scope could not run.
  private func isJumpWithheld(in scope: ScopeState) -> Bool {
    scope.pace.isTestAroundRunning && !scope.pace.isPauseOver && scope.movesTime
      && scope.pace.holds == 0 && (scope.virtualClock.hasSleeps || !idleWaiters.observers.isEmpty)
  }

  /// Whether a job of the test, or of one around it, can run. A reported job, which holds its thread, does not count.
  private var isRunning: Bool {
    guard !isAbandoned else { return false }
    return scope?.pace.isTestAroundRunning == true
      || (idleness.mayRun && !activity.isRunningReportedJob(idleness))
  }

  /// Adds a scope that begins within the test. Returns what to add to its `AutoAdvance.testAround`.
  fileprivate mutating func add(_ scope: Scheduler) -> Int {
    nesting.isNested = true
    if nesting.scopes.isEmpty { nesting.isCountedAsRunning = isRunning }
    nesting.scopes.append(scope)
    return nesting.isCountedAsRunning ? 1 : 0
  }

  fileprivate mutating func remove(_ scope: Scheduler) {
    nesting.scopes.removeAll { $0 === scope }
  }
}

extension Scheduler {
  /// Lets the scope's time wait for the jobs of the test around it, until `leaveTestAround`.
  func joinTestAround() {
    guard let parent else { return }
    let running = parent.change { $0.add(self) }
    change { $0.scope?.pace.testAround += running }
  }

  func leaveTestAround() { parent?.change { $0.remove(self) } }

  @inline(never)
  func note(_ nesting: NestingChange) {
    if nesting.busy != 0 {
      parent?.change { $0.idleness.busyScopes.note(self, nesting.busy) }
    }
    for scope in nesting.scopes {
      scope.change { $0.scope?.pace.testAround += nesting.running }
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

/// When nobody's turn leads anywhere.
extension SchedulerState {
  /// Has whose turn it would be give up, because the test never comes to rest; `nil` if nobody waits
  /// for that.
  @inline(never)
  mutating func abort(_ reason: Runaway, because culprit: ReadyJob? = nil) -> Action? {
    runaway.isAtRest()
    runaway.waitEnds()
    let movesTime = scope?.movesTime ?? false
    if let waiter = requests.first(scopeMovesTime: movesTime) ?? requests.observers.first {
      waiter.culprit = culprit?.task
      return end(waiter, reason)
    }
    guard let scope else { return nil }
    if let problem = scope.body.abort(.runaway(reason), culprit: culprit?.task) {
      return .report(problem)
    }
    return scope.body.toCancel.isEmpty ? nil : .cancel(scope.body.takeToCancel())
  }

  /// Has the body of an explored scope cancelled, in which nothing can ever happen again; if that does
  /// not help, has it reported.
  @inline(never)
  mutating func endDeadlock() -> Action {
    guard let scope else { return .rest(nil) }
    let problem = scope.body.abort(.deadlock(pending: scope.virtualClock.pendingLines))
    return problem.map(Action.report) ?? .cancel(scope.body.takeToCancel())
  }

  mutating func setAlarm() -> Action.Alarm? {
    guard let scope else { return nil }
    let isAwaited = scope.virtualClock.sleeps.count > 0 || !requests.observers.isEmpty
    return scope.setAlarm(isAwaited: isAwaited)
  }
}

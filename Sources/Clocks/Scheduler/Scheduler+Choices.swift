extension Scheduler {
  /// Asks the chooser for a decision in the current task; `nil` if the current thread runs no job of an explored
  /// scope.
  func decide<Result>(_ ask: (any Chooser, UInt64) -> Result) -> Result? {
    guard isExplored, isInOwnJob, let task = UnownedTask.currentID else { return nil }
    return change { state in state.order.chooser.map { ask($0, task) } }
  }

  /// Notes the decision that `decide` has just asked for, if a report or a recording needs it.
  ///
  /// The text is made without the lock, because `text` calls the user's code.
  func describeDecision(_ text: () -> String) {
    let isRecorded = recorder != nil
    guard isRecorded || isExplored, isInOwnJob else { return }
    let isWanted = isExplored && change { $0.order.chooser?.wantsDescriptions == true }
    guard isRecorded || isWanted else { return }
    let text = text()
    recorder?.mark(text)
    if isWanted { change { $0.order.chooser?.describe(text) } }
  }

  /// Whether the current thread runs a job of this scheduler. Then no other job runs, unless this one is parallel.
  var isInOwnJob: Bool {
    guard let context = ThreadContext.current else { return false }
    return context.pointee.isInJob && !context.pointee.isInCondition
      && context.pointee.runsJob(of: self)
  }
}

extension VirtualTime {
  /// What is to be added to a failure of the scope's test, if time has jumped while a task waited for
  /// work outside; `nil` if nothing says that it has.
  ///
  /// - Parameter isTimeout: Whether what has failed is a timeout. Then a task that waits for a continuation
  ///   since before the jump is enough; else it must be certain.
  package func noteOnSkippedWait(afterTimeout isTimeout: Bool) -> String? {
    if let found = scheduler.change({ $0.scope?.skippedWait?.first }) {
      return SkippedWaitNote.certain(
        "task " + TaskLabel.of(found.task, found.name), slept: found.jump.length, to: found.jump.end
      )
    }
    guard isTimeout else { return nil }
    let waiting = scheduler.dumpTasks().entries.filter {
      $0.sleep == nil && $0.task.state == .suspended && $0.task.dependency == .continuation
    }.map(\.task)
    let jumps = scheduler.change { state in
      waiting.map { state.scope?.skippedWait?.jump(over: $0.id) }
    }
    let skipped = zip(waiting, jumps).compactMap { task, jump in jump.map { (task, $0) } }
    guard let longest = skipped.map(\.1).max(by: { $0.length < $1.length }) else { return nil }
    return SkippedWaitNote.possible(
      skipped.map { "task " + TaskLabel.of($0.0.id, $0.0.name) }, slept: longest.length,
      to: longest.end)
  }

  /// Writes to standard error that time has jumped while a task waited for work outside, if that is
  /// certain: the operation has thrown an error, which may be because of it.
  func warnOfSkippedWait() {
    guard let note = noteOnSkippedWait(afterTimeout: false) else { return }
    warn("withVirtualTime has thrown an error. \(note)", at: scheduler.report.origin)
  }
}

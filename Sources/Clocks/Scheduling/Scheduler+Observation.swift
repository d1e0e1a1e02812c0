/// What can be seen of a scheduler from outside.
extension Scheduler {
  /// The job that has held its thread for longer than `limit` while others wait for it, if there is
  /// one that was not known yet. To be asked again and again. O(1).
  func newBlockage(after limit: Duration) -> Blockage? {
    lock.withLock {
      // A job that the scheduler did not start has no number; there is rarely more than one.
      let running = runningJob ?? (visitors > 0 ? (.max - jobs, 0) : nil)
      guard let running, !ready.isEmpty else {
        watched = nil
        return nil
      }
      guard let watched, watched.job == running.number else {
        watched = (running.number, RealTime(in: limit), false)
        return nil
      }
      guard !watched.isKnown, watched.limit.hasPassed else { return nil }
      self.watched?.isKnown = true
      return Blockage(task: running.task, waiting: ready.count)
    }
  }

  /// The time and the pending sleeps of a test whose time is virtual throughout.
  var scopeDescription: String {
    guard let timeline = scopeTimeline else { return "" }
    let (now, sleeps) = lock.withLock { (timeline.now, timeline.sleeps) }
    let pending = sleeps.pending.map(\.line)
    return "It is \(now). Pending sleeps: \(pending.isEmpty ? "none" : "\n" + pending.listed)"
  }

  // MARK: - Observation

  /// Tells `observer` from now on what the scheduler and its clocks do.
  func observe(with observer: SchedulerObserver?) {
    lock.withLock { self.observer = observer }
  }
}

typealias NumberedTimeline = (number: Int, timeline: any SleepHolder)

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

  /// What waits for time that nobody moves, if nothing has happened in the test for longer than
  /// `limit`. To be asked again and again. O(clocks), and O(n log n) with n pending sleeps where
  /// there is something to tell.
  ///
  /// - Parameters:
  ///   - isAnyBusy: Whether another test has something to run. This one may wait for it, for an
  ///     actor that both use, so it gets more time.
  ///   - hasScope: Whether a scope of virtual time is under way within the test. Then it is the scope
  ///     that notices when nothing happens.
  func newStandstill(
    after limit: Duration, isAnyBusy: Bool = false, hasScope: Bool = false
  ) -> Standstill? {
    // A test that has left sleeping tasks behind waits for nothing any more.
    if let testTask, testTask.isOver { return nil }
    return lock.withLock {
      let isAtRest =
        isIdle && requests.isEmpty && settles.isEmpty && followers.isEmpty && scopeTimeline == nil
        && !hasScope
      let sleeping = isAtRest ? timelinesInOrder.filter(\.isWaitingForTime) : []
      guard !sleeping.isEmpty else {
        watchedRest = nil
        return nil
      }
      guard let watchedRest, watchedRest.jobs == jobs else {
        watchedRest = (jobs, RealTime(in: limit), patience: 3, false)
        return nil
      }
      guard !watchedRest.isKnown, watchedRest.limit.hasPassed else { return nil }
      if isAnyBusy, watchedRest.patience > 0 {
        self.watchedRest = (jobs, RealTime(in: limit), watchedRest.patience - 1, false)
        return nil
      }
      self.watchedRest?.isKnown = true
      return Standstill(sleeps: sleeping.map(\.pendingLines))
    }
  }

  /// Has the sleeps of all clocks throw a `CancellationError`.
  func cancelAllSleeps() {
    let sleepers = lock.withLock { timelinesInOrder.flatMap { $0.removeAllSleeps() } }
    for sleeper in sleepers { sleeper.resume(throwing: CancellationError()) }
  }

  /// Remembers a clock's time.
  func add(_ timeline: any SleepHolder) {
    lock.withLock {
      guard timeline !== scopeTimeline else { return }
      timelines[ObjectIdentifier(timeline)] = (nextTimeline, timeline)
      nextTimeline += 1
    }
  }

  /// Called with the lock held. O(n log n) with n clocks.
  private var timelinesInOrder: [any SleepHolder] {
    timelines.values.sorted { $0.number < $1.number }.map(\.timeline)
  }

  func remove(_ timeline: any SleepHolder) {
    // What is taken out is freed outside the lock.
    _ = lock.withLock { timelines.removeValue(forKey: ObjectIdentifier(timeline)) }
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

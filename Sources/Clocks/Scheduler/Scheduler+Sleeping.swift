/// The fast way of a sleep on no actor and without a tolerance, on a `TestClock` whose durations are those
/// of the standard library.
///
/// The general way is `TestClock.sleep`, which gives the same answers. This one is faster because it is
/// not generic, takes the lock once and not twice, and needs no function around the suspension that
/// handles a cancellation. `CLOCKS_FAST=0` switches it off.
extension Scheduler {
  /// What the cancellation of a task finds that sleeps or is about to; guarded by the scheduler's lock.
  private struct Place {
    /// The sleep, as soon as there is one.
    var sleep: SleepQueue<Duration>.Token?
    /// Whether the task was cancelled before.
    var isCancelled = false
  }

  /// What has become of a sleep that was to begin.
  private enum Beginning {
    case suspended
    /// There is somebody who is to be told of it.
    case awaited
    /// The deadline is not in the future.
    case past
    /// The task was cancelled before.
    case cancelled
  }

  /// Suspends the current task until it is time; or returns at once if the deadline is not in the
  /// future, or throws if the task is cancelled. O(log n).
  nonisolated(nonsending) func sleep(_ sleep: StandardDurationSleep) async throws {
    // Both closures use it with the lock held alone.
    nonisolated(unsafe) var place = Place()
    try await withCancellableContinuation(
      onCancel: { self.cancel(sleep, at: &place) }, { self.begin(sleep, at: &place, $0) })
  }

  private typealias Sleep = UnsafeContinuation<Void, any Error>

  private func begin(_ sleep: StandardDurationSleep, at place: inout Place, _ continuation: Sleep) {
    let task = UnownedTask(continuation)
    let name = task.isKnownToBeNameless ? nil : UnownedTask.currentName
    let beginning: Beginning = change { state in
      if place.isCancelled { return .cancelled }
      let virtualClock = sleep.virtualClock
      guard sleep.deadline.attoseconds > virtualClock.now.attoseconds else { return .past }
      let token = virtualClock.sleeps.reserve()
      let details = sleep.details(of: task)
      _ = virtualClock.sleeps.suspend(
        token, .continuation(continuation, isOwn: sleep.isOwn), until: sleep.deadline, name: name,
        details: details)
      place.sleep = token
      if state.isObserved {
        state.sleepBegan(token.number, of: details.taskID, until: sleep.deadline)
      }
      return virtualClock.isAwaited ? .awaited : .suspended
    }
    switch beginning {
    case .suspended: break
    case .awaited: tell(of: sleep, place.sleep?.number, task, name)
    case .past: continuation.resume()
    case .cancelled: resume(continuation, isOwn: sleep.isOwn, throwing: CancellationError())
    }
  }

  /// Tells those of a sleep that has just been registered who wait for it or listen. Apart, because there
  /// is rarely anybody.
  @inline(never)
  private func tell(
    of sleep: StandardDurationSleep, _ number: UInt64?, _ task: UnownedTask, _ name: String?
  ) {
    guard let number else { return }
    let (news, fulfilled) = change { _ in
      let pending = SleepQueue<Duration>.Pending(
        deadline: sleep.deadline, number: number, taskName: name, details: sleep.details(of: task))
      let news = SleepNews(sleep: pending, listeners: sleep.virtualClock.listeners)
      return (news, sleep.virtualClock.takeFulfilledWaiters())
    }
    news.tell()
    for waiter in fulfilled { waiter.succeed() }
  }

  private func cancel(_ sleep: StandardDurationSleep, at place: inout Place) {
    let virtualClock = sleep.virtualClock
    let sleeper: Sleeper? = change { state in
      guard let token = place.sleep else {
        place.isCancelled = true
        return nil
      }
      guard let sleeper = virtualClock.sleeps.cancel(token) else { return nil }
      if let removed = virtualClock.sleeps.removed { state.sleepWasCancelled(removed) }
      return sleeper
    }
    guard case .continuation(let continuation, let isOwn) = sleeper else { return }
    resume(continuation, isOwn: isOwn, throwing: CancellationError())
  }
}

/// A sleep without a tolerance on a clock whose durations are those of the standard library.
struct StandardDurationSleep {
  /// The clock whose it is keeps it, for as long as the call lasts.
  unowned(unsafe) let virtualClock: VirtualClock<Duration>
  let deadline: Duration
  /// Whether the task is the scheduler's.
  let isOwn: Bool

  /// What is told about it; to be asked for with the scheduler's lock held.
  @inline(__always)
  fileprivate func details(of task: UnownedTask) -> SleepQueue<Duration>.Details {
    SleepQueue<Duration>.Details(
      registered: virtualClock.now, task: task, taskID: task.id, clock: .test, tolerance: nil)
  }
}

// Sleeps on a `TestClock`.
extension Scheduler {
  /// The state that `begin` shares with the cancellation handler of a sleep. Requires the scheduler's lock.
  private struct Place {
    var sleep: SleepQueue.Token?
    var isCancelled = false
  }

  private enum Beginning {
    case suspended
    case past
    case cancelled
  }

  /// Suspends the current task until the deadline, on the caller's executor. Called only if `usesFastWay`. O(log n).
  @inline(__always)
  nonisolated(nonsending) func sleep(
    _ sleep: ClockSleep, on virtualClock: VirtualClock
  ) async throws {
    // Both closures use `place` only with the lock held.
    nonisolated(unsafe) var place = Place()
    try await withCancellableContinuation(
      onCancel: { self.cancelSleep(at: &place, on: virtualClock) },
      { self.begin(sleep, on: virtualClock, at: &place, $0) })
  }

  /// Suspends the current task as ``sleep(_:on:)`` does, but leaves the caller's actor first.
  @inline(never)
  nonisolated(nonsending) func sleepOnNoActor(
    _ sleep: ClockSleep, on virtualClock: VirtualClock
  ) async throws {
    guard let sleep = announced(sleep, on: virtualClock) else { return }
    nonisolated(unsafe) var place = Place()
    try await withCancellableContinuationOnNoActor(
      onCancel: { self.cancelSleep(at: &place, on: virtualClock) },
      { self.begin(sleep, on: virtualClock, at: &place, $0) })
  }

  /// Reserves the number of a sleep. Returns `nil` if its deadline is not in the future.
  ///
  /// A task calls this before it leaves its actor. So a sleep that ends immediately takes no hop, and sleeps with
  /// equal deadlines wake in the order of the calls.
  private func announced(_ sleep: ClockSleep, on virtualClock: VirtualClock) -> ClockSleep? {
    change { _ in
      guard virtualClock.isFuture(sleep.deadline) else { return nil }
      var sleep = sleep
      sleep.number = virtualClock.sleeps.reserveNumber()
      return sleep
    }
  }

  /// The sleep may end as soon as the lock is released. Then `place` may no longer be in memory.
  private func begin(
    _ sleep: ClockSleep, on virtualClock: VirtualClock, at place: UnsafeMutablePointer<Place>,
    _ continuation: UnsafeContinuation<Void, any Error>
  ) {
    assumeUsedElsewhere(place)
    let task = UnownedTask(continuation)
    let name = task.isKnownToBeNameless ? nil : UnownedTask.currentName
    // Not a part of `Beginning`, which a debug build copies fast as long as it is trivial.
    var notify: (() -> Void)?
    let beginning: Beginning = change { state in
      if place.pointee.isCancelled { return .cancelled }
      guard virtualClock.isFuture(sleep.deadline) else { return .past }
      let details = SleepQueue.Details(
        registered: virtualClock.now, task: task, taskID: sleep.taskID, clock: .test)
      let token = virtualClock.sleeps.add(
        .continuation(continuation, isOwn: sleep.isOwn), until: sleep.deadline, name: name,
        tolerance: sleep.tolerance, details: details, as: sleep.number)
      place.pointee.sleep = token
      if state.isObserved {
        let deadline = virtualClock.custom == nil ? sleep.deadline : nil
        state.sleepBegan(token.number, of: sleep.taskID, until: deadline)
      }
      if virtualClock.isAwaited {
        notify = virtualClock.news(
          of: .init(
            deadline: sleep.deadline, number: token.number, taskName: name,
            tolerance: sleep.tolerance, details: details))
      }
      return .suspended
    }
    switch beginning {
    case .suspended: notify?()
    case .past: continuation.resume()
    case .cancelled: cancel(continuation, isOwn: sleep.isOwn)
    }
  }

  private func cancelSleep(at place: UnsafeMutablePointer<Place>, on virtualClock: VirtualClock) {
    let sleeper: Sleeper? = change { state in
      guard let token = place.pointee.sleep else {
        place.pointee.isCancelled = true
        return nil
      }
      guard let sleeper = virtualClock.sleeps.cancel(token) else { return nil }
      if let removed = virtualClock.sleeps.removed { state.sleepWasCancelled(of: removed.task) }
      return sleeper
    }
    guard case .continuation(let continuation, let isOwn) = sleeper else { return }
    cancel(continuation, isOwn: isOwn)
  }
}

/// Makes the optimizer assume that all other code may use the memory.
///
/// The optimizer does not see that the cancellation handler reads `place`. So it would remove the write by `begin`.
@inline(never) @_optimize(none)
private func assumeUsedElsewhere(_ memory: UnsafeMutableRawPointer) {}

/// A call of `sleep(until:tolerance:)`, with keys for custom durations.
struct ClockSleep {
  let taskID: UInt64
  let deadline: Duration
  let tolerance: Duration?
  let isOwn: Bool
  /// The number of the sleep, if it was reserved before the task left its actor.
  var number: UInt64?
}

extension Scheduler {
  /// Moves a clock's time in a job of `task`, the current one, if nothing can run or wake before. Returns whether it
  /// does.
  ///
  /// Not a part of `TestClock.newAdvance`, where the closure would be generic, and would need metadata.
  func movesTime(
    of virtualClock: VirtualClock, by duration: Duration, inJobOf task: UInt64
  ) -> Bool {
    guard usesFastWay, isRunning(task) else { return false }
    return changeWithoutThread { $0.moveTime(of: virtualClock, by: duration, inJobOf: task) }
  }
}

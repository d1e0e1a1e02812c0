import ClocksSupport

extension TestClock {
  /// Suspends the current task until the clock's time is `deadline`.
  ///
  /// Sleeps wake in the order of their deadlines; sleeps with the same deadline wake in the order of
  /// registration. After each wake, the test's tasks run as far as they can before the next wake. If the
  /// deadline is not in the future, the call returns immediately, as on every real clock.
  ///
  /// On cancellation, before the call or during the sleep, it throws immediately and leaves nothing behind
  /// in the clock. A task that is cancelled after its sleep was woken returns normally, as with
  /// `Task.sleep`.
  ///
  /// O(log n) with n pending sleeps.
  ///
  /// - Parameters:
  ///   - deadline: The instant at which the sleep ends.
  ///   - tolerance: Has no effect; ``pendingSleeps`` shows it.
  /// - Throws: `CancellationError` if the task is cancelled.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    guard Duration.self == Swift.Duration.self else {
      return try await sleepInCustomDurations(until: deadline, tolerance: tolerance)
    }
    let sleep = try standardDurationSleep(until: deadline, tolerance: tolerance)
    // A task on an actor leaves it before it is suspended, as on other clocks. The fast way would not.
    let actor = #isolation
    if case nil = actor, scheduler.usesFastWay { return try await scheduler.sleep(sleep) }
    try await scheduler.sleepOnNoActor(sleep)
  }

  /// Prepares a sleep whose durations are known to be those of the standard library.
  ///
  /// Not asynchronous, because an asynchronous function keeps copies of generic values in the task's memory.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  @inline(never)
  private func standardDurationSleep(
    until deadline: Instant, tolerance: Duration?
  ) throws -> StandardDurationSleep {
    try UnownedTask.checkCancellation()
    return StandardDurationSleep(
      virtualClock: unsafeDowncast(virtualClock, to: VirtualClock<Swift.Duration>.self),
      deadline: unsafeBitCast(deadline.offset, to: Swift.Duration.self),
      tolerance: unsafeBitCast(tolerance, to: Swift.Duration?.self),
      isOwn: admitCurrentTask(as: "TestClock.sleep(until:)", at: origin))
  }

  /// Adopts the current task if it is unowned, and returns whether the clock's scheduler owns it.
  ///
  /// If another test owns the task, that is recorded as a failure of the test.
  @inline(__always)
  func admitCurrentTask(as name: String, at callSite: CallSite) -> Bool {
    let isOwn =
      scheduler.isRunningCurrentTask || scheduler.admitCurrentTask(among: virtualClock.users)
    if !isOwn { checkUseByOtherTest(name, at: callSite) }
    return isOwn
  }
}

// MARK: - Custom durations

extension TestClock {
  /// Suspends the current task as `Scheduler.sleep` does, on a clock with durations of any type.
  @inline(never)
  private nonisolated(nonsending) func sleepInCustomDurations(
    until deadline: Instant, tolerance: Duration?
  ) async throws {
    try UnownedTask.checkCancellation()
    let isOwn = admitCurrentTask(as: "TestClock.sleep(until:)", at: origin)
    let reserved: UInt64? = scheduler.change { _ in
      deadline.offset > virtualClock.now ? virtualClock.sleeps.reserveNumber() : nil
    }
    guard let reserved else { return }
    nonisolated(unsafe) var place = Place(number: reserved)
    try await withCancellableContinuationOnNoActor {
      self.cancelSleep(at: &place)
    } _: { continuation in
      self.beginSleep(
        at: &place, until: deadline.offset, tolerance: tolerance, isOwn: isOwn, continuation)
    }
  }

  /// What the code that begins a sleep and its cancellation handler share, under the scheduler's lock.
  private struct Place {
    /// The number that was reserved for the sleep.
    let number: UInt64
    /// The sleep, once it is registered.
    var sleep: SleepQueue<Duration>.Token?
    /// Whether the task was cancelled before the sleep was registered.
    var isCancelled = false
  }

  /// The result of an attempt to begin a sleep.
  private enum Beginning {
    case suspended(SleepNews<Duration>, fulfilled: [SleepsWaiter])
    /// The deadline is not in the future.
    case past
    /// The task was cancelled before the sleep was registered.
    case cancelled
  }

  private func beginSleep(
    at place: inout Place, until deadline: Duration, tolerance: Duration?, isOwn: Bool,
    _ continuation: UnsafeContinuation<Void, any Error>
  ) {
    let task = UnownedTask(continuation)
    let name = UnownedTask.currentName
    let beginning: Beginning = scheduler.change { state in
      if place.isCancelled { return .cancelled }
      guard deadline > virtualClock.now else { return .past }
      let details = SleepQueue<Duration>.Details(
        registered: virtualClock.now, task: task, taskID: task.id, clock: .test,
        tolerance: tolerance)
      let token = virtualClock.sleeps.add(
        .continuation(continuation, isOwn: isOwn), until: deadline, name: name, details: details,
        as: place.number)
      place.sleep = token
      state.sleepBegan(token.number, of: task.id, until: nil)
      let pending = SleepQueue<Duration>.Pending(
        deadline: deadline, number: token.number, taskName: name, details: details)
      let news = SleepNews(sleep: pending, listeners: virtualClock.listeners)
      return .suspended(news, fulfilled: virtualClock.takeFulfilledWaiters())
    }
    switch beginning {
    case .suspended(let news, let fulfilled):
      news.tell()
      for waiter in fulfilled { waiter.succeed() }
    case .past: continuation.resume()
    case .cancelled: scheduler.resume(continuation, isOwn: isOwn, throwing: CancellationError())
    }
  }

  private func cancelSleep(at place: inout Place) {
    let sleeper: Sleeper? = scheduler.change { state in
      guard let token = place.sleep else {
        place.isCancelled = true
        return nil
      }
      guard let sleeper = virtualClock.sleeps.cancel(token) else { return nil }
      if let removed = virtualClock.sleeps.removed { state.sleepWasCancelled(removed) }
      return sleeper
    }
    guard case .continuation(let continuation, let isOwn) = sleeper else { return }
    scheduler.resume(continuation, isOwn: isOwn, throwing: CancellationError())
  }
}

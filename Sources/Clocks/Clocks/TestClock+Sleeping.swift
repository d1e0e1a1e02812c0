extension TestClock {
  /// Suspends the current task until the clock's time is `deadline`.
  ///
  /// Sleeps wake in the order of their deadlines, and those with the same deadline in the order in
  /// which they were registered; each time everything that a wake sets going runs before the next
  /// one. If the deadline is not in the future, the call returns at once, without waiting for an
  /// advance, as on every real clock.
  ///
  /// On cancellation, before the call or while it sleeps, it throws at once and leaves nothing
  /// behind in the clock. A task that is cancelled after its sleep was woken returns normally, as
  /// with `Task.sleep`.
  ///
  /// O(log n) with n pending sleeps.
  ///
  /// - Parameters:
  ///   - deadline: When to go on.
  ///   - tolerance: Has no influence; it can be read in ``pendingSleeps``.
  /// - Throws: `CancellationError` if the task is cancelled.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    // On an actor the general way leaves it before the task is suspended, and the fast one would not: then
    // the test would have other jobs.
    let actor = #isolation
    if case nil = actor, Duration.self == Swift.Duration.self, scheduler.usesFastWay,
      Self.isNone(tolerance)
    {
      return try await scheduler.sleep(try standardDurationSleep(until: deadline))
    }
    try await sleepInGeneral(until: deadline, tolerance: tolerance)
  }

  /// Apart from what is asynchronous, where even to look at it would make a copy.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  @inline(never)
  private static func isNone(_ tolerance: Duration?) -> Bool { isNoneInGeneral(tolerance) }

  @inline(never)
  private static func isNoneInGeneral(_ tolerance: Duration?) -> Bool {
    switch tolerance {
    case nil: true
    case _?: false
    }
  }

  /// A sleep without a tolerance, if the clock's durations are those of the standard library.
  ///
  /// Apart from what is asynchronous, where a copy of something generic would need memory of the task's;
  /// and from the general way, because its metadata would be looked up for all.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  @inline(never)
  private func standardDurationSleep(until deadline: Instant) throws -> StandardDurationSleep {
    guard let deadline = deadline.offset as? Swift.Duration else {
      preconditionFailure("A clock of other durations.")
    }
    try UnownedTask.checkCancellation()
    let isOwn =
      scheduler.isRunningCurrentTask
      || scheduler.admitCurrentTask(among: virtualClock.users)
    if !isOwn { checkUseByOtherTest("TestClock.sleep(until:)", at: origin) }
    return StandardDurationSleep(
      virtualClock: unsafeDowncast(virtualClock, to: VirtualClock<Swift.Duration>.self),
      deadline: deadline,
      isOwn: isOwn)
  }

  // MARK: - In general

  @inline(never)
  private nonisolated(nonsending) func sleepInGeneral(
    until deadline: Instant, tolerance: Duration?
  ) async throws {
    // Not specialized as the functions below are: the frames of both, the general one and the
    // special one, would not fit into the first kilobyte of a task's stack any more, and a second
    // one would be allocated for each task that sleeps.
    try UnownedTask.checkCancellation()
    let isOwn = scheduler.admitCurrentTask(among: virtualClock.users)
    if !isOwn { checkUseByOtherTest("TestClock.sleep(until:)", at: origin) }
    guard let token = announceSleep(until: deadline) else { return }
    try await withCancellableContinuationOnNoActor {
      cancelSleep(token)
    } _: { continuation in
      beginSleep(
        token, .continuation(continuation, isOwn: isOwn), until: deadline, tolerance: tolerance)
    }
  }

  private typealias Token = SleepQueue<Duration>.Token

  /// Announces a sleep, or returns `nil` if its deadline is not in the future.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  private func announceSleep(until deadline: Instant) -> Token? {
    scheduler.change { _ in
      deadline.offset > virtualClock.now ? virtualClock.sleeps.reserve() : nil
    }
  }

  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  private func beginSleep(
    _ token: Token, _ sleeper: Sleeper, until deadline: Instant, tolerance: Duration?
  ) {
    let task = UnownedTask.current
    let name = UnownedTask.currentName
    let (outcome, fulfilled, isHeard) = scheduler.change { state in
      // Time may have moved since the sleep was announced, if a thread that is not the test's
      // called. Then it is due at once, and is woken by the next advance, which is as if it had
      // come a moment later.
      let details = SleepQueue<Duration>.Details(
        registered: virtualClock.now, task: task, taskID: task?.id ?? 0, clock: .test,
        tolerance: tolerance)
      let outcome = virtualClock.sleeps.suspend(
        token, sleeper, until: deadline.offset, name: name, details: details)
      if state.isObserved, case .suspended = outcome {
        state.sleepBegan(
          token.number, of: details.taskID, until: deadline.offset as? Swift.Duration)
      }
      return (outcome, virtualClock.takeFulfilledWaiters(), !virtualClock.listeners.isEmpty)
    }
    if isHeard { tell(of: token, until: deadline, tolerance: tolerance, task, name) }
    if case .cancelled = outcome { resumeCancelled(sleeper) }
    for waiter in fulfilled { waiter.succeed() }
  }

  /// Tells those who listen of a sleep that has just been registered. Apart, because there is rarely
  /// anybody.
  @inline(never)
  private func tell(
    of token: Token, until deadline: Instant, tolerance: Duration?, _ task: UnownedTask?,
    _ name: String?
  ) {
    let news = scheduler.change { _ in
      SleepNews(
        sleep: .init(
          deadline: deadline.offset, number: token.number, taskName: name,
          details: .init(
            registered: virtualClock.now, task: task, taskID: task?.id ?? 0, clock: .test,
            tolerance: tolerance)),
        listeners: virtualClock.listeners)
    }
    news.tell()
  }

  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  private func cancelSleep(_ token: Token) {
    let sleeper = scheduler.change { state in
      let sleeper = virtualClock.sleeps.cancel(token)
      if sleeper != nil, let removed = virtualClock.sleeps.removed {
        state.sleepWasCancelled(removed)
      }
      return sleeper
    }
    if let sleeper { resumeCancelled(sleeper) }
  }

  private func resumeCancelled(_ sleeper: Sleeper) {
    guard case .continuation(let continuation, let isOwn) = sleeper else { return }
    scheduler.resume(continuation, isOwn: isOwn, throwing: CancellationError())
  }
}

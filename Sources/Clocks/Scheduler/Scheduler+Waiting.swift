extension Scheduler {
  /// Suspends the current task until the wait ends.
  nonisolated(nonsending) func wait(_ waiter: IdleWaiter) async {
    await withUnsafeContinuation { continuation in
      waiter.continuation = continuation
      change { $0.append(waiter) }
    }
  }

  /// Suspends the current task until everything at the next instant has happened.
  ///
  /// If the task is cancelled, the wait ends when the scheduler is idle.
  nonisolated(nonsending) func observe<Duration>(with observer: VirtualClockObserver<Duration>)
    async
  {
    // It is changed within `change` only.
    nonisolated(unsafe) let observer = observer
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        observer.continuation = continuation
        change { $0.append(observer: observer) }
      }
    } onCancel: {
      change { _ in observer.mustLook = true }
    }
  }

  /// Suspends the current task until the scheduler is idle. Returns the reason if the wait was aborted.
  ///
  /// - Parameter users: The users of the clock on which the task settles.
  nonisolated(nonsending) func settle(among users: ClockUsers? = nil) async -> Runaway? {
    let waiter = IdleWaiter(isOwn: admitCurrentTask(among: users))
    await wait(waiter)
    return waiter.runaway
  }

  /// Suspends the current task until the scheduler is idle. If the wait was aborted, returns the task
  /// that keeps the scheduler from being idle.
  nonisolated(nonsending) func settleUnlessNeverIdle() async -> RetainedTask? {
    let waiter = IdleWaiter(isOwn: true)
    await wait(waiter)
    return waiter.culprit
  }

  /// Suspends the current task until the scheduler is idle, and resumes it as a task of the scheduler.
  nonisolated(nonsending) func settleAsOwn() async {
    await wait(IdleWaiter(isOwn: true))
  }

  /// Ends a sleep with an error.
  ///
  /// - Parameter isOwn: Whether the scheduler owns the sleeping task.
  func resume(
    _ sleeper: UnsafeContinuation<Void, any Error>, isOwn: Bool, throwing error: any Error
  ) {
    if isOwn { willResume(UnownedTask(sleeper)) }
    // On a thread that runs for the scheduler, `isWaking` spares the hook the look-up of the task's owner.
    let context = isOwn ? ThreadContext.current : nil
    guard let context, context.pointee.owner === self, !context.pointee.isWaking else {
      return sleeper.resume(throwing: error)
    }
    context.pointee.isWaking = true
    sleeper.resume(throwing: error)
    context.pointee.isWaking = false
  }
}

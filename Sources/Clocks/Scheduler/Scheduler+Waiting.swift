extension Scheduler {
  /// Suspends the current task until the wait ends of somebody who moves time, or only wants to
  /// know.
  nonisolated(nonsending) func wait(_ waiter: IdleWaiter) async {
    await withUnsafeContinuation { continuation in
      waiter.continuation = continuation
      change { $0.append(waiter) }
    }
  }

  /// Suspends the current task until everything has happened at the next instant at which something
  /// does; or the task is cancelled and the scheduler is idle.
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

  /// Suspends the current task until the scheduler is idle, and returns why it never will be, if
  /// so.
  ///
  /// - Parameter users: Those of the clock that is asked for it.
  nonisolated(nonsending) func settle(among users: ClockUsers? = nil) async -> Runaway? {
    let waiter = IdleWaiter(isOwn: admitCurrentTask(among: users))
    await wait(waiter)
    return waiter.runaway
  }

  /// Suspends the current task until the scheduler is idle, and returns the task because of which it
  /// never will be, if so.
  nonisolated(nonsending) func settleUnlessNeverIdle() async -> RetainedTask? {
    let waiter = IdleWaiter(isOwn: true)
    await wait(waiter)
    return waiter.culprit
  }

  /// Suspends the current task until the scheduler is idle, and resumes it as its own.
  nonisolated(nonsending) func settleAsOwn() async {
    await wait(IdleWaiter(isOwn: true))
  }

  /// Ends a sleep with an error.
  ///
  /// - Parameter isOwn: Whether it is a task of the scheduler's that sleeps.
  func resume(
    _ sleeper: UnsafeContinuation<Void, any Error>, isOwn: Bool, throwing error: any Error
  ) {
    if isOwn { willResume(UnownedTask(sleeper)) }
    // On a thread that runs for the scheduler nobody needs to look up whose the task is.
    let context = isOwn ? ThreadContext.current : nil
    guard let context, context.pointee.owner === self, !context.pointee.isWaking else {
      return sleeper.resume(throwing: error)
    }
    context.pointee.isWaking = true
    sleeper.resume(throwing: error)
    context.pointee.isWaking = false
  }
}

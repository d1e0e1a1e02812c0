import ClocksSupport

extension TestClock {
  /// A sleep on a ``TestClock`` that has neither woken nor been cancelled.
  public struct PendingSleep: Sendable, Hashable, CustomStringConvertible {
    /// The instant at which the sleep wakes.
    public let deadline: Instant
    /// The tolerance that the caller allowed. It has no effect.
    public let tolerance: Duration?
    /// The clock's time when the sleep was registered.
    public let registered: Instant
    /// The name of the sleeping task, if it has one.
    ///
    /// For a block that a test delays on a dispatch queue, in a scope of virtual time, it describes that
    /// block: for example `queue "cache"`.
    public let taskName: String?
    /// The number that the Swift runtime gave to the sleeping task; 0 for a delayed block.
    public let taskID: UInt64
    /// The number of the sleep, counted from 0 for each clock.
    public let number: Int

    init(_ pending: VirtualClock<Duration>.Sleeps.Pending) {
      let details = pending.details
      deadline = Instant(offset: pending.deadline)
      tolerance = details.tolerance
      registered = Instant(offset: details.registered)
      taskName = pending.taskName
      taskID = details.taskID
      number = Int(pending.number)
    }

    /// For example `until 3.0 seconds, since 1.0 seconds, task "poll" (#42)`.
    public var description: String {
      if taskID == 0, let taskName { return "until \(deadline), since \(registered), \(taskName)" }
      let task = taskName.map { "task \"\($0)\" (#\(taskID))" } ?? "task #\(taskID)"
      return "until \(deadline), since \(registered), \(task)"
    }
  }

  /// The sleeps that have neither woken nor been cancelled, in wake order.
  ///
  /// A task that is ready but has not run yet may be about to add one, so call
  /// ``settle(fileID:filePath:line:column:)`` first. O(n log n) with n sleeps.
  public var pendingSleeps: [PendingSleep] {
    let details = scheduler.change { _ in virtualClock.sleeps }.pending
    return details.map(PendingSleep.init)
  }

  // MARK: - Streaming sleeps

  /// Returns a stream of the sleeps that are registered on this clock from now on.
  ///
  /// For a test of what a piece of code asks its clock for: the pauses of a retry, or the deadline of a
  /// connection's next keep-alive. The stream begins with this call, so make it before the code starts:
  ///
  /// ```swift
  /// let clock = TestClock()
  /// var sleeps = clock.sleepRegistrations().makeAsyncIterator()
  /// let connection = Task { try await keepAlive(every: .seconds(30), on: clock) }
  /// #expect(await sleeps.next()?.deadline.offset == .seconds(30))
  /// ```
  ///
  /// Each sleep appears once, in the order of registration, even if it is cancelled later. A sleep whose
  /// deadline is not in the future is not registered and does not appear. In a scope of virtual time, all
  /// sleeps of the scope appear, including those of `Task.sleep` and of the runtime's clocks. Each call
  /// returns a stream of its own, which buffers unread sleeps; every stream receives every sleep.
  ///
  /// The stream ends when the task that reads it is cancelled, and not before. It does not keep the clock
  /// alive. Each registration costs O(n) with n streams.
  public func sleepRegistrations() -> AsyncStream<PendingSleep> {
    let (stream, continuation) = AsyncStream<PendingSleep>.makeStream()
    let number = scheduler.change { _ in virtualClock.add { continuation.yield(PendingSleep($0)) } }
    continuation.onTermination = { [weak self] _ in
      guard let self else { return }
      // The listener is released without the lock.
      _ = self.scheduler.change { _ in self.virtualClock.removeListener(number) }
    }
    return stream
  }

  // MARK: - Waiting for sleeps

  /// Waits until `count` sleeps are pending on this clock.
  ///
  /// For sleeps that a thread or a callback outside the test's tasks will cause, which
  /// ``settle(fileID:filePath:line:column:)`` cannot foresee. Sleeps that are pending already count. Time
  /// does not move. The call returns when the last of the sleeps is registered.
  ///
  /// On cancellation it throws immediately. O(1), and O(waiting calls) for each sleep that is registered
  /// meanwhile.
  ///
  /// - Parameters:
  ///   - count: The number of sleeps. With zero or less, the call returns immediately.
  ///   - timeout: The limit in real time; a minute by default. If jobs wait for a thread for longer than a
  ///     tenth of the limit, as when many tests begin together, the limit grows up to tenfold.
  /// - Throws: ``SleepArrivalError`` after the timeout; `CancellationError` if the task is cancelled.
  public nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int = 1, timeout: Swift.Duration = .seconds(60)
  ) async throws {
    try await waitForSleeps(atLeast: count, timeout: timeout, mayRepeat: 9)
  }

  /// Waits until `count` sleeps are pending.
  ///
  /// - Parameter mayRepeat: How many times the timeout may start again on a busy machine.
  nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int, timeout: Swift.Duration, mayRepeat: Int
  ) async throws {
    try Task.checkCancellation()
    scheduler.admitCurrentTask(among: virtualClock.users)
    let waiter = SleepsWaiter(count: count)
    guard scheduler.change({ _ in virtualClock.add(waiter) }) else { return }
    // The alarm and the cancellation handler do not keep the clock alive.
    let abort = { @Sendable [weak self, weak waiter] (error: (TestClock) -> any Error) in
      guard let self, let waiter else { return }
      let isWaiting = self.scheduler.change { _ in self.virtualClock.remove(waiter) != nil }
      if isWaiting { waiter.fail(error(self)) }
    }
    waiter.whenTooLate(timeout, mayRepeat: mayRepeat) {
      abort { clock in
        SleepArrivalError(
          expected: count, pendingSleeps: clock.pendingSleeps.map(\.description), timeout: timeout,
          realSleeps: clock.scheduler.change { $0.realSleeps.lines })
      }
    }
    try await withTaskCancellationHandler {
      try await waiter.wait()
    } onCancel: {
      abort { _ in CancellationError() }
    }
  }
}

extension SleepsWaiter {
  /// Runs `body` after `timeout` of real time, once every job that was ready then has had a thread.
  ///
  /// Does nothing if the waiter has been released by then. May run `body` twice.
  ///
  /// - Parameter mayRepeat: How many times the timeout may start again because a thread came late.
  fileprivate func whenTooLate(
    _ timeout: Duration, mayRepeat: Int, _ body: @escaping @Sendable () -> Void
  ) {
    RealTime(in: timeout).schedule { [weak self] in
      guard self != nil else { return }
      let end = RealTime(in: .zero)
      RuntimeHooks.startThread(on: .pool) { [weak self] in
        if mayRepeat > 0, end.lasts(timeout / 10) {
          self?.whenTooLate(timeout, mayRepeat: mayRepeat - 1, body)
        } else {
          body()
        }
      }
      // All threads of the pool may be blocked permanently.
      RealTime(in: timeout * mayRepeat).schedule(body)
    }
  }
}

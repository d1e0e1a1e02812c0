import ClocksSupport

extension TestClock {
  /// Suspends the current task until the clock's time is `deadline`.
  ///
  /// Sleeps wake in the order of their deadlines; sleeps with the same deadline wake in the order of
  /// registration. After each wake, the test's tasks run as far as they can before the next wake. If the
  /// deadline is not in the future, the call returns immediately, as on every real clock.
  ///
  /// On cancellation, before or during the sleep, the call throws immediately, and the sleep leaves the
  /// clock. A task that is cancelled after its sleep was woken returns normally, as with `Task.sleep`.
  ///
  /// If the task belongs to another test than the clock, the first such use of the clock is recorded as a failure.
  ///
  /// O(log n) with n pending sleeps.
  ///
  /// - Parameters:
  ///   - deadline: The instant at which the sleep ends.
  ///   - tolerance: Has no effect on the sleep; ``pendingSleeps`` shows the value.
  /// - Throws: `CancellationError` if the task is cancelled.
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    let sleep = try newSleep(until: deadline, tolerance: tolerance)
    // A task on an actor leaves the actor before it is suspended, as on other clocks. `Scheduler.sleep` alone
    // would not leave it.
    let actor = #isolation
    if case nil = actor, scheduler.usesFastWay {
      return try await scheduler.sleep(sleep, on: virtualClock)
    }
    try await scheduler.sleepOnNoActor(sleep, on: virtualClock)
  }

  /// This function is synchronous: an asynchronous one would keep copies of generic values in the task's memory.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  @inline(never)
  private func newSleep(until deadline: Instant, tolerance: Duration?) throws -> ClockSleep {
    let task = UnownedTask.current
    try task.checkCancellation()
    let taskID = task?.id ?? 0
    return ClockSleep(
      taskID: taskID, deadline: virtualClock.key(for: deadline.offset),
      tolerance: tolerance.map { virtualClock.key(for: $0) },
      isOwn: admitCurrentTask(taskID, as: "TestClock.sleep(until:)", at: origin))
  }

  /// Adopts the current task if it is unowned, and returns whether the clock's scheduler owns it.
  ///
  /// If another test owns the task, a failure of the running test is recorded.
  ///
  /// - Parameter id: The current task's id.
  @inline(__always)
  func admitCurrentTask(
    _ id: UInt64 = UnownedTask.currentID ?? 0, as name: String, at callSite: CallSite
  ) -> Bool {
    let isOwn =
      scheduler.isRunning(id) || scheduler.admitCurrentTask(among: virtualClock.users)
    if scheduler.isProcessWide { scheduler.noteUse(at: origin) }
    if !isOwn { checkUseByOtherTest(name, at: callSite) }
    return isOwn
  }
}

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
    /// If the sleep stands for a block that a test delays on a dispatch queue, in a scope of virtual time,
    /// the text describes that block: for example `queue "cache"`.
    public let taskName: String?
    /// The number that the Swift runtime gave to the sleeping task; 0 for a delayed block.
    public let taskID: UInt64
    /// The number of the sleep, counted from 0 for each clock. All clocks that read a scope's time count together.
    public let number: Int

    /// - Parameter custom: The table of the clock to which the sleep belongs.
    init(_ pending: SleepQueue.Pending, _ custom: (any CustomDurations)?) {
      let details = pending.details
      deadline = Instant(offset: VirtualClock.value(of: pending.deadline, in: custom))
      tolerance = pending.tolerance.map { VirtualClock.value(of: $0, in: custom) }
      registered = Instant(offset: VirtualClock.value(of: details.registered, in: custom))
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
  /// On a clock that reads a scope's time, these are all sleeps in that time, and the blocks that wait for an instant.
  /// A task that is ready may be about to add a sleep, so call ``settle(fileID:filePath:line:column:)``
  /// first. O(n log n) with n sleeps.
  public var pendingSleeps: [PendingSleep] {
    let pending = scheduler.change { _ in virtualClock.sleeps.pending }
    return pending.map { PendingSleep($0, virtualClock.custom) }
  }

  /// Returns a stream of the sleeps that are registered on this clock from now on.
  ///
  /// Use the stream to test which sleeps a piece of code requests, such as the pauses of a retry or the
  /// keep-alive of a connection. The stream begins with this call, so call the function before the code
  /// starts:
  ///
  /// ```swift
  /// let clock = TestClock()
  /// var sleeps = clock.sleepRegistrations().makeAsyncIterator()
  /// let connection = Task { try await keepAlive(every: .seconds(30), on: clock) }
  /// #expect(await sleeps.next()?.deadline.offset == .seconds(30))
  /// ```
  ///
  /// Each sleep appears once, in the order of registration, even if it is cancelled later. A sleep whose
  /// deadline is not in the future is not registered and does not appear. On a clock that reads a scope's time,
  /// all sleeps in that time appear, including those of `Task.sleep` and of the runtime's clocks, but no delayed
  /// blocks. Each call returns a stream of its own, which buffers unread sleeps; every stream receives every
  /// sleep.
  ///
  /// The stream ends when the task that reads it is cancelled, and not before. It does not keep the clock
  /// alive. Each registration costs O(n) with n streams.
  public func sleepRegistrations() -> AsyncStream<PendingSleep> {
    let (stream, continuation) = AsyncStream<PendingSleep>.makeStream()
    let number = scheduler.change { [custom = virtualClock.custom] _ in
      virtualClock.add { continuation.yield(PendingSleep($0, custom)) }
    }
    continuation.onTermination = { [weak self] _ in
      guard let self else { return }
      // The closure returns the listener, which is therefore released after the lock.
      _ = self.scheduler.change { _ in self.virtualClock.removeListener(number) }
    }
    return stream
  }

  /// Waits until `count` sleeps are pending on this clock.
  ///
  /// Use it for sleeps that a thread or a callback outside the test's tasks will cause:
  /// ``settle(fileID:filePath:line:column:)`` cannot foresee them. Sleeps that are pending already count.
  /// Time does not move. The call returns when the last of the sleeps is registered.
  ///
  /// On cancellation, the call throws immediately. O(1), and O(waiting calls) for each sleep that is
  /// registered meanwhile.
  ///
  /// - Parameters:
  ///   - count: The number of sleeps. With zero or less, the call returns immediately.
  ///   - timeout: The limit in real time; a minute by default, and less than zero counts as zero. Jobs that run or
  ///     are ready at its end may still register sleeps. If they take longer than a tenth of the limit, it starts
  ///     again: on a busy machine, it grows up to tenfold.
  /// - Throws: ``SleepArrivalError`` after the timeout; `CancellationError` if the task is cancelled.
  public nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int = 1, timeout: Swift.Duration = .seconds(60)
  ) async throws {
    try await waitForSleeps(atLeast: count, timeout: timeout, mayRepeat: 9)
  }

  /// - Parameter mayRepeat: How many times the timeout may start again on a busy machine.
  nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int, timeout: Swift.Duration, mayRepeat: Int
  ) async throws {
    try Task.checkCancellation()
    scheduler.admitCurrentTask(among: virtualClock.users)
    let waiter = SleepsWaiter(count: count)
    // Neither the timeout nor the cancellation handler keeps the clock alive.
    let abort = { @Sendable [weak self, weak waiter] (error: (TestClock) -> any Error) in
      guard let self, let waiter else { return }
      let isWaiting = self.scheduler.change { _ in self.virtualClock.remove(waiter) }
      if isWaiting { waiter.fail(error(self)) }
    }
    let isIdle = { @Sendable [weak self] in
      self?.scheduler.change { $0.idleness.askWhetherIdle() } ?? true
    }
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        waiter.continuation = continuation
        guard scheduler.change({ _ in virtualClock.add(waiter) }) else {
          return continuation.resume()
        }
        // `whenTooLate` multiplies a timeout that has ended. One that is long enough to overflow never ends, but a
        // negative one could overflow.
        waiter.whenTooLate(max(timeout, .zero), mayRepeat: mayRepeat, isIdle) {
          abort { clock in
            SleepArrivalError(
              expected: count, pendingSleeps: clock.pendingSleeps.map(\.description),
              timeout: timeout, realSleeps: RealSleeps.lines(of: clock.scheduler))
          }
        }
        // The cancellation handler may have run before the waiter was added.
        if Task.isCancelled { abort { _ in CancellationError() } }
      }
    } onCancel: {
      abort { _ in CancellationError() }
    }
  }
}

extension SleepsWaiter {
  /// Runs `body` after `timeout` of real time, as soon as the test is idle and each unowned job has ended.
  ///
  /// Waits only for the unowned jobs that exist when the timeout ends: their tasks may still use the clock. Does
  /// nothing if the waiter was released by then. May run `body` twice.
  ///
  /// - Parameters:
  ///   - mayRepeat: How many times the timeout, or a tenth of it, may start again.
  ///   - isIdle: Returns whether the test is idle.
  fileprivate func whenTooLate(
    _ timeout: Duration, after pause: Duration? = nil, mayRepeat: Int,
    _ isIdle: @escaping @Sendable () -> Bool, _ body: @escaping @Sendable () -> Void
  ) {
    RealTime(in: pause ?? timeout).schedule { [weak self] in
      guard self != nil else { return }
      let end = RealTime(in: .zero)
      let limit = RealTime(in: timeout * mayRepeat)
      ExternalTaskRegistry.wait(for: UnownedJobs.Present(), until: limit) { [weak self] in
        let isLate = end.lasts(timeout / 10)
        if mayRepeat > 0, isLate || !isIdle() {
          self?.whenTooLate(
            timeout, after: isLate ? timeout : timeout / 10, mayRepeat: mayRepeat - 1, isIdle, body)
        } else {
          body()
        }
      }
      // If a job does not end, the closure above does not run. So a timer runs `body` as well.
      RealTime(in: timeout * mayRepeat).schedule(body)
    }
  }
}

import ClocksSupport

extension TestClock {
  /// Waits until `count` sleeps are pending on this clock.
  ///
  /// For sleeps that arrive from outside the test's tasks, from a thread or a callback, whose
  /// coming ``settle(fileID:filePath:line:column:)`` cannot know of. What is pending already counts. Time does not move; the
  /// call returns at the moment when the last of the sleeps is registered.
  ///
  /// On cancellation it throws at once. O(1), and O(waiting calls) for each sleep that is
  /// registered meanwhile.
  ///
  /// - Parameters:
  ///   - count: How many sleeps to wait for; zero or less is there already.
  ///   - timeout: How much real time they may take to come; a minute by default. If a job waits for a
  ///     thread for longer than a tenth of that, because many tests have just begun, they get more: up
  ///     to ten times as much.
  /// - Throws: ``SleepArrivalError`` if they did not come in time; `CancellationError` if the task
  ///   is cancelled.
  public nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int = 1, timeout: Swift.Duration = .seconds(60)
  ) async throws {
    try await waitForSleeps(atLeast: count, timeout: timeout, mayRepeat: 9)
  }

  /// The same.
  ///
  /// - Parameter mayRepeat: How often the timeout may begin anew on a busy machine.
  nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int, timeout: Swift.Duration, mayRepeat: Int
  ) async throws {
    try Task.checkCancellation()
    scheduler.admitCurrentTask(among: virtualClock.users)
    let waiter = SleepsWaiter(count: count)
    guard scheduler.change({ _ in virtualClock.add(waiter) }) else { return }
    // Neither the alarm nor the handler keeps the clock.
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
  /// Runs `body` if it still waits when `timeout` of real time has passed, and all that was ready then has
  /// got a thread: what it waits for may be the next in the queue. May run it twice.
  ///
  /// - Parameter mayRepeat: How often it may begin anew, because a thread was long in coming.
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
      // All threads may be taken for good.
      RealTime(in: timeout * mayRepeat).schedule(body)
    }
  }
}

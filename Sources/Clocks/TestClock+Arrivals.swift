extension TestClock {
  /// Waits until `count` sleeps are pending on this clock.
  ///
  /// For sleeps that arrive from outside the test's tasks, from a thread or a callback, whose
  /// coming ``settle()`` cannot know of. What is pending already counts. Time does not move; the
  /// call returns at the moment when the last of the sleeps is registered.
  ///
  /// On cancellation it throws at once. O(1), and O(waiting calls) for each sleep that is
  /// registered meanwhile.
  ///
  /// - Parameters:
  ///   - count: How many sleeps to wait for; zero or less is there already.
  ///   - timeout: How much real time they may take to come; a minute by default.
  /// - Throws: ``SleepArrivalError`` if they did not come in time; `CancellationError` if the task
  ///   is cancelled.
  public nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int = 1, timeout: Swift.Duration = .seconds(60)
  ) async throws {
    try Task.checkCancellation()
    scheduler.admitCurrentTask()
    let arrival = SleepArrival(count: count)
    let number: UInt64? = scheduler.lock.withLock {
      guard timeline.sleeps.count < count else { return nil }
      timeline.nextArrival += 1
      timeline.arrivals[timeline.nextArrival] = arrival
      return timeline.nextArrival
    }
    guard let number else { return }
    let giveUp = { @Sendable (error: any Error) in
      let isWaiting = self.scheduler.lock.withLock {
        self.timeline.arrivals.removeValue(forKey: number) != nil
      }
      if isWaiting { arrival.fail(error) }
    }
    let alarm = RealTime(in: timeout).schedule { [weak self] in
      guard let pending = self?.pendingSleeps else { return }
      giveUp(
        SleepArrivalError(
          expected: count, pendingSleeps: pending.map(\.description), timeout: timeout))
    }
    defer { alarm.cancel() }
    try await withTaskCancellationHandler {
      try await arrival.wait()
    } onCancel: {
      giveUp(CancellationError())
    }
  }
}

/// Says that fewer sleeps than expected arrived on a ``TestClock`` in time.
///
/// ``TestClock/waitForSleeps(atLeast:timeout:)`` throws it.
public struct SleepArrivalError: Error, Hashable, Sendable, CustomStringConvertible {
  /// How many sleeps were expected.
  public let expected: Int
  /// The sleeps that did arrive, described in the order in which they would wake.
  public let pendingSleeps: [String]
  /// How much real time they had.
  public let timeout: Duration

  /// What was expected, what was found, and what to do about it.
  public var description: String {
    """
    Expected at least \(expected) pending sleep\(expected == 1 ? "" : "s") within \(timeout) of \
    real time, but there \(pendingSleeps.count == 1 ? "is 1" : "are \(pendingSleeps.count)")\
    \(pendingSleeps.isEmpty ? "" : ":\n\(pendingSleeps.listed)").
    See to it that the work outside reaches its sleep on this clock, or allow it more time.
    """
  }
}

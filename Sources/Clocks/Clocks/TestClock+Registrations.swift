extension TestClock {
  /// The sleeps that are registered on this clock from now on, one after the other, as a stream.
  ///
  /// For a test that wants to know what a piece of code asks its clock for: the pauses of a retry, the
  /// deadline of a connection's next keep-alive. The stream is there at once, so make it before the
  /// code starts:
  ///
  /// ```swift
  /// let clock = TestClock()
  /// var sleeps = clock.sleepRegistrations().makeAsyncIterator()
  /// let connection = Task { try await keepAlive(every: .seconds(30), on: clock) }
  /// #expect(await sleeps.next()?.deadline.offset == .seconds(30))
  /// ```
  ///
  /// A sleep comes once, in the order of registration, also if it is cancelled later. One whose
  /// deadline is not in the future is not registered, and does not come. In a scope of virtual time
  /// all sleeps of the scope come, those of `Task.sleep` and of the runtime's clocks among them.
  /// Each call makes a stream of its own, which keeps what nobody has read yet; all streams get
  /// everything.
  ///
  /// The stream ends when the task that reads it is cancelled. It does not end by itself, and does
  /// not keep the clock. O(n) for each sleep with n streams; without any, nothing.
  public func sleepRegistrations() -> AsyncStream<PendingSleep> {
    let (stream, continuation) = AsyncStream<PendingSleep>.makeStream()
    let number = scheduler.change { _ in
      virtualClock.add { continuation.yield(PendingSleep($0)) }
    }
    continuation.onTermination = { [weak self] _ in
      guard let self else { return }
      // Let go of without the lock.
      _ = self.scheduler.change { _ in self.virtualClock.removeListener(number) }
    }
    return stream
  }
}

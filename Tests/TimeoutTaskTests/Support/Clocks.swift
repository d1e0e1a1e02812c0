import TimeoutTask

/// A clock whose sleeps fail.
struct FailingClock: Clock {
  struct Failure: Error, Equatable {}

  var error: any Error = Failure()
  /// A sleep waits for this gate before it fails.
  var gate: Gate?

  var now: ContinuousClock.Instant { ContinuousClock.now }
  var minimumResolution: Duration { .zero }
  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    await gate?.pass()
    throw error
  }
}

/// The work's own error.
struct Failure: Error, Equatable {}

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

/// A duration that is not `Swift.Duration`.
struct Ticks: DurationProtocol, Hashable {
  var count: Int

  static var zero: Ticks { Ticks(count: 0) }
  static func < (lhs: Ticks, rhs: Ticks) -> Bool { lhs.count < rhs.count }
  static func + (lhs: Ticks, rhs: Ticks) -> Ticks { Ticks(count: lhs.count + rhs.count) }
  static func - (lhs: Ticks, rhs: Ticks) -> Ticks { Ticks(count: lhs.count - rhs.count) }
  static func / (lhs: Ticks, rhs: Int) -> Ticks { Ticks(count: lhs.count / rhs) }
  static func * (lhs: Ticks, rhs: Int) -> Ticks { Ticks(count: lhs.count * rhs) }
  static func / (lhs: Ticks, rhs: Ticks) -> Double { Double(lhs.count) / Double(rhs.count) }
}

/// The work's own error.
struct Failure: Error, Equatable {}

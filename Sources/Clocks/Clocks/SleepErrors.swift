/// Says that a task still sleeps on a ``TestClock`` when none should.
///
/// ``TestClock/checkSuspension(fileID:filePath:line:column:)`` throws it.
public struct SuspensionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The clock's time.
  public let now: String
  /// The pending sleeps, described in the order in which they would wake.
  public let pendingSleeps: [String]
  var dump: TaskDump?

  /// A text that says what was expected, what was found and what to do about it, and where the test's tasks were.
  public var description: String {
    """
    Expected that no task sleeps any more, but at \(now) there \
    \(pendingSleeps.count == 1 ? "is 1 sleep" : "are \(pendingSleeps.count) sleeps") pending \
    on the clock:
    \(pendingSleeps.listed)
    Advance the clock as far as the last deadline, or cancel the task that sleeps.
    """.with(dump).withCapabilityNote
  }

  /// Whether the times and the sleeps are equal; where the tasks were does not matter. O(n).
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.now == rhs.now && lhs.pendingSleeps == rhs.pendingSleeps
  }

  /// Hashes the time and the sleeps. O(n).
  public func hash(into hasher: inout Hasher) {
    hasher.combine(now)
    hasher.combine(pendingSleeps)
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
  /// The limit in real time, as it was passed. On a busy machine, the sleeps had up to ten times as long.
  public let timeout: Duration
  /// The tasks of the test that sleep in real time instead, and for how much longer.
  var realSleeps: [String] = []

  /// A text that says what was expected, what was found and what to do about it.
  public var description: String {
    """
    Expected at least \(expected) pending sleep\(expected == 1 ? "" : "s") within \(timeout) of \
    real time, but there \(pendingSleeps.count == 1 ? "is 1" : "are \(pendingSleeps.count)")\
    \(pendingSleeps.isEmpty ? "" : ":\n\(pendingSleeps.listed)").
    \(remedy)
    """.withCapabilityNote
  }

  private var remedy: String {
    realSleeps.isEmpty
      ? "Make sure that the work outside reaches its sleep on this clock, or allow it more time."
      : "But in the test \(RealSleeps.note(realSleeps))"
  }
}

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
  /// The tasks of the test that sleep in real time instead, and for how much longer.
  var realSleeps: [String] = []

  /// What was expected, what was found, and what to do about it.
  public var description: String {
    """
    Expected at least \(expected) pending sleep\(expected == 1 ? "" : "s") within \(timeout) of \
    real time, but there \(pendingSleeps.count == 1 ? "is 1" : "are \(pendingSleeps.count)")\
    \(pendingSleeps.isEmpty ? "" : ":\n\(pendingSleeps.listed)").
    \(remedy)
    """.withCapabilityNote
  }

  private var remedy: String {
    guard !realSleeps.isEmpty else {
      return """
        See to it that the work outside reaches its sleep on this clock, or allow it more time.
        """
    }
    return """
      But in the test there \(realSleeps.count == 1 ? "is 1 task" : "are \(realSleeps.count) tasks") \
      asleep on a real clock of the runtime's:
      \(realSleeps.listed)
      Inject this clock there, or use `@Test(.virtualTime)`, where nothing needs to be injected.
      """
  }
}

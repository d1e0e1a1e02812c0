/// Says that a task still sleeps on a ``TestClock`` when none should.
///
/// ``TestClock/checkSuspension(fileID:filePath:line:column:)`` throws it.
public struct SuspensionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The clock's time.
  public let now: String
  /// The pending sleeps, described in the order in which they would wake.
  public let pendingSleeps: [String]
  /// Where the test's tasks were.
  let dump: TaskDump?

  init(now: String, pendingSleeps: [String], dump: TaskDump? = nil) {
    self.now = now
    self.pendingSleeps = pendingSleeps
    self.dump = dump
  }

  /// What was expected, what was found, and what to do about it; and where the test's tasks were.
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

  public func hash(into hasher: inout Hasher) {
    hasher.combine(now)
    hasher.combine(pendingSleeps)
  }
}

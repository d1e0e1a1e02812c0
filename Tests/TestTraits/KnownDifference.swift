public import Testing

#if os(Linux) && compiler(>=6.3)
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
#endif

/// A difference between hook strategies, or between runtimes, that some tests depend on.
///
/// The package cannot remove such a difference. This is the only list of them: `Docs/Platforms.md` quotes it, and
/// `DocsTests` compares both with the tests that have the trait `unless`.
public enum KnownDifference: String, CaseIterable, Sendable {
  // With each strategy but `spi`.
  case executorsCannotDelay =
    "the default executor cannot delay jobs, so the hooks for sleeps are in use"
  // With Swift 6.2.
  case tasksHaveNoNames = "Swift Testing gives no names to its tasks"
  case yieldsAreContinuations = "a task that yields is said to await a continuation"
  case streamsAreContinuations = "a task that reads a stream is said to await a continuation"
  case exitTestsHaveOtherTexts = "the issues of an exit test have other texts"
  case callersIsolationTakesAJob = "an operation in a caller's isolation takes one job more"
  case suitesAreInRealTime =
    "clocks-everywhere runs tests of Swift Testing in real time, and says so"
  case otherQueues = "tasks that belong to no test run on the queues that the runtime chooses"

  /// Where the difference exists, in the words of the guide.
  public var place: String {
    self == .executorsCannotDelay ? "every strategy but `spi`" : "Swift 6.2"
  }

  /// Whether the difference exists in this process. O(1).
  public var isHere: Bool {
    #if os(Linux) && compiler(>=6.3)
      self == .executorsCannotDelay
        && !(Task<Never, Never>.defaultExecutor is any SchedulingExecutor)
    #elseif compiler(>=6.3)
      self == .executorsCannotDelay
    #else
      true
    #endif
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test, or a suite, in processes in which a difference exists.
  public static func unless(_ difference: KnownDifference) -> Self {
    .disabled(if: difference.isHere, Comment(rawValue: difference.rawValue))
  }
}

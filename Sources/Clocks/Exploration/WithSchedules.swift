import ClocksSearch
import ClocksSupport

/// The schedules that a test runs in: their number, or their kind.
///
/// The environment variable `CLOCKS_SCHEDULES` replaces a number, and a real time, by its own number.
public struct ScheduleCount: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// A number of schedules; `nil` stands for the default number and time.
    case upTo(Int?)
    /// As many schedules as fit into this much real time.
    case lasting(Duration)
    case exhaustive(Int)
    case token(String)
  }

  let kind: Kind

  /// Every schedule that differs from first in, first out by up to `reversals` reversals, however many they are.
  ///
  /// A reversal is a pair of steps in the opposite order. Both touch the same actor, or both could run next.
  ///
  /// - Parameter reversals: The number of reversals, 1 or more.
  public static func exhaustive(reversals: Int) -> Self { Self(kind: .exhaustive(reversals)) }

  /// Up to `count` schedules. A number less than 1 is a failure of the test, and nothing is run.
  public static func upTo(_ count: Int) -> Self { Self(kind: .upTo(count)) }

  /// As many schedules as fit into `duration` of real time.
  ///
  /// The search ends earlier if it has tried all orders. It also ends when the last half of its schedules, and at
  /// least 1,000 of them, have shown no new happens-before class.
  ///
  /// - Parameter duration: The real time, more than zero. The schedule that is under way when it ends is finished.
  public static func lasting(_ duration: Duration) -> Self { Self(kind: .lasting(duration)) }

  /// Up to 1,000 schedules, for up to two seconds of real time.
  public static let standard = Self(kind: .upTo(nil))

  /// The schedule of a token that a failure printed, and no other.
  public static func schedule(_ token: String) -> Self { Self(kind: .token(token)) }
}

/// Runs `operation` in many orders of its jobs, in virtual time, and explains the first failure.
///
/// ```swift
/// @Test func oneDownloadPerKey() async throws {
///   try await withSchedules { time in
///     let cache = ImageCache(download: { _ in Image() })
///     async let first = cache.image(for: "cat")
///     async let second = cache.image(for: "cat")
///     _ = try await (first, second)
///     #expect(await cache.downloads == 1)
///   }
/// }
/// ```
///
/// Each run has a new scope, as in `withVirtualTime`. The search chooses wherever the order is open: which of
/// several ready jobs comes first, and which of several sleeps that are due. All orders are legal: jobs of
/// the main actor, and jobs of each other actor, keep the order in which they were enqueued. The search cannot
/// choose how two threads interleave between two awaits.
///
/// The operation fails if a test library records an issue in it, or if it throws. It also fails if nothing can
/// run although it has not returned: a deadlock, which is reported immediately. The search then shrinks the order
/// of the failure, and runs the operation in it once more: the test fails once, where the issue is. (A failure that
/// shows only after a limit of real time is neither shrunk nor repeated.) The explanation accompanies that failure. It
/// ends with a line that runs exactly this order again. XCTest cannot be kept from recording a failed assertion, so in
/// its tests the search stops at the first one and does not shrink its order.
///
/// Every hop of a task to an actor and back must be visible; if it is not, the test fails with a message.
/// Issues of Swift Testing are visible if the test binary links ClocksTestKit.
///
/// Cancellation of the caller cancels the current run and ends the search. Errors of the operation are
/// reported, not thrown; only an `XCTSkip` is thrown, and skips the test. A negative argument is a failure of the
/// test, and so are stalls without `upTo`, or the reverse; then nothing is run. O(schedules · the operation).
///
/// - Parameters:
///   - count: The schedules to run; by default up to 1,000, for at most two seconds.
///   - seed: The seed of random choices. The default follows from the name of the test. So with a number of schedules,
///     a test that passed fails only after a change.
///   - slack: The maximum delay with which a sleep wakes.
///   - faults: The maximum number of faults in a schedule; see ``VirtualTime/fault(_:)``.
///   - stalls: How often in a schedule time may pass while a job is under way: jobs otherwise take no time.
///   - upTo: The maximum time that passes in one stall.
///   - explores: What else the search decides, such as random numbers.
///   - leftoverSleeps: Whether tasks that still sleep, or run without end, when the operation returns, are a failure.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
///   - function: The name of the test.
///   - operation: The operation; it receives the scope.
/// - Returns: The summary of the search; `nil` if the operation failed, if one schedule was replayed, or if the search
///   was not possible.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: ScheduleCount = .standard, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column, function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  var options = ScopeOptions()
  options.leftoverSleepsFail = leftoverSleeps == .fail
  let origin = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
  let arguments =
    replayArguments(slack: slack) + (leftoverSleeps == .fail ? ", leftoverSleeps: .fail" : "")
  let report = ScheduleReport(
    fail: { recordFailure($0, at: origin) },
    failWithError: { recordFailure("\(Finding(thrown: $0).text)\n\($1)", at: origin) },
    replayForm: { "try await withSchedules(.schedule(\"\($0)\")\(arguments)) { … }" })
  return try await runSchedules(
    count, seed: seed, slack: slack,
    bounds: .init(faults: faults, stalls: stalls, upTo: upTo, explores: explores),
    testID: "\(fileID) \(function)", options: options, origin: origin, report: report,
    operation: operation)
}

/// Runs `operation` in up to `count` orders of its jobs.
///
/// Like `withSchedules` with ``ScheduleCount/upTo(_:)``.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: Int, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column, function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .upTo(count), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, fileID: fileID, filePath: filePath,
    line: line, column: column, function: function, operation: operation)
}

/// Runs `operation` in as many orders of its jobs as fit into `duration` of real time.
///
/// Like `withSchedules` with ``ScheduleCount/lasting(_:)``.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  for duration: Duration, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column, function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .lasting(duration), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, fileID: fileID, filePath: filePath,
    line: line, column: column, function: function, operation: operation)
}

/// Runs `operation`, which does not need the scope, in many orders of its jobs.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: ScheduleCount = .standard, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column, function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping () async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    count, seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, fileID: fileID, filePath: filePath,
    line: line, column: column, function: function
  ) { _ in try await operation() }
}

/// Runs `operation`, which does not need the scope, in up to `count` orders of its jobs.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: Int, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column, function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping () async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .upTo(count), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, fileID: fileID, filePath: filePath,
    line: line, column: column, function: function
  ) { _ in try await operation() }
}

/// Runs `operation`, which does not need the scope, in as many orders as fit into `duration`.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  for duration: Duration, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column, function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping () async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .lasting(duration), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, fileID: fileID, filePath: filePath,
    line: line, column: column, function: function
  ) { _ in try await operation() }
}

/// The parameters of a search, as its caller and the environment give them.
struct ScheduleRequest: Sendable {
  private static let standardCount = 1_000
  private static let standardTime = Duration.seconds(2)

  var count: ScheduleCount
  var seed: Int?
  var slack: Duration
  var bounds = ScheduleBounds()
  /// The test's name, which is equal in every process.
  var testID: String
  /// The arguments of the test case; empty if it has none.
  var testCase = ""
  var variables = Environment.search

  struct Meaning {
    var limits: ScheduleSearch.Limits
    var time: Duration?
    /// The schedule to replay in place of a search.
    var token: String?
  }

  struct Problem: Error {
    var description: String
  }

  /// Returns the limits of the search; the variables of the environment take precedence.
  func meaning() throws(Problem) -> Meaning {
    if slack < .zero {
      throw Problem(
        description: """
          `slack:` says how late a sleep may wake, and cannot be negative; it is \(slack). Leave it out \
          if sleeps are to wake on time.
          """)
    }
    var limits = ScheduleSearch.Limits(count: Self.standardCount, seed: try seedOfSearch())
    limits.shard = try shard()
    limits.bounds = try bounds.checked(for: count)
    switch count.kind {
    case .token(let token): return Meaning(limits: limits, token: token)
    case .exhaustive(let reversals):
      guard reversals > 0 else {
        throw Problem(
          description: """
            `.exhaustive(reversals:)` expects 1 reversal or more; it is \(reversals). To run \
            only in the order first in, first out, use `.virtualTime`.
            """)
      }
      limits.count = .max
      limits.reversals = reversals
      return Meaning(limits: limits)
    case .lasting(let time):
      guard time > .zero else {
        throw Problem(
          description: """
            A search lasts for more than zero seconds of real time; `for:` is \(time). Write for example \
            `.schedules(for: .seconds(30))`, or a number of schedules.
            """)
      }
      if let asked = try countOfEnvironment() {
        limits.count = asked
        return Meaning(limits: limits)
      }
      limits.count = .max
      limits.endsWithClasses = true
      // Even a slow machine runs an order in a millisecond, so it can try this many orders within `time`.
      limits.mostOrders = Int(min(1_000_000, max(1, time / .milliseconds(1))))
      return Meaning(limits: limits, time: time)
    case .upTo(let count):
      if let count, count < 1 {
        throw Problem(
          description: """
            The number of schedules is 1 or more; it is \(count). To run the test once, in virtual time, \
            use `.virtualTime`.
            """)
      }
      let asked = try countOfEnvironment()
      limits.count = asked ?? count ?? Self.standardCount
      return Meaning(limits: limits, time: asked == nil && count == nil ? Self.standardTime : nil)
    }
  }

  private func read<Value>(
    _ variable: Environment.Variable, _ text: String?, _ parse: (String) -> Value?
  ) throws(Problem) -> Value? {
    guard let text else { return nil }
    if let value = parse(text) { return value }
    throw Problem(description: variable.problem(with: text))
  }

  private func countOfEnvironment() throws(Problem) -> Int? {
    try read(.schedules, variables.count, Environment.count)
  }

  private func seedOfSearch() throws(Problem) -> UInt64 {
    if variables.seed == "random" { return UInt64.random(in: .min ... .max) }
    if let seed = try read(.seed, variables.seed, Environment.seed) { return seed }
    guard let seed else { return Mixer.hash(testID) }
    guard seed >= 0 else {
      throw Problem(description: "`seed:` is a number from 0 to \(Int.max); it is \(seed).")
    }
    return UInt64(seed)
  }

  private func shard() throws(Problem) -> ScheduleSearch.Shard {
    let shard = try read(.shard, variables.shard, Environment.shard)
    return shard.map { .init(index: $0.0 - 1, count: $0.1) } ?? .whole
  }
}

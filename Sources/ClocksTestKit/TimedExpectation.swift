import Clocks
import ClocksSupport
import Synchronization
public import Testing

/// An event that is expected a number of times within a virtual time.
///
/// ```swift
/// @Test(.virtualTime) func answers() async {
///   let answer = TimedExpectation("answer")
///   service.search("sun") { _ in answer.fulfill() }
///   await answer.wait(within: .seconds(5))
/// }
/// ```
///
/// The expected count is a number or a range, as in Swift Testing's `confirmation`; by default once or more.
/// `wait(within:)` moves virtual time, and so takes no real time. It ends as follows:
///
/// | `expectedCount` | success | failure |
/// |---|---|---|
/// | `1...`, `3...` | when the count is reached | at the limit |
/// | `3`, `2...5` | at the limit | at the limit, or when the count is exceeded |
/// | `0` | at the limit | at the first event |
///
/// Without a call of `wait(within:)`, an expectation checks nothing and records no failure.
///
/// The idea comes from XCTest's expectations. Their timeouts are real time, and an inverted expectation
/// succeeds only at the end of its timeout.
public final class TimedExpectation: Sendable {
  private let comment: Comment?
  private let expectedCount: ExpectedCount
  private let fulfillments = Atomic(0)

  /// Creates an expectation of an exact number of events; 0 stands for never.
  ///
  /// - Parameters:
  ///   - comment: A name of the event, for a failure.
  ///   - expectedCount: The number of events. With a negative number, a wait fails.
  public convenience init(_ comment: Comment? = nil, expectedCount: Int) {
    self.init(comment, ExpectedCount(expectedCount))
  }

  /// Creates an expectation of a range of events; by default once or more.
  ///
  /// - Parameters:
  ///   - comment: A name of the event, for a failure.
  ///   - expectedCount: The range, with a lower bound. No count is in an empty range, so a wait fails.
  public convenience init(
    _ comment: Comment? = nil,
    expectedCount: some RangeExpression<Int> & Sequence<Int> & Sendable = 1...
  ) {
    self.init(comment, ExpectedCount(expectedCount))
  }

  /// Creates an expectation of an exact number of events, with a name that is not a literal.
  ///
  /// - Parameters:
  ///   - description: A name of the event, for a failure.
  ///   - expectedCount: The number of events. With a negative number, a wait fails.
  @_disfavoredOverload
  public convenience init(_ description: String, expectedCount: Int) {
    self.init(Comment(rawValue: description), ExpectedCount(expectedCount))
  }

  /// Creates an expectation of a range of events, with a name that is not a literal; by default once or more.
  ///
  /// - Parameters:
  ///   - description: A name of the event, for a failure.
  ///   - expectedCount: The range, with a lower bound. No count is in an empty range, so a wait fails.
  @_disfavoredOverload
  public convenience init(
    _ description: String,
    expectedCount: some RangeExpression<Int> & Sequence<Int> & Sendable = 1...
  ) {
    self.init(Comment(rawValue: description), ExpectedCount(expectedCount))
  }

  init(_ comment: Comment?, _ expectedCount: ExpectedCount) {
    self.comment = comment
    self.expectedCount = expectedCount
  }

  /// The number of events so far. O(1), from any thread.
  public var count: Int { fulfillments.load(ordering: .acquiring) }

  /// Counts an event. O(1), from any thread or task.
  public func fulfill() {
    fulfillments.add(1, ordering: .releasing)
  }

  /// Counts an event, as ``fulfill()`` does.
  public func callAsFunction() {
    fulfill()
  }

  /// Moves time from deadline to deadline until the outcome is decided, and expects the count within `limit`.
  ///
  /// Events before the call count. The count is checked whenever the test's tasks have run as far as they
  /// can. That is before time moves, after all jobs at each deadline, and when time has moved by exactly
  /// `limit`. So the result and the time of a failure are exact. Later events count only for a further call
  /// of this function, which continues the count.
  ///
  /// **External work.** The call does not wait for a thread or a queue outside the scope, but moves time to
  /// the limit. In a scope of virtual time, do such work in `VirtualTime.holding(_:)`, so that time stays
  /// meanwhile. Elsewhere, await the work first. Do not call `wait(within:)` within `holding`: each would
  /// wait for the other, which is a failure after half a minute.
  ///
  /// If the count is too small or too large, that is recorded as a failure of the test, with the time and the
  /// pending sleeps. A negative limit is a failure, and time stays. A call outside a scope without a clock is
  /// a failure, and so is a test that never becomes idle. On cancellation the count is checked once more. If
  /// it does not decide the outcome, that is a failure.
  ///
  /// O(k log n + jobs that run) for k of n pending sleeps that wake.
  ///
  /// - Parameters:
  ///   - limit: How far time may move from now. The limit itself is included.
  ///   - clock: The clock to move; by default that of the current scope of virtual time.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  /// - Returns: The time that has passed; or `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func wait(
    within limit: Duration, on clock: TestClock<Duration>? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Duration? {
    await wait(
      within: limit, on: clock,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  /// Waits as the other `wait(within:on:)` does, on a clock with custom durations.
  @discardableResult
  @_disfavoredOverload
  public nonisolated(nonsending) func wait<OtherDuration>(
    within limit: OtherDuration, on clock: TestClock<OtherDuration>,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> OtherDuration? {
    await follow(
      clock, within: limit,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  /// Waits until the outcome is decided. Moves `clock`, or the clock of the current scope if `clock` is `nil`.
  nonisolated(nonsending) func wait(
    within limit: Duration, on clock: TestClock<Duration>?,
    as name: String = "TimedExpectation.wait(within:)", at callSite: CallSite
  ) async -> Duration? {
    guard let clock = clockToMove(clock, for: name, comment, at: callSite) else { return nil }
    return await follow(clock, within: limit, as: name, at: callSite)
  }

  nonisolated(nonsending) func follow<AnyDuration>(
    _ clock: TestClock<AnyDuration>, within limit: AnyDuration,
    as name: String = "TimedExpectation.wait(within:)", at callSite: CallSite
  ) async -> AnyDuration? {
    let start = clock.now
    // The count when the condition was last evaluated. `count` may be higher, if another task has moved time since.
    var seen = 0
    let outcome = await clock.follow(upTo: limit, isPaced: true, as: name, at: callSite) {
      seen = count
      return expectedCount.isDecided(at: seen)
    }
    let time = start.duration(to: clock.now)
    switch outcome {
    case .failed:
      return nil
    case .cancelled:
      clock.fail(
        "\(summary(of: limit)), but the task was cancelled after \(time), with \(seen.times).",
        at: callSite)
      return nil
    case .holds, .limitReached:
      guard !expectedCount.contains(seen) else { return time }
      let end = outcome == .holds ? " after \(time)" : ""
      clock.fail(
        "\(summary(of: limit)), but it was fulfilled \(seen.times)\(end).",
        isTimeout: outcome == .limitReached, at: callSite)
      return nil
    }
  }

  private func summary(of limit: some DurationProtocol) -> String {
    let what = comment.map { "\"\($0.rawValue)\"" } ?? "the expectation"
    return "Expected \(what) to be fulfilled \(expectedCount) within \(limit)"
  }
}

// MARK: - Counts

/// The number of times that an event is expected: a number or a range.
struct ExpectedCount: Hashable, Sendable {
  let least: Int
  /// The upper bound; `nil` if there is none.
  let most: Int?

  init(_ count: Int) {
    least = count
    most = count
  }

  init(_ range: some RangeExpression<Int> & Sequence<Int> & Sendable) {
    switch range {
    case let range as ClosedRange<Int>:
      least = range.lowerBound
      most = range.upperBound
    case let range as PartialRangeFrom<Int>:
      least = range.lowerBound
      most = nil
    default:
      let range = range.relative(to: 0..<Int.max)
      least = range.lowerBound
      most = max(range.upperBound, .min + 1) - 1
    }
  }

  /// Returns whether further events cannot change the outcome.
  func isDecided(at count: Int) -> Bool {
    if let most { count > most } else { count >= least }
  }

  func contains(_ count: Int) -> Bool {
    count >= least && count <= most ?? .max
  }
}

extension ExpectedCount: CustomStringConvertible {
  /// For example `exactly 3 times`.
  var description: String {
    switch (least, most) {
    case (0, 0): "never"
    case (let least, nil): "at least \(least.times)"
    case (let least, let most?) where least == most: "exactly \(least.times)"
    case (let least, let most?): "\(least) to \(most.times)"
    }
  }
}

extension Int {
  /// For example `1 time` or `2 times`.
  var times: String { self == 1 ? "1 time" : "\(self) times" }
}

/// Returns `clock`, or else that of the current scope. Records a failure if there is none.
func clockToMove(
  _ clock: TestClock<Duration>?, for name: String, _ comment: Comment? = nil, at callSite: CallSite
) -> TestClock<Duration>? {
  if let clock = clock ?? VirtualTime.current?.clock { return clock }
  // For example, `wait(within:on: clock)` for `TimedExpectation.wait(within:)`.
  let call = name.split(separator: ".").last?.dropLast() ?? ""
  recordFailure(
    """
    \(name) expects to be called in a scope of virtual time, or to be given a clock.\
    \(comment.map { " The expectation \"\($0.rawValue)\" has neither." } ?? "")
    Write @Test(.virtualTime), run the test in withVirtualTime { … }, or write \
    `\(call)\(call.hasSuffix("on:") ? "" : "on:") clock)`.
    """, at: callSite)
  return nil
}

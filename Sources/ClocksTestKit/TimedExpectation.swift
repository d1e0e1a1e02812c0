import Clocks
import ClocksSupport
import Synchronization
public import Testing

/// Something that is expected to happen, a number of times, within a time that is virtual.
///
/// ```swift
/// @Test(.virtualTime) func answers() async {
///   let answer = TimedExpectation("answer")
///   service.search("sun") { _ in answer.fulfill() }
///   await answer.wait(within: .seconds(5))
/// }
/// ```
///
/// How often is said as in Swift Testing's `confirmation`, by a number or a range; by default it is
/// once or more. `wait(within:)` moves time,
/// and so takes none:
///
/// | `expectedCount` | it succeeds | it fails |
/// |---|---|---|
/// | `1...`, `3...` | as soon as it has happened so often | at the end of its time |
/// | `3`, `2...5` | at the end of its time, to be sure | at the end, or as soon as it is too much |
/// | `0` | at the end of its time | as soon as it happens |
///
/// It does not notice by itself that nobody waits for it; then it expects nothing.
///
/// The idea is that of XCTest's expectations, whose inverted ones take real time.
public final class TimedExpectation: Sendable {
  private let comment: Comment?
  private let expectedCount: ExpectedCount
  private let fulfillments = Atomic(0)

  /// Expects something to happen an exact number of times; 0 stands for never.
  ///
  /// - Parameters:
  ///   - comment: What is to happen, for a failure.
  ///   - expectedCount: How often.
  public convenience init(_ comment: Comment? = nil, expectedCount: Int) {
    self.init(comment, ExpectedCount(expectedCount))
  }

  /// Expects something to happen a number of times that lies in a range; by default once or more.
  ///
  /// - Parameters:
  ///   - comment: What is to happen, for a failure.
  ///   - expectedCount: How often. The range must have a lower bound.
  public convenience init(
    _ comment: Comment? = nil,
    expectedCount: some RangeExpression<Int> & Sequence<Int> & Sendable = 1...
  ) {
    self.init(comment, ExpectedCount(expectedCount))
  }

  /// Expects something to happen an exact number of times, described by a text that is not a literal.
  ///
  /// - Parameters:
  ///   - description: What is to happen, for a failure.
  ///   - expectedCount: How often.
  @_disfavoredOverload
  public convenience init(_ description: String, expectedCount: Int) {
    self.init(Comment(rawValue: description), ExpectedCount(expectedCount))
  }

  /// Expects something to happen a number of times that lies in a range, described by a text that is
  /// not a literal; by default once or more.
  ///
  /// - Parameters:
  ///   - description: What is to happen, for a failure.
  ///   - expectedCount: How often. The range must have a lower bound.
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

  /// How often it has happened. O(1), from anywhere.
  public var count: Int { fulfillments.load(ordering: .acquiring) }

  /// Says that it has happened. O(1), from any thread or task.
  public func fulfill() {
    fulfillments.add(1, ordering: .releasing)
  }

  /// Says that it has happened, as ``fulfill()`` does.
  public func callAsFunction() {
    fulfill()
  }

  /// Moves time from deadline to deadline, up to `limit` from now, until nothing can go wrong any
  /// more; then expects that it has happened as often as it should.
  ///
  /// What happened before the call counts. It is looked at when every task of the test has run as
  /// far as it can: without time having moved, after all that happens at each deadline, and when
  /// time has moved by exactly `limit`. So the result and the time of a failure are exact. What
  /// happens later is not noticed any more, except by another call, which goes on counting.
  ///
  /// **The trap.** It cannot know that something will be fulfilled from outside the test's tasks,
  /// by a thread or a queue: it would move time on to the end. In a scope of virtual time, put the
  /// work outside into `VirtualTime.holding(_:)`, and time stands still for it. Elsewhere, await
  /// the work before. Do not call it in `holding` itself: they would wait for each other, which is
  /// a failure after half a minute.
  ///
  /// If it did not happen as often as expected, or too often, that is recorded as a failure of the
  /// test, with the time and the pending sleeps. So is a negative limit, with which time stays; a
  /// call outside of a scope without a clock; and a test that never comes to rest. On cancellation
  /// it looks once more, and if that is not decisive, then it is a failure, too.
  ///
  /// O(k log n + jobs that run) for k of n pending sleeps that wake.
  ///
  /// - Parameters:
  ///   - limit: How far time may move from now. What happens at the limit itself is in time.
  ///   - clock: The clock to be moved; the one of the current scope of virtual time by default.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  /// - Returns: How much time has passed; or `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func wait(
    within limit: Duration, on clock: TestClock<Duration>? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Duration? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await wait(within: limit, on: clock, as: "TimedExpectation.wait(within:)", at: callSite)
  }

  /// Moves the time of a clock with durations of another type.
  ///
  /// See `wait(within:)`.
  @discardableResult
  @_disfavoredOverload
  public nonisolated(nonsending) func wait<OtherDuration>(
    within limit: OtherDuration, on clock: TestClock<OtherDuration>,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> OtherDuration? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await follow(
      clock, within: limit, as: "TimedExpectation.wait(within:)", at: callSite)
  }

  // MARK: - How

  /// Waits on the clock, or on that of the current scope.
  nonisolated(nonsending) func wait(
    within limit: Duration, on clock: TestClock<Duration>?, as name: String, at callSite: CallSite
  ) async -> Duration? {
    guard let clock = clock ?? VirtualTime.current?.clock else {
      recordFailure(
        """
        \(name) expects to be called in a scope of virtual time, or to be given a clock.\
        \(comment.map { "\n\($0.rawValue)" } ?? "")
        Write @Test(.virtualTime), or on: clock.
        """, at: callSite)
      return nil
    }
    return await follow(clock, within: limit, as: name, at: callSite)
  }

  private nonisolated(nonsending) func follow<AnyDuration>(
    _ clock: TestClock<AnyDuration>, within limit: AnyDuration, as name: String,
    at callSite: CallSite
  ) async -> AnyDuration? {
    let start = clock.now
    // What was seen last, in time: more may have happened since, if somebody else moves time.
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
    case .holds where !expectedCount.contains(seen):
      clock.fail("\(summary(of: limit)), but it was \(seen.times) after \(time).", at: callSite)
      return nil
    case .limitReached where !expectedCount.contains(seen):
      clock.fail("\(summary(of: limit)), but it was \(seen.times).", at: callSite)
      return nil
    case .holds, .limitReached:
      return time
    }
  }

  private func summary(of limit: some DurationProtocol) -> String {
    let what = comment.map { "\"\($0.rawValue)\"" } ?? "the expectation"
    return "Expected \(what) to be fulfilled \(expectedCount) within \(limit)"
  }
}

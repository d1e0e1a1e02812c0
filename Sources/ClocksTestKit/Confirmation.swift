import Clocks
import ClocksSupport
public import Testing

/// Expects that something is confirmed an exact number of times: while `body` runs, and within a
/// time after that, which is virtual.
///
/// ```swift
/// @Test(.virtualTime) func ticksThreeTimes() async {
///   await confirmation(expectedCount: 3, within: .seconds(10)) { tick in
///     ticker.start { tick() }
///   }
/// }
/// ```
///
/// Swift Testing's own `confirmation` must have been confirmed when its body returns, so that a body
/// that only starts something has to sleep or to wait. This one waits afterwards, by moving time:
/// see `wait(within:)` for
/// what it guarantees, what becomes of cancellation and of work outside, and what it costs.
///
/// The body keeps the caller's isolation, and may use what is not `Sendable`. If it throws, that is
/// what is thrown, and nothing is waited for nor expected. What is confirmed too often while it
/// runs is noticed when it returns.
///
/// - Parameters:
///   - comment: What is to be confirmed, for a failure.
///   - expectedCount: How often; 0 stands for never.
///   - limit: How far time may move once `body` has returned.
///   - clock: The clock to be moved; the one of the current scope of virtual time by default.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
///   - body: What sets it going; it is given what is to be called.
/// - Returns: What `body` returns.
@discardableResult
public nonisolated(nonsending) func confirmation<Result>(
  _ comment: Comment? = nil, expectedCount: Int = 1, within limit: Duration,
  on clock: TestClock<Duration>? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column,
  _ body: nonisolated(nonsending) (TimedExpectation) async throws -> Result
) async rethrows -> Result {
  try await confirm(
    TimedExpectation(comment, ExpectedCount(expectedCount)), within: limit, on: clock,
    at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column), body)
}

/// Expects that something is confirmed a number of times that lies in a range: while `body` runs,
/// and within a time after that, which is virtual.
///
/// See ``confirmation(_:expectedCount:within:on:fileID:filePath:line:column:_:)-(_,Int,_,_,_,_,_,_,_)``.
///
/// - Parameters:
///   - comment: What is to be confirmed, for a failure.
///   - expectedCount: How often. The range must have a lower bound; without an upper one the wait
///     is over as soon as it has been confirmed so often.
///   - limit: How far time may move once `body` has returned.
///   - clock: The clock to be moved; the one of the current scope of virtual time by default.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
///   - body: What sets it going; it is given what is to be called.
/// - Returns: What `body` returns.
@discardableResult
public nonisolated(nonsending) func confirmation<Result>(
  _ comment: Comment? = nil,
  expectedCount: some RangeExpression<Int> & Sequence<Int> & Sendable, within limit: Duration,
  on clock: TestClock<Duration>? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column,
  _ body: nonisolated(nonsending) (TimedExpectation) async throws -> Result
) async rethrows -> Result {
  try await confirm(
    TimedExpectation(comment, ExpectedCount(expectedCount)), within: limit, on: clock,
    at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column), body)
}

private nonisolated(nonsending) func confirm<Result>(
  _ expectation: TimedExpectation, within limit: Duration, on clock: TestClock<Duration>?,
  at callSite: CallSite,
  _ body: nonisolated(nonsending) (TimedExpectation) async throws -> Result
) async rethrows -> Result {
  let result = try await body(expectation)
  _ = await expectation.wait(
    within: limit, on: clock, as: "confirmation(within:)", at: callSite)
  return result
}

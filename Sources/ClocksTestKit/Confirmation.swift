import Clocks
import ClocksSupport
public import Testing

/// Expects an exact number of confirmations while `body` runs and within a virtual time after it.
///
/// ```swift
/// @Test(.virtualTime) func ticksThreeTimes() async {
///   await confirmation(expectedCount: 3, within: .seconds(10)) { tick in
///     ticker.start { tick() }
///   }
/// }
/// ```
///
/// Swift Testing's own `confirmation` checks the count when its body returns, so a body that only starts work
/// has to wait for that work. This function moves time after its body has returned, and so waits for the
/// work. For guarantees, cancellation, external work and cost, see `TimedExpectation.wait(within:)`.
///
/// The body keeps the caller's isolation, and may use values that are not `Sendable`. If it throws, the error
/// is rethrown, and the function neither waits nor expects anything. Too many confirmations during the body
/// are noticed when it returns.
///
/// - Parameters:
///   - comment: A name of the event, for a failure.
///   - expectedCount: The number of confirmations; 0 stands for never. A negative number is a failure.
///   - limit: How far time may move after `body` has returned. A negative limit is a failure.
///   - clock: The clock to move; by default that of the current scope of virtual time.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
///   - body: The operation that starts the work. It receives the confirmation to call.
/// - Returns: The result of `body`.
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

/// Expects a range of confirmations while `body` runs and within a virtual time after it.
///
/// See ``confirmation(_:expectedCount:within:on:fileID:filePath:line:column:_:)-(_,Int,_,_,_,_,_,_,_)``.
///
/// - Parameters:
///   - comment: A name of the event, for a failure.
///   - expectedCount: The range, with a lower bound. Without an upper bound, the wait ends when the lower
///     bound is reached.
///   - limit: How far time may move after `body` has returned.
///   - clock: The clock to move; by default that of the current scope of virtual time.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
///   - body: The operation that starts the work. It receives the confirmation to call.
/// - Returns: The result of `body`.
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

nonisolated(nonsending) func confirm<Result>(
  _ expectation: TimedExpectation, within limit: Duration, on clock: TestClock<Duration>?,
  at callSite: CallSite,
  _ body: nonisolated(nonsending) (TimedExpectation) async throws -> Result
) async rethrows -> Result {
  let result = try await body(expectation)
  _ = await expectation.wait(
    within: limit, on: clock, as: "confirmation(within:)", at: callSite)
  return result
}

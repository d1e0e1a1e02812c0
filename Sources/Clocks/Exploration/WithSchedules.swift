import ClocksSupport

/// Runs `operation` in many orders of its jobs, in virtual time, and reports the shortest explanation of one
/// in which it fails.
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
/// Each run is one in `withVirtualTime`, in a new scope. A run's order is decided by us wherever it is
/// open: which of several ready jobs is first, and which of several sleeps that are due. The orders are
/// legal ones: the main actor's jobs, and those of each actor, keep the order in which they were enqueued.
/// What cannot be decided is how two threads interleave between two awaits.
///
/// The operation fails if a test library's issue is recorded in it, if it throws, and if nothing can run
/// any more before it has returned: that is a deadlock, at once. Then the order is made as small as
/// possible, and the operation runs in it once more, so that the test fails once, at the true place; the
/// explanation goes with that failure, and ends with a token that runs just this order again. In XCTest,
/// which cannot be kept from recording, the search stops at the first failure as it is.
///
/// It needs to see every hop of a task to an actor and back; where it cannot, the test fails and says so.
/// Issues of Swift Testing are seen if the test binary links ClocksTestKit.
///
/// Cancellation of the caller cancels the run that goes on, and ends the search. Errors of the operation
/// are reported, not thrown. O(schedules · the operation).
///
/// - Parameters:
///   - count: How many schedules are tried at most; by default 1,000, for at most two seconds.
///   - seed: With what the search begins to throw dice; by default it follows from the test's name, so
///     that a test that has passed fails only if something has changed.
///   - slack: How late a sleep may wake.
///   - leftoverSleeps: Whether tasks that still sleep when the operation returns are a failure.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
///   - function: What the test is called.
///   - operation: What to run, again and again; it is given the scope.
/// - Returns: What came of it; `nil` if the operation has failed.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: ScheduleCount = .standard, seed: Int? = nil, slack: Duration = .zero,
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column, function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  var options = ScopeOptions()
  options.leftoverSleepsFail = leftoverSleeps == .fail
  let origin = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
  let request = ScheduleRequest(
    count: count, seed: seed, slack: slack, testID: "\(fileID) \(function)")
  let report = ScheduleReport(
    fail: { recordFailure($0, at: origin) },
    failWithError: {
      recordFailure("the operation threw \(type(of: $0)): \($0)\n\($1)", at: origin)
    },
    replayForm: { "try await withSchedules(.schedule(\"\($0)\")) { … }" })
  return await ScheduledTest(request: request, options: options, origin: origin, report: report)
    .run(operation)
}

/// Runs `operation` in up to `count` orders of its jobs, as ``withSchedules(_:seed:slack:leftoverSleeps:fileID:filePath:line:column:function:operation:)``
/// does.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: Int, seed: Int? = nil, slack: Duration = .zero,
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column, function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .upTo(count), seed: seed, slack: slack, leftoverSleeps: leftoverSleeps, fileID: fileID,
    filePath: filePath, line: line, column: column, function: function, operation: operation)
}

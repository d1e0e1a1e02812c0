import Clocks
import ClocksSupport
public import Testing

extension TestClock {
  /// Moves time from deadline to deadline until `condition` holds, and expects that it holds within `limit`.
  ///
  /// ```swift
  /// let time = try #require(
  ///   await clock.eventually(within: .seconds(5)) { await counter.value == 3 })
  /// #expect(time == .seconds(3))
  /// ```
  ///
  /// The condition is evaluated whenever the test's tasks have run as far as they can. That is before time
  /// moves, after all jobs at each deadline, and when time has moved by exactly `limit`. Between two
  /// deadlines nothing changes, so the result is exact. It is also exact if another task moves time: the
  /// condition is evaluated before each such move.
  ///
  /// In a scope with auto-advance, time moves only when auto-advance would move it. So time does not move
  /// during `VirtualTime.holding(_:)`: do not call this function within `holding`. If the scope pauses in
  /// real time before each jump, time moves only after the pause. Outside such a scope, the function does not
  /// wait for external work, such as a thread or a socket: await that work first.
  ///
  /// If the condition does not hold in time, that is recorded as a failure of the test, with the time and the
  /// pending sleeps. A negative limit is a failure, and the condition is not evaluated. A test that never
  /// becomes idle is a failure, and so are ten million wakes within the limit. On cancellation, the condition
  /// is evaluated once more. If it does not hold then, that is a failure, because later instants are unknown.
  /// An error of `condition` is rethrown, and time stays.
  ///
  /// O(k log n + jobs that run) for k of n pending sleeps that wake. `condition` is called at most k + 2
  /// times, once more for each other move of time, and in a scope once more for each job that external work
  /// makes ready.
  ///
  /// The idea comes from Nimble's `toEventually`, which polls every ten milliseconds of real time.
  ///
  /// - Parameters:
  ///   - limit: How far time may move from now. The limit itself is included.
  ///   - comment: The meaning of the condition, for a failure.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  ///   - condition: The condition. It should read state, and not wait itself. If evaluating it takes the
  ///     clock beyond the limit, the result does not count.
  /// - Returns: The time that has passed; or `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func eventually(
    within limit: Duration, _ comment: Comment? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Duration? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let name = publicName("TestClock.eventually(within:)")
    let start = now
    let outcome = try await follow(
      upTo: limit, isPaced: true, as: name, at: callSite, until: condition)
    let time = start.duration(to: now)
    switch outcome {
    case .holds:
      return time
    case .limitReached:
      fail(
        "The condition did not hold at any time within \(limit).", comment, isTimeout: true,
        at: callSite)
    case .cancelled:
      fail(
        """
        \(name) expects the condition to hold at some time within \(limit), but the task was \
        cancelled after \(time), and it did not hold by then.
        """, comment, at: callSite)
    case .failed:
      break
    }
    return nil
  }

  /// Moves time from deadline to deadline by `limit`, and expects that `condition` never holds. Stops if it does.
  ///
  /// ```swift
  /// await clock.never(within: .milliseconds(2999)) { await counter.value == 3 }
  /// ```
  ///
  /// The condition is evaluated as by ``eventually(within:_:fileID:filePath:line:column:_:)``, with the same
  /// failures, cancellation, errors and cost. If it holds, that is recorded as a failure of the test, with
  /// the time, and time stays at that instant. With a limit of zero, only the present is checked.
  ///
  /// The idea comes from Nimble's `toNever`.
  ///
  /// - Parameters:
  ///   - limit: How far time moves. The limit itself is included.
  ///   - comment: The meaning of the condition, for a failure.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  ///   - condition: The condition. It should read state, and not wait itself.
  /// - Returns: Whether the condition never held; `false` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func never(
    within limit: Duration, _ comment: Comment? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Bool {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let name = publicName("TestClock.never(within:)")
    let start = now
    let outcome = try await follow(
      upTo: limit, isPaced: true, as: name, at: callSite, until: condition)
    let time = start.duration(to: now)
    switch outcome {
    case .holds:
      fail(
        "The condition held after \(time), but should not at any time within \(limit).", comment,
        at: callSite)
    case .limitReached:
      return true
    case .cancelled:
      fail(
        """
        \(name) expects that the condition does not hold at any time within \(limit), but the task \
        was cancelled after \(time), and what comes later is not known.
        """, comment, at: callSite)
    case .failed:
      break
    }
    return false
  }

  /// Records a failure, with the time, the pending sleeps and the sleeps in real time.
  ///
  /// - Parameter isTimeout: Whether to name tasks that may have waited for external work.
  func fail(
    _ message: String, _ comment: Comment? = nil, isTimeout: Bool = false, at callSite: CallSite
  ) {
    let lines = [
      message, comment?.rawValue, noteOnRealSleeps, isTimeout ? noteOnPossiblySkippedWait : nil,
      debugDescription,
    ]
    recordFailure(lines.compactMap(\.self).joined(separator: "\n"), at: callSite)
  }
}

extension VirtualTime {
  /// Moves time from deadline to deadline until `condition` holds, and expects that it holds within `limit`.
  ///
  /// See ``TestClock/eventually(within:_:fileID:filePath:line:column:_:)``.
  ///
  /// - Returns: The time that has passed; or `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func eventually(
    within limit: Duration, _ comment: Comment? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Duration? {
    try await clock.eventually(
      within: limit, comment, fileID: fileID, filePath: filePath, line: line, column: column,
      condition)
  }

  /// Moves time from deadline to deadline by `limit`, and expects that `condition` never holds. Stops if it does.
  ///
  /// See ``TestClock/never(within:_:fileID:filePath:line:column:_:)``.
  ///
  /// - Returns: Whether the condition never held; `false` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func never(
    within limit: Duration, _ comment: Comment? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Bool {
    try await clock.never(
      within: limit, comment, fileID: fileID, filePath: filePath, line: line, column: column,
      condition)
  }
}

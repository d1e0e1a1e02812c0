import Clocks
import ClocksSupport
public import Testing

extension TestClock {
  /// Moves time from deadline to deadline until `condition` holds, and expects it to hold at some
  /// time up to `limit` from now.
  ///
  /// ```swift
  /// let time = try #require(
  ///   await clock.eventually(within: .seconds(5)) { await counter.value == 3 })
  /// #expect(time == .seconds(3))
  /// ```
  ///
  /// The condition is asked when every task of the test has run as far as it can: at first without
  /// time having moved, then after all that happens at each deadline, and at last when time has
  /// moved by exactly `limit`. Between two deadlines nothing can change, so the result is exact. It
  /// stays exact when somebody else moves time meanwhile: the condition is asked before time moves
  /// on.
  ///
  /// In a scope in which time moves by itself, it is as patient as the scope: time stands still
  /// while somebody is in `VirtualTime.holding(_:)`, and moves only after the scope's pause, if it
  /// has one. So do not call it in `holding`, as you would not sleep there. Elsewhere it cannot know
  /// of work that is done by a thread or a socket: await that first.
  ///
  /// If the condition does not hold in time, that is recorded as a failure of the test, with the
  /// time and the pending sleeps. So is a negative limit, with which the condition is not asked;
  /// and a test that never comes to rest, with ten million wakes within the limit. On cancellation
  /// the condition is asked once more, and if it does not hold, that is a failure, too: nobody can
  /// know any more. What `condition` throws is thrown, and time stays where it is.
  ///
  /// O(k log n + jobs that run) for k of n pending sleeps that wake, and at most k + 2 calls of
  /// `condition`, and one more each time that something comes back from outside.
  ///
  /// The idea is that of Nimble's `toEventually`, which asks every ten milliseconds of real time.
  ///
  /// - Parameters:
  ///   - limit: How far time may move from now. What comes at the limit itself is in time.
  ///   - comment: What the condition means, for a failure.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  ///   - condition: What is waited for. It should look, and not wait for anything itself: an answer
  ///     that comes when more than `limit` has passed does not count.
  /// - Returns: How much time has passed; or `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func eventually(
    within limit: Duration, _ comment: Comment? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Duration? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let name = "TestClock.eventually(within:)"
    let start = now
    switch try await follow(
      upTo: limit, isPaced: true, as: name, at: callSite, until: condition)
    {
    case .holds:
      return start.duration(to: now)
    case .limitReached:
      fail("The condition did not hold at any time within \(limit).", comment, at: callSite)
    case .cancelled:
      let time = start.duration(to: now)
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

  /// Moves time from deadline to deadline, by exactly `limit`, and expects that `condition` holds
  /// at no time on the way.
  ///
  /// ```swift
  /// await clock.never(within: .milliseconds(2999)) { await counter.value == 3 }
  /// ```
  ///
  /// The condition is asked as by
  /// ``eventually(within:_:fileID:filePath:line:column:_:)``. If it holds, that is recorded as a
  /// failure of the test, with the time at which it does, and time stays there. A limit of zero
  /// asks about the present only. A negative limit, a test that never comes to rest, cancellation
  /// and errors are what they are there, and so is the cost.
  ///
  /// The idea is that of Nimble's `toNever`.
  ///
  /// - Parameters:
  ///   - limit: How far time is moved. The limit itself is included.
  ///   - comment: What the condition means, for a failure.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  ///   - condition: What must not be. It should look, and not wait for anything itself.
  /// - Returns: Whether it never held; `false` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func never(
    within limit: Duration, _ comment: Comment? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Bool {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let name = "TestClock.never(within:)"
    let start = now
    switch try await follow(
      upTo: limit, isPaced: true, as: name, at: callSite, until: condition)
    {
    case .holds:
      let time = start.duration(to: now)
      fail(
        "The condition held after \(time), but should not at any time within \(limit).", comment,
        at: callSite)
    case .limitReached:
      return true
    case .cancelled:
      let time = start.duration(to: now)
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

  /// Records a failure, with the time and the pending sleeps.
  func fail(_ message: String, _ comment: Comment? = nil, at callSite: CallSite) {
    let lines = [message, comment?.rawValue, debugDescription]
    recordFailure(lines.compactMap(\.self).joined(separator: "\n"), at: callSite)
  }
}

extension VirtualTime {
  /// Moves time from deadline to deadline until `condition` holds, and expects it to hold at some
  /// time up to `limit` from now.
  ///
  /// See ``TestClock/eventually(within:_:fileID:filePath:line:column:_:)``.
  ///
  /// - Returns: How much time has passed; or `nil` if a failure was recorded.
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

  /// Moves time from deadline to deadline, by exactly `limit`, and expects that `condition` holds
  /// at no time on the way.
  ///
  /// See ``TestClock/never(within:_:fileID:filePath:line:column:_:)``.
  ///
  /// - Returns: Whether it never held; `false` if a failure was recorded.
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

import ClocksSupport

extension TestClock {
  /// Moves the clock's time forward from deadline to deadline until `condition` holds, but not
  /// beyond `limit`.
  ///
  /// The condition is asked when every task of the test has run as far as it can: at first without
  /// time having moved, then after all that happens at each deadline, and at last when time has
  /// moved by `limit`. Between two deadlines nothing can change, so no change is missed. Nor is any
  /// that happens while somebody else moves time: the condition is asked before time moves on, and
  /// several such calls at once see the same instants.
  ///
  /// On cancellation it goes no further: the condition is asked once more, and that is the result.
  /// An answer that comes when more than `limit` has passed does not count.
  /// What `condition` throws ends it, and time stays where it is. O(k log n + jobs that run) for k
  /// of n pending sleeps that wake, and at most k + 2 calls of `condition`.
  ///
  /// - Parameters:
  ///   - limit: How far time may move from now. A negative limit is recorded as a failure of the
  ///     test, and so is one within which sleeps wake without end; the result is `false`.
  ///   - condition: What is waited for. It should look, and not wait for anything itself.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  /// - Returns: Whether the condition holds. If not, time has moved by `limit`.
  @discardableResult
  public nonisolated(nonsending) func advance(
    upTo limit: Duration, until condition: nonisolated(nonsending) () async throws -> Bool,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async rethrows -> Bool {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let outcome = try await follow(
      upTo: limit, isPaced: false, as: "TestClock.advance(upTo:until:)", at: callSite,
      until: condition)
    return outcome == .holds
  }

  /// Moves time as ``advance(upTo:until:fileID:filePath:line:column:)`` does, for a test kit that
  /// wants to know how it ended.
  ///
  /// - Parameters:
  ///   - isPaced: Whether time moves only when it may move by itself, in a scope in which it does:
  ///     not while somebody holds it, nor before its pause is over.
  ///   - name: What has been called, for a failure.
  package nonisolated(nonsending) func follow(
    upTo limit: Duration, isPaced: Bool, as name: String, at callSite: CallSite,
    until condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> FollowOutcome {
    guard limit >= .zero else {
      recordFailure(
        ClockFailure.negativeLimit("\(limit)", in: name, now: "\(now)"), at: callSite)
      return .failed
    }
    let isPaced = isPaced && virtualClock === scheduler.scope?.virtualClock
    let end = now.advanced(by: limit)
    var known: Instant?
    var jobsFromOutside: UInt64 = 0
    var wakes = 0
    while true {
      let isOwn = scheduler.admitCurrentTask(among: virtualClock.users)
      if !isOwn { checkUseByOtherTest(name, at: callSite) }
      let observer = VirtualClockObserver(
        virtualClock, isOwn: isOwn, isPaced: isPaced, after: known?.offset,
        jobsFromOutside: jobsFromOutside, upTo: end.offset)
      await scheduler.observe(with: observer)
      wakes += observer.wakes
      let enough: Int
      (enough, jobsFromOutside) = scheduler.change {
        ($0.runaway.limits.wakes, $0.idleWaiters.jobsFromOutside)
      }
      if let runaway = observer.runaway ?? (wakes > enough ? .wakes(wakes) : nil) {
        report(runaway, by: name, at: callSite)
        return .failed
      }
      let now = now
      // Somebody else has moved time. Nothing has happened up to the end, or we would know.
      guard now <= end else { return .limitReached }
      if try await condition() { return self.now <= end ? .holds : .limitReached }
      if now == end { return .limitReached }
      if Task.isCancelled { return .cancelled }
      known = now
    }
  }
}

/// How ``TestClock/follow(upTo:isPaced:as:at:until:)`` ended.
package enum FollowOutcome: Sendable {
  /// The condition holds.
  case holds
  /// It did not hold up to the limit.
  case limitReached
  /// The task was cancelled, and the condition did not hold by then.
  case cancelled
  /// It was not to be known, which has been recorded.
  case failed
}

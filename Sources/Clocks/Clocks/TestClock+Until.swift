import ClocksSupport

extension TestClock {
  /// Moves the clock's time from deadline to deadline until `condition` holds, but not beyond `limit`.
  ///
  /// The condition is evaluated when the test's tasks have run as far as they can: first before time moves,
  /// then after everything that happens at each deadline, and last when time has moved by `limit`. Between
  /// two deadlines nothing changes, so no change is missed. That also holds for changes while another task
  /// moves time: the condition is evaluated before time moves on. Concurrent calls see the same instants.
  ///
  /// On cancellation the condition is evaluated once more, which is the result. If evaluating it takes the
  /// clock beyond `limit`, the result is `false`. An error of `condition` is rethrown, and time stays.
  ///
  /// O(k log n + jobs that run) for k of n pending sleeps that wake, and at most k + 2 calls of `condition`.
  ///
  /// - Parameters:
  ///   - limit: How far time may move from now. A negative limit is recorded as a failure of the test, and
  ///     so is one within which sleeps wake without end; the result is `false`.
  ///   - condition: The condition. It should read state, and not wait itself.
  ///   - fileID: Where a failure is recorded, with `filePath`, `line` and `column`.
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

  /// Moves time as ``advance(upTo:until:fileID:filePath:line:column:)`` does, and returns how it ended.
  ///
  /// - Parameters:
  ///   - isPaced: Whether time moves only when auto-advance would move it, in a scope with auto-advance: not
  ///     during `holding`, and not before the scope's pause is over.
  ///   - name: The name of the public function, for failures.
  package nonisolated(nonsending) func follow(
    upTo limit: Duration, isPaced: Bool, as name: String, at callSite: CallSite,
    until condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> FollowOutcome {
    guard limit >= .zero else {
      recordFailure(ClockFailure.negativeLimit("\(limit)", in: name, now: "\(now)"), at: callSite)
      return .failed
    }
    let isPaced = isPaced && virtualClock === scheduler.scope?.virtualClock
    let end = now.advanced(by: limit)
    var known: Instant?
    var jobsFromOutside: UInt64 = 0
    var wakes = 0
    while true {
      let observer = VirtualClockObserver(
        virtualClock, isOwn: admitCurrentTask(as: name, at: callSite), isPaced: isPaced,
        after: known?.offset, jobsFromOutside: jobsFromOutside, upTo: end.offset)
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
      // Another task has moved time. The observer saw every earlier instant, so nothing happened up to `end`.
      guard now <= end else { return .limitReached }
      if try await condition() { return self.now <= end ? .holds : .limitReached }
      if now == end { return .limitReached }
      if Task.isCancelled { return .cancelled }
      known = now
    }
  }
}

/// The end of a call of ``TestClock/follow(upTo:isPaced:as:at:until:)``.
package enum FollowOutcome: Sendable {
  /// The condition holds.
  case holds
  /// The condition did not hold up to the limit.
  case limitReached
  /// The task was cancelled, and the condition did not hold by then.
  case cancelled
  /// A failure was recorded.
  case failed
}

import ClocksSupport

extension TestClock {
  /// Runs the test's tasks as far as they can without moving time.
  ///
  /// When it returns, no task of the test except the caller is running or could run. An advance that is
  /// under way continues afterwards.
  ///
  /// A task that is always ready (`while true { await Task.yield() }`) would keep the call from returning.
  /// After ten million jobs the call returns, and a failure of the test is recorded.
  ///
  /// Cancellation has no effect. O(jobs that run).
  public nonisolated(nonsending) func settle(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let isOwn = scheduler.admitCurrentTask(among: virtualClock.users)
    let waiter = await scheduler.settle(isOwn: isOwn)
    report(waiter.runaway, by: "TestClock.settle()", at: callSite)
  }

  /// Runs the test's tasks as far as they can, and throws if a task still sleeps on this clock.
  ///
  /// Call it in the last line of a test whose code should have ended by then. Time does not move.
  /// Cancellation has no effect. O(jobs that run).
  /// - Throws: ``SuspensionError``, which lists the pending sleeps.
  public nonisolated(nonsending) func checkSuspension(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async throws {
    await settle(fileID: fileID, filePath: filePath, line: line, column: column)
    let pending = pendingSleeps
    guard pending.isEmpty else {
      throw SuspensionError(
        now: "\(now)", pendingSleeps: pending.map(\.description), dump: scheduler.dumpTasks())
    }
  }

  /// Moves the clock's time forward by `duration`, and runs the test's tasks as far as they can.
  ///
  /// First the test's tasks run until none can. Then, deadline by deadline, the clock's time is set to the
  /// deadline, one sleep is woken, and the tasks run again until none can. A sleep that is registered during
  /// the advance wakes in the same advance, at its own deadline, if that is not after the target. At the end
  /// the clock's time is set to the target.
  ///
  /// Concurrent advances of one clock are queued and add up. If a task that an advance has woken advances the
  /// same clock, that advance is queued, too. Advances of different clocks of a test move in step; clocks with
  /// durations of a custom type move one after another. With the default duration of zero, the tasks run and
  /// time stays.
  ///
  /// Cancellation has no effect. The call returns before time is at the target only if the test never becomes
  /// idle: after ten million jobs without a pause, or ten million wakes, a failure of the test is recorded.
  /// O(k log n + jobs that run), for k of n pending sleeps that wake.
  ///
  /// - Parameters:
  ///   - duration: How far to move; with `Swift.Duration`, at most to the end of its range. A negative duration
  ///     is recorded as a failure of the test, and time stays.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public nonisolated(nonsending) func advance(
    by duration: Duration = .zero,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let actor = #isolation
    let isOnActor = if case nil = actor { false } else { true }
    guard let advance = newAdvance(by: duration, isOnActor: isOnActor, at: callSite) else { return }
    await scheduler.wait(advance)
    report(advance.runaway, by: "TestClock.advance(by:)", at: callSite)
  }

  /// Moves the clock's time forward to `deadline`, and runs the test's tasks as far as they can.
  ///
  /// The call has the guarantees, the behavior on cancellation and the cost of
  /// ``advance(by:fileID:filePath:line:column:)``. If an earlier advance moves time beyond `deadline`, the tasks run
  /// and time stays.
  ///
  /// - Parameters:
  ///   - deadline: The target. A deadline in the past is recorded as a failure of the test, and time stays.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public nonisolated(nonsending) func advance(
    to deadline: Instant,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let now = now
    guard deadline >= now else {
      return recordFailure(
        ClockFailure.instantInThePast(
          "\(deadline)", in: publicName("TestClock.advance(to:)"), now: "\(now)"), at: callSite)
    }
    let target = virtualClock.key(for: deadline.offset)
    _ = await advance(.instant(target), as: "TestClock.advance(to:)", at: callSite)
  }

  /// Moves the clock's time forward to the next deadline, wakes the sleeps that are due, and runs the
  /// test's tasks as far as they can.
  ///
  /// Cancellation has no effect. O(k log n + jobs that run), for k of n pending sleeps that wake.
  /// - Returns: The deadline; `nil` if no sleep was pending, in which case time has not moved.
  @discardableResult
  public nonisolated(nonsending) func advanceToNextSleep(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Instant? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let advance = await advance(
      .nextDeadline, as: "TestClock.advanceToNextSleep()", at: callSite)
    return advance.target.map(instant)
  }

  /// Moves the clock's time forward from deadline to deadline until no sleep is pending.
  ///
  /// After each wake the test's tasks run as far as they can. A task that always sleeps again would keep the
  /// call from returning. So the call stops after `timeout`, or after ten million wakes. Then a failure of the
  /// test is recorded, with the pending sleeps.
  ///
  /// Cancellation has no effect. O(k log n + jobs that run), for k sleeps that wake.
  ///
  /// - Parameters:
  ///   - timeout: How much real time the call may take; half a second by default. Time in which the test
  ///     waits for a thread does not count. The limit applies only after a hundred thousand wakes, so that a
  ///     slow machine does not fail the test. A negative timeout is recorded as a failure of the test, and time stays.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public nonisolated(nonsending) func run(
    timeout: Swift.Duration = .milliseconds(500),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard timeout >= .zero else {
      return recordFailure(
        ClockFailure.negativeTimeout(
          "\(timeout)", in: publicName("TestClock.run(timeout:)"), now: "\(now)"), at: callSite)
    }
    let run = await advance(
      .lastDeadline(limit: RealTime(in: timeout)), as: "TestClock.run()", at: callSite)
    guard run.ranOutOfTime else { return }
    recordFailure(
      ClockFailure.endlessRun(
        timeout: "\(timeout)", wakes: run.wakes,
        passed: "\(instant(run.start).duration(to: now))",
        pending: pendingSleeps.map(\.description)
      ).with(scheduler.dumpTasks()), at: callSite)
  }

  /// Queues an advance and waits for its end.
  private nonisolated(nonsending) func advance(
    _ aim: AdvanceAim, as name: String, at callSite: CallSite
  ) async -> Advance {
    let isOwn = admitCurrentTask(as: name, at: callSite)
    let advance = Advance(virtualClock, isOwn: isOwn, aim)
    await scheduler.wait(advance)
    report(advance.runaway, by: name, at: callSite)
    return advance
  }

  /// Returns an advance by a duration; `nil` if the duration is negative, which is recorded, or if time has moved.
  ///
  /// Time moves immediately if nothing can run or wake before. If the caller is on an actor, this is not known: a task
  /// may wait there for the caller to be suspended.
  ///
  /// This function is not asynchronous, so that it can be specialized.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  @inline(never)
  private func newAdvance(
    by duration: Duration, isOnActor: Bool, at callSite: CallSite
  ) -> Advance? {
    let given = virtualClock.key(for: duration)
    guard !virtualClock.sleeps.isLater(.zero, than: given) else {
      recordNegative(duration, at: callSite)
      return nil
    }
    let taskID = UnownedTask.currentID ?? 0
    // If time moves here, the scheduler runs a job of the task, so it has admitted the task before.
    if !isOnActor, scheduler.movesTime(of: virtualClock, by: given, inJobOf: taskID) { return nil }
    let isOwn = admitCurrentTask(taskID, as: "TestClock.advance(by:)", at: callSite)
    return Advance(virtualClock, isOwn: isOwn, .duration(given))
  }

  /// Separate from `newAdvance`, whose first instructions would otherwise look up the metadata of `Instant`.
  @inline(never)
  private func recordNegative(_ duration: Duration, at callSite: CallSite) {
    recordFailure(
      ClockFailure.negativeDuration(
        "\(duration)", in: publicName("TestClock.advance(by:)"), now: "\(now)"), at: callSite)
  }

  /// Whether the clock reads the time of a scope, so that the test may know it as `VirtualTime`.
  var isOfScope: Bool { virtualClock === scheduler.scope?.virtualClock }

  /// Returns the public name of a method, for failures: a method of `VirtualTime` if this is a scope's clock.
  package func publicName(_ name: String) -> String {
    let type = "TestClock."
    guard isOfScope, name.hasPrefix(type) else { return name }
    return "VirtualTime." + name.dropFirst(type.count)
  }

  /// Records a failure if the test never becomes idle.
  @inline(__always)
  func report(_ runaway: Runaway?, by name: String, at callSite: CallSite) {
    if let runaway { record(runaway, by: name, at: callSite) }
  }

  /// Separate from `report`, because the first instructions of this function look up metadata.
  @inline(never)
  private func record(_ runaway: Runaway, by name: String, at callSite: CallSite) {
    recordFailure(
      ClockFailure.runaway(
        runaway, in: publicName(name), now: "\(now)", pending: pendingSleeps.map(\.description)
      ).with(scheduler.dumpTasks()), at: callSite)
  }
}

extension TestClock {
  /// Moves the clock's time from deadline to deadline until `condition` holds, but not beyond `limit`.
  ///
  /// The condition is evaluated whenever the test's tasks have run as far as they can. That is before time
  /// moves, after all jobs at each deadline, and when time has moved by `limit`. Between two deadlines
  /// nothing changes, so no change is missed. No change is missed either if another task moves time: the
  /// condition is evaluated before each such move. Concurrent calls see the same instants.
  ///
  /// On cancellation, the condition is evaluated once more, and its value is the result. If the evaluation
  /// itself moves time beyond `limit`, the result is `false`. An error of `condition` is rethrown, and time
  /// stays.
  ///
  /// O(k log n + jobs that run) for k of n pending sleeps that wake. `condition` is called at most k + 2 times,
  /// once more for each other move of time, and in a scope once more for each job that external work makes ready.
  ///
  /// - Parameters:
  ///   - limit: How far time may move from now. A negative limit is recorded as a failure of the test, and so
  ///     are ten million wakes within the limit. The result is then `false`.
  ///   - condition: The condition. It should read state, and not wait itself.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  /// - Returns: Whether the condition holds. If not, time has moved by `limit`, or less if the task was cancelled
  ///   or a failure was recorded.
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
  ///   - isPaced: Whether, in a scope with auto-advance, time moves only when auto-advance would move it: not
  ///     during `holding`, and not before the pause of `jumpsAfter` is over.
  ///   - name: The name of the public function, for failures.
  package nonisolated(nonsending) func follow(
    upTo limit: Duration, isPaced: Bool, as name: String, at callSite: CallSite,
    until condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> FollowOutcome {
    guard limit >= .zero else {
      recordFailure(
        ClockFailure.negativeLimit("\(limit)", in: publicName(name), now: "\(now)"), at: callSite)
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
        after: known.map { virtualClock.key(for: $0.offset) }, jobsFromOutside: jobsFromOutside,
        upTo: virtualClock.key(for: end.offset))
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
      // Another task moved time beyond `end`. The observer saw every earlier instant: nothing changed up to `end`.
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
  case holds, limitReached
  /// The task was cancelled, and the condition did not hold by then.
  case cancelled
  /// A failure was recorded.
  case failed
}

import ClocksSupport

extension TestClock {
  // MARK: - Without moving time

  /// Lets every task of the test run as far as it can, without moving time.
  ///
  /// When it returns, no task of the test is running and none could run, apart from the caller. If
  /// an advance is under way, it goes on afterwards.
  ///
  /// A task that never stops being ready (`while true { await Task.yield() }`) would keep it from
  /// returning: after ten million jobs it gives up, and that is recorded as a failure of the test.
  ///
  /// Cancellation has no influence. O(jobs that run).
  ///
  /// - Parameters:
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public nonisolated(nonsending) func settle(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async {
    let runaway = await scheduler.settle(among: virtualClock.users)
    report(
      runaway, in: "settle()",
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  /// Lets every task of the test run as far as it can, and throws if one of them still sleeps on
  /// this clock.
  ///
  /// A test's last line, when the code under test should have come to its end. Time does not move.
  ///
  /// - Parameters:
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  /// - Throws: ``SuspensionError``, which names the pending sleeps.
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

  // MARK: - Moving time

  /// Moves the clock's time forward by `duration`, and lets every task of the test run as far as it
  /// can.
  ///
  /// First the test's tasks run until none can. Then, deadline by deadline, the clock's time is set
  /// to the deadline, one sleep is woken, and the test's tasks run again until none can; a sleep
  /// that is registered on the way and falls due on the way is woken on the way, at its own
  /// deadline. At last the clock's time is set to the target.
  ///
  /// Several advances at once are queued, and add up; so is one that is called by a task which an
  /// advance has woken. By default the duration is zero: then the test's tasks run, and time stays.
  ///
  /// Cancellation has no influence: an advance is always carried out whole. O(k log n + jobs that
  /// run), for k of n pending sleeps that wake.
  ///
  /// - Parameters:
  ///   - duration: How far to move. A negative duration is recorded as a failure of the test, and
  ///     time stays.
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
    guard let advance = newAdvance(by: duration, at: callSite) else { return }
    await scheduler.wait(advance)
    report(advance.runaway, in: "advance(by:)", at: callSite)
  }

  /// Moves the clock's time forward to `deadline`, and lets every task of the test run as far as it
  /// can.
  ///
  /// See ``advance(by:fileID:filePath:line:column:)``, which guarantees the same. If an advance
  /// that is under way has passed `deadline` when this one's turn comes, the test's tasks run and
  /// time stays.
  ///
  /// - Parameters:
  ///   - deadline: Where to move. A deadline in the past is recorded as a failure of the test, and
  ///     time stays.
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
        ClockFailure.instantInThePast("\(deadline)", now: "\(now)"), at: callSite)
    }
    _ = await move(at: callSite, as: "advance(to:)", .instant, deadline.offset)
  }

  /// Moves the clock's time forward to the next deadline, wakes every sleep that is due then, and
  /// lets every task of the test run as far as it can.
  ///
  /// Cancellation has no influence. O(k log n + jobs that run), for k of n pending sleeps that
  /// wake.
  ///
  /// - Parameters:
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  /// - Returns: The deadline; or `nil` if no sleep was pending, and then time has not moved.
  @discardableResult
  public nonisolated(nonsending) func advanceToNextSleep(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Instant? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let end = await move(at: callSite, as: "advanceToNextSleep()", .nextDeadline)
    return end.map(Instant.init(offset:))
  }

  /// Moves the clock's time forward from deadline to deadline until no sleep is pending.
  ///
  /// Like any advance, it lets every task of the test run as far as it can after each wake. A task
  /// that sleeps again and again keeps it going: then it stops after `timeout`, and that is
  /// recorded as a failure of the test, with the sleeps that are pending.
  ///
  /// Cancellation has no influence. O(k log n + jobs that run), for k sleeps that wake.
  ///
  /// - Parameters:
  ///   - timeout: How much real time it may take; half a second by default. The time does not count
  ///     in which the test waits for a thread, and a hundred thousand wakes, for which half a second is
  ///     enough on a quiet machine, are allowed in any case: a busy machine is not the test's failure.
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
    let isOwn = scheduler.admitCurrentTask(among: virtualClock.users)
    if !isOwn { checkUseByOtherTest("TestClock.run()", at: callSite) }
    let run = newRun(isOwn: isOwn, limit: RealTime(in: timeout))
    await scheduler.wait(run)
    report(run.runaway, in: "run()", at: callSite)
    guard run.ranOutOfTime else { return }
    recordFailure(
      ClockFailure.endlessRun(
        timeout: "\(timeout)", wakes: run.wakes, passed: "\(now.offset - run.start)",
        pending: pendingSleeps.map(\.description)
      ).with(scheduler.dumpTasks()), at: callSite)
  }

  // MARK: - How

  /// An advance by a duration; `nil` if the duration is negative, and that is recorded. Apart from what is
  /// asynchronous, so that it can be specialized.
  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
  @inline(never)
  private func newAdvance(by duration: Duration, at callSite: CallSite) -> IdleWaiter? {
    guard duration >= .zero else {
      recordNegative(duration, at: callSite)
      return nil
    }
    let isOwn =
      scheduler.isRunningCurrentTask
      || scheduler.admitCurrentTask(among: virtualClock.users)
    if !isOwn { checkUseByOtherTest("TestClock.advance(by:)", at: callSite) }
    if let duration = duration as? Swift.Duration {
      let virtualClock = unsafeDowncast(virtualClock, to: VirtualClock<Swift.Duration>.self)
      return StandardDurationAdvance(virtualClock, isOwn: isOwn, .duration, duration)
    }
    return Advance(virtualClock, isOwn: isOwn, .duration, duration)
  }

  private func newRun(isOwn: Bool, limit: RealTime) -> RunUntilEmpty<Duration> {
    guard Duration.self == Swift.Duration.self else {
      return RunUntilEmpty(virtualClock, isOwn: isOwn, limit: limit)
    }
    let virtualClock = unsafeDowncast(virtualClock, to: VirtualClock<Swift.Duration>.self)
    return unsafeDowncast(
      StandardDurationRun(virtualClock, isOwn: isOwn, limit: limit),
      to: RunUntilEmpty<Duration>.self)
  }

  @inline(never)
  private func recordNegative(_ duration: Duration, at callSite: CallSite) {
    recordFailure(ClockFailure.negativeDuration("\(duration)", now: "\(now)"), at: callSite)
  }

  /// Queues an advance whose target is known when its turn comes and the scheduler is idle.
  private nonisolated(nonsending) func move(
    at callSite: CallSite, as name: String, _ aim: Advance<Duration>.Aim, _ given: Duration = .zero
  ) async -> Duration? {
    let isOwn = scheduler.admitCurrentTask(among: virtualClock.users)
    if !isOwn { checkUseByOtherTest("TestClock.\(name)", at: callSite) }
    let advance = Advance(virtualClock, isOwn: isOwn, aim, given)
    await scheduler.wait(advance)
    report(advance.runaway, in: name, at: callSite)
    return advance.target
  }

  /// Records that the test never comes to rest, if so.
  private func report(_ runaway: Runaway?, in name: String, at callSite: CallSite) {
    if let runaway { report(runaway, by: "TestClock.\(name)", at: callSite) }
  }

  /// Records that the test never comes to rest.
  func report(_ runaway: Runaway, by name: String, at callSite: CallSite) {
    recordFailure(
      ClockFailure.runaway(
        runaway, in: name, now: "\(now)", pending: pendingSleeps.map(\.description)
      ).with(scheduler.dumpTasks()), at: callSite)
  }
}

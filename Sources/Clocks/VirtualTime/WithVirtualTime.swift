import ClocksSupport

/// Runs `operation` in a scope in which all time is virtual, and returns what it returns.
///
/// ```swift
/// @Test func aDayIsOverInNoTime() async throws {
///   try await withVirtualTime { time in
///     let poller = Task {
///       var answers = 0
///       while answers < 24 {
///         try await Task.sleep(for: .seconds(3600))
///         answers += 1
///       }
///       return answers
///     }
///     let answers = try await poller.value
///     #expect(answers == 24)
///     #expect(time.now == .init(offset: .seconds(86_400)))
///   }
/// }
/// ```
///
/// From its first instruction to its last, the operation and every task that it starts run one at a
/// time, first in, first out, in the same order in every run. When nothing can run, time jumps to
/// the next deadline, and the sleep that is due wakes; tasks see exactly its deadline. Sleeps that
/// nobody injected are virtual: `Task.sleep` and the sleeps of `ContinuousClock` and
/// `SuspendingClock`, in every kind of task. So are those of every `TestClock()` made in the scope.
///
/// The operation keeps the caller's isolation, and may use what is not `Sendable`. It need not be
/// over when tasks that it started are not: those that still sleep when it returns are cancelled.
///
/// Scopes nest: the inner one has a time of its own, and for the outer one no time passes
/// meanwhile; its other tasks run on. Scopes in tests that run side by side have nothing to do with
/// each other.
///
/// If the scope is stuck (nothing can run, no sleep is pending, the operation is not finished) for
/// a while of real time, or never comes to rest, then that is recorded as a failure of the test at
/// the caller's line, and the operation is cancelled. If it does not hear of that, all tasks that
/// sleep are cancelled as well.
///
/// What is left of a scope that has ended lives on in real time: the sleeps of its tasks on the
/// runtime's clocks are real ones, and its clock moves only if somebody advances it.
///
/// **Exactness.** A test binary that links ClocksTestKit reads virtual time from
/// `ContinuousClock.now`, `SuspendingClock.now` and `Date()` in the scope, and un-injected sleeps
/// are exact to the nanosecond. Without it those clocks read real time, and the length of such a
/// sleep is known only to some microseconds: it is rounded to four digits. On a runtime below
/// ``SchedulerCapability/executors`` un-injected sleeps take real time.
///
/// Cancellation of the caller is cancellation of the operation. Errors are the operation's. O(1)
/// besides.
///
/// - Parameters:
///   - autoAdvance: Whether time jumps when nothing can run; if not, the operation moves it by
///     hand.
///   - jumpsAfter: A pause in real time in which nothing may happen before time jumps; none by
///     default. For real work outside the scope, where there is no place to call
///     ``VirtualTime/holding(_:)``.
///   - leftoverSleeps: Whether tasks that still sleep, or run on without end, when the operation
///     returns are a failure of the test.
///   - stuckAfter: How much real time makes a scope in which nothing can run count as stuck; five
///     seconds by default.
///   - freezesDate: Whether `Date()` reads virtual time, too, where the clocks do.
///   - runningLimit: For how long the scope's tasks may run, in real time; a minute by default. The time
///     does not count in which nothing of the scope runs. A test that goes on for longer, a loop that
///     polls for what never comes, is a failure, and its operation is cancelled; if it runs on for
///     `stuckAfter`, so are all of its tasks.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
///   - operation: What to run; it is given the scope.
@discardableResult
public nonisolated(nonsending) func withVirtualTime<Result>(
  autoAdvance: Bool = true, jumpsAfter: Duration? = nil,
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, stuckAfter: Duration = .seconds(5),
  freezesDate: Bool = true, runningLimit: Duration = .seconds(60),
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column,
  operation: nonisolated(nonsending) (VirtualTime) async throws -> Result
) async throws -> Result {
  let options = ScopeOptions(
    autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleepsFail: leftoverSleeps == .fail,
    stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit)
  let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
  return try await VirtualTime(options, at: callSite).run(operation)
}

/// Runs `operation` as `withVirtualTime` does, for a test kit that knows better where a failure
/// belongs.
package nonisolated(nonsending) func withVirtualTime<Result>(
  autoAdvance: Bool, jumpsAfter: Duration?, leftoverSleeps: VirtualTime.LeftoverSleeps,
  stuckAfter: Duration, freezesDate: Bool, runningLimit: Duration,
  report: @escaping @Sendable (String) -> Void,
  operation: nonisolated(nonsending) (VirtualTime) async throws -> Result
) async throws -> Result {
  let options = ScopeOptions(
    autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleepsFail: leftoverSleeps == .fail,
    stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit)
  return try await VirtualTime(options, at: CallSite(), record: report).run(operation)
}

extension VirtualTime {
  /// Runs `operation` in the scope, in a child task of the current one.
  ///
  /// A child and not the current task itself, for then it can be cancelled when the scope is stuck.
  /// The current task is suspended all the while, so that nothing is used by both at the same time.
  func run<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) (VirtualTime) async throws -> Result
  ) async throws -> Result {
    // For the outer scope no time passes while the inner one is busy.
    let outer = VirtualTime.current
    outer?.scheduler.beginHold()
    defer { outer?.scheduler.endHold() }

    let slot = ResultSlot<Result>()
    await run(slot) {
      // A closure is isolated as its surroundings are if it captures their isolated parameter.
      _ = isolation
      return try await operation(self)
    }
    return try slot.take()
  }

  // Why in a closure: Swift 6.2 cannot let a function escape that takes its isolation over from its
  // caller.
  private func run<Result>(
    _ slot: ResultSlot<Result>, isolation: isolated (any Actor)? = #isolation,
    _ operation: () async throws -> Result
  ) async {
    await withoutActuallyEscaping(operation) { operation in
      _ = isolation
      nonisolated(unsafe) let child = child(slot, operation)
      await join(child)
    }
  }

  private func child<Result>(
    _ slot: ResultSlot<Result>, isolation: isolated (any Actor)? = #isolation,
    _ operation: @escaping () async throws -> Result
  ) -> @isolated(any) () async -> Void {
    {
      _ = isolation
      await self.begin()
      do {
        slot.result = .success(try await operation())
      } catch {
        slot.result = .failure(error)
        self.warnOfSkippedWait()
      }
      await self.end()
    }
  }

  /// Starts the child as the scope's, and awaits its end.
  @concurrent
  private func join(_ child: sending @escaping @isolated(any) () async -> Void) async {
    // It is sent into the group once, and used no more here; Swift 6.2 does not see that.
    let child = unsafeBitCast(child, to: (@Sendable @isolated(any) () async -> Void).self)
    await withTaskGroup { group in
      // Its first job waits for the end of this one: so the current task is suspended in every run, and
      // never finds that the child has come to its end already.
      scheduler.waitForCurrentJob()
      // Whatever is started on behalf of the scope's scheduler is the scope's.
      var context = ThreadContext(owner: scheduler, taskID: UnownedTask.currentID ?? 0)
      context.run { _ in group.addTask(operation: child) }
    }
  }

  /// Sees to it that the current task is the scope's and runs on its scheduler.
  nonisolated(nonsending) func begin() async {
    scheduler.beginScope()
    scheduler.recorder?.beginTest()
    guard Scheduler.ofThread !== scheduler else { return }
    // The task was started in the queue of an actor that was at work for somebody else.
    scheduler.takeOverCurrentTask()
    await scheduler.settleAsOwn()
  }

  /// Ends the scope.
  nonisolated(nonsending) func end() async {
    let problem = scheduler.endScope()
    await scheduler.waitForReport()
    await endLeftovers()
    scheduler.closeScope()
    scheduler.endRecording()
    if let problem { scheduler.report.record(scheduler.describe(problem)) }
  }

  /// Cancels the tasks that still sleep, or run without end, and those that they start, until none is
  /// left.
  private nonisolated(nonsending) func endLeftovers() async {
    let fails = scheduler.scope?.options.leftoverSleepsFail == true
    // Whoever has not come to rest by now is left behind, so it need not be waited for so long.
    scheduler.change { $0.runaway.limits.jobs = min($0.runaway.limits.jobs, 100_000) }
    var cancelled: Set<UInt64> = []
    var isReported = false
    for round in 0..<100 {
      if let neverIdles = await scheduler.settleUnlessNeverIdle() {
        if fails, !isReported {
          isReported = true
          record(LeftoverFailure.neverIdles(neverIdles.id, now: "\(now)"))
        }
        if cancelled.insert(neverIdles.id).inserted {
          neverIdles.cancel()
        } else {
          record(LeftoverFailure.ignoresCancellation(neverIdles.id))
          scheduler.change { $0.idleness.externalTasks.stop(neverIdles.id) }
        }
        continue
      }
      if round == 0 {
        scheduler.runEndedSleeps()
        await scheduler.settleAsOwn()
      }
      scheduler.handBackDelayedWork()
      let pending = scheduler.pendingSleeps
      guard !pending.isEmpty else { return }
      if fails, !isReported {
        isReported = true
        record(LeftoverFailure.asleep(now: "\(now)", pending: pending.map(\.line)))
      }
      scheduler.cancelSleepingTasks()
    }
    guard await scheduler.settleUnlessNeverIdle() == nil else { return }
    scheduler.handBackDelayedWork()
    let pending = scheduler.pendingSleeps.map(\.line)
    guard !pending.isEmpty else { return }
    record(LeftoverFailure.endless(pending: pending))
  }

  /// Records a failure, with where the tasks are.
  private func record(_ failure: String) {
    scheduler.report.record(failure.with(scheduler.dumpUnlessOneOfMany))
  }
}

/// Where a child task leaves its result for its parent.
private final class ResultSlot<Value> {
  var result: Result<Value, any Error>?

  func take() throws -> Value {
    guard let result else { preconditionFailure("Clocks: the operation has not ended.") }
    return try result.get()
  }
}

import ClocksSupport

/// Runs `operation` in a scope in which all time is virtual, and returns its result.
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
/// The operation and every task that it starts run one at a time, first in, first out, in the same order in
/// every run. When none can run, time jumps to the next deadline and the sleep that is due wakes; tasks read
/// exactly its deadline. Un-injected sleeps are virtual: `Task.sleep` and the sleeps of `ContinuousClock` and
/// `SuspendingClock`, in every kind of task. So are those of every `TestClock()` made in the scope.
///
/// The operation keeps the caller's isolation, and may use values that are not `Sendable`. It may return
/// before tasks that it started have ended; those that still sleep are cancelled.
///
/// Scopes nest. The inner scope has its own time. Until it ends, the time of the outer scope does not jump. The outer
/// scope's other tasks continue, and time in the inner scope does not jump before they have run. Scopes in tests that
/// run in parallel do not affect each other.
///
/// A scope is stuck if nothing can run, no sleep is pending, and the operation has not ended. If it is stuck
/// for `stuckAfter`, or never becomes idle, that is a failure of the test at the caller's line. The operation
/// is then cancelled. If the operation ignores its cancellation, all its tasks are cancelled.
///
/// Tasks that outlive the scope continue in real time. Their sleeps on the runtime's clocks are real. The
/// scope's clock then moves only if a task advances it.
///
/// **Exactness.** On Linux, in a test binary that links ClocksTestKit, `ContinuousClock.now`, `SuspendingClock.now`
/// and `Date()` read virtual time in the scope. Un-injected sleeps are then exact to the nanosecond. Elsewhere,
/// these clocks read real time. The scope then knows the length of an un-injected sleep only to some
/// microseconds, and rounds it up to four digits. Where ``SchedulingSelfTest/seesSleeps`` is `false`, un-injected
/// sleeps take real time.
///
/// Cancellation of the caller cancels the operation. The operation's errors are rethrown. A negative time is a failure,
/// and the standard value is used. The scope itself costs O(1).
///
/// - Parameters:
///   - autoAdvance: Whether time jumps when nothing can run. If `false`, the operation advances time.
///   - jumpsAfter: The pause in real time, without any event, before each jump of time; none by default. Use
///     it for real work outside the scope if the code cannot call ``VirtualTime/holding(_:)``.
///   - leftoverSleeps: Whether tasks that still sleep, or run without end, when the operation returns, are a
///     failure of the test.
///   - stuckAfter: The real time after which a scope in which nothing can run is stuck; by default five
///     seconds.
///   - freezesDate: Whether `Date()` reads virtual time where the clocks do.
///   - runningLimit: The real time for which the scope's tasks and blocks may run; a minute by default. Time in which
///     nothing of the scope runs does not count, and scopes that run in parallel share the time. Beyond the limit, a
///     failure is recorded and the operation is cancelled. If the test continues to run for `stuckAfter`, all of its
///     tasks are cancelled.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
///   - operation: The operation. It receives the scope.
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
    autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
    stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit)
  let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
  return try await VirtualTime(options, at: callSite).run(operation)
}

/// Runs `operation`, which does not need the scope, in a scope in which all time is virtual.
///
/// See the other `withVirtualTime`, whose operation receives the scope. In the operation,
/// ``VirtualTime/current`` is the scope.
@discardableResult
public nonisolated(nonsending) func withVirtualTime<Result>(
  autoAdvance: Bool = true, jumpsAfter: Duration? = nil,
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, stuckAfter: Duration = .seconds(5),
  freezesDate: Bool = true, runningLimit: Duration = .seconds(60),
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column,
  operation: nonisolated(nonsending) () async throws -> Result
) async throws -> Result {
  try await withVirtualTime(
    autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
    stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit,
    fileID: fileID, filePath: filePath, line: line, column: column
  ) { _ in try await operation() }
}

extension ScopeOptions {
  package init(
    autoAdvance: Bool, jumpsAfter: Duration?, leftoverSleeps: VirtualTime.LeftoverSleeps,
    stuckAfter: Duration, freezesDate: Bool, runningLimit: Duration
  ) {
    self.init(
      autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleepsFail: leftoverSleeps == .fail,
      stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit)
  }

  /// Returns these options with standard values in place of negative durations, and a failure that names them.
  func checked() -> (options: Self, problem: String?) {
    var options = self
    var wrong: [String] = []
    if let jumpsAfter, jumpsAfter < .zero {
      wrong.append("`jumpsAfter:` is \(jumpsAfter)")
      options.jumpsAfter = nil
    }
    if stuckAfter < .zero {
      wrong.append("`stuckAfter:` is \(stuckAfter)")
      options.stuckAfter = Self.standard.stuckAfter
    }
    if runningLimit < .zero {
      wrong.append("`runningLimit:` is \(runningLimit)")
      options.runningLimit = Self.standard.runningLimit
    }
    guard !wrong.isEmpty else { return (self, nil) }
    return (
      options,
      """
      The times of a scope cannot be negative, but \(wrong.joined(separator: " and ")). The standard value is \
      used instead. Pass zero or more, or leave the argument out.
      """
    )
  }
}

extension VirtualTime {
  /// Runs `operation` in a child task of the current task, so that it can be cancelled when the scope is
  /// stuck.
  ///
  /// The current task is suspended meanwhile, so the two tasks use no value concurrently.
  func run<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) (VirtualTime) async throws -> Result
  ) async throws -> Result {
    // The time of the outer scope does not jump while the inner one runs.
    let outer = VirtualTime.current
    outer?.scheduler.beginHold()
    defer { outer?.scheduler.endHold() }

    let slot = ResultSlot<Result>()
    await run(slot) {
      // A closure inherits the isolation only if it captures the isolated parameter.
      _ = isolation
      return try await operation(self)
    }
    guard let result = slot.result else {
      preconditionFailure("Clocks: the operation has not ended.")
    }
    return try result.get()
  }

  // The parameter is a closure, because Swift 6.2 cannot let a function escape if the function inherits its
  // caller's isolation.
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
        self.noteError()
      }
      await self.end()
    }
  }

  /// Warns if the error that the body threw may be a consequence of a jump of time during external work.
  func noteError() {
    guard let note = noteOnSkippedWait(afterTimeout: false) else { return }
    warn("withVirtualTime has thrown an error. \(note)", at: scheduler.report.origin)
  }

  /// Starts the child as a task of the scope, and awaits its end.
  @concurrent
  private func join(_ child: sending @escaping @isolated(any) () async -> Void) async {
    // The closure is sent into the group and not used here afterwards, which Swift 6.2 does not recognize.
    let child = unsafeBitCast(child, to: (@Sendable @isolated(any) () async -> Void).self)
    await withTaskGroup { group in
      // The child's first job waits for the end of the current job. So in every run the current task is suspended
      // before the child ends.
      scheduler.waitForCurrentJob()
      // A task that is started in a context of the scope's scheduler belongs to the scope.
      var context = ThreadContext(owner: scheduler, taskID: UnownedTask.currentID ?? 0)
      context.run { _ in group.addTask(operation: child) }
    }
  }

  /// Begins the scope. When this function returns, the scope's scheduler runs the current task.
  nonisolated(nonsending) func begin() async {
    // Each job of the task that runs the body restarts the counting of wakes.
    if let task = UnownedTask.current?.handle {
      scheduler.change { state in
        state.scope?.body.begin(task)
        state.runaway.rootTask = task.id
      }
    }
    scheduler.joinTestAround()
    scheduler.recorder?.beginTest()
    guard Scheduler.ofThread !== scheduler else { return }
    // The current task was started in an actor drain that works for another test.
    scheduler.takeOverCurrentTask()
    await scheduler.settle()
  }

  nonisolated(nonsending) func end() async {
    await scheduler.endInvariants()
    let handlers = scheduler.change { $0.scope?.endHandlers.take() }
    for handler in handlers ?? [] { handler() }
    // From here on, time does not jump any more.
    let problem = scheduler.change { $0.scope?.body.end() }?.problem
    // The body may have returned before it was cancelled.
    if problem != nil { scheduler.noteProblem() }
    await scheduler.waitForReport()
    await endLeftovers(hasProblem: problem != nil)
    scheduler.closeScope()
    scheduler.endRecording()
    if let problem { scheduler.report.record(scheduler.describe(problem)) }
  }

  /// Cancels tasks that still sleep or run without end, and those that they start, until none is left.
  ///
  /// - Parameter hasProblem: Whether a failure follows that also explains why work goes on.
  private nonisolated(nonsending) func endLeftovers(hasProblem: Bool) async {
    if scheduler.scope?.options.isUnedited == true {
      scheduler.runEndedSleeps()
      return scheduler.handBack()
    }
    var mustReport = scheduler.scope?.options.leftoverSleepsFail == true
    // A task that does not become idle now is abandoned, so a lower limit suffices.
    scheduler.change { $0.runaway.limits.jobs = min($0.runaway.limits.jobs, 100_000) }
    var (cancelled, stopped): (Set<UInt64>, Set<UInt64>) = ([], [])
    var haveEndedSleepsRun = false
    for round in 0...101 {
      let wait = await scheduler.settle()
      if case .endlessWork = wait.runaway {
        guard let absence = abandonWork() else { continue }
        if !hasProblem { record(LeftoverFailure.endlessWork(absence)) }
        scheduler.runEndedSleeps()
        return scheduler.cancelSleepingTasks()
      }
      if let neverIdles = wait.culprit {
        if mustReport {
          mustReport = false
          record(LeftoverFailure.neverIdles(neverIdles.id, now: "\(now)"))
        }
        if cancelled.insert(neverIdles.id).inserted {
          neverIdles.cancel()
        } else if stopped.insert(neverIdles.id).inserted {
          record(LeftoverFailure.ignoresCancellation(neverIdles.id))
          scheduler.change { $0.idleness.externalTasks.stop(neverIdles.id) }
        }
        continue
      }
      // The first round may find a task that never becomes idle, so this may come later.
      if !haveEndedSleepsRun {
        haveEndedSleepsRun = true
        scheduler.runEndedSleeps()
        continue
      }
      scheduler.handBack(onlyCallbacks: true)
      let pending = scheduler.pendingLines
      guard !pending.isEmpty else { return }
      guard round <= 100 else { return record(LeftoverFailure.endless(pending: pending)) }
      if mustReport {
        mustReport = false
        record(LeftoverFailure.asleep(now: "\(now)", pending: pending))
      }
      scheduler.cancelSleepingTasks()
    }
  }

  /// Stops waiting for external work, whose tasks are released without the lock. Returns that work; `nil` if there was
  /// none.
  private func abandonWork() -> Absence? {
    scheduler.change { state in
      let found = state.idleness.abandonExternalWork()
      if found.absence != nil { state.idleness.absenceWasReported() }
      return found
    }.absence
  }

  private func record(_ failure: String) {
    scheduler.report.record(failure.with(scheduler.dumpUnlessOneOfMany))
  }
}

private final class ResultSlot<Value> {
  var result: Result<Value, any Error>?
}

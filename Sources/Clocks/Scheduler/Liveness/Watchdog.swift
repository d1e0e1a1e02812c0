import ClocksSupport

/// Notices what would otherwise be a silent hang.
///
/// A job may block its thread, a test may sleep on a clock that no task advances, or external work may never return.
/// Then the test itself runs nothing. So a timer checks all schedulers regularly, and reports problems in their tests.
/// When all remaining tests were reported and do not end, the watchdog ends the process (`StuckTests`).
enum Watchdog {
  static func start() { _ = hasStarted }

  private static let hasStarted: Void = {
    let limit = Environment.blockedAfter
    XCTestFailures.observe(noteOnFailure: Scheduler.noteOnXCTestFailure)
    DumpSignal.start { Scheduler.dumpText(of: Scheduler.all) }
    // The interval is short, so that a report comes soon after the limit that its text states.
    let interval = limit.seconds / 40
    scheduleNextCheck(limit, every: .seconds(checksOften ? min(interval, 0.25) : interval))
  }()

  private static func scheduleNextCheck(_ limit: Duration, every interval: Duration) {
    RealTime(in: interval).schedule {
      MachineLoad.withoutCounting {
        let last = load.next(planned: interval)
        ServedTime.checkBegins(withholding: last?.withheld ?? 0, nextIn: interval)
        check(limit, last)
      }
      scheduleNextCheck(limit, every: interval)
    }
  }

  /// Whether tests were written for real time, so that the watchdog decides how long blocks keep time from jumping.
  ///
  /// Set at load, while the process has one thread.
  nonisolated(unsafe) static var checksOften = false

  /// Used by the timer only.
  nonisolated(unsafe) private static var load = MachineLoad()

  /// - Parameters:
  ///   - limit: The served time after which a problem is reported.
  ///   - interval: The interval that ended; `nil` if it continues.
  private static func check(_ limit: Duration, _ interval: MachineLoad.Interval?) {
    let isAnyBusy = Scheduler.isAnyBusy
    let isAnyRunning = Scheduler.isAnyRunning
    let all = Scheduler.all
    let schedulers = all.filter { $0.change { !$0.isAbandoned } }
    var hasEndedSleeps = false
    let haveScopes = Set(schedulers.compactMap(\.parent).map(ObjectIdentifier.init))
    if let interval { noteRunningTime(of: schedulers, in: interval, limit) }
    // An external task may have returned unseen.
    ExternalTaskRegistry.checkTasks()
    for scheduler in schedulers {
      scheduler.submitMainBlocksIfHeld()
      let goesOn = scheduler.scope?.options.goesOnWithout
      if let goesOn, scheduler.letOthersRun(after: min(limit, .seconds(1))) {
        goesOn(ParallelJob.reason)
      }
      if let blockage = scheduler.newBlockage(after: limit) {
        report(scheduler.withScopeDescription(blockage.description), of: scheduler) {
          scheduler.abort(blockage)
        }
      }
      let hasScope = haveScopes.contains(ObjectIdentifier(scheduler))
      let mayBeLost = scheduler.canFail && !scheduler.wasReported
      if let goesOn {
        // The work may wait for the test: that is not a mistake in an unedited suite.
        let patience = scheduler.waitsForEvents ? Duration.milliseconds(200) : .seconds(5)
        let threads = scheduler.heldThreads
        if let absence = scheduler.newAbsence(after: min(limit, patience)) {
          goesOn(absence.reason)
          ThreadWaits.endHolds(of: scheduler, on: threads)
          scheduler.continueAfterAbsence()
        }
      } else if let absence = scheduler.newAbsence(
        after: limit, isAnyRunning: isAnyRunning, mayBeLost: mayBeLost && !hasScope)
      {
        let description = absence.description(after: limit)
        report(scheduler.withScopeDescription(description), of: scheduler) {
          scheduler.continueAfterAbsence()
        }
      }
      let knowledge = scheduler.knowledgeOfAdvances
      if case .endless = knowledge { continue }
      // After a report the test has failed anyway, so its later sleeps end after a tenth of the limit.
      if let standstill = scheduler.newStandstill(
        after: knowledge == .known ? limit / 10 : limit, isAnyBusy: isAnyBusy, hasScope: hasScope,
        mayBeLost: mayBeLost)
      {
        hasEndedSleeps = true
        if knowledge == .known {
          scheduler.endSleepsAgain()
        } else {
          report(standstill, of: scheduler, after: limit)
        }
      }
    }
    // It is not known yet how the test continues. If it sleeps again, that is found before the test counts as stuck.
    if !hasEndedSleeps { StuckTests.check(all, after: limit) }
  }

  /// Adds the interval to the running time of tests, and reports those that have run for too long.
  ///
  /// Tests that run in parallel count as having shared the processor time of the process equally.
  private static func noteRunningTime(
    of schedulers: [Scheduler], in interval: MachineLoad.Interval, _ limit: Duration
  ) {
    let running = schedulers.filter { $0.change { $0.hasRun() } }
    let time = interval.runningTime(ofEachOf: running.count)
    for scheduler in running {
      if scheduler.scope != nil {
        scheduler.ran(for: time)
      } else if scheduler.newEndlessRun(after: limit * 2, time) {
        // The process-wide scheduler also runs the tests that come after.
        let isAbandoned = !scheduler.isProcessWide
        let failure = EndlessRun.description(after: limit * 2, isAbandoned: isAbandoned)
        report(failure, of: scheduler) {
          if isAbandoned { _ = scheduler.change { $0.abandon() } }
        }
      }
    }
  }

  /// Reports a failure in the scheduler's test, and then lets the test continue.
  private static func report(
    _ failure: String, of scheduler: Scheduler, at place: CallSite? = nil,
    _ goOn: @escaping @Sendable () -> Void
  ) {
    let place = place ?? scheduler.place
    let description = failure.with(scheduler.dumpTasks()) + scheduler.explanation
    scheduler.report.runInTest {
      scheduler.report.record(description, at: place)
      scheduler.noteReport()
      goOn()
    }
  }

  private static func report(
    _ standstill: Standstill, of scheduler: Scheduler, after limit: Duration
  ) {
    let description = standstill.description(after: limit)
    let place = standstill.sleeps.isEmpty ? scheduler.place : scheduler.placeOfSleep
    scheduler.noteForgottenAdvance()
    guard TestLibraries.isTestProcess, scheduler.canFail else {
      // No failure is recorded: the test may be over while another test takes long, or a program waits without a
      // test.
      return warn(description.with(scheduler.dumpTasks()), at: place)
    }
    let remedy = standstill.sleeps.isEmpty ? "" : "\n" + Standstill.sleepsEnd
    report(description + remedy, of: scheduler, at: place) {
      // If no task sleeps, a wake-up was lost. In a scope, an operation under `holding` waits for it.
      if standstill.sleeps.isEmpty { scheduler.abandonScope() } else { scheduler.cancelAllSleeps() }
    }
  }
}

// Each function named `new…` returns a finding once.
extension Scheduler {
  /// Returns the job that has held its thread for longer than its limit.
  ///
  /// That is `limit`, or a lower one for a lone job of a search. O(1); O(pending sleeps) if there is such a job.
  func newBlockage(after limit: Duration) -> Blockage? {
    change { state in
      let waiting = state.idleness.ready.count
      let othersWait = waiting > 0 || !state.idleWaiters.isEmpty || state.scope?.isAwaited == true
      let job = state.activity.running(state.idleness)
      if state.activity.blockage.isDue(othersWait ? job?.number : nil, after: limit), let job {
        return Blockage(
          task: job.task, number: job.number, limit: limit, waiting: waiting,
          isOnMain: state.idleness.isRunningOnMain, canAbandonTest: scope?.whenAbandoned != nil,
          hasDelayedBlock: scope?.virtualClock.sleeps.hasDelayedBlock == true)
      }
      // The process-wide owner also counts jobs that are not part of the test.
      guard !othersWait, !isProcessWide || state.activity.running != nil else { return nil }
      let alone = scope?.options.limitOfLoneJob(limit) ?? limit
      guard state.activity.loneJob.isDue(job?.number, after: alone), let job else { return nil }
      return Blockage(
        task: job.task, number: job.number, limit: alone, waiting: nil,
        hasDelayedBlock: scope?.virtualClock.sleeps.hasDelayedBlock == true)
    }
  }

  /// Submits the main queue's blocks that wait for jobs, if a job has held its thread since the last call.
  fileprivate func submitMainBlocksIfHeld() {
    change { state in
      let job = state.activity.running(state.idleness)?.number
      state.idleness.changeMainQueueOrder { $0.submitIfHeld(by: job) }
    }
  }

  /// Abandons a blocked job, so that the test can end. If the job ends after all, that has no effect.
  ///
  /// If nothing in the test waits for the job, or nothing can continue before the job ends, the whole test is
  /// abandoned, where that is possible.
  func abort(_ blockage: Blockage) {
    Self.jobBlocksThread()
    if blockage.waiting == nil { return abandonScope() }
    let isStuck = change { state in
      state.abandonJob(blockage.number)
      return state.idleness.abandonedOnMain != nil && state.idleness.isIdle && state.turn == nil
    }
    if isStuck { abandonScope() }
  }

  /// Returns the sleeps on clocks that no task advances, if nothing has happened for longer than `limit`.
  ///
  /// The list is empty if the test waits for a lost wake-up.
  ///
  /// - Parameters:
  ///   - hasScope: Whether a scope is under way within the test. A scope's own alarm rings when nothing happens.
  ///   - mayBeLost: Whether a wake-up may be lost, because the test is known and was not reported.
  func newStandstill(
    after limit: Duration, isAnyBusy: Bool = false, hasScope: Bool = false,
    mayBeLost: Bool = false
  ) -> Standstill? {
    // A test that is over waits for nothing, even if its tasks sleep.
    guard !isTestOver else { return nil }
    let found = change {
      $0.findStandstill(
        after: limit, isAnyBusy: isAnyBusy, hasScope: hasScope, mayBeLost: mayBeLost)
    }
    guard let found, found.sleeps.isEmpty else { return found }
    guard
      RealSleeps.mayWake(self) || change({ $0.activity.standstill.isProcessBusy })
        || MachineLoad.mayOutsideAct
    else { return found }
    // Work outside the test may still wake it up, so the limit begins again.
    change { $0.activity.standstill = Watch() }
    return nil
  }

  var explanation: String {
    recorder?.explanation.map { "\n" + $0 } ?? ""
  }

  /// Lets all sleeps of the test throw a `CancellationError`.
  ///
  /// All of them are on clocks of this package: un-injected sleeps continue in real time after the end of their scope.
  func cancelAllSleeps() {
    let sleepers = change { $0.virtualClocks.flatMap { $0.removeAllSleeps() } }
    for case .continuation(let sleeper, let isOwn) in sleepers { cancel(sleeper, isOwn: isOwn) }
  }

  /// Ends the sleeps of a test that was reported because it does not advance the clocks.
  ///
  /// Nothing ends if the test is not known: the report was a warning.
  func endSleepsAgain() {
    guard TestLibraries.isTestProcess, isTestKnown else { return }
    change { $0.forgottenAdvances.noteRepetition() }
    report.runInTest { self.cancelAllSleeps() }
  }
}

extension SchedulerState {
  var virtualClocks: [VirtualClock] { clocks.all + (scope.map { [$0.virtualClock] } ?? []) }

  /// Stops waiting for a job, unless it has ended.
  mutating func abandonJob(_ number: UInt64) {
    guard activity.running(idleness)?.number == number else { return }
    activity.jobHasEnded()
    idleness.abandonRunning()
    scope?.mustSetAlarm = true
  }

  fileprivate mutating func findStandstill(
    after limit: Duration, isAnyBusy: Bool, hasScope: Bool, mayBeLost: Bool
  ) -> Standstill? {
    let isHeld = scope.map { $0.body.isRunning && $0.pace.unlimitedHolds > 0 } ?? false
    let isIdle =
      idleness.askWhetherIdle() && idleWaiters.isEmpty && (isHeld || scope?.isOver ?? true)
      && !hasScope
    let virtualClocks = isIdle ? virtualClocks : []
    // For a sleep during a `holding`, the scope has an alarm. Without sleeps, a wake-up may be lost.
    let mayStandStill =
      virtualClocks.contains(where: \.hasSleeps)
      ? !isHeld : mayBeLost && (isHeld || scope == nil)
    // A test that calls `waitForSleeps` waits for work outside the test.
    let isWaiting = isIdle && mayStandStill && !virtualClocks.contains { !$0.waiters.isEmpty }
    let number = isWaiting ? activity.count : nil
    guard activity.standstill.isDue(number, after: limit, isPatient: isAnyBusy) else { return nil }
    return Standstill(
      sleeps: virtualClocks.filter(\.hasSleeps).map(\.pendingLines),
      nanoseconds: activity.standstill.nanoseconds)
  }
}

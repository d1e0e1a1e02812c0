import Testing

@testable import Clocks

/// How time moves in a scope, and what happens when it does not, tested on values.
@Suite struct ScopeStateTests {
  private func scope(
    _ options: ScopeOptions = ScopeOptions(), holds: Int = 0, unlimitedHolds: Int = 0
  ) -> ScopeState {
    let scope = ScopeState(Scope(options))
    scope.body.begin(.any())
    scope.pace.holds = holds
    scope.pace.unlimitedHolds = unlimitedHolds
    return scope
  }

  private static let options = {
    var options = ScopeOptions(jumpsAfter: .seconds(2), stuckAfter: .seconds(5))
    options.heldFor = .seconds(30)
    return options
  }()

  // MARK: - Alarms

  @Test func aPauseIsWaitedForOnlyWhereTimeIsToJump() {
    let scope = scope(Self.options)
    #expect(scope.setAlarm(isAwaited: true) == .init(number: 1, duration: .seconds(2)))
    #expect(scope.setAlarm(isAwaited: false) == .init(number: 2, duration: .seconds(5)))
    var options = Self.options
    options.autoAdvance = false
    let byHand = self.scope(options)
    #expect(byHand.setAlarm(isAwaited: true) == .init(number: 1, duration: .seconds(5)))
  }

  @Test func aHeldScopeIsStuckOnlyIfTheHoldHasNoLimitAndATaskWaits() {
    let held = scope(Self.options, holds: 2, unlimitedHolds: 2)
    #expect(held.setAlarm(isAwaited: true) == .init(number: 1, duration: .seconds(30)))
    #expect(held.setAlarm(isAwaited: false) == nil)
    let ends = scope(Self.options, holds: 2, unlimitedHolds: 1)
    #expect(ends.setAlarm(isAwaited: true) == nil)
  }

  @Test func aScopeWhoseBodyHasReturnedSetsNoAlarm() {
    let scope = scope()
    _ = scope.body.end()
    #expect(scope.setAlarm(isAwaited: true) == nil)
    #expect(!scope.mayJump(beside: 0))
    #expect(!scope.movesTime)
    #expect(scope.ran(for: .seconds(600)) == nil)
    #expect(scope.body.problem == nil)
  }

  @Test(arguments: [(0, 12, 5), (1, 2, 30)])
  func patienceWithBusyTestsEnds(holds: Int, patience: Int, seconds: Int) throws {
    let scope = scope(Self.options, holds: holds, unlimitedHolds: holds)
    var alarm = try #require(scope.setAlarm(isAwaited: holds > 0))
    for _ in 0..<patience {
      guard
        case .rest(let next?) = scope.alarmRings(alarm.number, AutoAdvance.Others(areBusy: true))
      else {
        Issue.record("it has lost its patience")
        return
      }
      #expect(next == .init(number: alarm.number + 1, duration: .seconds(seconds)))
      alarm = next
    }
    #expect(scope.body.problem == nil)
    _ = scope.alarmRings(alarm.number, AutoAdvance.Others(areBusy: true))
    #expect(scope.body.problem != nil)
    #expect(scope.body.toCancel.count == 1)
    // It has rung.
    #expect(scope.alarmRings(alarm.number, AutoAdvance.Others(areBusy: true)) == nil)
    #expect(scope.body.toCancel.count == 1)
  }

  /// A busy machine keeps the process waiting for most of the time.
  @Test func onlyServedTimeCounts() throws {
    let scope = scope()
    var alarm = try #require(scope.setAlarm(isAwaited: false))
    for withheld in [Duration.seconds(4), .milliseconds(51)] {
      guard case .rest(let next?) = scope.alarmRings(alarm.number, .init(withheld: withheld)) else {
        Issue.record("\(withheld) count")
        return
      }
      #expect(next == .init(number: alarm.number + 1, duration: withheld))
      alarm = next
    }
    #expect(scope.body.problem == nil)
    // A hundredth of the limit.
    _ = scope.alarmRings(alarm.number, .init(withheld: .milliseconds(50)))
    #expect(scope.body.problem != nil)
  }

  /// The scope may wait for its test, which waits for a thread.
  @Test(arguments: [(0, false, 5), (0, true, 2), (1, true, 30)])
  func aThreadThatItsTestAwaitsCostsNoPatience(holds: Int, isAwaited: Bool, seconds: Int) throws {
    let scope = scope(Self.options, holds: holds, unlimitedHolds: holds)
    var alarm = try #require(scope.setAlarm(isAwaited: isAwaited))
    for _ in 0..<100 {
      guard
        case .rest(let next?) = scope.alarmRings(
          alarm.number, AutoAdvance.Others(awaitThread: true))
      else {
        Issue.record("it has not waited for the thread")
        return
      }
      #expect(next == .init(number: alarm.number + 1, duration: .seconds(seconds)))
      alarm = next
    }
    #expect(scope.body.problem == nil)
    #expect(!scope.mayJump(beside: 0))
  }

  /// In an unedited suite. The patience ends, because the block may loop.
  @Test func aBlockThatWasAbandonedIsWaitedForWhileItRuns() throws {
    let scope = scope()
    #expect(scope.mayJump(beside: 1))
    scope.pace.blocksAreAbandoned()
    #expect(!scope.mayJump(beside: 1))
    var alarm = try #require(scope.setAlarm(isAwaited: true))
    for _ in 0..<20 {
      #expect(alarm.duration == .milliseconds(3))
      guard
        case .rest(let next?) = scope.alarmRings(
          alarm.number, AutoAdvance.Others(isAbandonedBlockRunning: true))
      else {
        Issue.record("it has not waited for the block")
        return
      }
      alarm = next
    }
    #expect(!scope.mayJump(beside: 1))
    #expect(
      scope.alarmRings(alarm.number, AutoAdvance.Others(isAbandonedBlockRunning: true)) == nil)
    #expect(scope.mayJump(beside: 1))
    scope.pace.somethingHappens()
    alarm = try #require(scope.setAlarm(isAwaited: true))
    #expect(scope.alarmRings(alarm.number, AutoAdvance.Others()) == nil)
    #expect(scope.mayJump(beside: 1))
  }

  /// The scope waits while the test around it waits for a thread, and while jobs of that test begin or end.
  @Test func theTestAroundIsWaitedForWhileItContinues() throws {
    let scope = scope()
    let test = Scheduler(origin: .here())
    test.canRun.store(true, ordering: .relaxed)
    scope.pace.testAround = test
    scope.pace.checkTestAround()
    #expect(!scope.mayJump(beside: 0))
    var alarm = try #require(scope.setAlarm(isAwaited: true))
    #expect(alarm == .init(number: 1, duration: .seconds(1)))
    for others in [
      AutoAdvance.Others(awaitThread: true),
      AutoAdvance.Others(awaitThread: true, mayAwaitScope: true, progressAround: 1),
      AutoAdvance.Others(areBusy: true, progressAround: 2),
    ] {
      guard case .rest(let next?) = scope.alarmRings(alarm.number, others) else {
        Issue.record("it has not waited for the test around it")
        return
      }
      alarm = next
    }
    #expect(!scope.mayJump(beside: 0))
    test.canRun.store(false, ordering: .relaxed)
    scope.pace.checkTestAround()
    #expect(scope.mayJump(beside: 0))
  }

  @Test func theTestAroundIsWaitedForThoughItStartsDuringThePause() throws {
    var options = ScopeOptions()
    options.jumpsAfter = .milliseconds(5)
    let scope = scope(options)
    let test = Scheduler(origin: .here())
    scope.pace.testAround = test
    scope.pace.checkTestAround()
    let alarm = try #require(scope.setAlarm(isAwaited: true))
    test.canRun.store(true, ordering: .relaxed)
    scope.pace.checkTestAround()
    guard
      case .rest? = scope.alarmRings(alarm.number, AutoAdvance.Others(progressAround: 1))
    else {
      Issue.record("it has not waited for the test around it")
      return
    }
    #expect(!scope.mayJump(beside: 0))
  }

  /// Such a test probably polls. Time waits for it again once it has had nothing to run.
  @Test func aTestAroundThatContinuesForTenSecondsIsIgnored() throws {
    let scope = scope()
    let test = Scheduler(origin: .here())
    test.canRun.store(true, ordering: .relaxed)
    scope.pace.testAround = test
    scope.pace.checkTestAround()
    var alarm = try #require(scope.setAlarm(isAwaited: true))
    var seconds = 1
    while seconds < 100,
      case .rest(let next?) = scope.alarmRings(
        alarm.number, AutoAdvance.Others(progressAround: UInt64(seconds)))
    {
      alarm = next
      // An alarm that rings early, because the process has waited for a processor, is set again for less.
      if next.duration == .seconds(1) { seconds += 1 }
    }
    #expect(seconds == 11)
    #expect(scope.mayJump(beside: 0))
    scope.pace.somethingHappens()
    #expect(scope.mayJump(beside: 0))
    scope.pace.ignoresTestAround = false
    #expect(!scope.mayJump(beside: 0))
  }

  @Test(arguments: [
    AutoAdvance.Others(), AutoAdvance.Others(areBusy: true),
    AutoAdvance.Others(awaitThread: true, mayAwaitScope: true),
  ])
  func theTestAroundIsNotWaitedForForever(others: AutoAdvance.Others) throws {
    let scope = scope()
    let test = Scheduler(origin: .here())
    test.canRun.store(true, ordering: .relaxed)
    scope.pace.testAround = test
    scope.pace.checkTestAround()
    let alarm = try #require(scope.setAlarm(isAwaited: true))
    #expect(scope.alarmRings(alarm.number, others) == nil)
    #expect(scope.mayJump(beside: 0))
    scope.pace.somethingHappens()
    #expect(!scope.mayJump(beside: 0))
  }

  @Test func aScopeThatWasHeldSinceIsNotStuck() throws {
    let scope = scope()
    let alarm = try #require(scope.setAlarm(isAwaited: true))
    scope.pace.holds = 1
    scope.pace.unlimitedHolds = 1
    _ = scope.alarmRings(alarm.number, AutoAdvance.Others())
    #expect(scope.body.problem == nil)
    #expect(scope.pace.alarm == nil)
    // The `holding` may never end.
    #expect(scope.mustSetAlarm)
    #expect(scope.setAlarm(isAwaited: true) != nil)
  }

  /// The watchdog inspects the tasks of a body that has run for too long, and then cancels the body.
  @Test func aBodyWhoseTasksAreBeingInspectedIsNotStuck() throws {
    let scope = scope()
    _ = scope.ran(for: scope.scope.options.runningLimit)
    #expect(scope.body.isToBeCancelledForTime == true)
    _ = scope.body.beginDump(at: .zero)
    #expect(scope.body.isToBeCancelledForTime == false)
    let alarm = try #require(scope.setAlarm(isAwaited: false))
    #expect(scope.alarmRings(alarm.number, AutoAdvance.Others()) == nil)
    #expect(scope.body.isReported == false)
    #expect(scope.mustSetAlarm)
  }

  @Test func aStuckBodyIsCancelledByTheScheduler() throws {
    let scope = scope()
    let alarm = try #require(scope.setAlarm(isAwaited: false))
    _ = scope.alarmRings(alarm.number, AutoAdvance.Others())
    #expect(scope.body.problem != nil)
    #expect(scope.body.isToBeCancelledForTime == false)
  }

  /// A thread outside the scope may end a hold for which an alarm is set.
  @Test func aScopeThatIsHeldNoMoreHasNoHoldThatIsTooLong() throws {
    let scope = scope(Self.options, holds: 1, unlimitedHolds: 1)
    let alarm = try #require(scope.setAlarm(isAwaited: true))
    scope.pace.holds = 0
    scope.pace.unlimitedHolds = 0
    _ = scope.alarmRings(alarm.number, AutoAdvance.Others())
    #expect(scope.body.problem == nil)
    #expect(scope.pace.alarm == nil)
    #expect(scope.mustSetAlarm)
  }

  @Test func theEndOfAHoldReplacesTheAlarmForTheHold() async {
    let scheduler = Scheduler(
      Scope(ScopeOptions(jumpsAfter: .seconds(600))), origin: .here())
    let body = RetainedTask.any()
    let continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, any Error>.self)
    scheduler.beginHold(isUnlimited: true)
    scheduler.change { state in
      state.scope?.body.begin(body)
      state.scope?.virtualClock.sleeps.add(
        .continuation(continuation, isOwn: true), until: .seconds(1),
        details: .init(registered: .zero, clock: .test))
      state.scope?.mustSetAlarm = true
    }
    func reason() -> AutoAdvance.Reason? { scheduler.change { $0.scope?.pace.alarm?.reason } }
    #expect(await becomesTrue { reason() == .held })
    scheduler.endHold(isUnlimited: true)
    #expect(await becomesTrue { reason() == .pause })
  }

  /// Another thread may end a hold while no job of the scope runs.
  @Test(arguments: [true, false]) func theEndOfAHoldSetsAnAlarm(isUnlimited: Bool) async {
    let scheduler = Scheduler(Scope(ScopeOptions()), origin: .here())
    // No task is created while the lock is held.
    let body = RetainedTask.any()
    scheduler.change { $0.scope?.body.begin(body) }
    scheduler.beginHold(isUnlimited: isUnlimited)
    scheduler.endHold(isUnlimited: isUnlimited)
    #expect(await becomesTrue { scheduler.change { $0.scope?.pace.alarm != nil } })
  }

  @Test func anAlarmIsWorthNothingOnceSomethingHasHappened() throws {
    let scope = scope(Self.options)
    let pause = try #require(scope.setAlarm(isAwaited: true))
    scope.pace.somethingHappens()
    _ = scope.alarmRings(pause.number, AutoAdvance.Others())
    #expect(!scope.mayJump(beside: 0))
    let next = try #require(scope.setAlarm(isAwaited: true))
    _ = scope.alarmRings(pause.number, AutoAdvance.Others())
    #expect(!scope.mayJump(beside: 0))
    _ = scope.alarmRings(next.number, AutoAdvance.Others())
    #expect(scope.mayJump(beside: 0))
    scope.pace.somethingHappens()
    #expect(!scope.mayJump(beside: 0))
  }

  // MARK: - Running

  @Test func aBodyThatRunsForTooLongIsCancelledAndHasLessTimeThen() {
    let scope = scope(ScopeOptions(stuckAfter: .seconds(5), runningLimit: .seconds(60)))
    #expect(scope.ran(for: .seconds(59)) == nil)
    #expect(scope.body.problem == nil)
    #expect(scope.ran(for: .seconds(1)) == nil)
    #expect(scope.body.problem != nil)
    // As long as it is not cancelled it has all its time.
    #expect(scope.ran(for: .seconds(59)) == nil)
    #expect(scope.body.dump == nil)
    // To find out where its tasks are takes time, too, and that is not the body's.
    let begins = [7, 8].map { scope.body.beginDump(at: .seconds($0)) }
    #expect(begins == [true, false])
    #expect(scope.ran(for: .seconds(600)) == nil)
    _ = scope.noteProblem(nil, "There it is.")
    #expect(scope.body.dump != nil)
    let beginsAgain = scope.body.beginDump(at: .seconds(8))
    #expect(!beginsAgain)
    #expect(scope.body.problemTime == .seconds(7))
    #expect(scope.body.takeToCancel().count == 1)
    #expect(scope.ran(for: .seconds(4)) == nil)
    #expect(scope.body.toCancel.isEmpty)
    guard case .report(.tooLong(.seconds(60), _)) = scope.ran(for: .seconds(1)) else {
      Issue.record("it is not reported that the body goes on")
      return
    }
    #expect(scope.ran(for: .seconds(60)) == nil)
  }

  @Test func theFirstProblemIsReportedAndOnce() {
    let scope = scope()
    #expect(scope.body.abort(.runaway(.jobs(1, task: 0))) == nil)
    #expect(scope.body.isReported == false)
    guard case .report(.runaway(.jobs(1, task: 0))) = scope.body.abort(.runaway(.wakes(2))) else {
      Issue.record("the first problem is not the one that is reported")
      return
    }
    #expect(scope.body.abort(.runaway(.wakes(3))) == nil)
    _ = scope.body.deliverReport()
    // It was reported and cancelled, and still continues.
    guard case .abandon = scope.body.abort(.runaway(.wakes(4))) else {
      Issue.record("the body is not left")
      return
    }
    #expect(scope.body.takeToCancel().count == 4)
    #expect(scope.body.takeToCancel().isEmpty)
    let (problem, tasks) = scope.body.end()
    #expect(problem == nil)
    #expect(tasks.count == 1)
    #expect(scope.body.task == nil)
  }

  @Test func theEndWaitsForAReportThatIsUnderWay() async {
    let scope = scope()
    func isDone(_ waiter: UnsafeContinuation<Void, Never>? = nil) -> Bool {
      scope.body.isDone(waiter)
    }
    #expect(isDone())
    _ = scope.body.abort(.runaway(.jobs(1, task: 0)))
    #expect(isDone())
    _ = scope.body.abort(.runaway(.jobs(1, task: 0)))
    #expect(scope.body.isReported == true)
    #expect(!isDone())
    await withUnsafeContinuation { waiter in
      #expect(!isDone(waiter))
      #expect(scope.body.reportDelivered == false)
      scope.body.deliverReport()?.resume()
    }
    #expect(scope.body.reportDelivered == true)
    #expect(isDone())
  }

  /// Thread A inspects the tasks. Thread B runs the end of the body, which waits for the list.
  @Test func theEndWaitsForTheInspectionOfTheTasks() async {
    let scope = scope()
    func isDone(_ waiter: UnsafeContinuation<Void, Never>? = nil) -> Bool {
      scope.body.isDone(waiter)
    }
    _ = scope.body.abort(.runaway(.wakes(2)))
    #expect(isDone())
    #expect(scope.body.beginDump(at: .zero) == true)
    #expect(!isDone())
    await withUnsafeContinuation { waiter in
      #expect(!isDone(waiter))
      scope.noteProblem(nil, "There it is.")?.resume()
    }
    #expect(isDone())
    #expect(scope.body.dump == "There it is.")
  }

  /// The scope ends after the last of the two.
  @Test(arguments: [true, false])
  func theEndWaitsForTheInspectionAndForTheReport(reportComesFirst: Bool) async {
    let scope = scope()
    for _ in 1...2 { _ = scope.body.abort(.runaway(.wakes(2))) }
    #expect(scope.body.beginDump(at: .zero) == true)
    let steps = [
      { scope.noteProblem(nil, "") }, { scope.body.deliverReport() },
    ]
    await withUnsafeContinuation { waiter in
      #expect(scope.body.isDone(waiter) == false)
      let order = reportComesFirst ? [1, 0] : [0, 1]
      let early = steps[order[0]]()
      #expect(early == nil)
      early?.resume()
      steps[order[1]]()?.resume()
    }
    #expect(scope.body.isDone() == true)
  }

  @Test func theEndOfTheBodyReturnsTheProblemThatEndedIt() {
    let scope = scope()
    _ = scope.body.abort(.runaway(.wakes(2)))
    guard case .runaway(.wakes(2))? = scope.body.end().problem else {
      Issue.record("the problem is lost")
      return
    }
  }

  @Test func aScopeIsAwaitedWhileTasksSleepAndItIsNotOver() {
    let scope = scope()
    #expect(!scope.isAwaited)
    let continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, any Error>.self)
    scope.virtualClock.sleeps.add(
      .continuation(continuation, isOwn: true),
      until: .seconds(1), details: .init(registered: .zero, clock: .test))
    #expect(scope.isAwaited)
    scope.isOver = true
    #expect(!scope.isAwaited)
  }
}

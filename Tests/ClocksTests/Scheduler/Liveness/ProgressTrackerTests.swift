import Testing

@testable import Clocks

/// The values on which the watchdog and the guard against runaways decide.
@Suite struct ProgressTrackerTests {
  // MARK: - Idle

  @Test func aTestIsIdleOnlyIfNothingOfItRunsOrCould() {
    var idleness = Idleness()
    #expect(idleness.isIdle == true)
    let job = ReadyJob(job: unsafeBitCast(8, to: UnownedJob.self), taskID: 1, executor: .pool)
    idleness.ready.append(job)
    #expect(idleness.isIdle == false)
    _ = idleness.ready.remove(at: 0)
    #expect(idleness.isIdle == true)
    for thread in [Idleness.Thread.requested(on: .pool), .acting] {
      idleness.thread = thread
      #expect(idleness.isIdle == false)
      #expect(idleness.mayStartJob == false)
    }
    idleness.thread = .none
    idleness.externallyStartedJobsBegan()
    #expect(idleness.isIdle == false)
    #expect(idleness.mayStartJob == false)
    idleness.externallyStartedJobEnded()
    let block = idleness.dispatchedBlocks.begin(on: BlockQueue(label: "queue"))
    #expect(idleness.isIdle == false)
    #expect(idleness.mayStartJob == true)
    idleness.dispatchedBlocks.end(block)
    #expect(idleness.isIdle == true)
    idleness.dispatchedBlocks.end(block)
    #expect(idleness.isIdle == true)
  }

  /// Time moves by one step although there are blocks.
  @Test func aTestIsIdleWhileItsBlocksAreLeftOut() {
    var idleness = Idleness()
    let block = idleness.dispatchedBlocks.begin(on: BlockQueue(label: "queue"))
    idleness.dispatchedBlocks.areLeftOut = true
    #expect(idleness.isIdle == true)
    let other = idleness.dispatchedBlocks.begin(on: BlockQueue(label: "queue"))
    #expect(idleness.dispatchedBlocks.count == 2)
    idleness.dispatchedBlocks.areLeftOut = true
    idleness.dispatchedBlocks.end(other)
    #expect(idleness.dispatchedBlocks.count == 1)
    idleness.dispatchedBlocks.areLeftOut = true
    idleness.dispatchedBlocks.areLeftOut = false
    #expect(idleness.isIdle == false)
    idleness.dispatchedBlocks.end(block)
    #expect(idleness.isIdle == true)
  }

  /// While a job that pauses holds the main thread, no block of the main queue can run.
  @Test func aTestIsIdleWhileItsBlocksWaitForTheMainThread() {
    var idleness = Idleness()
    let block = idleness.dispatchedBlocks.begin(on: BlockQueue(label: "com.apple.main-thread"))
    #expect(idleness.isIdle == false)
    idleness.isMainTaken = true
    #expect(idleness.isIdle == true)
    let second = idleness.dispatchedBlocks.begin(on: BlockQueue(label: "com.apple.main-thread"))
    #expect(idleness.isIdle == true)
    let other = idleness.dispatchedBlocks.begin(on: BlockQueue(label: "queue"))
    #expect(idleness.dispatchedBlocks.count == 1)
    idleness.dispatchedBlocks.end(other)
    idleness.dispatchedBlocks.end(second)
    #expect(idleness.isIdle == true)
    idleness.isMainTaken = false
    #expect(idleness.isIdle == false)
    idleness.dispatchedBlocks.end(block)
    #expect(idleness.isIdle == true)
  }

  /// Blocks of a serial queue cannot begin while one of its blocks waits in virtual time.
  @Test func aTestIsIdleWhileItsBlocksWaitForAPausedOne() {
    var idleness = Idleness()
    let waiting = idleness.dispatchedBlocks.begin(on: BlockQueue(label: "queue"))
    idleness.dispatchedBlocks.noteStop(.ofAll, of: BlockQueue(label: "queue"), 1)
    #expect(idleness.isIdle == true)
    idleness.dispatchedBlocks.noteStop(.ofAll, of: BlockQueue(label: "queue"), -1)
    #expect(idleness.isIdle == false)
    idleness.dispatchedBlocks.end(waiting)
    #expect(idleness.isIdle == true)
  }

  @Test func anAbandonedExternalJobEndsOnce() {
    var idleness = Idleness()
    idleness.externallyStartedJobsBegan()
    idleness.abandonRunning()
    #expect(idleness.externallyStartedJobs == 0)
    #expect(idleness.threadNumber == 1)
    idleness.externallyStartedJobEnded()
    #expect(idleness.externallyStartedJobs == 0)
    idleness.externallyStartedJobsBegan()
    #expect(idleness.externallyStartedJobs == 1)
    idleness.externallyStartedJobEnded()
    #expect(idleness.externallyStartedJobs == 0)
  }

  // MARK: - A job that holds its thread

  @Test func aBlockageIsFoundAtTheSecondCheckAndReportedOnce() {
    var activity = ProgressTracker()
    activity.jobBegins(of: 7)
    let look = { (activity: inout ProgressTracker, othersWait: Bool) in
      let job = activity.running(Idleness())
      return activity.blockage.isDue(othersWait ? job?.number : nil, after: .zero) ? job?.task : nil
    }
    #expect(
      [look(&activity, true), look(&activity, true), look(&activity, true)] == [nil, 7, nil])
    // No job waits any more, and then another one does.
    #expect(look(&activity, false) == nil)
    #expect([look(&activity, true), look(&activity, true)] == [nil, 7])
    activity.jobHasEnded()
    activity.jobBegins(of: 8)
    #expect([look(&activity, true), look(&activity, true)] == [nil, 8])
  }

  @Test func aJobForWhichNoOtherWaitsIsFoundAtTheSecondCheck() {
    var activity = ProgressTracker()
    let look = { (activity: inout ProgressTracker) in
      let job = activity.running(Idleness())
      return activity.loneJob.isDue(job?.number, after: .zero) ? job?.task : nil
    }
    let isReported = { (activity: ProgressTracker) in activity.isRunningReportedJob(Idleness()) }
    #expect(look(&activity) == nil)
    activity.jobBegins(of: 7)
    #expect(!isReported(activity))
    #expect([look(&activity), look(&activity), look(&activity)] == [nil, 7, nil])
    #expect(isReported(activity))
    activity.jobHasEnded()
    activity.jobBegins(of: 8)
    #expect(!isReported(activity))
    #expect([look(&activity), look(&activity)] == [nil, 8])
  }

  @Test func anExternallyStartedJobHasNoTask() {
    var activity = ProgressTracker()
    var idleness = Idleness()
    #expect(activity.running(idleness) == nil)
    idleness.externallyStartedJobsBegan()
    let found = activity.running(idleness)
    #expect(activity.blockage.isDue(found?.number, after: .zero) == false)
    #expect(activity.blockage.isDue(found?.number, after: .zero) == true)
    #expect(found?.task == 0)
    #expect(activity.running(idleness)?.number == found?.number)
    activity.externallyStartedJobEnded()
    #expect(activity.running(idleness)?.number != found?.number)
  }

  @Test func nothingIsBlockedBeforeTheLimit() {
    var activity = ProgressTracker()
    activity.jobBegins(of: 7)
    for _ in 0..<3 {
      #expect(activity.blockage.isDue(activity.running?.number, after: .seconds(600)) == false)
    }
  }

  // MARK: - A test that stands still

  @Test func aStandstillThatEndsIsFoundAgain() {
    var activity = ProgressTracker()
    let look = { (activity: inout ProgressTracker, isWaiting: Bool) in
      activity.standstill.isDue(isWaiting ? activity.count : nil, after: .zero)
    }
    #expect([look(&activity, true), look(&activity, true)] == [false, true])
    #expect(look(&activity, false) == false)
    #expect([look(&activity, true), look(&activity, true)] == [false, true])
  }

  // MARK: - Runaways

  @Test func aRunawayIsATaskAndNotANamelessJob() {
    var guardian = RunawayGuard()
    guardian.limits = RunawayLimits(jobs: 2)
    #expect((1...2).map { _ in guardian.jobBegins(of: 0) == nil } == [true, true])
    #expect(guardian.jobBegins(of: 0) == nil)
    guard case .jobs(2, task: 9)? = guardian.jobBegins(of: 9) else {
      Issue.record("no task is named")
      return
    }
    guard case .jobs(2, task: 0)? = guardian.jobBegins(of: 0) else {
      Issue.record("nameless jobs go on for ever")
      return
    }
    guardian.testIsIdle()
    #expect(guardian.jobBegins(of: 9) == nil)
  }

  @Test func onlyTheRootsJobsStartTheCountingOfWakesAnew() {
    var guardian = RunawayGuard()
    guardian.limits = RunawayLimits(wakes: 2)
    guardian.sleepWakes()
    #expect(guardian.tooManyWakes == nil)
    guardian.sleepWakes()
    // There is no root task, and a job without a task does not count as a job of the root.
    _ = guardian.jobBegins(of: 0)
    _ = guardian.jobBegins(of: 3)
    guard case .wakes(2)? = guardian.tooManyWakes else {
      Issue.record("wakes are not counted")
      return
    }
    guardian.rootTask = 3
    _ = guardian.jobBegins(of: 3)
    #expect(guardian.tooManyWakes == nil)
  }

  // MARK: - Whose test it is

  @Test func aTestIsOverWhenAllOfItsTasksAre() async throws {
    try #require(TaskStatus.isReadable)
    let me = try #require(RetainedTask.current)
    let over = await Task { RetainedTask.current }.value
    let other = await Task { RetainedTask.current }.value
    var tasks = TestLifetime()
    #expect(!tasks.areOver)
    #expect(!tasks.isKnown)
    #expect(tasks.add(maker: nil).isEmpty)
    #expect(!tasks.isKnown)
    #expect(tasks.add(maker: over).isEmpty)
    #expect(tasks.isKnown)
    #expect(tasks.areOver)
    // The task that made the clocks is over: the test continues in another one.
    #expect(tasks.add(user: me) == [over].compactMap(\.self))
    #expect(!tasks.areOver)
    #expect(tasks.add(user: other).isEmpty)
    #expect(!tasks.areOver)
    // It is noted once.
    #expect(tasks.add(maker: me).isEmpty)
    #expect(tasks.add(maker: other).isEmpty)
    #expect(!tasks.areOver)
  }

  @Test func clocksAreListedInTheOrderInWhichTheyWereMade() {
    var register = ClockRegistry()
    let virtualClocks = (0..<20).map { _ in VirtualClock(now: .zero) }
    for virtualClock in virtualClocks { register.add(virtualClock) }
    #expect(register.all.map { ObjectIdentifier($0) } == virtualClocks.map { ObjectIdentifier($0) })
    #expect(register.remove(virtualClocks[3]) === virtualClocks[3])
    #expect(register.remove(virtualClocks[3]) == nil)
    #expect(register.remove(virtualClocks[19]) === virtualClocks[19])
    let rest = virtualClocks[..<3] + virtualClocks[4..<19]
    #expect(register.all.map { ObjectIdentifier($0) } == rest.map { ObjectIdentifier($0) })
    for virtualClock in rest { #expect(register.remove(virtualClock) === virtualClock) }
    #expect(register.all.isEmpty)
  }
}

import ClocksSupport

/// Finds the scheduler that is responsible for a clock or a task, and lets it adopt tasks.
extension Scheduler {
  /// The scheduler for which the current thread runs; `nil` if there is none.
  static var ofThread: Scheduler? { scheduler(ThreadContext.current?.pointee.owner) }

  /// The scheduler on whose behalf the current task runs.
  static var running: Scheduler? { scheduler(ThreadContext.runningOwner) }

  static var all: [Scheduler] {
    TaskOwnership.shared.registeredOwners.map { unsafeDowncast($0, to: Scheduler.self) }
  }

  /// Whether any test is not idle, or an unowned job waits for a thread. O(schedulers).
  static var isAnyBusy: Bool {
    all.contains { $0.change { !$0.idleness.askWhetherIdle() && !$0.isAbandoned } }
      || UnownedJobs.isAnyWaiting
  }

  /// Whether any test runs a job, has one ready, or waits for a thread. O(schedulers).
  ///
  /// A job that was reported, because it holds its thread, does not count.
  static var isAnyRunning: Bool {
    all.contains {
      $0.change {
        $0.idleness.mayRun && !$0.isAbandoned && !$0.activity.isRunningReportedJob($0.idleness)
      }
    }
  }

  /// Returns an owner as a scheduler: every owner is one.
  static func scheduler(_ owner: TaskOwner?) -> Scheduler? {
    owner.map { unsafeDowncast($0, to: Scheduler.self) }
  }

  /// Returns the scheduler for a new clock. The caller releases it with `release()`.
  ///
  /// It is the scheduler of the current task or dispatched block, or in an unedited suite of the current test method or
  /// thread. All clocks that are made elsewhere share one scheduler.
  static func retainForNewClock(at origin: CallSite) -> Scheduler {
    RuntimeHooks.install()
    if let failure = RuntimeHooks.failureOfOtherCopy { recordFailure(failure, at: origin) }
    Watchdog.start()
    guard let task = UnownedTask.currentID else {
      guard let scheduler = ofThread else {
        return TestCaseMembership.isOn ? retainOfThreads(at: origin) : retainProcessWide(at: origin)
      }
      // The current thread runs code of a test outside any task: a dispatched block, or in an unedited suite a test
      // method or a thread.
      scheduler.retain()
      scheduler.noteClockInScope()
      return scheduler
    }
    var known = running ?? scheduler(TaskOwnership.shared.owner(of: task))
    // Another scheduler may have adopted the task since its job began for a scheduler whose clocks are gone.
    if known?.hasLeftovers.load(ordering: .relaxed) == true {
      known = scheduler(TaskOwnership.shared.knownOwner(of: task)) ?? known
    }
    if known == nil, TestLibraries.isXCTestRunning {
      // XCTest runs one test at a time, but in several tasks: `setUp`, the test, `tearDown`.
      let scheduler = retainProcessWide(at: origin)
      scheduler.admitCurrentTask()
      scheduler.addMaker()
      return scheduler
    }
    if known == nil, TestCaseMembership.startsTests(task) {
      // Swift 6.2 evaluates the arguments of tests in this task. If it had an owner, all tests would have the same one.
      let scheduler = Scheduler(origin: origin)
      scheduler.retain()
      return scheduler
    }
    let scheduler = known ?? Scheduler(origin: origin, isTestKnown: true)
    let isOnlyClock = scheduler.retain()
    scheduler.noteClockInScope()
    // The task is claimed even if the current thread already runs for the scheduler: the scheduler's first clocks may
    // have been freed, and with them the entries of its tasks.
    _ = TaskOwnership.shared.claim(task, for: scheduler)
    scheduler.admitCurrentTask()
    if known == nil { scheduler.addMaker() }
    // The test may have started tasks before it made its first clock, or before its former clocks were freed.
    if isOnlyClock || scheduler.hasLeftovers.load(ordering: .relaxed),
      TestCaseMembership.isTestCase(task), SwiftTesting.isRunningCase
    {
      scheduler.hasLeftovers.store(false, ordering: .relaxed)
      scheduler.adoptTestCase(of: task)
    }
    return scheduler
  }

  private func noteClockInScope() {
    if scope != nil { change { $0.scope?.hasTestClock = true } }
  }

  /// Notes that the current task makes a clock: the test is not over before the task.
  private func addMaker() {
    let task = RetainedTask.current
    _ = change { $0.testLifetime.add(maker: task) }
  }

  private static func retainProcessWide(at origin: CallSite) -> Scheduler {
    let owner = TaskOwnership.shared.retainProcessWide {
      Scheduler(origin: origin, isProcessWide: true)
    }
    return unsafeDowncast(owner, to: Scheduler.self)
  }

  /// Returns the scheduler for clocks made outside any task, if it is known which task runs which test case.
  ///
  /// The scheduler owns only the tasks that use these clocks.
  private static func retainOfThreads(at origin: CallSite) -> Scheduler {
    let owner = TaskOwnership.shared.retainOwnerOfThreads(newestTask: UnownedTask.newestID) {
      Scheduler(origin: origin)
    }
    return unsafeDowncast(owner, to: Scheduler.self)
  }

  /// Whether the current thread runs the current task's job for the scheduler, which therefore owns the task.
  ///
  /// The scheduler may also have adopted the task in this job, which was externally started.
  ///
  /// - Parameter id: The current task's id; 0 outside any task.
  @_transparent
  func isRunning(_ id: UInt64) -> Bool {
    guard !isProcessWide, id != 0, let context = ThreadContext.current,
      context.pointee.taskID == id
    else { return false }
    // The words are compared, because a debug build would retain both objects for `===`.
    return unsafeBitCast(context.pointee.owner, to: UInt.self) == unsafeBitCast(self, to: UInt.self)
  }

  /// Claims the current task, if no other test owns it, and returns whether the scheduler owns it now. O(1).
  ///
  /// If the scheduler did not start the task's job, the job counts as externally started.
  ///
  /// - Parameter users: The users of the clock that the task uses; `nil` if the task makes a clock.
  @discardableResult
  func admitCurrentTask(among users: ClockUsers? = nil) -> Bool {
    let context = ThreadContext.current
    guard let task = UnownedTask.currentID else { return false }
    wakeIfProcessWide(for: task)
    if let context, context.pointee.owner === self {
      // The hooks register a task with its first job. A task that they did not see was not suspended yet
      // (`Task.immediate`), or ran only in actor drains.
      if context.pointee.taskID == task { return true }
      let (isOwn, isNew) = TaskOwnership.shared.claimed(task, for: self)
      if isNew, let users {
        // In an actor drain that works for this test case, the task may belong to another one.
        adoptTestCase(of: task)
        checkSharing(among: users)
      }
      return isOwn
    }
    guard TaskOwnership.shared.claim(task, for: self) else { return false }
    keepCurrentTask()
    // The task may run in an actor drain that works for another test, or for the process-wide owner.
    let isInJobOfOtherTest = context?.pointee.owner != nil
    // The wait begins before the adoption: once the task is adopted, only the wait shows the scheduler that the task
    // runs.
    if !isInJobOfOtherTest || TestCaseMembership.isOn { waitForCurrentJobAndTask() }
    if users != nil { adoptTestCase(of: task) }
    if isInJobOfOtherTest {
      if let current = UnownedTask.current { taskMayRunExternally(current.job) }
      return true
    }
    let user = RetainedTask.currentChild
    _ = change { $0.testLifetime.add(user: user) }
    if let users { checkSharing(among: users) }
    context?.pointee.owner = self
    return true
  }

  /// Makes a process-wide scheduler own all unowned tasks until `task`, the current one, is over.
  private func wakeIfProcessWide(for task: UInt64) {
    guard isProcessWide else { return }
    // If the end of a task cannot be detected, the task never counts as over. Then the scheduler owns all unowned tasks
    // permanently.
    let user = RetainedTask.current
    // Thread A, the current one, makes the unowned jobs the scheduler's, and counts them. Thread B may end one of them
    // in between, and count its end first. So thread A does both under the lock. The former users are released without
    // the lock.
    _ = changeWithoutThread { state in
      let (jobs, outdated) = TaskOwnership.shared.wake(
        self, for: (task, { user?.isOver ?? false }))
      state.idleness.externallyStartedJobsBegan(jobs)
      return outdated
    }
  }

  /// The scheduler of the current task, unless it is this scheduler or belongs to a scope within the test.
  var schedulerOfOtherTest: Scheduler? {
    guard
      let task = UnownedTask.currentID,
      let owner = Self.scheduler(TaskOwnership.shared.owner(of: task))
    else { return nil }
    return owner.isWithin(self) ? nil : owner
  }

  /// Whether the test that made the scheduler's clocks, or uses them, is known to be under way.
  var hasTest: Bool { change { $0.testLifetime.isKnown && !$0.testLifetime.areOver } }

  /// Whether the current thread runs neither for the scheduler nor for a scope within the test.
  var isCallerOfOtherTest: Bool { Self.running?.isWithin(self) != true }

  func isWithin(_ other: Scheduler) -> Bool {
    self === other || parent?.isWithin(other) == true
  }

  /// Waits for the end of the job that the current thread runs, whose task belongs to the scheduler.
  func waitForCurrentJobAndTask() {
    waitForCurrentJob()
    // After the job, its task may wait for an actor, where it may run externally.
    if ThreadContext.current != nil, let current = UnownedTask.current {
      taskMayRunExternally(current.job)
    }
  }

  /// Makes the scheduler start no job until the job that the current thread runs ends.
  func waitForCurrentJob() {
    if let context = ThreadContext.current {
      context.pointee.ownersAwaitingEnd.append(self)
      let isOnMain = RuntimeHooks.isOnMainQueue
      change { state in
        state.idleness.externallyStartedJobsBegan(isOnMain: isOnMain)
        guard state.activity.running == nil else { return }
        state.activity.externallyStartedTask = context.pointee.taskID
        let place = context.pointee.placeInFrame
        threadMark.store(place == 0 ? UInt(bitPattern: context) : place, ordering: .relaxed)
      }
    } else if RuntimeHooks.isOnMainQueue {
      // The job began before the hooks were installed. It ends before the main thread runs its next job.
      change { $0.idleness.externallyStartedJobsBegan(isOnMain: true) }
      RuntimeHooks.startThread(on: .main) {
        if let job = self.externallyStartedJobEnded(on: .main) { UnownedJobs.submit(job) }
      }
    }
  }

  /// Transfers the current task, whose job has passed through the hooks, from any owner to the scheduler,
  /// which waits for the end of the job.
  func takeOverCurrentTask() {
    guard let task = UnownedTask.currentID else { return }
    waitForCurrentJobAndTask()
    TaskOwnership.shared.transfer(task, to: self)
    keepCurrentTask()
  }

  /// Adopts all tasks of the test case of the current task, which was unowned until now.
  ///
  /// O(members) for the first task of a test case, and O(1) for each later one.
  func adoptTestCase(of task: UInt64) {
    guard TestCaseMembership.isOn else { return }
    let testCase = TestCaseMembership.adopt(task, by: self) { member, isTestCase in
      change { state in
        state.liveTasks.insert(member)
        if member.id != task {
          // A job of the member may be running, and it may have begun an `async let`, which is not a member.
          state.idleness.externalTasks.noteMayRunExternally(member, hasAsyncLets: true)
        }
        return isTestCase ? state.testLifetime.add(user: member) : []
      }
    }
    if let testCase { adopted.store(testCase, ordering: .relaxed) }
  }

  /// Notes that the current task makes a clock, if a test case runs in it.
  func addMaker(to users: ClockUsers) {
    guard let id = UnownedTask.currentID, TestCaseMembership.isTestCase(id),
      SwiftTesting.isRunningCase, let task = RetainedTask.current
    else { return }
    _ = change { _ in users.add(task) }
  }

  /// Reports a clock if the current task runs a test case, and another test case uses it, too.
  private func checkSharing(among users: ClockUsers) {
    guard let id = UnownedTask.currentID, TestCaseMembership.isTestCase(id),
      let task = RetainedTask.current
    else { return }
    let (shared, _) = change { _ in users.add(task) }
    if let shared { report.record(ClockFailure.shared(report.origin, by: shared)) }
  }

  private func keepCurrentTask() {
    guard let task = UnownedTask.current?.retainedIfReadable else { return }
    // Tasks that ended elsewhere are released without the lock.
    _ = change { $0.liveTasks.insert(pruning: task) }
  }

  /// The scheduler's tasks that are not over, in the order in which they were made. O(n log n).
  var tasks: [RetainedTask] {
    // The tasks that are over are released without the lock.
    let (_, all) = change { ($0.liveTasks.removeEnded(), $0.liveTasks.all) }
    return all.filter { TaskOwnership.shared.owner(of: $0.id) === self }
  }
}

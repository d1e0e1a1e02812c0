/// All that can keep a test from being idle. **Idle** is defined here and nowhere else.
///
/// Only `SchedulerState` and the functions here write `thread`. Every part writes its own counts.
struct Idleness: ~Copyable {
  /// The state of the scheduler's thread. The scheduler requests a thread of the pool, or the main thread, when there
  /// is something to do.
  enum Thread: Equatable {
    /// There is no thread; or the thread decides what to do next, with the lock held.
    case none
    /// A thread was requested, and has not begun.
    case requested(on: ExecutorKind)
    case acting
  }

  var ready = JobQueue()
  var externalTasks = ExternalTasks()
  var dispatchedBlocks = DispatchedBlocks()
  /// `nil` until the test submits a block to the main queue.
  private var mainQueueOrder: MainQueueOrder?

  /// Whether a paused, parallel or abandoned job holds the main thread. Then jobs and blocks that need that thread do
  /// not keep the test from being idle.
  var isMainTaken: Bool {
    get { ready.isMainTaken }
    set {
      (ready.isMainTaken, dispatchedBlocks.isMainTaken) = (newValue, newValue)
      // When the main thread comes, it does nothing unless it was requested again.
      if newValue, thread == .requested(on: .main) { thread = .none }
    }
  }

  /// While no thread holds the scheduler's lock, `none` means that the scheduler has no thread.
  ///
  /// A thread is requested only when this is `none`, so a scheduler never has two threads that act.
  var thread = Thread.none
  private(set) var isActingOnMain = false

  /// The number of the thread that acts.
  ///
  /// If a job is abandoned, parked, paused or parallel, its thread has another number, and decides nothing.
  private(set) var threadNumber = 0
  private var newestThreadNumber = 0

  /// Counts the externally started jobs that run. While there are any, the scheduler starts no job.
  private(set) var externallyStartedJobs = 0 {
    didSet { if externallyStartedJobs == 0 { isAnyExternalJobOnMain = false } }
  }
  private var isAnyExternalJobOnMain = false

  /// Whether an externally started job is known to be on the main thread, abandoned or not.
  var mayEndOnMain: Bool { isAnyExternalJobOnMain || isExternalJobAbandonedOnMain }

  /// Whether the running job is known to hold the main thread.
  var isRunningOnMain: Bool {
    if case .acting = thread { isActingOnMain } else { isAnyExternalJobOnMain }
  }

  /// Counts the absences that were found and are not reported yet. The test must not end before they are.
  private(set) var unreportedAbsences = 0

  /// The scopes within the test that are not idle. They run by themselves, so the test is not idle before they are.
  var busyScopes = BusyScopes()

  /// Whether no job runs or is ready, no task is unverified, and nothing is outstanding.
  ///
  /// External work, a scope within the test and the report of an absence may be outstanding.
  var isIdle: Bool { isQuiet && !externalTasks.mustVerify }

  /// Whether `askWhetherIdle` was called while tasks were unverified, so that these have to be checked.
  var isAsked = false

  /// Returns whether the test is idle, for a caller that asks again later: the watchdog, or an alarm.
  ///
  /// Returns `false` while tasks are unverified, and lets the scheduler check them.
  mutating func askWhetherIdle() -> Bool {
    isAsked = isQuiet && externalTasks.mustVerify
    return isIdle
  }

  /// Disregards blocks and external tasks until time moves by one step (`countEverything`).
  mutating func leaveOutParallelWork() {
    dispatchedBlocks.areLeftOut = true
    externalTasks.areLeftOut = true
  }

  mutating func countEverything() {
    dispatchedBlocks.areLeftOut = false
    externalTasks.areLeftOut = false
  }

  /// Whether the test is idle, provided that no task became external unseen.
  @_transparent
  var isQuiet: Bool { mayStartJob && isNothingOutstanding }

  /// Whether the test would be idle without the job that the scheduler's thread runs now.
  var isIdleApartFromJob: Bool {
    guard case .acting = thread else { return false }
    return externallyStartedJobs == 0 && isNothingOutstanding && !externalTasks.areAnyUnverified
  }

  @_transparent
  private var isNothingOutstanding: Bool {
    ready.isEmpty && !externalTasks.areOutstanding && dispatchedBlocks.count == 0
      && unreportedAbsences == 0 && !busyScopes.areAny
  }

  /// Submits a block to the main queue, now or after the main actor's jobs that are ready.
  mutating func mainBlockIsReady(_ number: UInt64, _ submit: @escaping @Sendable () -> Void) {
    let (jobs, order) = (ready.onMain, mainQueueOrder ?? MainQueueOrder())
    mainQueueOrder = order
    changeMainQueueOrder { $0.blockIsReady(number, behind: jobs, submit) }
  }

  /// Changes the order of the main queue, if there is one, and then notes whether blocks come before the ready jobs.
  @inline(never)
  mutating func changeMainQueueOrder(_ change: (MainQueueOrder) -> Void) {
    guard let mainQueueOrder else { return }
    change(mainQueueOrder)
    ready.areBlocksAhead = mainQueueOrder.areBlocksAhead
  }

  @_transparent
  mutating func mainJobBegins() {
    if mainQueueOrder != nil { changeMainQueueOrder { $0.jobBegins() } }
  }

  mutating func dispatchedBlockEnds(_ number: UInt64) {
    if dispatchedBlocks.end(number) {
      isMainTaken =
        abandonedOnMain != nil || isExternalJobAbandonedOnMain || dispatchedBlocks.isMainAbandoned
    }
    changeMainQueueOrder { $0.blockEnds(number) }
  }

  var isThreadRequested: Bool {
    if case .requested = thread { true } else { false }
  }

  /// Whether a job of the test runs on a known thread, or is ready.
  var mayRun: Bool { thread != .none || !ready.isEmpty || externallyStartedJobs > 0 }

  @_transparent
  var mayStartJob: Bool {
    // The pattern replaces `==`, because a debug build calls a function to compare.
    if case .none = thread { externallyStartedJobs == 0 } else { false }
  }

  /// The number of the thread of an abandoned job that holds the main thread; `nil` if there is none.
  private(set) var abandonedOnMain: Int?

  /// Counts externally started jobs that were abandoned and have not ended.
  private var abandonedExternalJobs = 0
  private(set) var isExternalJobAbandonedOnMain = false

  mutating func externallyStartedJobsBegan(_ count: Int = 1, isOnMain: Bool = false) {
    externallyStartedJobs += count
    if isOnMain { isAnyExternalJobOnMain = true }
  }

  /// - Parameter isOnMain: Whether the job ends on the main thread.
  mutating func externallyStartedJobEnded(isOnMain: Bool = false) {
    let isAbandoned = isOnMain && isExternalJobAbandonedOnMain && !isAnyExternalJobOnMain
    if isOnMain { isAnyExternalJobOnMain = false }
    // Off the main thread, it is not known which job ends. Abandoned jobs hardly ever end. So this counts as the end of
    // a job that was not abandoned, if there is one: otherwise that job would count forever, and the test would never
    // be idle.
    guard isAbandoned || (externallyStartedJobs == 0 && abandonedExternalJobs > 0) else {
      externallyStartedJobs -= 1
      return
    }
    abandonedExternalJobs -= 1
    guard isAbandoned || abandonedExternalJobs == 0, isExternalJobAbandonedOnMain else { return }
    isExternalJobAbandonedOnMain = false
    isMainTaken = false
  }

  /// Abandons the running jobs: the test no longer waits for their ends.
  mutating func abandonRunning() {
    // Other jobs of the main thread cannot begin before the abandoned one ends.
    if case .acting = thread, isActingOnMain {
      abandonedOnMain = threadNumber
      isMainTaken = true
    }
    if externallyStartedJobs > 0, isAnyExternalJobOnMain {
      isExternalJobAbandonedOnMain = true
      isMainTaken = true
    }
    // A requested thread runs no job yet, so it is kept. If another thread were requested instead, both would act.
    if !isThreadRequested { threadParks() }
    abandonedExternalJobs += externallyStartedJobs
    externallyStartedJobs = 0
  }

  /// Notes that the job on an abandoned thread ended.
  mutating func abandonedJobEnded(on number: Int) {
    guard number == abandonedOnMain else { return }
    abandonedOnMain = nil
    isMainTaken = false
  }

  mutating func requestThread(on executor: ExecutorKind) {
    thread = .requested(on: executor)
  }

  /// Notes that a requested thread arrived. Returns the number with which it acts; `nil` if it must not act.
  ///
  /// A request may have been withdrawn, or made twice (`Scheduler.jobBlocksThread`). The first thread that comes acts.
  mutating func requestedThreadBegins(on executor: ExecutorKind) -> Int? {
    thread == .requested(on: executor) ? threadBegins(on: executor) : nil
  }

  /// Notes that a thread begins to act. Returns its number.
  mutating func threadBegins(on executor: ExecutorKind) -> Int {
    // From here on, the request can no longer be withdrawn.
    thread = .acting
    isActingOnMain = executor == .main
    return threadNumber
  }

  /// Lets another thread act. Returns the number with which the current thread can act again.
  @discardableResult
  mutating func threadParks() -> Int {
    let number = threadNumber
    newestThreadNumber += 1
    threadNumber = newestThreadNumber
    thread = .none
    return number
  }

  /// Lets a parked thread act in place of the current thread.
  mutating func threadResumes(_ number: Int, isMain: Bool) {
    threadNumber = number
    isActingOnMain = isMain
  }

  /// Stops waiting for all external work. Returns the absence to report, and tasks to release without a
  /// lock.
  ///
  /// The test waits for `absenceWasReported` instead.
  mutating func abandonExternalWork() -> (absence: Absence?, released: [RetainedTask]) {
    let (tasks, released) = externalTasks.abandon()
    let queues = dispatchedBlocks.abandon()
    changeMainQueueOrder { $0.abandonBlocks() }
    if dispatchedBlocks.isMainAbandoned { isMainTaken = true }
    guard !tasks.isEmpty || !queues.isEmpty else { return (nil, released) }
    unreportedAbsences += 1
    return (Absence(tasks: tasks, queues: queues), released)
  }

  mutating func absenceWasReported() { unreportedAbsences -= 1 }

  /// Stops the program if a count is wrong; for tests.
  func checkInvariants() {
    precondition(externallyStartedJobs >= 0, "more jobs have ended than began")
    precondition(unreportedAbsences >= 0, "more absences were reported than found")
    ready.checkInvariants()
    externalTasks.checkInvariants()
    dispatchedBlocks.checkInvariants()
  }
}

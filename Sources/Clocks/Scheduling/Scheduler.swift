/// Runs one test's tasks, one job at a time and in a known order, and so knows when nothing of the
/// test can run.
///
/// **Idle** is defined here, by three facts, and nowhere else: no job is ready (`ready` is empty),
/// no job is running that the scheduler started (they run in `pump`, one after another, and `pump`
/// asks after each), and none that it did not start (`visitors` is 0). Only then does it turn to
/// what waits for idleness: first to those who have not looked at the present instant yet
/// (`followers`), then to those who only want to know (`settles`), then to the oldest request that
/// moves time (`requests`), then to the followers, for whom time moves as well, and at last, if
/// nobody asks for anything, to its `pacemaker`, if it has one.
///
/// A scheduler has no thread of its own. When there is something to do, a thread of the pool or the
/// main thread runs `pump` until there is not.
final class Scheduler: Sendable {
  /// Guards everything below, and the time and sleeps of the scheduler's clocks.
  ///
  /// The lock makes every access exclusive, so they are not checked a second time.
  ///
  /// Nobody but the scheduler's own files touches what it guards.
  ///
  /// No job runs, no continuation is resumed and no observer is called while it is held. Comparing
  /// two instants is all of a user's code that may run under it.
  let lock = Lock()

  /// The jobs that could run now.
  @exclusivity(unchecked) nonisolated(unsafe) var ready = JobQueue()
  /// Whether a thread runs `pump`, or has been asked to. There is at most one at a time.
  @exclusivity(unchecked) nonisolated(unsafe) var isPumping = false
  /// The number of running jobs that the scheduler did not start; while there are any, it starts
  /// none.
  @exclusivity(unchecked) nonisolated(unsafe) var visitors = 0
  /// Who waits to hear that the scheduler is idle; time does not move for them.
  @exclusivity(unchecked) nonisolated(unsafe) var settles = RequestQueue()
  /// Who wants time to move, in order of arrival; the first is under way.
  @exclusivity(unchecked) nonisolated(unsafe) var requests = RequestQueue()
  /// Who wants to look at every instant at which something happens, in order of arrival.
  @exclusivity(unchecked) nonisolated(unsafe) var followers: [any Follower] = []
  /// The number of jobs that have become ready because of something outside, of which no deadline
  /// tells. Counted only where time may wait for it: where there is a pacemaker.
  @exclusivity(unchecked) nonisolated(unsafe) var arrivals: UInt64 = 0
  /// Moves time when nobody asks for it; `nil` unless the test's time is virtual throughout.
  @exclusivity(unchecked) nonisolated(unsafe) var pacemaker: (any Pacemaker)?
  /// The number of jobs since time last moved, and of wakes since a request last began.
  @exclusivity(unchecked) nonisolated(unsafe) var jobsWithoutWake = 0
  @exclusivity(unchecked) nonisolated(unsafe) var wakes = 0
  /// What is too much of either.
  @exclusivity(unchecked) nonisolated(unsafe) var limits = RunawayLimits()
  /// The task whose jobs start the counting of wakes anew; 0 if there is none.
  @exclusivity(unchecked) nonisolated(unsafe) var rootTask: UInt64 = 0
  /// The number of jobs that have begun, and the one that runs.
  @exclusivity(unchecked) nonisolated(unsafe) var jobs: UInt64 = 0
  @exclusivity(unchecked) nonisolated(unsafe) var runningJob: (number: UInt64, task: UInt64)?
  /// For how long there has been something to run and no thread yet, in sum.
  @exclusivity(unchecked) nonisolated(unsafe) var nanosecondsWithoutThread: UInt64 = 0
  /// The job that ran when the watchdog last looked for the first time, and since when it does.
  @exclusivity(unchecked) nonisolated(unsafe) var watched:
    (job: UInt64, limit: RealTime, isKnown: Bool)?
  /// The number of jobs when the watchdog first found the test at rest with sleeps pending, and how
  /// long that may last, and how often longer.
  @exclusivity(unchecked) nonisolated(unsafe) var watchedRest:
    (jobs: UInt64, limit: RealTime, patience: Int, isKnown: Bool)?
  /// The times of the clocks, but for that of a scope, and the number of clocks that there were
  /// before each.
  @exclusivity(unchecked) nonisolated(unsafe) var timelines: [ObjectIdentifier: NumberedTimeline] =
    [:]
  @exclusivity(unchecked) nonisolated(unsafe) var nextTimeline = 0
  /// Who is told what the scheduler does; `nil` nearly always.
  @exclusivity(unchecked) nonisolated(unsafe) var observer: SchedulerObserver?

  let order = SchedulingOrder()

  /// Takes over sleeps on the runtime's own clocks; `nil` unless the test's time is virtual
  /// throughout. Set before the scheduler has a task.
  nonisolated(unsafe) private(set) var runtimeSleeps: (any RuntimeSleeps)?
  /// The time that all clocks of the test read; `nil` unless the test's time is virtual throughout.
  /// Set before the scheduler has a task.
  nonisolated(unsafe) private(set) var scopeTimeline: Timeline<Duration>?
  /// The scheduler of the test that the scope is a part of.
  let parent: Scheduler?
  /// Where the test made its first clock, or began the scope.
  let origin: CallSite
  /// The task that made the test's first clock; `nil` if it is not known, or cannot be watched.
  let testTask: RuntimeDoor.WatchedTask?
  /// Makes the test fail that runs; to be called by one of its tasks.
  let record: @Sendable (String) -> Void
  /// Records what none of its tasks can.
  private let reporter: FailureReporter?

  init(origin: CallSite) {
    parent = nil
    self.origin = origin
    record = { recordFailure($0, at: origin) }
    testTask = nil
    reporter = nil
  }

  /// Makes the scheduler of the current task's test.
  private init(ofCurrentTestAt origin: CallSite) {
    parent = nil
    self.origin = origin
    record = { recordFailure($0, at: origin) }
    testTask = .current
    reporter = FailureReporter()
  }

  /// Makes the scheduler of a test whose time is virtual throughout.
  init(
    timeline: Timeline<Duration>, pacemaker: any Pacemaker, runtimeSleeps: any RuntimeSleeps,
    limits: RunawayLimits, origin: CallSite, record: (@Sendable (String) -> Void)? = nil
  ) {
    parent = ThreadContext.current?.pointee.scheduler
    self.origin = origin
    self.record = record ?? { recordFailure($0, at: origin) }
    testTask = nil
    reporter = FailureReporter()
    scopeTimeline = timeline
    self.pacemaker = pacemaker
    self.runtimeSleeps = runtimeSleeps
    self.limits = limits
  }

  deinit { lock.destroy() }

  // MARK: - Which scheduler

  /// The scheduler for a clock that is made now: the current task's, or the process-wide one
  /// outside any task.
  ///
  /// The clock must give it back with `release()`.
  static func retainForNewClock(at origin: CallSite) -> Scheduler {
    RuntimeDoor.open()
    Watchdog.start()
    let ownership = TaskOwnership.shared
    guard let task = RuntimeDoor.currentTaskID else {
      return ownership.retainProcessWide { Scheduler(origin: origin) }
    }
    let known = RuntimeDoor.runningScheduler ?? ownership.owner(of: task)
    if known == nil, TestLibraries.isXCTestRunning {
      // One test runs at a time, but in several tasks: `setUp`, the test, `tearDown`.
      let scheduler = ownership.retainProcessWide { Scheduler(origin: origin) }
      scheduler.admitCurrentTask()
      return scheduler
    }
    let scheduler = known ?? Scheduler(ofCurrentTestAt: origin)
    scheduler.retain()
    // Also if the current thread runs for the scheduler already: its first clocks may be gone, and
    // with them all that was known of its tasks.
    _ = ownership.claim(task, for: scheduler)
    scheduler.admitCurrentTask()
    return scheduler
  }

  /// Keeps the scheduler registered for one more clock, until `release`.
  func retain() {
    TaskOwnership.shared.retain(self, watermark: RuntimeDoor.newestTaskID())
  }

  func release() {
    TaskOwnership.shared.release(self)
  }

  /// Makes the current task the scheduler's, if no other test owns it, and says whether it is the
  /// scheduler's now.
  ///
  /// If its job was not started by the scheduler, it is a visitor until it ends. O(1).
  @discardableResult
  func admitCurrentTask() -> Bool {
    let context = ThreadContext.current
    guard let task = RuntimeDoor.currentTaskID else { return false }
    if let context, context.pointee.scheduler === self {
      // Everything that comes through the door is registered there. What does not is a task that
      // has not been suspended yet (`Task.immediate`) or that was only ever in an actor's queue.
      return context.pointee.taskID == task || TaskOwnership.shared.claim(task, for: self)
    }
    guard TaskOwnership.shared.claim(task, for: self) else { return false }
    guard context?.pointee.scheduler == nil else { return true }
    visit()
    context?.pointee.scheduler = self
    return true
  }

  /// Whether the current task is another test's: neither the scheduler's own nor that of a scope
  /// within the test.
  var isCurrentTaskForeign: Bool {
    guard
      let task = RuntimeDoor.currentTaskID, var owner = TaskOwnership.shared.owner(of: task)
    else { return false }
    while owner !== self {
      guard let parent = owner.parent else { return true }
      owner = parent
    }
    return false
  }

  /// Waits from now on for the end of the job that the current thread runs.
  func visit() {
    if let context = ThreadContext.current {
      context.pointee.visited.append(self)
      lock.withLock { visitors += 1 }
    } else if RuntimeDoor.isOnMainQueue {
      // A job that began before the door was opened. The main thread's next turn comes when it has
      // ended.
      lock.withLock { visitors += 1 }
      RuntimeDoor.afterCurrentMainJob { self.visitorLeft(on: .main) }
    }
  }

  /// Has the counting of wakes start anew with each job of the current task.
  func admitRoot() {
    let task = RuntimeDoor.currentTaskID ?? 0
    lock.withLock { rootTask = task }
  }

  /// Makes the current task the scheduler's alone, whosever it was.
  ///
  /// The rest of the current job still runs where it runs; the scheduler waits for its end. To be
  /// called in a job that came through the door.
  func takeOverCurrentTask() {
    guard let task = RuntimeDoor.currentTaskID else { return }
    visit()
    TaskOwnership.shared.transfer(task, to: self)
  }

  /// A job that the scheduler did not start has ended.
  ///
  /// - Parameter lane: If given, the current thread has nothing else to do, and goes on with the
  ///   scheduler's jobs.
  func visitorLeft(on lane: Lane?) {
    let start: Lane? = lock.withLock {
      visitors -= 1
      jobs &+= 1
      return claimPump() ? nextLane : nil
    }
    guard let start else { return }
    if let lane { pump(on: lane) } else { startPump(on: start) }
  }

  // MARK: - Work

  /// Takes a job that has become ready. Amortized O(1).
  func enqueue(_ job: UnownedJob, taskID: UInt64, lane: Lane) {
    let start: Lane? = lock.withLock {
      // If the task sleeps on a clock of the runtime's, then it is ready because it was cancelled.
      if let runtimeSleeps, let over = runtimeSleeps.taskBecameReady(taskID) {
        ready.append(JobQueue.Entry(job: over, taskID: RuntimeDoor.taskID(of: over), lane: .pool))
      }
      ready.append(JobQueue.Entry(job: job, taskID: taskID, lane: lane))
      if pacemaker != nil, ThreadContext.current?.pointee.scheduler !== self { arrivals += 1 }
      return claimPump() ? nextLane : nil
    }
    if let start { startPump(on: start) }
  }

  /// Ends a sleep with an error; `isOwn` says whether it is a task of the scheduler's that sleeps.
  func resume(
    _ sleeper: UnsafeContinuation<Void, any Error>, isOwn: Bool, throwing error: any Error
  ) {
    // On a thread that runs for the scheduler nobody needs to look up who owns the task.
    let context = isOwn ? ThreadContext.current : nil
    guard let context, context.pointee.scheduler === self, !context.pointee.isWaking else {
      return sleeper.resume(throwing: error)
    }
    context.pointee.isWaking = true
    sleeper.resume(throwing: error)
    context.pointee.isWaking = false
  }

  /// Takes a request that moves time, for when the scheduler is idle and all earlier ones have been
  /// fulfilled. O(1).
  func enqueue(_ request: any IdleRequest) {
    ask { requests.append(request) }
  }

  /// Takes a request that does not move time, for the next time the scheduler is idle. O(1).
  func enqueueSettle(_ request: any IdleRequest) {
    ask { settles.append(request) }
  }

  /// Takes somebody who wants to look at the next instant at which something happens. O(1).
  func enqueueFollower(_ follower: any Follower) {
    ask { followers.append(follower) }
  }

  /// Notes what somebody wants of the scheduler when it is idle, and sees to it that `pump` runs.
  private func ask(_ note: () -> Void) {
    let start: Lane? = lock.withLock {
      note()
      jobsWithoutWake = 0
      return claimPump() ? nextLane : nil
    }
    if let start { startPump(on: start) }
  }

  /// Says whether the caller must see to it that `pump` runs. Called with the lock held.
  func claimPump() -> Bool {
    guard !isPumping, visitors == 0 else { return false }
    guard
      !ready.isEmpty || !settles.isEmpty || !requests.isEmpty || !followers.isEmpty
        || pacemaker?.wantsToMove == true
    else { return false }
    isPumping = true
    return true
  }

  /// Where the next job wants to run. Called with the lock held.
  var nextLane: Lane {
    ready.isEmpty ? .pool : ready[order.nextJob(among: ready.count)].lane
  }

  func startPump(on lane: Lane) {
    let start = RealTime(in: .zero)
    RuntimeDoor.startThread(on: lane) {
      self.lock.withLock { self.nanosecondsWithoutThread &+= start.nanosecondsSince }
      self.pump(on: lane)
    }
  }

  /// Has the pump look again whether there is something to do, now that the pacemaker may want to
  /// move.
  func wakePacemaker() {
    let start: Lane? = lock.withLock { claimPump() ? nextLane : nil }
    if let start { startPump(on: start) }
  }

  /// Whether nothing of the test runs and nothing is ready. Called with the lock held.
  var isIdle: Bool { ready.isEmpty && !isPumping && visitors == 0 }

  /// Runs `body` on behalf of the test, soon, from a thread that is not the test's: to record a
  /// failure.
  func runInTest(_ body: @escaping @Sendable () -> Void) {
    if let reporter { reporter.run(body) } else { body() }
  }

  /// Changes what is too much.
  func setLimits(_ limits: RunawayLimits) {
    lock.withLock { self.limits = limits }
  }
}

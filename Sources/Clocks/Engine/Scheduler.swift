import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Runs one test's tasks, one job at a time and in a known order, and so knows when nothing of the
/// test can run.
///
/// What it knows is a value, `SchedulerState`, which also decides what comes next; the definition of
/// idle is `Idleness.isIdle`. The scheduler guards that value, does what it decides
/// (`perform`), and starts a thread when the state says that one is needed (`change`).
final class Scheduler: TaskOwner, @unchecked Sendable {
  /// Guards `state`, and the timelines that are part of it. Only `change` takes it.
  ///
  /// No job runs, no continuation is resumed and no task is freed while it is held. Comparing
  /// and adding durations is all of a user's code that may run under it.
  private let lock = Lock()

  // The lock makes every access exclusive, so they are not checked a second time.
  @exclusivity(unchecked) nonisolated(unsafe) private var state: SchedulerState

  /// What does not change of a scope; `nil` unless the test's time is virtual throughout.
  let scope: Scope?
  /// The scheduler of the test that the scope is a part of.
  let parent: Scheduler?
  /// How a failure reaches the test.
  let report: TestReport
  /// Whether it is that of clocks that were made outside any test's task.
  let isProcessWide: Bool
  /// An address on the stack of the thread that acts, or has acted last: where jobs run there, they
  /// stand below it.
  let threadMark = Atomic<UInt>(0)

  /// Makes the scheduler of a test's clocks.
  ///
  /// - Parameters:
  ///   - isTestKnown: Whether the current task is the test's.
  ///   - isProcessWide: Whether the clocks were made outside any test's task.
  init(origin: CallSite, isTestKnown: Bool = false, isProcessWide: Bool = false) {
    self.isProcessWide = isProcessWide
    state = SchedulerState()
    scope = nil
    parent = nil
    report = TestReport(at: origin, isTestKnown: isTestKnown)
    super.init(isVirtual: false)
  }

  /// Makes the scheduler of a test whose time is virtual throughout.
  ///
  /// - Parameter chooser: Decides what comes first, if given.
  init(
    _ scope: Scope, origin: CallSite, record: (@Sendable (String) -> Void)? = nil,
    chooser: (any Chooser)? = nil
  ) {
    state = SchedulerState(scope: scope)
    self.scope = scope
    isProcessWide = false
    parent = Scheduler.ofThread
    // Whoever explores a scope reports for it.
    report = TestReport(at: origin, isTestKnown: !scope.options.isExplored, record: record)
    state.order = Order(chooser: chooser, slack: scope.options.slack)
    super.init(isVirtual: true, isExplored: scope.options.isExplored)
    scope.alarmClock.ring = { [weak self] in self?.alarmRings($0) }
  }

  deinit {
    state.listener?.isOver()
    lock.destroy()
  }

  // MARK: - The state

  /// Looks at the state, or changes it, and sees to it that a thread acts if one is needed then.
  ///
  /// Everything that reaches the scheduler comes through here. `body` runs with the lock held: it runs
  /// no job, resumes nothing and does not call `change`.
  @inline(__always)
  func change<Result>(_ body: (inout SchedulerState) -> Result) -> Result {
    var lane: Lane?
    let result = lock.withLock {
      let result = body(&state)
      lane = state.claimThread()
      return result
    }
    if let lane { startThread(on: lane) }
    return result
  }

  private func startThread(on lane: Lane) {
    let start = RealTime(in: .zero)
    RuntimeDoor.startThread(on: lane) {
      let number = self.change { state in
        state.activity.waitedForThread(nanoseconds: start.nanosecondsSince)
        return state.idleness.threadNumber
      }
      self.pump(on: lane, number)
    }
  }

  // MARK: - Acting

  /// The number of jobs after which a thread goes to the end of its queue, so that other tests get
  /// their turn.
  private static let jobsPerTurn = 1_000

  /// The number of pool jobs that the main thread runs before it leaves them to the pool.
  ///
  /// Once a scheduler is on the main thread it stays for a while: a test that hops to the main actor
  /// and back would otherwise change threads at every step.
  private static let poolJobsPerMainTurn = 64

  /// Does what comes next, again and again, until there is nothing to do: what the scheduler's
  /// thread runs.
  ///
  /// - Parameter number: The thread's number.
  private func pump(on lane: Lane, _ number: Int) {
    var context = ThreadContext(owner: self)
    context.run { context in
      threadMark.store(UInt(bitPattern: context), ordering: .relaxed)
      var jobs = 0
      var poolJobsOnMain = 0
      // The task that has come to its end in the job that ran last; 0 if none has.
      var ended: UInt64 = 0
      while true {
        let mayStay = jobs < Self.jobsPerTurn && poolJobsOnMain < Self.poolJobsPerMainTurn
        // Freed when the lock is not held any more.
        var freed: TaskHandle?
        let action = change { state in
          if ended != 0 { freed = state.liveTasks.remove(ended) }
          return state.next(on: lane, mayStay: mayStay, thread: number)
        }
        withExtendedLifetime(freed) {}
        ended = 0
        if case .run(let job) = action {
          jobs += 1
          if lane == .main { poolJobsOnMain = job.lane == .main ? 0 : poolJobsOnMain + 1 }
        }
        guard perform(action, context, &ended) else { return }
      }
    }
  }

  /// Does what was decided, and says whether the thread is to go on.
  @inline(__always)
  private func perform(
    _ action: Action, _ context: UnsafeMutablePointer<ThreadContext>, _ ended: inout UInt64
  ) -> Bool {
    switch action {
    case .run(let job):
      ended = run(job, context)
    case .wake(let continuation, let isOwn):
      if isOwn { willResume(TaskReference(continuation)) }
      context.pointee.isWaking = isOwn
      continuation.resume()
      context.pointee.isWaking = false
    case .finish(let continuation, let isOwn):
      if isOwn { willResume(TaskReference(continuation)) }
      context.pointee.isWaking = isOwn
      continuation.resume()
      context.pointee.isWaking = false
    case .begin(let work):
      work.begin()
    case .cancel(let tasks):
      noteProblem()
      for task in tasks { task.cancel() }
    case .report(let problem):
      reportOverdue(problem)
    case .inspect(let sleeps):
      inspect(sleeps)
    case .look:
      lookAtSuspects()
    case .move(let lane):
      startThread(on: lane)
      return false
    case .rest(let alarm):
      if let alarm { setAlarm(alarm) }
      return false
    }
    return true
  }

  @inline(__always)
  private func run(
    _ job: ReadyJob, _ context: UnsafeMutablePointer<ThreadContext>
  ) -> UInt64 {
    // Kept until its job has ended and its status has been read.
    let task = job.taskID == 0 ? nil : TaskReference(job: job.job).watchableHandle
    context.pointee.taskID = job.taskID
    context.pointee.arrivedTask = 0
    context.pointee.isInJob = true
    RuntimeDoor.run(job.job, job.taskID, on: job.lane)
    context.pointee.isInJob = false
    context.pointee.runLoops = TimeInRunLoops()
    context.pointee.taskID = 0
    var ended: UInt64 = 0
    if let task, context.pointee.arrivedTask != job.taskID {
      let status = TaskStatus(of: task.job)
      if status.isOver {
        ended = job.taskID
      } else if status.mayBeAway {
        taskMayBeAway(task.job)
      }
    }
    guard !context.pointee.visited.isEmpty else { return ended }
    AwayRegister.look()
    for owner in context.pointee.visited { owner.visitorLeft(on: nil) }
    context.pointee.visited = []
    return ended
  }

  // MARK: - As an owner of tasks

  override func enqueue(_ job: ReadyJob, isNew: Bool) {
    let task = isNew ? TaskReference(job: job.job).watchableHandle : nil
    change { state in
      if isNew, let chooser = state.order.chooser { chooser.taskWasCreated(job.taskID) }
      if let task { state.liveTasks.insert(task) }
      if state.listener != nil {
        // A task that has come to its end, and has another one go on, is no current task any more.
        let creator = TaskReference.currentID ?? ThreadContext.current?.pointee.taskID ?? 0
        if isNew {
          state.note(.taskCreated(job.taskID, by: creator))
          state.listener?.see(job.job, job.taskID)
        }
        state.note(.jobEnqueued(task: job.taskID, by: creator, job.lane))
      }
      let isFromOutside = scope != nil && ThreadContext.current?.pointee.runsJob(of: self) != true
      state.jobIsReady(job, isFromOutside: isFromOutside)
    }
  }

  override func draw(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
    let task = TaskReference.currentID ?? 0
    for start in stride(from: 0, to: bytes.count, by: 8) {
      guard let number = change({ $0.order.chooser?.draw(for: task) }) else { return false }
      withUnsafeBytes(of: number) {
        for (index, byte) in $0.prefix(bytes.count - start).enumerated() {
          bytes[start + index] = byte
        }
      }
    }
    return true
  }

  override func asked(_ question: Unforeseeable) {
    change { $0.order.chooser?.asked(question) }
  }

  override func enqueue(_ job: DelayedJob) { sleepVirtually(job) }

  override func reading(of clock: clockid_t, isDate: Bool) -> timespec? {
    virtualReading(of: clock, isDate: isDate)
  }

  override func taskMayBeAway(_ task: UnownedJob) { suspect(TaskReference(job: task)) }

  override func taskBeganElsewhere(_ task: UnownedJob) { runsElsewhere(TaskReference(job: task)) }

  override func taskEndedElsewhere(_ task: UInt64) { ranElsewhere(task) }

  override func taskHasAsyncLet(_ task: UnownedJob) {
    suspect(TaskReference(job: task), mayHaveRun: false, hasAsyncLets: true)
  }

  override func taskIsBack(_ task: UInt64, _ absence: UInt64) {
    change { state in
      guard state.awayTasks.isBack(task, absence) else { return }
      state.taskCameBack(task)
      state.liveTasks.removeIfOver(task)
    }
  }

  override func lookAfterTasksAway() {
    _ = change { state in
      let back = state.awayTasks.lookAtAsyncLets()
      for task in back { state.taskCameBack(task.id) }
      return back
    }
  }

  override func workBegan(on queue: String) -> UInt64 { workIsOnQueue(queue) }

  override func workEnded(_ number: UInt64) { workHasRun(number) }

  override func enqueue(_ work: DelayedWork, after delay: Duration) -> Bool {
    begin(work, after: delay)
  }

  override func remove(_ work: DelayedWork) { takeOut(work) }

  override func taskWasCreated(_ task: UnownedJob) {
    let handle = TaskReference(job: task).watchableHandle
    change { state in
      if let chooser = state.order.chooser { chooser.taskWasCreated(taskID(of: task)) }
      if let handle { state.liveTasks.insert(handle) }
      guard state.listener != nil else { return }
      state.note(.taskCreated(taskID(of: task), by: TaskReference.currentID ?? 0))
    }
  }

  override func visitorLeft(on lane: Lane?) {
    let number: Int? = change { state in
      state.visitorLeft()
      // Claims the thread before `change` does, so that this one goes on.
      return lane != nil && state.claimThread() != nil ? state.idleness.threadNumber : nil
    }
    if let number, let lane { pump(on: lane, number) }
  }
}

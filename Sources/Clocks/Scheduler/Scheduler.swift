import ClocksDrawing
import ClocksSupport
import Synchronization

/// Runs one test's tasks, one job at a time and in a known order, and so knows when the test is idle.
///
/// `SchedulerState` decides what comes next. The scheduler guards the state (`change`), starts a thread when
/// the state claims one, and performs its decisions (`perform`).
final class Scheduler: TaskOwner, @unchecked Sendable {
  /// Guards `state` and its virtual clocks. Rank `scheduler`.
  ///
  /// Taken by `change`, `changeWithoutThread`, `nextAction` and, if it is free, `changeIfAvailable`. While the lock is
  /// held, no job runs, no task is resumed and no task is freed. Of user code, only comparing and adding durations may
  /// run under the lock.
  private let lock = Lock(.scheduler)
  nonisolated(unsafe) private var state: SchedulerState

  /// The constant part of a scope; `nil` unless the test's time is virtual throughout.
  let scope: Scope?
  /// The scheduler of the test that the scope is a part of.
  let parent: Scheduler?
  let report: TestReport
  /// Whether shortcuts are taken that change no result.
  ///
  /// Sleeps on no actor use `sleep(_:on:)`. A job may move time itself (`SchedulerState.moveTime`). A woken task
  /// runs immediately if no other job can come first. Only tests of this package change this, before a task sleeps.
  nonisolated(unsafe) var usesFastWay =
    Environment.usesFastWay && RuntimeFunctions.haveHandlers
  let isProcessWide: Bool
  /// An address on the stack of the thread that acts, or acted last, or that runs an externally started job: the frames
  /// of jobs are below it.
  let threadMark = Atomic<UInt>(0)

  /// Whether a job of the test can run. Written with the lock held, if there is a test around it or a scope within it.
  let canRun = Atomic(false)
  /// Whether the test has stated an invariant in the scope, and the scope has not ended.
  let hasInvariants = Atomic(false)
  /// Whether tasks of the scheduler have outlived its clocks, and are unowned or belong to another scheduler by now.
  let hasLeftovers = Atomic(false)
  /// Whether one of the two variables above was ever true. Otherwise no code has to run before or after a job.
  let areJobsWatched = Atomic(false)

  /// - Parameters:
  ///   - isTestKnown: Whether the current task belongs to the test.
  ///   - chooser: Decides what comes first in a scope.
  init(
    _ scope: Scope? = nil, origin: CallSite, isTestKnown: Bool = false, isProcessWide: Bool = false,
    record: (@Sendable (String) -> Void)? = nil, chooser: (any Chooser)? = nil
  ) {
    state = SchedulerState(scope: scope)
    self.scope = scope
    self.isProcessWide = isProcessWide
    parent = scope == nil ? nil : Scheduler.running
    report = TestReport(at: origin, isTestKnown: isTestKnown, record: record)
    super.init(
      isVirtual: scope != nil, isExplored: scope?.options.isExplored == true,
      maker: scope == nil && isTestKnown ? UnownedTask.currentID ?? 0 : 0)
    guard let scope else { return }
    state.nesting.isNested = parent != nil
    state.scope?.pace.testAround = parent
    state.order = Order(chooser: chooser, slack: scope.options.slack)
    // A weak reference to the scheduler would make each retain and release four times as expensive. So the
    // alarm, which rings rarely, searches for the scheduler.
    scope.alarmClock.ring = { [unowned alarmClock = scope.alarmClock] number in
      Scheduler.all.first { $0.scope?.alarmClock === alarmClock }?.alarmRings(number)
    }
  }

  deinit {
    // A test without a scope is over when its last clock is gone.
    state.recorder?.deliver()
  }

  /// Reads or changes the state, and then starts a thread if one is needed.
  ///
  /// `body` runs with the lock held: it runs no job, resumes no task and does not call `change`.
  @inline(__always)
  func change<Result>(_ body: (inout SchedulerState) -> Result) -> Result {
    lock.lock()
    let result = body(&state)
    if state.nesting.isNested { state.scope?.pace.checkTestAround() }
    let executor = state.claimThread()
    let nestingChange = state.nesting.isNested ? takeNestingChange(&state) : nil
    lock.unlock()
    if let nestingChange { note(nestingChange) }
    if let executor { startThread(on: executor) }
    return result
  }

  /// Returns what the scheduler's thread `number` does next. Does the work of `change`, without closures, which a debug
  /// build would call for each job.
  ///
  /// - Parameters:
  ///   - ended: The task that came to its end in the thread's last job; 0 if none has.
  ///   - taken: The job of the task that the thread resumed, if there is one.
  @inline(__always)
  func nextAction(
    on executor: ExecutorKind, mayStay: Bool, thread number: Int, ended: UInt64, taken: ReadyJob?
  ) -> Action {
    // The task may be a leftover, which its test case keeps.
    if ended != 0, hasLeftovers.load(ordering: .relaxed) { TestCaseMembership.removeMember(ended) }
    lock.lock()
    // The reference is released without the lock. A debug build would copy a `RetainedTask` several times.
    var reference = ended == 0 ? 0 : state.liveTasks.removeReference(ended)
    if reference != 0, UnownedTask.isReferencedOnce(reference) {
      // The task is freed before the decision, because a `deinit` of its result may resume tasks.
      lock.unlock()
      UnownedTask.release(reference)
      reference = 0
      lock.lock()
    }
    if let taken { state.take(taken) }
    if state.nesting.isNested { state.scope?.pace.checkTestAround() }
    let action = state.next(
      on: executor, mayStay: mayStay, thread: number, runsWoken: usesFastWay)
    let next = state.claimThread()
    let nestingChange = state.nesting.isNested ? takeNestingChange(&state) : nil
    let formerJob = state.formerJob == nil ? nil : state.takeEndedFormerJob()
    lock.unlock()
    if let formerJob { formerJobEnded(formerJob, ended) }
    if reference != 0 { UnownedTask.release(reference) }
    if let nestingChange { note(nestingChange) }
    if let next { startThread(on: next) }
    return action
  }

  /// Like `change`, but starts no thread, because the caller runs in a job or calls `change` next.
  func changeWithoutThread<Result>(_ body: (inout SchedulerState) -> Result) -> Result {
    lock.withLock { body(&state) }
  }

  func startThread(on executor: ExecutorKind) {
    let start = RealTime(in: .zero)
    RuntimeHooks.startThread(on: executor) {
      let waited = start.nanosecondsSince
      if executor == .main { ThreadWaits.sourceBegins() }
      let number = self.change { $0.requestedThreadBegins(on: executor, after: waited) }
      if let number, let job = self.pump(on: executor, number) { UnownedJobs.submit(job) }
    }
  }

  // MARK: - As an owner of tasks

  override func enqueue(_ job: ReadyJob, isNew: Bool) {
    let isFromOutside = scope != nil && ThreadContext.current?.pointee.runsJob(of: self) != true
    let isFromOutsideTest = isFromOutside && !isNew && isCallerOfOtherTest
    let isOfCancelledTask =
      scope != nil && !isNew && UnownedTask(job: job.job).isKnownToBeCancelled
    let task = isNew ? UnownedTask(job: job.job).retainedIfReadable?.asWord : nil
    var late: UInt?
    change { state in
      // Checked before another thread may run the job, after which the task may be freed.
      if isNew, isWithoutClock.load(ordering: .relaxed) {
        late = UnownedTask(job: job.job).retainedIfReadable?.asWord
      }
      if let task { state.liveTasks.insert(job.taskID, takingOver: task) }
      if state.isObserved {
        // A task that resumes another task as it ends is no longer current, but its job still runs on this thread.
        let creator = UnownedTask.currentID ?? ThreadContext.current?.pointee.taskID ?? 0
        if isNew { state.taskWasCreated(job.job, by: creator, isSuspended: true) }
        state.note(RecordedEvent(.enqueued, task: job.taskID, other: creator))
      }
      state.jobIsReady(
        job, isFromOutside: isFromOutside, isFromOutsideTest: isFromOutsideTest,
        isOfCancelledTask: isOfCancelledTask)
    }
    if let late { leaveIfLate(RetainedTask(takingOver: late)) }
  }

  override func draw(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
    let task = UnownedTask.currentID ?? 0
    for start in stride(from: 0, to: bytes.count, by: 8) {
      guard
        let number = change({ $0.order.chooser?.draw(for: task, isNumber: bytes.count == 8) })
      else { return false }
      withUnsafeBytes(of: number) {
        bytes[start...].copyBytes(from: $0.prefix(bytes.count - start))
      }
    }
    return true
  }

  override func asked(_ question: NondeterminismSource) {
    _ = changeIfAvailable { $0.order.chooser?.asked(question) }
  }

  override func enqueue(_ job: DelayedJob) { sleepVirtually(job) }

  #if !canImport(CRT) && !canImport(WASILibc)
    override func reading(of clock: clockid_t) -> timespec? { virtualReading(of: clock) }
  #endif

  override func timePassesWithReading() { letTimePassWithReading() }

  /// Like `changeWithoutThread`; returns `nil` if the lock is not available. A signal handler may call this.
  func changeIfAvailable<Result>(_ body: (inout SchedulerState) -> Result) -> Result? {
    lock.withLockIfAvailable { body(&state) }
  }

  override func taskMayRunExternally(
    _ task: UnownedJob, mayHaveRun: Bool = true, hasAsyncLets: Bool = false
  ) {
    guard let task = UnownedTask(job: task).retainedIfReadable else {
      // The task is an `async let`. Its parent is checked instead.
      return change { $0.idleness.externalTasks.mayHaveChanged() }
    }
    change {
      $0.idleness.externalTasks.noteMayRunExternally(
        task, mayHaveRun: mayHaveRun, hasAsyncLets: hasAsyncLets)
    }
  }

  override func externalJobBegan(_ task: UnownedJob) {
    let id = taskID(of: task)
    let task = UnownedTask(job: task).retainedIfReadable
    change { state in
      // The task may have slept on a clock of the runtime. If it was cancelled then, no hook saw it become ready.
      state.endSleep(of: id)
      guard let task else { return }
      if state.idleness.externalTasks.externalJobBegan(task) { state.taskBecameExternal(id) }
    }
  }

  override func externalJobEnded(_ task: UInt64) {
    // Tasks that became external in the job are found before the test counts as idle.
    change { state in
      if state.idleness.externalTasks.externalJobEnded(task) { state.taskReturned(task) }
      // The task was cancelled before it was suspended, and has ended in the job that began the sleep.
      if state.idleness.externalTasks.isOver(task) { state.endSleep(of: task) }
    }
  }

  override func externalTaskReturned(_ task: UInt64, _ absence: UInt64, wasOver: Bool) {
    endAbsence(absence, of: task, wasOver: wasOver)
  }

  override func recheckExternalTasks() { recheckAsyncLets() }

  override func workBegan(on queue: BlockQueue, isBarrier: Bool) -> UInt64 {
    change { $0.dispatchedBlockBegan(on: queue, isBarrier: isBarrier) }
  }

  override func workRuns(_ number: UInt64, on thread: Int32? = nil, mark: UInt = 0) {
    // Only an unedited suite is asked which threads wait for events.
    let needsThread = scope?.options.isUnedited == true
    let thread = thread ?? (needsThread ? OutsideWork.currentThread : 0)
    change { $0.idleness.dispatchedBlocks.run(number, on: thread, mark: mark) }?.begin(mark: mark)
  }

  override func workEnded(_ number: UInt64) { change { $0.dispatchedBlockEnded(number) }?.end() }

  override func leaveBlocks() { leaveBlocks(of: testCase) }

  override func mainBlockIsReady(_ number: UInt64, _ submit: @escaping @Sendable () -> Void) {
    // A search does not order blocks and jobs: its steps would then depend on when Dispatch runs a block.
    if isExplored { return submit() }
    // The jobs of an abandoned test never begin, so a block must not wait for them.
    change { $0.isAbandoned ? submit() : $0.idleness.mainBlockIsReady(number, submit) }
  }

  override func submitMainBlocks() {
    change { $0.idleness.changeMainQueueOrder { $0.submitAll() } }
  }

  override func noteStop(_ stop: BlockQueue.Stop, of queue: BlockQueue, _ change: Int) {
    self.change { $0.idleness.dispatchedBlocks.noteStop(stop, of: queue, change) }
  }

  override func noteSuspension(of queue: BlockQueue) {
    change { $0.idleness.dispatchedBlocks.noteSuspension(of: queue) }
  }

  override func enqueue(_ work: TimedCallback, after delay: Duration) -> Bool {
    begin(work, after: delay)
  }

  override func remove(_ work: TimedCallback) {
    // The callback is released without the lock.
    _ = change { state in
      state.scope?.timedCallbacks.removeValue(forKey: ObjectIdentifier(work))
        .flatMap { scope?.virtualClock.sleeps.cancel($0.sleep) }
    }
  }

  override func taskWasCreated(_ task: UnownedJob) {
    let handle = UnownedTask(job: task).retainedIfReadable
    // Tasks are released without the lock. They are pruned here, because an immediate task may end without a job that
    // the scheduler runs.
    _ = change { state in
      if state.isObserved {
        state.taskWasCreated(task, by: UnownedTask.currentID ?? 0, isSuspended: false)
      }
      return handle.map { state.liveTasks.insert(pruning: $0) } ?? []
    }
    if let handle, isWithoutClock.load(ordering: .relaxed) { leaveIfLate(handle) }
  }

  @discardableResult
  override func externallyStartedJobEnded(on executor: ExecutorKind?) -> ReadyJob? {
    let number: Int? = change { state in
      state.externallyStartedJobEnded()
      // Claims the thread before `change` does, so that the current thread continues and no other is started.
      return executor.flatMap {
        state.claimThread() == nil ? nil : state.idleness.threadBegins(on: $0)
      }
    }
    guard let number, let executor else { return nil }
    return pump(on: executor, number)
  }
}

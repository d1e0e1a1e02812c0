import ClocksSupport
import Synchronization

#if canImport(Dispatch)
  import Dispatch
#endif

/// The hooks of the Swift runtime. Every job that is about to run on the default executor or on the main thread
/// passes through them.
///
/// A job that belongs to an owner goes to the owner. All other jobs go where they would go without this
/// package. The folder `Runtime` is the only place that knows the symbols, the layouts and the SPI of the
/// runtime and of the test libraries.
///
/// Sources: the Swift runtime, `stdlib/public/Concurrency` (`ExecutorBridge.swift`, `DispatchExecutor.swift`,
/// `ConcurrencyHooks.cpp`), as of Swift 6.3.1.
enum RuntimeHooks {
  /// Runs a job on the current thread, which stands for an executor of the given kind.
  ///
  /// An actor drain is registered with `ExternalTaskRegistry`, because it may run tasks of other owners.
  ///
  /// - Parameter id: The id of the job's task; 0 for an actor drain.
  @_transparent
  static func run(_ job: UnownedJob, _ id: UInt64, on executor: ExecutorKind) {
    guard id != 0 else {
      let number = ExternalTaskRegistry.beginJob()
      run(job, on: executor)
      return ExternalTaskRegistry.endJob(number)
    }
    run(job, on: executor)
  }

  @_transparent
  static func run(_ job: UnownedJob, on executor: ExecutorKind) {
    switch executor {
    case .pool: JobRuns.runKnown(job, on: genericExecutor)
    case .main:
      let executor = MainActor.sharedUnownedExecutor
      if TaskOwnership.shared.isAnyExplored { return JobRuns.runExplored(job, on: executor) }
      JobRuns.runKnown(job, on: executor)
    }
  }

  /// The runtime's value for "no particular executor".
  ///
  /// A job that runs with this value may hop to an actor without being enqueued again. A job that runs with a task
  /// executor could not, and each hop would cost twice as much.
  @_transparent
  private static var genericExecutor: UnownedSerialExecutor {
    unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)
  }

  /// Runs `body` on a thread that runs jobs of `executor`.
  static func startThread(on executor: ExecutorKind, _ body: @escaping @Sendable () -> Void) {
    if executor == .pool, isPoolBlocked.load(ordering: .acquiring) {
      return ExtraThreads.submit(body, .default)
    }
    let pool = InternalDispatch.globalQueue(.default, isBlocked: false)
    InternalDispatch.submit(body, to: executor == .main ? InternalDispatch.mainQueue : pool)
  }

  /// Whether a job has occupied its thread for long. Dispatch adds a thread for a blocked one, but not for one that
  /// loops.
  static let isPoolBlocked = Atomic(false)

  /// Lets jobs run on `ExtraThreads` from now on, also those that wait for a thread. Returns `false` if they did
  /// before.
  @discardableResult
  static func useExtraThreads() -> Bool {
    guard !isPoolBlocked.exchange(true, ordering: .acquiringAndReleasing) else { return false }
    for jobs in UnownedJobs.ofPool { UnownedJobs.useMoreThreads(for: jobs) }
    return true
  }

  #if canImport(Dispatch)
    static var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainQueueKey) != nil }

    private static let mainQueueKey: DispatchSpecificKey<Void> = {
      let key = DispatchSpecificKey<Void>()
      DispatchQueue.main.setSpecific(key: key, value: ())
      return key
    }()
  #else
    // Without Dispatch, all jobs run on the main thread.
    static var isOnMainQueue: Bool { true }
  #endif

  static func jobEnqueued(_ job: UnownedJob, on executor: ExecutorKind) {
    let thread = ThreadState.existing
    // Nearly all jobs of a suite that does not use this package take this path.
    if thread?.pointee.context == nil, PriorExecutors.areDispatch, TaskOwnership.shared.isEmpty,
      isNoted(job, on: thread)
    {
      noteEndOfTask(on: thread, resuming: job)
      return UnownedJobs.submit(ReadyJob(job: job, taskID: taskID(of: job), executor: executor))
    }
    jobEnqueued(job, on: executor, thread)
  }

  /// Notes the task that the current thread creates, if this is the task's first job. Returns `false` if there is an
  /// owner now.
  ///
  /// The task is noted before another thread can run the job, because the task may then create others.
  @inline(__always)
  private static func isNoted(_ job: UnownedJob, on thread: ThreadState.Reference?) -> Bool {
    guard let thread, isFirst(job, on: thread) else { return true }
    return TestCaseMembership.noteMadeWithoutOwner(job, isCertain: false)
  }

  /// Whether the current thread creates a task, and this is the first job of a task that arrives meanwhile.
  @inline(__always)
  private static func isFirst(_ job: UnownedJob, on thread: ThreadState.Reference) -> Bool {
    guard case .begun = thread.pointee.creation else { return false }
    let id = taskID(of: job)
    if id == 0 { return false }
    thread.pointee.creation = .jobArrived(id)
    return true
  }

  /// The rest of `jobEnqueued`. A debug build clears the memory of all variables of a function when it is called.
  @inline(__always)
  private static func jobEnqueued(
    _ job: UnownedJob, on executor: ExecutorKind, _ thread: ThreadState.Reference?
  ) {
    let context = thread?.pointee.context ?? ThreadContext.current
    if let context {
      if context.pointee.takes(job, on: executor) { return }
      if context.pointee.isWaking, let owner = context.pointee.owner {
        owner.enqueue(ReadyJob(job: job, taskID: taskID(of: job), executor: executor), isNew: false)
        return
      }
      if case .next = context.pointee.capture {
        context.pointee.capture = .job(job)
        return
      }
      if case .testCase = context.pointee.purpose, taskID(of: job) != 0 {
        // Thread B may run the job before the task's creation returns on thread A, so the task is noted here.
        context.pointee.purpose = .nothing
        TestCaseMembership.noteTestCase(job)
        context.pointee.arrivedTask = taskID(of: job)
      }
    }
    let ownership = TaskOwnership.shared
    if !ownership.isEmpty {
      let id = taskID(of: job)
      if let context, id != 0 { context.pointee.arrivedTask = id }
      let running = ThreadContext.owner(on: context)
      UnfinishedCreations.awaitOwner(of: id)
      var isFirst = false
      if let thread { isFirst = Self.isFirst(job, on: thread) }
      var (owner, isNew) = ownership.owner(ofReadyJob: id, on: running, isFirst: isFirst)
      // The words are compared, because a debug build would retain both owners for `!==`.
      if unsafeBitCast(owner, to: UInt.self) != unsafeBitCast(running, to: UInt.self),
        let running, ownership.adopt(leftover: id, of: owner, by: running)
      {
        (owner, isNew) = (running, true)
        TestCaseMembership.removeMember(id)
      }
      if owner == nil, isNew, TestCaseMembership.isOn {
        owner = TestCaseMembership.hasMade(job, isCertain: false, for: running)
      }
      if owner == nil, id != 0 { owner = TestCaseMembership.adopter(ofAsyncLet: job) }
      if let owner {
        owner.enqueue(ReadyJob(job: job, taskID: id, executor: executor), isNew: isNew)
        return
      }
    } else if let thread, let context, isFirst(job, on: thread) {
      // As in `isNoted`. The thread runs a job or a block of a scheduler without a clock.
      if let owner = TestCaseMembership.hasMade(job, isCertain: false, for: context.pointee.owner) {
        let id = taskID(of: job)
        context.pointee.arrivedTask = id
        owner.enqueue(ReadyJob(job: job, taskID: id, executor: executor), isNew: true)
        return
      }
    }
    noteEndOfTask(on: thread, resuming: job)
    if let context, context.pointee.keepsNext, executor == .pool {
      return context.pointee.keep(job)
    }
    runElsewhere(job, on: executor)
  }

  /// Called when an unowned job becomes ready. Notes whether a task may have ended in the actor drain that the current
  /// thread runs.
  ///
  /// A task that ends is no longer current when it resumes the task that waits for it. The job that ends `Task.yield`
  /// looks like a drain, too.
  @inline(never)
  static func noteEndOfTask(on thread: ThreadState.Reference?, resuming job: UnownedJob) {
    guard let thread, let drain = thread.pointee.unownedJob, RunningJobs.task(of: drain) == 0,
      RuntimeFunctions.currentTask == nil, !TaskStatus.isYielding(job)
    else { return }
    thread.pointee.mayHaveEndedTask = true
  }
}

extension ThreadContext {
  /// The owner on whose behalf the current thread runs.
  ///
  /// It is the owner of the current task. In an actor drain it may differ from the owner in the thread's
  /// context, because the drain runs all jobs of the actor's queue. A job that began before the hooks were
  /// installed has no context, but its task may have an owner.
  @_transparent
  static var runningOwner: TaskOwner? { owner(on: ThreadContext.current) }

  /// The owner on whose behalf a job runs on the current thread; `nil` between jobs.
  static var ownerOfJob: TaskOwner? {
    let known = ThreadState.existing?.pointee.context
    // An unowned job runs, if any. `current` would make its context, and then `jobEnqueued` takes longer.
    if known == nil, TaskOwnership.shared.isEmpty { return nil }
    guard let context = known ?? ThreadContext.current else { return ownerOfBlock }
    return context.pointee.isInJob ? owner(on: context) : nil
  }

  /// The owner whose time the current thread reads; `nil` for real time. A signal handler may call this.
  ///
  /// Like `ownerOfJob`, but makes no context, and waits for no lock that the thread may hold.
  static var ownerOfReader: TaskOwner? {
    guard let thread = ThreadState.existing else { return nil }
    let (owner, task): (TaskOwner?, UInt64)
    if let context = thread.pointee.context {
      guard context.pointee.isInJob else { return nil }
      (owner, task) = (context.pointee.owner, context.pointee.taskID)
    } else {
      guard let job = thread.pointee.unownedJob else { return ownerOfBlock }
      (owner, task) = (nil, RunningJobs.task(of: job))
    }
    guard let current = RuntimeFunctions.currentTask else { return owner }
    let id = Clocks.taskID(of: current)
    if id == task { return owner }
    UnfinishedCreations.awaitOwner(of: id, mayGiveUp: true)
    return TaskOwnership.shared.ownerIfAvailable(of: id, on: owner)
  }

  /// The owner that adopted the `UnownedBlock` that the current thread runs.
  private static var ownerOfBlock: TaskOwner? {
    ThreadState.existing?.pointee.unownedBlock?.owner
  }

  @inline(__always)
  static func owner(on context: UnsafeMutablePointer<ThreadContext>?) -> TaskOwner? {
    guard let context else {
      guard let task = UnownedTask.currentID else { return ownerOfBlock }
      return TaskOwnership.shared.owner(of: task)
    }
    let owner = context.pointee.owner
    guard let current = RuntimeFunctions.currentTask else { return owner }
    let task = Clocks.taskID(of: current)
    if task == context.pointee.taskID { return owner }
    UnfinishedCreations.awaitOwner(of: task)
    return TaskOwnership.shared.owner(of: task, on: owner)
  }
}

// The door to the Swift runtime. This folder is the only place that knows the runtime's symbols, its
// executors, its layouts and its SPI, and those of the test libraries.
//
// Through the door every job passes that is about to run on the default executor or on the main
// thread. What belongs to an owner is handed to it; everything else goes where it would have gone
// without us.
//
// Sources: the Swift runtime, `stdlib/public/Concurrency` (`ExecutorBridge.swift`,
// `DispatchExecutor.swift`, `ConcurrencyHooks.cpp`), as of Swift 6.3.1.

import Dispatch

enum RuntimeHooks {
  // MARK: - Jobs

  /// Runs a job here and now, as the executor of `executor` would.
  @inline(__always)
  static func run(_ job: UnownedJob, _ id: UInt64, on executor: ExecutorKind) {
    guard id != 0 else {
      let number = ExternalTaskRegistry.beginJob()
      run(job, on: executor)
      return ExternalTaskRegistry.endJob(number)
    }
    run(job, on: executor)
  }

  /// Runs a job that is a task's.
  @inline(__always)
  static func run(_ job: UnownedJob, on executor: ExecutorKind) {
    switch executor {
    case .pool: JobRuns.runKnown(job, on: genericExecutor)
    case .main: JobRuns.runKnown(job, on: MainActor.sharedUnownedExecutor)
    }
  }

  /// What the runtime means by "no particular executor".
  ///
  /// A job that runs on it may change over to an actor without being enqueued again; one that runs
  /// on a task executor of ours could not, and every hop would cost twice.
  private static let genericExecutor = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)

  // MARK: - Threads

  /// Runs `body` soon on a thread of `executor`.
  static func startThread(on executor: ExecutorKind, _ body: @escaping @Sendable () -> Void) {
    InternalDispatch.run(on: executor, body)
  }

  /// Notes that a job holds its thread for so long that nobody waits for it any more.
  static func threadIsBlocked() { InternalDispatch.poolIsExhausted() }

  /// Runs `body` on the main thread as soon as the job has ended that it runs now. To be called on
  /// the main queue.
  static func afterCurrentMainJob(_ body: @escaping @Sendable () -> Void) {
    InternalDispatch.run(on: .main, body)
  }

  /// Whether the current thread runs a turn of the main queue.
  static var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainQueueKey) != nil }

  private static let mainQueueKey: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  // MARK: - Through the door

  /// Where every job arrives that is ready to run.
  @inline(__always)
  static func jobEnqueued(_ job: UnownedJob, on executor: ExecutorKind) {
    let context = ThreadContext.current
    if let context {
      if context.pointee.takesNext {
        context.pointee.takesNext = false
        context.pointee.taken = ReadyJob(job: job, taskID: taskID(of: job), executor: executor)
        return
      }
      if context.pointee.isWaking, let owner = context.pointee.owner {
        owner.enqueue(ReadyJob(job: job, taskID: taskID(of: job), executor: executor), isNew: false)
        return
      }
      if case .next = context.pointee.capture {
        context.pointee.capture = .job(job)
        return
      }
      if case .testCase = context.pointee.purpose, taskID(of: job) != 0 {
        // Noted before it is handed on, because it may run before its maker goes on.
        context.pointee.purpose = .nothing
        TestCaseMembership.noteTestCase(job)
        context.pointee.arrivedTask = taskID(of: job)
      }
    }
    let ownership = TaskOwnership.shared
    if !ownership.isEmpty {
      let id = taskID(of: job)
      if let context, id != 0 { context.pointee.arrivedTask = id }
      let (owner, isNew) = ownership.owner(
        ofReadyJob: id, on: ThreadContext.owner(on: context))
      if let owner {
        owner.enqueue(ReadyJob(job: job, taskID: id, executor: executor), isNew: isNew)
        return
      }
      if isNew || id == 0, TestCaseMembership.isOn,
        let owner = isNew ? TestCaseMembership.hasMade(job) : TestCaseMembership.hasYielded(job)
      {
        owner.enqueue(ReadyJob(job: job, taskID: id, executor: executor), isNew: isNew)
        return
      }
    } else if TestCaseMembership.isOn, taskID(of: job) == 0 {
      // There is no owner who could have adopted it.
      _ = TestCaseMembership.hasYielded(job)
    }
    runElsewhere(job, on: executor)
  }

  /// The owner on whose behalf the current thread runs.
  @inline(__always)
  static var runningOwner: TaskOwner? { ThreadContext.runningOwner }

  /// Runs a foreign job on the thread that it was given.
  ///
  /// It may become a test's while it runs, by making a clock; then that test's owner waits for its
  /// end.
  ///
  /// - Parameter isCounted: Whether its end is to be told to the register of tasks.
  static func runUnowned(_ job: UnownedJob, on executor: ExecutorKind, isCounted: Bool = false) {
    let id = taskID(of: job)
    var context = ThreadContext(taskID: id, isInJob: true)
    if let owner = TestCaseMembership.adopter(of: id) {
      owner.enqueue(ReadyJob(job: job, taskID: id, executor: executor), isNew: false)
    } else {
      let endOfYield = id == 0 ? TestCaseMembership.endOfYield(job) : nil
      // It may be adopted while it runs. For a moment a task that is about to be suspended says that it is,
      // and yet goes on if it is resumed just then: so its job is known to run.
      let number = id != 0 && TestCaseMembership.isOn ? ExternalTaskRegistry.beginJob(of: id) : nil
      context.run { _ in run(job, id, on: executor) }
      if id == 0 { endOfYield?() } else { TestCaseMembership.letGo(ofEnded: id) }
      if TestCaseMembership.isOn { ExternalTaskRegistry.look(afterJob: number) }
    }
    let waiting = isCounted ? TaskOwnership.shared.unownedJobHasRun() : nil
    if !context.ownersAwaitingEnd.isEmpty {
      ExternalTaskRegistry.look()
      for owner in context.ownersAwaitingEnd.dropLast() { owner.externallyStartedJobEnded(on: nil) }
      // The thread has nothing else to do, so it can go on with the last one's jobs.
      context.ownersAwaitingEnd.last?.externallyStartedJobEnded(on: waiting == nil ? executor : nil)
    }
    waiting?.externallyStartedJobEnded(on: executor)
  }
}

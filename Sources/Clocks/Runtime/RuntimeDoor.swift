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

enum RuntimeDoor {
  // MARK: - Jobs

  /// Runs a job here and now, as the executor of `lane` would.
  @inline(__always)
  static func run(_ job: UnownedJob, on lane: Lane) {
    switch lane {
    case .pool: job.runSynchronously(on: genericExecutor)
    case .main: job.runSynchronously(on: MainActor.sharedUnownedExecutor)
    }
  }

  /// What the runtime means by "no particular executor".
  ///
  /// A job that runs on it may change over to an actor without being enqueued again; one that runs
  /// on a task executor of ours could not, and every hop would cost twice.
  private static let genericExecutor = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)

  // MARK: - Threads

  /// Runs `body` soon on a thread of `lane`.
  static func startThread(on lane: Lane, _ body: @escaping @Sendable () -> Void) {
    switch lane {
    case .pool: DispatchQueue.global().async(execute: body)
    case .main: DispatchQueue.main.async(execute: body)
    }
  }

  /// Runs `body` on the main thread as soon as the job has ended that it runs now. To be called on
  /// the main queue.
  static func afterCurrentMainJob(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.main.async(execute: body)
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
  static func arrive(_ job: UnownedJob, on lane: Lane) {
    let context = ThreadContext.current
    if let context {
      if context.pointee.isWaking, let owner = context.pointee.owner {
        owner.enqueue(ReadyJob(job: job, taskID: taskID(of: job), lane: lane), isNew: false)
        return
      }
      if case .next = context.pointee.holding {
        context.pointee.holding = .job(job)
        return
      }
    }
    if !TaskOwnership.shared.isEmpty {
      let id = taskID(of: job)
      let (owner, isNew) = TaskOwnership.shared.owner(
        ofReadyJob: id, at: unsafeBitCast(job, to: UInt.self), on: runningOwner)
      if let owner {
        owner.enqueue(ReadyJob(job: job, taskID: id, lane: lane), isNew: isNew)
        return
      }
    }
    runElsewhere(job, on: lane)
  }

  /// The owner on whose behalf the current thread runs.
  ///
  /// It is that of the current task, which in an actor's queue may be another one than that of the
  /// thread: whoever sets the queue going also runs what others have left in it. A job that began
  /// before the door was opened has no context, but its task may be a test's.
  static var runningOwner: TaskOwner? {
    guard let context = ThreadContext.current else {
      return TaskReference.currentID.flatMap { TaskOwnership.shared.owner(of: $0) }
    }
    let owner = context.pointee.owner
    guard let task = TaskReference.currentID, task != context.pointee.taskID else { return owner }
    return TaskOwnership.shared.owner(of: task, on: owner)
  }

  /// Runs a foreign job on the thread that it was given.
  ///
  /// It may become a test's while it runs, by making a clock; then that test's owner waits for its
  /// end.
  ///
  /// - Parameter isCounted: Whether its end is to be told to the register of tasks.
  static func runForeign(_ job: UnownedJob, on lane: Lane, isCounted: Bool = false) {
    let context = ThreadContext.run(
      ThreadContext(taskID: taskID(of: job), isCounted: isCounted, isInJob: true)
    ) { _ in
      run(job, on: lane)
    }
    let waiting = isCounted ? TaskOwnership.shared.foreignJobHasRun() : nil
    for owner in context.visited.dropLast() { owner.visitorLeft(on: nil) }
    // The thread has nothing else to do, so it can go on with the last one's jobs.
    context.visited.last?.visitorLeft(on: waiting == nil ? lane : nil)
    waiting?.visitorLeft(on: lane)
  }
}

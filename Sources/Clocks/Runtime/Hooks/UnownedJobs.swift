import ClocksSupport
import Synchronization

#if os(Linux)
  internal import CDispatch
#endif

/// The unowned jobs of one priority, which run on a queue like the runtime's own; or those of the main thread.
///
/// The queue runs at most as many jobs together as there are cores. With more threads, a test that blocks its
/// thread would affect other tests differently than without this package.
///
/// Each block on the queue runs the job that is first when the block begins. So once the queue is known to be
/// blocked, other threads can run the jobs.
///
/// Each job passes through here, also those of a process that uses nothing of this package. So most functions are
/// static and take a pointer: a debug build would retain an object, or copy a struct, for each call of a method.
struct UnownedJobs: ~Copyable {
  /// Jobs of one priority, which are never freed.
  typealias Reference = UnsafeMutablePointer<UnownedJobs>

  private static let highestPriority = 33
  /// The queues of the pool by priority, and then the queue of the main thread.
  nonisolated(unsafe) private static let all: Reference = {
    let all = Reference.allocate(capacity: highestPriority + 2)
    for priority in 0...highestPriority {
      (all + priority).initialize(to: UnownedJobs(priority: priority))
    }
    (all + highestPriority + 1).initialize(
      to: UnownedJobs(priority: QualityOfService.default.rawValue, InternalDispatch.mainQueue))
    return all
  }()

  private static var everyReference: [Reference] { (0...highestPriority + 1).map { all + $0 } }

  static var ofPool: [Reference] { everyReference.dropLast() }

  static func of(_ job: ReadyJob) -> Reference {
    if case .main = job.executor { return all + highestPriority + 1 }
    let priority = Int(job.job.priority.rawValue)
    return all + (priority < highestPriority ? priority : highestPriority)
  }

  static var isAnyWaiting: Bool {
    ofPool.contains { jobs in jobs.pointee.lock.withLock { !jobs.pointee.waiting.isEmpty } }
  }

  /// Lets `ExtraThreads` run the jobs, also those that wait now.
  static func useMoreThreads(for jobs: Reference) {
    let count = jobs.pointee.lock.withLock {
      jobs.pointee.isQueueBlocked = true
      return jobs.pointee.waiting.count
    }
    for _ in 0..<count { startExtraThread(for: jobs) }
  }

  /// The unowned jobs that wait for a thread or run at one moment.
  ///
  /// A job that a thread runs directly after another one never waits for a thread, and is not among them.
  struct Present: @unchecked Sendable {
    /// For each queue, the number of jobs that have begun once the present ones have.
    private let begun: [(jobs: Reference, count: UInt64)]
    /// The epoch that began when they had all begun.
    private var epoch: UInt64?

    init(in queues: [Reference] = everyReference) {
      begun = queues.map { jobs in
        jobs.pointee.lock.withLock {
          (jobs, jobs.pointee.begun + UInt64(jobs.pointee.waiting.count))
        }
      }
    }

    /// Whether all have ended, and so have the actor drains of tests that ran at that moment.
    ///
    /// Only the end of a running job can make this true. Requires `RunningJobs.lock`. O(threads).
    mutating func areOver() -> Bool {
      for (jobs, count) in begun {
        guard jobs.pointee.lock.withLock({ jobs.pointee.begun >= count }) else { return false }
      }
      let epoch = epoch ?? RunningJobs.beginEpoch()
      self.epoch = epoch
      return !RunningJobs.isAny(before: epoch)
    }
  }

  /// Runs `body` once all schedulers, jobs and serial queues of default priority that now wait for a thread have got
  /// one.
  static func afterReadyWork(_ body: @escaping @Sendable () -> Void) {
    RuntimeHooks.startThread(on: .pool) {
      let submit: @Sendable () -> Void = {
        // This queue shares its 255 threads with most serial queues of the process.
        InternalDispatch.submit(body, to: InternalDispatch.globalQueue(.default, isBlocked: true))
      }
      // If the flag is set after this, the block may never begin. Then the watchdog submits another one.
      if RuntimeHooks.isPoolBlocked.load(ordering: .acquiring) {
        ExtraThreads.submit(submit, .default)
      } else {
        InternalDispatch.submit(submit, to: all[Int(TaskPriority.medium.rawValue)].queue)
      }
    }
  }

  // The variables come first, because ThreadSanitizer takes a change of one of them for a change of the first word, and
  // the constants are read without the lock.

  private var waiting = JobQueue()
  private var isQueueBlocked = false
  /// Counts the jobs that have left `waiting` to run.
  private var begun: UInt64 = 0
  /// Guards the variables above. Rank `leaf`.
  private let lock = Lock(.leaf)
  private let priority: Int
  private let queue: InternalDispatch.Queue

  init(priority: Int, _ queue: InternalDispatch.Queue? = nil) {
    self.priority = priority
    self.queue = queue ?? InternalDispatch.cooperativeQueue(priority)
  }

  static func submit(_ job: ReadyJob) { submit(job, to: of(job)) }

  static func submit(_ job: ReadyJob, to jobs: Reference) {
    jobs.pointee.lock.lock()
    jobs.pointee.waiting.append(job)
    let isQueueBlocked = jobs.pointee.isQueueBlocked
    jobs.pointee.lock.unlock()
    guard !isQueueBlocked else { return startExtraThread(for: jobs) }
    #if os(Linux)
      dispatch_async_f(jobs.pointee.queue, jobs) {
        UnownedJobs.runFirst(of: $0!.assumingMemoryBound(to: UnownedJobs.self))
      }
    #else
      nonisolated(unsafe) let jobs = jobs
      InternalDispatch.submit({ runFirst(of: jobs) }, to: jobs.pointee.queue)
    #endif
  }

  private static func startExtraThread(for jobs: Reference) {
    nonisolated(unsafe) let jobs = jobs
    ExtraThreads.submit({ runFirst(of: jobs) }, QualityOfService(jobs.pointee.priority))
  }

  private static func runFirst(of jobs: Reference) {
    let thread = ThreadState.ofThread
    RunningJobs.prepareRecord(for: thread)
    jobs.pointee.lock.lock()
    // Another thread may have run the job, because the queue was blocked.
    guard !jobs.pointee.waiting.isEmpty else { return jobs.pointee.lock.unlock() }
    let first = jobs.pointee.waiting.remove(at: 0)
    jobs.pointee.begun += 1
    // Under the lock, so that `Present` sees each job wait or run.
    let running = RunningJobs.begin(of: first.taskID, on: thread)
    jobs.pointee.lock.unlock()
    if let next = RuntimeHooks.runUnowned(first, as: running) { run(next, of: jobs) }
  }

  /// Runs a job that the previous one on this thread made ready, and so on.
  private static func run(_ first: ReadyJob, of jobs: Reference) {
    var next: ReadyJob? = first
    var count = 0
    while let job = next {
      count += 1
      guard count <= mostInTurn, of(job) == jobs,
        jobs.pointee.lock.withLock({ jobs.pointee.waiting.isEmpty })
      else { return submit(job) }
      next = RuntimeHooks.runUnowned(job, as: ExternalTaskRegistry.beginJob(of: job.taskID))
    }
  }

  /// The most jobs that a thread runs one after another because each makes the next one ready.
  private static let mostInTurn = 16
}

extension RuntimeHooks {
  /// Runs an unowned job on the current thread.
  ///
  /// While the job runs, its task may create a clock and so be adopted. Then the task's owner waits for the end
  /// of the job. The task's status does not prove that no thread runs the task. Thread A marks the task as suspended.
  /// If thread B resumes it at that moment, thread A continues it. So each such job is among the `RunningJobs`.
  ///
  /// - Parameter running: The record of the job, which has begun.
  /// - Returns: A job that the thread may run next; only if the executor is the pool.
  static func runUnowned(_ ready: ReadyJob, as running: RunningJob) -> ReadyJob? {
    let (job, id) = (ready.job, ready.taskID)
    if let owner = TestCaseMembership.adopter(of: id) {
      owner.enqueue(ReadyJob(job: job, taskID: id, executor: ready.executor), isNew: false)
      ExternalTaskRegistry.endJob(running)
      return ready.isCounted ? runJobs(of: [], after: ready) : nil
    }
    let thread = running.pointee.thread!
    let outer = thread.pointee
    var place: UInt8 = 0
    thread.pointee.beginUnownedJob(running, &place)
    // The task is retained until its job ends and its status is read.
    let isRetained = id != 0 && TestCaseMembership.isOn && UnownedTask.retainIfReadable(job)
    run(job, on: ready.executor)
    let context = thread.pointee.context
    thread.pointee.endUnownedJob(within: outer)
    // Moved before the record may be used for another job, which would use the same memory.
    let awaiting = context?.move().ownersAwaitingEnd
    if isRetained {
      if TaskStatus(of: job).isOver { TestCaseMembership.removeMember(id) }
      UnownedTask.release(job)
    } else if thread.pointee.mayHaveEndedTask {
      thread.pointee.mayHaveEndedTask = false
      TestCaseMembership.removeEndedMembers(afterDrain: true)
    }
    ExternalTaskRegistry.endJob(running)
    guard ready.isCounted || awaiting != nil else { return nil }
    return runJobs(of: awaiting ?? [], after: ready)
  }

  /// Runs a job of a custom executor while there is no owner.
  ///
  /// As in `runUnowned`, the job's task may create a clock, whose owner then waits for the end of the job.
  static func runWithoutOwner(_ job: UnownedJob, _ body: () -> Void) {
    let task = taskID(of: job)
    if let context = ThreadState.existing?.pointee.context {
      // Within another job, an owner waits for the end of that one.
      if context.pointee.isInJob { return runUnowned(job, of: task, body) }
      // The hooks may be being installed: then the task is one of this package, and needs no record. The first record
      // of a process would start a thread (`CurrentTaskSlot`).
      return TestCaseMembership.runJob(of: job, task, body)
    }
    let running = ExternalTaskRegistry.beginJob(of: task)
    let thread = running.pointee.thread!
    let outer = thread.pointee
    var place: UInt8 = 0
    thread.pointee.beginUnownedJob(running, &place)
    TestCaseMembership.runJob(of: job, task, body)
    let context = thread.pointee.context
    thread.pointee.endUnownedJob(within: outer)
    let awaiting = context?.move().ownersAwaitingEnd
    ExternalTaskRegistry.endJob(running)
    guard let awaiting, !awaiting.isEmpty else { return }
    ExternalTaskRegistry.checkTasks()
    for owner in awaiting { owner.externallyStartedJobEnded(on: nil) }
  }

  /// Runs a job of a custom executor whose task has no owner, within the context of the thread.
  ///
  /// An owner may adopt the task meanwhile. Thread A marks the task as suspended. If thread B resumes it at that
  /// moment, thread A continues it. Then only the record shows the owner that the task runs.
  static func runUnowned(_ job: UnownedJob, of task: UInt64, _ body: () -> Void) {
    let running = ExternalTaskRegistry.beginJob(of: task)
    TestCaseMembership.runJob(of: job, task, body)
    ExternalTaskRegistry.endJob(running)
  }

  /// Runs jobs of the owners that waited for the end of an unowned job. Returns a job as `runUnowned` does.
  @inline(never)
  private static func runJobs(of owners: [TaskOwner], after ready: ReadyJob) -> ReadyJob? {
    guard ready.isCounted || !owners.isEmpty else { return nil }
    let waiting = ready.isCounted ? TaskOwnership.shared.unownedJobHasRun() : nil
    if !owners.isEmpty { ExternalTaskRegistry.checkTasks() }
    let owners = owners + (waiting.map { [$0] } ?? [])
    for owner in owners.dropLast() { owner.externallyStartedJobEnded(on: nil) }
    // The thread is free now, so it continues with the jobs of the last owner.
    let kept = owners.last?.externallyStartedJobEnded(on: ready.executor)
    guard ready.executor != .pool, let job = kept else { return kept }
    UnownedJobs.submit(job)
    return nil
  }
}

import ClocksSupport

/// The jobs that custom executors run.
///
/// They call functions of the runtime through the call tables of their images, as code does that creates tasks.
enum JobRuns {
  /// Whether custom executors' jobs are seen: the runtime has the three functions of `entries`, and this module's calls
  /// of `swift_job_run` were redirected.
  ///
  /// Written when the hooks are installed, and by tests.
  nonisolated(unsafe) static var areSeen = false

  /// The runtime's `swift_job_run`; set before calls are redirected, because this package's calls are redirected, too.
  ///
  /// Not read from `runJob`: each job needs the function, and a static variable with an initializer costs a call.
  nonisolated(unsafe) private static var originalRun: UnsafeMutableRawPointer?

  /// Runs a job that a scheduler started, or that is unowned, as the runtime does.
  @_transparent
  static func runKnown(_ job: UnownedJob, on executor: UnownedSerialExecutor) {
    #if os(Linux) && canImport(Glibc)
      if let originalRun {
        return unsafeBitCast(originalRun, to: RunJob.self)(job, executor)
      }
    #endif
    job.runSynchronously(on: executor)
  }

  /// Runs a job on a serial executor while a test in this process is explored.
  ///
  /// Hops of a task are seen because it prefers `Hops.executor`. The runtime compares the preference with the executor
  /// of the running job. Without `Hops.executor`, it would take each further switch to the serial executor for a hop,
  /// and jobs that were enqueued later could run first. For a task with another preference, nothing changes: both
  /// values differ from it.
  @inline(never)
  static func runExplored(_ job: UnownedJob, on executor: UnownedSerialExecutor) {
    #if os(Linux) && canImport(Glibc)
      if areSeen, taskID(of: job) != 0, TaskStatus(of: job).hasPreference {
        return runJobOnBoth.original(job, executor, Hops.executor.asUnownedTaskExecutor())
      }
    #endif
    runKnown(job, on: executor)
  }

  /// Runs a job that a scheduler did not start, on behalf of the owner of the job's task.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs the job.
  ///   - other: The executor that the task prefers, if `executor` is a serial one and the job runs on both.
  private static func run(
    _ job: UnownedJob, on executor: CustomExecutor, and other: CustomExecutor? = nil,
    _ body: () -> Void
  ) {
    let id = taskID(of: job)
    guard !TaskOwnership.shared.isEmpty else { return RuntimeHooks.runWithoutOwner(job, body) }
    var owner = id == 0 ? ThreadContext.runningOwner : owner(of: job, id)
    if owner == nil, id != 0 {
      if CreationsOnExecutors.postpone(job, on: executor, or: other) { return }
      // Another thread may have registered the task, and ended its creation, since the owner was read.
      owner = self.owner(of: job, id)
    }
    let drain = id == 0 ? ExternalTaskRegistry.beginJob() : nil
    if id != 0 { owner?.externalJobBegan(job) }
    var context = ThreadContext(owner: owner, taskID: id, isInJob: true)
    withWaits(of: owner) { waits in
      context.waits = waits
      context.run { _ in owner == nil ? RuntimeHooks.runUnowned(job, of: id, body) : body() }
    }
    if id != 0 { owner?.externalJobEnded(id) }
    for owner in context.ownersAwaitingEnd { owner.externallyStartedJobEnded(on: nil) }
    if let drain { ExternalTaskRegistry.endJob(drain) } else { ExternalTaskRegistry.checkTasks() }
  }

  /// Calls `body` with the thread's waits, through which its sleeps are virtual in an unedited suite; otherwise with
  /// `nil`.
  ///
  /// Such a thread counts as a block, unless it runs a block, or a job, of the owner already.
  private static func withWaits(of owner: TaskOwner?, _ body: (ThreadWaits?) -> Void) {
    #if os(Linux) && canImport(Glibc)
      guard let owner = owner?.pausingAll else { return body(nil) }
      if ThreadContext.current?.pointee.owner === owner { return body(ThreadWaits.ofThread) }
      DispatchedBlock.run(on: .executor, of: owner) { body(ThreadWaits.ofThread) }
    #else
      body(nil)
    #endif
  }

  /// The owner of a task. A child that is not registered yet belongs to the owner of its parent.
  private static func owner(of task: UnownedJob, _ id: UInt64) -> TaskOwner? {
    if let owner = TaskOwnership.shared.owner(of: id) { return owner }
    guard StatusProbe.here.readsChildren, let parent = TaskStatus.parent(of: task),
      let owner = owner(of: parent, taskID(of: parent))
    else { return nil }
    if TaskOwnership.shared.register(newTask: id, of: owner) == true { owner.taskWasCreated(task) }
    return owner
  }
}

#if os(Linux) && canImport(Glibc)
  extension JobRuns {
    private typealias RunJob = @convention(thin) (UnownedJob, UnownedSerialExecutor) -> Void
    private typealias RunJobOnTaskExecutor =
      @convention(thin) (UnownedJob, UnownedTaskExecutor) -> Void
    private typealias RunJobOnBoth =
      @convention(thin) (UnownedJob, UnownedSerialExecutor, UnownedTaskExecutor) -> Void

    /// The calls to redirect; none if one of the functions is missing. This module calls only the first.
    static var entries: [CallTables.Entry] {
      let entries = [runJob.entry, runJobOnTaskExecutor.entry, runJobOnBoth.entry]
      guard entries.allSatisfy(\.isFound) else { return [] }
      originalRun = runJob.found
      return entries
    }

    private static let runJob: Interposed<RunJob> = Interposed("swift_job_run") { job, executor in
      run(job, on: CustomExecutor(executor)) {
        if TaskOwnership.shared.isAnyExplored {
          runExplored(job, on: executor)
        } else {
          runKnown(job, on: executor)
        }
      }
    }

    private static let runJobOnTaskExecutor: Interposed<RunJobOnTaskExecutor> = Interposed(
      "swift_job_run_on_task_executor"
    ) { job, executor in
      run(job, on: CustomExecutor(executor)) { runJobOnTaskExecutor.original(job, executor) }
    }

    private static let runJobOnBoth: Interposed<RunJobOnBoth> = Interposed(
      "swift_job_run_on_serial_and_task_executor"
    ) { job, executor, taskExecutor in
      run(job, on: CustomExecutor(executor), and: CustomExecutor(taskExecutor)) {
        runJobOnBoth.original(job, executor, taskExecutor)
      }
    }
  }
#endif

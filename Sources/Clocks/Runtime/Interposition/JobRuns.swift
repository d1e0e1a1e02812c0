// A job that comes to an executor of somebody's is run by that executor, on a thread that we do not
// know. It does so through one of three functions of the runtime, which user code calls through the
// call table of its own image. There we put ours in their place.

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  import Glibc
#endif

/// The jobs that executors of others run: their begin and their end.
enum JobRuns {
  /// Whether they are seen.
  static var areSeen: Bool { seen }

  nonisolated(unsafe) private static var seen = false
  /// The runtime's own functions; `nil` before ours are in their places.
  @exclusivity(unchecked) nonisolated(unsafe) fileprivate static var originalRun:
    UnsafeMutableRawPointer?
  nonisolated(unsafe) fileprivate static var originalRunOnTaskExecutor: UnsafeMutableRawPointer?
  nonisolated(unsafe) fileprivate static var originalRunOnBoth: UnsafeMutableRawPointer?

  /// Runs a job that a scheduler has started, or that nobody owns, as the runtime does.
  @inline(__always)
  static func runKnown(_ job: UnownedJob, on executor: UnownedSerialExecutor) {
    #if os(Linux) && canImport(Glibc) && compiler(>=6.2)
      if let originalRun {
        return unsafeBitCast(originalRun, to: RunJob.self)(job, executor)
      }
    #endif
    job.runSynchronously(on: executor)
  }

  /// Sees to it that they are seen, where that is possible. To be called once, while the door is
  /// opened.
  static func redirect() {
    #if os(Linux) && canImport(Glibc) && compiler(>=6.2)
      guard TaskStatus.isReadable,
        let run = dlsym(nil, "swift_job_run"),
        let runOnTaskExecutor = dlsym(nil, "swift_job_run_on_task_executor"),
        let runOnBoth = dlsym(nil, "swift_job_run_on_serial_and_task_executor")
      else { return }
      originalRun = run
      originalRunOnTaskExecutor = runOnTaskExecutor
      originalRunOnBoth = runOnBoth
      let runJob: RunJob = { job, executor in
        JobRuns.run(job) { JobRuns.runKnown(job, on: executor) }
      }
      let runJobOnTaskExecutor: RunJobOnTaskExecutor = { job, executor in
        JobRuns.run(job) {
          unsafeBitCast(JobRuns.originalRunOnTaskExecutor, to: RunJobOnTaskExecutor.self)(
            job, executor)
        }
      }
      let runJobOnBoth: RunJobOnBoth = { job, executor, taskExecutor in
        JobRuns.run(job) {
          unsafeBitCast(JobRuns.originalRunOnBoth, to: RunJobOnBoth.self)(
            job, executor, taskExecutor)
        }
      }
      seen = CallTables.redirectUsers([
        ("swift_job_run", unsafeBitCast(runJob, to: UnsafeRawPointer.self)),
        (
          "swift_job_run_on_task_executor",
          unsafeBitCast(runJobOnTaskExecutor, to: UnsafeRawPointer.self)
        ),
        (
          "swift_job_run_on_serial_and_task_executor",
          unsafeBitCast(runJobOnBoth, to: UnsafeRawPointer.self)
        ),
      ])
    #endif
  }

  /// Runs a job that a scheduler has not started, on the thread that it was given.
  ///
  /// If it is a test's task, the thread runs on behalf of that test meanwhile.
  fileprivate static func run(_ job: UnownedJob, _ body: () -> Void) {
    guard !TaskOwnership.shared.isEmpty else { return body() }
    let id = taskID(of: job)
    let owner = id == 0 ? ThreadContext.runningOwner : TaskOwnership.shared.owner(of: id)
    let number = id == 0 ? ExternalTaskRegistry.beginJob() : 0
    if id != 0 { owner?.externalJobBegan(job) }
    var context = ThreadContext(owner: owner, taskID: id, isInJob: true)
    context.run { _ in body() }
    if id != 0 { owner?.externalJobEnded(id) }
    for owner in context.ownersAwaitingEnd { owner.externallyStartedJobEnded(on: nil) }
    ExternalTaskRegistry.look(afterJob: number)
  }
}

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  private typealias RunJob = @convention(thin) (UnownedJob, UnownedSerialExecutor) -> Void
  private typealias RunJobOnTaskExecutor =
    @convention(thin) (UnownedJob, UnownedTaskExecutor) -> Void
  private typealias RunJobOnBoth =
    @convention(thin) (UnownedJob, UnownedSerialExecutor, UnownedTaskExecutor) -> Void
#endif

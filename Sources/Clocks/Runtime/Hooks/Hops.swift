/// The preferred executor that makes every hop of a task pass through the hooks.
///
/// The runtime runs most hops of a task to an actor and back without enqueuing a job: the task continues on
/// the same thread. A task with a preferred executor comes back to that executor after each hop, and an idle
/// actor is then run by an actor drain. So each task of an explored test gets a preferred executor when it is
/// created.
///
/// Source: `swift_task_switch` and `DefaultActorImpl` in the Swift runtime (`Actor.cpp`), as of Swift 6.3.1.
enum Hops {
  /// The preferred executor, which lives as long as the process.
  ///
  /// It is not the default executor, because a task that prefers that one need not come back to it.
  static let executor = PatchedDefaultExecutor()

  /// Calls `make` with the preference before a task's options. A later option wins, so a preference that the caller
  /// stated is kept.
  ///
  /// `Task.immediate` and `executorPreference: nil` state a preference for no executor. That option names the executor
  /// meanwhile: it is a variable of the function that creates the task.
  static func withPreference<Made>(
    _ options: UnsafeRawPointer?, _ make: (UnsafeRawPointer?) -> Made
  ) -> Made {
    // The task releases the executor when it is over.
    _ = Unmanaged.passRetained(executor)
    let words = ExecutorWords(executor.asUnownedTaskExecutor())
    if let preferred = TaskOption.emptyPreference(in: options) {
      let none = preferred.pointee
      preferred.pointee = words
      defer { preferred.pointee = none }
      return make(options)
    }
    var preference = TaskOption(
      kind: TaskOption.preferenceKind, next: options, executor: words)
    return withUnsafePointer(to: &preference) { make(UnsafeRawPointer($0)) }
  }

  /// A description of what prevents hops from being seen in this process; `nil` if they can be seen.
  ///
  /// The first use runs the probe, in some microseconds. Thread-safe.
  static let missing: String? = {
    guard RuntimeHooks.selfTest.capability == .executors, TaskCreation.isSeen else {
      return "the creation of tasks"
    }
    guard TaskOption.areReadable else { return "how a task is made that prefers an executor" }

    let target = Target()
    let body: @Sendable () async -> Void = {
      let first = await target.visit()
      let second = await target.visit()
      use(first, second)
    }
    let task = ThreadContext.capturingNextJob(for: .preferring) { Task.detached(operation: body) }
    guard let task else { return "the jobs of a task that prefers an executor" }
    return missing(of: task, on: target)
  }()

  private static func missing(of task: UnownedJob, on target: Target) -> String? {
    let id = taskID(of: task)
    var next: UnownedJob? = task
    var kinds: [Bool] = []
    while let job = next {
      let drain = ActorDrain(job)
      // The queue must have no job but `task`: any other pointer in it might not be a job.
      if let drain,
        drain.actor != ObjectIdentifier(target)
          || drain.latest.map({ unsafeBitCast($0, to: UInt.self) })
            != unsafeBitCast(task, to: UInt.self)
          || ActorDrain.job(before: task) != nil
      {
        _ = ThreadContext.capturingNextJob { RuntimeHooks.run(job, on: .pool) }
        return "the queue of an actor"
      }
      if drain == nil, taskID(of: job) != id { return "what a job is" }
      kinds.append(drain != nil)
      next = ThreadContext.capturingNextJob { RuntimeHooks.run(job, on: .pool) }
    }
    return kinds.starts(with: [false, true, false]) ? nil : "hops to actors and back"
  }

  private actor Target {
    private var visits = 0

    @inline(never)
    func visit() -> Int {
      visits += 1
      return visits
    }
  }

  /// An opaque sink, which keeps the optimizer from eliding the preceding hop.
  @inline(never)
  private static func use(_ first: Int, _ second: Int) { withExtendedLifetime((first, second)) {} }
}

/// A job that runs all jobs that are queued on one actor. Its queue can be read before it runs, and while it is parked.
struct ActorDrain {
  let actor: ObjectIdentifier
  private let pointer: UnsafeRawPointer

  /// `nil` if the job is not an actor drain.
  init?(_ job: UnownedJob) {
    let job = unsafeBitCast(job, to: UnsafeRawPointer.self)
    let flags = job.load(fromByteOffset: TaskABI.Job.flags, as: UInt32.self)
    guard flags & TaskABI.JobFlags.kindMask == TaskABI.JobFlags.actorDrain,
      let actor = job.load(fromByteOffset: TaskABI.Job.drainedActor, as: UnsafeRawPointer?.self)
    else { return nil }
    pointer = actor
    self.actor = unsafeBitCast(actor, to: ObjectIdentifier.self)
  }

  /// The task that is first in the queue; 0 if the queue is empty. O(n).
  var firstTask: UInt64 { jobs.last.map { taskID(of: $0) } ?? 0 }

  /// The jobs in the queue, the latest first. O(n).
  var jobs: [UnownedJob] {
    latest.map { Array(sequence(first: $0, next: Self.job)) } ?? []
  }

  var latest: UnownedJob? {
    pointer.load(fromByteOffset: TaskABI.Actor.latestJob, as: UnownedJob?.self)
  }

  static func job(before job: UnownedJob) -> UnownedJob? {
    unsafeBitCast(job, to: UnsafeRawPointer.self)
      .load(fromByteOffset: TaskABI.Job.previous, as: UnownedJob?.self)
  }

  var typeName: String {
    "\(type(of: Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()))"
  }
}

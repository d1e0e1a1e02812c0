// The runtime runs most hops of a task to an actor and back without telling anybody: the task simply goes
// on, on the same thread. A task that was given an executor to prefer comes back to that executor after
// each of them, and an actor that it finds idle is run by a job of its own. So a task of ours whose
// every hop matters is given one, when it is made.
//
// Source: `swift_task_switch` and `DefaultActorImpl` in the Swift runtime (`Actor.cpp`), and the records
// of options in `TaskOptions.h`, as of Swift 6.3.1.

/// What is needed so that every hop of a task comes through the door.
enum Hops {
  /// An option with which a task is made: the executor that it prefers.
  fileprivate struct Preference {
    var kind: UInt
    var next: UnsafeRawPointer?
    var executor: UnownedTaskExecutor
  }

  /// The kind of the option, as the compiler writes it; 0 before it is known.
  nonisolated(unsafe) private(set) static var kind: UInt = 0

  /// The executor that the tasks prefer. It is in memory for good.
  static let executor = HopExecutor()

  /// Gives `make` the options for a task that is made, with the preference in front.
  ///
  /// An option that the caller has given comes later, and so wins.
  static func withPreference<Made>(
    _ options: UnsafeRawPointer?, _ make: (UnsafeRawPointer?) -> Made
  ) -> Made {
    // The task lets go of it when it is over.
    _ = Unmanaged.passRetained(executor)
    var preference = Preference(
      kind: kind, next: options, executor: executor.asUnownedTaskExecutor())
    return withUnsafePointer(to: &preference) { make(UnsafeRawPointer($0)) }
  }

  /// Looks at the options of a task that is made with a preference by us.
  static func learn(from options: UnsafeRawPointer?) {
    let wanted = unsafeBitCast(executor.asUnownedTaskExecutor(), to: (UInt, UInt).self)
    var next = options
    while let option = next?.load(as: Preference.self) {
      if unsafeBitCast(option.executor, to: (UInt, UInt).self) == wanted { kind = option.kind }
      next = option.next
    }
  }
}

/// The executor to which tasks come back from a hop: the door.
final class HopExecutor: TaskExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .pool) }

  func enqueue(_ job: consuming ExecutorJob) {
    RuntimeHooks.jobEnqueued(UnownedJob(job), on: .pool)
  }
}

/// A job that runs what stands in an actor's queue. To be looked at while the job has not run.
struct ActorDrain {
  /// The actor.
  let actor: ObjectIdentifier
  private let pointer: UnsafeRawPointer

  /// `nil` if the job is another one.
  init?(_ job: UnownedJob) {
    let job = unsafeBitCast(job, to: UnsafeRawPointer.self)
    let flags = job.load(fromByteOffset: TaskABI.Job.flags, as: UInt32.self)
    guard flags & TaskABI.JobFlags.kindMask == TaskABI.JobFlags.actorDrain,
      let actor = job.load(fromByteOffset: TaskABI.Job.drainedActor, as: UnsafeRawPointer?.self)
    else { return nil }
    pointer = actor
    self.actor = unsafeBitCast(actor, to: ObjectIdentifier.self)
  }

  /// The task that stands in the queue first, by its number; 0 if there is none. O(n).
  var firstTask: UInt64 {
    var first: UInt64 = 0
    var next = latest
    while let job = next {
      first = taskID(of: job)
      next = Self.job(before: job)
    }
    return first
  }

  /// The jobs in the queue, the latest first. O(n).
  var jobs: [UnownedJob] {
    var jobs: [UnownedJob] = []
    var next = latest
    while let job = next {
      jobs.append(job)
      next = Self.job(before: job)
    }
    return jobs
  }

  /// The job that has come into the queue last.
  var latest: UnownedJob? {
    pointer.load(fromByteOffset: TaskABI.Actor.latestJob, as: UnownedJob?.self)
  }

  /// The job that has come into its queue before this one.
  static func job(before job: UnownedJob) -> UnownedJob? {
    unsafeBitCast(job, to: UnsafeRawPointer.self)
      .load(fromByteOffset: TaskABI.Job.previous, as: UnownedJob?.self)
  }

  /// The name of the actor's type.
  var typeName: String {
    "\(type(of: Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()))"
  }
}

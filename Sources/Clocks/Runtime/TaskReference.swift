/// A task, valid for as long as it is not over.
///
/// A task is a job: its `UnsafeCurrentTask` and its `UnownedJob` are the same pointer.
struct TaskReference: Sendable {
  let job: UnownedJob

  /// The current task, or `nil` outside any task.
  @inline(__always)
  static var current: TaskReference? {
    withUnsafeCurrentTask { task in
      task.map { TaskReference(job: unsafeBitCast($0, to: UnownedJob.self)) }
    }
  }

  var id: UInt64 { RuntimeDoor.taskID(of: job) }

  /// The same task, in memory for as long as the handle is; to be asked for while the task is known
  /// not to be over. O(1).
  var handle: TaskHandle { TaskHandle(self) }
}

/// A task that is kept in memory, whether or not it is over.
///
/// Except an `async let`, which is in memory for as long as its parent is in the block. Whoever lets
/// go of the last handle may free the task and what it holds, so no lock may be held then.
struct TaskHandle: Sendable {
  // Of what type a task's result is does not matter for what is done here: every `Task` is one
  // pointer to the runtime's task, which is counted in the runtime's own way.
  private let task: Task<Void, Never>
  /// The task as a job.
  let job: UnownedJob

  fileprivate init(_ reference: TaskReference) {
    job = reference.job
    task = unsafeBitCast(reference.job, to: Task<Void, Never>.self)
  }

  /// The task's number, which the runtime gives each task once.
  var id: UInt64 { RuntimeDoor.taskID(of: job) }

  var isCancelled: Bool { task.isCancelled }

  func cancel() { task.cancel() }
}

/// A task that has been made and has not started; it is to be started once, or run.
struct HeldTask: Sendable {
  let job: UnownedJob

  /// Makes a task with the current one's task-local values, and does not start it.
  ///
  /// `nil`, and `body` runs, where tasks do not pass through the door.
  init?(_ body: @escaping @Sendable () -> Void) {
    let context = ThreadContext.run(ThreadContext(holding: .next)) { _ in
      Task { body() }
    }
    guard case .job(let job) = context.holding else { return nil }
    self.job = job
  }

  /// Starts it on a thread of the pool, as a foreign task.
  func start() { RuntimeDoor.runElsewhere(job, on: .pool) }

  /// Runs it here and now.
  func runHere() { RuntimeDoor.run(job, on: .pool) }
}

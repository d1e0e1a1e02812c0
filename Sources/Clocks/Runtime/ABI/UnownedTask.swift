/// The id of the task whose job this is; 0 for a job that is not a task.
@_silgen_name("swift_task_getJobTaskId")
func taskID(of job: UnownedJob) -> UInt64

@_silgen_name("swift_retainCount")
private func retainCount(of job: UnownedJob) -> Int

/// A pointer to a task, valid while the task is not over.
///
/// The task's `UnsafeCurrentTask`, its `UnownedJob` and its continuations are the same pointer.
struct UnownedTask: Sendable {
  let job: UnownedJob

  /// `nil` outside any task.
  @_transparent
  static var current: UnownedTask? {
    guard let task = RuntimeFunctions.currentTask else { return nil }
    return UnownedTask(job: task)
  }

  /// The task that waits for a continuation.
  @_transparent
  init<Failure: Error>(_ continuation: UnsafeContinuation<Void, Failure>) {
    job = unsafeBitCast(continuation, to: UnownedJob.self)
  }

  @_transparent
  init(job: UnownedJob) { self.job = job }

  /// The number that the runtime gives the task. No other task ever gets it.
  @_transparent
  var id: UInt64 { taskID(of: job) }

  @_transparent
  static var currentID: UInt64? { current?.id }

  /// Whether the current thread runs the task.
  @_transparent
  var isCurrent: Bool {
    unsafeBitCast(job, to: UInt.self) == unsafeBitCast(RuntimeFunctions.currentTask, to: UInt.self)
  }

  static var currentName: String? {
    if let current, current.isKnownToBeNameless { return nil }
    if #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) {
      return Task.name
    }
    return nil
  }

  /// The name of a task that does not run; `nil` if it has none, or if that cannot be read.
  ///
  /// The name is a status record. A task adds records only while it runs, so the list does not change. O(records).
  var name: String? {
    guard StatusProbe.here.readsNames, !isKnownToBeNameless else { return nil }
    return MemoryCopy(ofTask: unsafeBitCast(job, to: UInt.self))?.name
  }

  /// An id that is greater than those of all tasks so far and smaller than those of all later tasks.
  ///
  /// Where there are no immediate tasks, the id of the current task, or 0.
  static func newestID() -> UInt64 {
    if #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) {
      // An immediate task runs on this thread and is never enqueued; only its id matters. The task is
      // registered nowhere, because the thread captures jobs while it creates the task.
      var id: UInt64 = 0
      _ = ThreadContext.capturingNextJob {
        let task = Task.immediate {}
        // The task is over, so without this its memory could be freed, and belong to another object, before it is read.
        id = withExtendedLifetime(task) { taskID(of: unsafeBitCast($0, to: UnownedJob.self)) }
      }
      return id
    }
    return currentID ?? 0
  }

  /// Retains the task. Requires that the task is in memory. O(1).
  var handle: RetainedTask { RetainedTask(self) }

  /// Retains the task; `nil` for an `async let`, which nothing can retain, and where `isOver`
  /// cannot be read. Requires that the task is not over. O(1).
  @_transparent
  var retainedIfReadable: RetainedTask? {
    TaskStatus.isKnownToBeReadable && !TaskStatus.isAsyncLet(job) ? handle : nil
  }
}

extension UnownedTask {
  /// Does what `retainedIfReadable` does, for code that runs for each job. Returns whether `release` must follow.
  static func retainIfReadable(_ job: UnownedJob) -> Bool {
    guard TaskStatus.isKnownToBeReadable, !TaskStatus.isAsyncLet(job) else { return false }
    _ = reference(to: job).retain()
    return true
  }

  static func release(_ job: UnownedJob) { reference(to: job).release() }

  /// Releases a reference that `RetainedTask.asWord` returned.
  @inline(__always)
  static func release(_ word: UInt) { release(unsafeBitCast(word, to: UnownedJob.self)) }

  /// Whether the release of a reference, as a word, would free the task.
  ///
  /// If the runtime counted in another way, the task would be freed after the decision that follows its end.
  @_transparent
  static func isReferencedOnce(_ word: UInt) -> Bool {
    retainCount(of: unsafeBitCast(word, to: UnownedJob.self)) == 1
  }

  @_transparent
  private static func reference(to job: UnownedJob) -> Unmanaged<AnyObject> {
    Unmanaged.fromOpaque(unsafeBitCast(job, to: UnsafeRawPointer.self))
  }
}

extension ReadyJob {
  /// The job as a task, which is not over before the job has run; `nil` if the job is not a task.
  var task: RetainedTask? { taskID == 0 ? nil : UnownedTask(job: job).handle }
}

/// A task that is kept in memory, whether or not it is over.
///
/// An `async let` is the exception: it stays in memory only until its parent leaves the block that declares it.
/// Releasing the last reference may free the task and what its closure captured, so no lock may be
/// held then.
struct RetainedTask: Equatable, Sendable {
  // The result type does not matter here: every `Task` is one pointer, counted by the runtime.
  private let task: Task<Void, Never>
  /// The pointer to the same task, in the type that the hooks and the scheduler use.
  let job: UnownedJob

  fileprivate init(_ reference: UnownedTask) {
    job = reference.job
    task = unsafeBitCast(reference.job, to: Task<Void, Never>.self)
  }

  /// The current task; `nil` outside any task, in an `async let`, and where `isOver` cannot be read.
  static var current: RetainedTask? {
    guard let task = UnownedTask.current?.retainedIfReadable, TaskStatus(of: task.job).isRunning
    else { return nil }
    return task
  }

  /// The current task, if it is a child task. Test libraries run tests in child tasks.
  static var currentChild: RetainedTask? {
    guard let task = UnownedTask.current, StatusProbe.here.readsChildren,
      TaskStatus.isChild(task.job)
    else { return nil }
    return current
  }

  static func == (lhs: RetainedTask, rhs: RetainedTask) -> Bool { lhs.id == rhs.id }

  var id: UInt64 { taskID(of: job) }

  /// Whether the task has ended. Requires `TaskStatus.isReadable`. O(1).
  var isOver: Bool { TaskStatus(of: job).isOver }

  var isCancelled: Bool {
    TaskStatus.readsCancellation ? TaskStatus(of: job).isCancelled : task.isCancelled
  }

  func cancel() { task.cancel() }

  /// One more reference to the task, as a plain word that `init(takingOver:)` takes over.
  ///
  /// Meant for large tables: a table of plain words grows and is freed without a retain or release of each entry.
  @_transparent
  var asWord: UInt {
    var word: UInt = 0
    withUnsafeMutablePointer(to: &word) {
      _ = UnsafeMutableRawPointer($0).initializeMemory(
        as: Task<Void, Never>.self, repeating: task, count: 1)
    }
    return word
  }

  /// Takes over the reference that `asWord` returned.
  @_transparent
  init(takingOver word: UInt) {
    job = unsafeBitCast(word, to: UnownedJob.self)
    var word = word
    task = withUnsafeMutablePointer(to: &word) {
      UnsafeMutableRawPointer($0).assumingMemoryBound(to: Task<Void, Never>.self).move()
    }
  }
}

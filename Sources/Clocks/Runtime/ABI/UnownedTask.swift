/// The id of the task whose job this is; 0 for a job that is no task's.
@_silgen_name("swift_task_getJobTaskId")
func taskID(of job: UnownedJob) -> UInt64

/// A task, valid for as long as it is not over.
///
/// A task is a job: its `UnsafeCurrentTask` and its `UnownedJob` are the same pointer.
struct UnownedTask: Sendable {
  let job: UnownedJob

  /// The current task, or `nil` outside any task.
  @inline(__always)
  static var current: UnownedTask? {
    guard let task = RuntimeFunctions.currentTask else { return nil }
    return UnownedTask(job: task)
  }

  /// The task that waits for a continuation.
  @inline(__always)
  init<Failure: Error>(_ continuation: UnsafeContinuation<Void, Failure>) {
    // A continuation is the task itself.
    job = unsafeBitCast(continuation, to: UnownedJob.self)
  }

  @inline(__always)
  init(job: UnownedJob) { self.job = job }

  /// The id of the current task, or `nil` outside any task.
  @inline(__always)
  static var currentID: UInt64? { current?.id }

  /// The name that the current task was given, if any.
  static var currentName: String? {
    if let current, current.isKnownToBeNameless { return nil }
    #if compiler(>=6.2)
      if #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) {
        return Task.name
      }
    #endif
    return nil
  }

  /// An id that is greater than that of every task so far and smaller than that of every task to
  /// come.
  static func newestID() -> UInt64 {
    #if compiler(>=6.2)
      if #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) {
        // An immediate task runs here and now and passes no door; only its number is of interest.
        return taskID(of: unsafeBitCast(Task.immediate {}, to: UnownedJob.self))
      }
    #endif
    return currentID ?? 0
  }

  /// The task's number, which the runtime gives each task once.
  @inline(__always)
  var id: UInt64 { taskID(of: job) }

  /// The same task, in memory for as long as the handle is; to be asked for while the task is known
  /// not to be over. O(1).
  var handle: RetainedTask { RetainedTask(self) }
}

extension ReadyJob {
  /// The task that the job is, which is not over as long as the job has not run; `nil` for a job that
  /// is no task.
  var task: RetainedTask? { taskID == 0 ? nil : UnownedTask(job: job).handle }
}

/// A task that is kept in memory, whether or not it is over.
///
/// Except an `async let`, which is in memory for as long as its parent is in the block. Whoever lets
/// go of the last handle may free the task and what it holds, so no lock may be held then.
struct RetainedTask: Sendable {
  // Of what type a task's result is does not matter for what is done here: every `Task` is one
  // pointer to the runtime's task, which is counted in the runtime's own way.
  private let task: Task<Void, Never>
  /// The task as a job.
  let job: UnownedJob

  fileprivate init(_ reference: UnownedTask) {
    job = reference.job
    task = unsafeBitCast(reference.job, to: Task<Void, Never>.self)
  }

  /// The task's number.
  var id: UInt64 { taskID(of: job) }

  var isCancelled: Bool { task.isCancelled }

  func cancel() { task.cancel() }
}

extension RetainedTask {
  /// The same as a word that keeps the task, and that nothing copies or lets go of by itself: for large
  /// tables, whose entries then are plain. It is to be taken over once.
  @inline(__always)
  var asWord: UInt {
    var word: UInt = 0
    withUnsafeMutablePointer(to: &word) {
      _ = UnsafeMutableRawPointer($0).initializeMemory(
        as: Task<Void, Never>.self, repeating: task, count: 1)
    }
    return word
  }

  /// Takes over what `asWord` has given.
  @inline(__always)
  init(takingOver word: UInt) {
    job = unsafeBitCast(word, to: UnownedJob.self)
    var word = word
    task = withUnsafeMutablePointer(to: &word) {
      UnsafeMutableRawPointer($0).assumingMemoryBound(to: Task<Void, Never>.self).move()
    }
  }
}

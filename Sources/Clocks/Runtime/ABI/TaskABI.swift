import Synchronization

// Every offset, bit and mask of the runtime's jobs, tasks and actors that this package relies on.
// Offsets are in bytes, for 64 bits. The runtime has no functions for what is read here; debuggers
// rely on the same layout.
//
// Sources: the Swift runtime as of Swift 6.3.1, `include/swift/ABI` and `stdlib/public/Concurrency`.
// Nothing is read before a probe has verified it with tasks of the kind in question: `StatusProbe`,
// `TaskLayoutProbe`, `TaskOption` or `Hops.missing`.

/// The memory layout of jobs, tasks and actors.
///
/// The comment of each constant names the declaration of the runtime for which the constant stands.
enum TaskABI {
  /// Offsets in `class Job : HeapObject` (Task.h).
  enum Job {
    /// `HeapObject::metadata`: equal in all tasks.
    static let metadata = 0
    /// `Job::SchedulerPrivate[0]`: in the queue of a default actor, the job that was enqueued before this one.
    static let previous = 16
    /// `Job::Flags`, 32 bits.
    static let flags = 32
    /// `Job::Id`, the lower 32 bits of a task's id.
    static let id = 36
    /// `Job::ResumeTask`, the function in which a task resumes.
    static let resumeFunction = 56
    /// `ProcessOutOfLineJob::Actor` (Actor.cpp): the actor whose queue this drain runs.
    static let drainedActor = 64
  }

  /// `class JobFlags` (MetadataValues.h)
  enum JobFlags {
    static let kindMask: UInt32 = 0xFF
    /// `JobKind::Task`
    static let task: UInt32 = 0
    /// `JobKind::DefaultActorSeparate`: an actor drain that is an object of its own.
    static let actorDrain: UInt32 = 193
    /// `Task_IsChildTask`
    static let isChild: UInt32 = 1 << 24
    /// `Task_IsAsyncLetTask`
    static let isAsyncLet: UInt32 = 1 << 28
    /// `Task_HasInitialTaskName`
    static let hasName: UInt32 = 1 << 30
  }

  /// `class AsyncTask : Job` (Task.h) and `AsyncTask::PrivateStorage` (TaskPrivate.h)
  enum Task {
    /// `AsyncTask::ResumeContext`
    static let resumeContext = 64
    /// `PrivateStorage::StatusStorage`: `ActiveTaskStatus::Flags`, 32 bits.
    static let status = 96
    /// `PrivateStorage::StatusStorage`: `ActiveTaskStatus::Record`, the innermost status record.
    static let records = 104
    /// `PrivateStorage::Id`, the upper 32 bits of the task's id.
    static let upperID = 144
    /// `sizeof(AsyncTask)`: in a child task, a `ChildFragment` begins at this offset.
    static let size = 208
  }

  /// `class ActiveTaskStatus` (TaskPrivate.h)
  enum Status {
    /// `IsCancelled`
    static let isCancelled: UInt32 = 0x100
    /// `IsStatusRecordLocked`: a thread is about to change the records.
    static let isLocked: UInt32 = 0x200
    /// `IsRunning`
    static let isRunning: UInt32 = 0x800
    /// `IsEnqueued`
    static let isEnqueued: UInt32 = 0x1000
    /// `IsComplete`
    static let isOver: UInt32 = 0x2000
    /// `HasTaskDependency`: the innermost record says what the task waits for.
    static let hasDependency: UInt32 = 0x4000
    /// `HasTaskExecutorPreference`
    static let hasPreference: UInt32 = 0x8000
  }

  /// Offsets and kinds of `class TaskStatusRecord` and its subclasses (TaskStatus.h).
  enum Record {
    /// `Flags`, whose lower 8 bits are the kind.
    static let kind = 0
    static let kindMask: UInt = 0xFF
    /// `Parent`, the next outer record.
    static let next = 8
    /// `DependentOn`, `FirstChild` or `Name`.
    static let content = 16
    /// `TaskDependencyStatusRecord::DependencyKind`, 32 bits.
    static let dependencyKind = 32
    /// The number of bytes that are read.
    static var size: Int { dependencyKind + MemoryLayout<UInt>.size }

    /// `TaskStatusRecordKind` (MetadataValues.h)
    enum Kind {
      static let dependency: UInt = 0
      static let childTask: UInt = 1
      static let taskGroup: UInt = 2
      static let name: UInt = 6
    }

    /// `TaskDependencyStatusRecord::DependencyKind`
    enum Dependency {
      static let task: UInt32 = 1
      static let continuation: UInt32 = 2
      static let taskGroup: UInt32 = 3
      static let executor: UInt32 = 4
    }
  }

  /// `AsyncTask::ChildFragment` (Task.h)
  enum ChildFragment {
    /// `Parent`
    static let parent = 0
    /// `NextChild`
    static let nextChild = 8
    /// The number of bytes that are read.
    static var size: Int { max(parent, nextChild) + MemoryLayout<UInt>.size }
  }

  /// `class AsyncContext` (Task.h)
  enum Context {
    /// `Parent`, the context of the caller.
    static let parent = 0
    /// `ResumeParent`, the function in which the caller resumes.
    static let resumeParent = 8
    /// The number of bytes that are read.
    static var size: Int { max(parent, resumeParent) + MemoryLayout<UInt>.size }
  }

  /// Offsets in `class TaskOptionRecord` and those of its subclasses that name an executor (TaskOptions.h).
  enum Option {
    /// `Flags`, whose lower 8 bits are the kind. The others are 0.
    static let kind = 0
    /// `Parent`, the next option.
    static let next = 8
    /// `TaskExecutor` or `Executor`, two words.
    static let executor = 16
    /// The number of bytes that are read.
    static var size: Int { executor + 2 * MemoryLayout<UInt>.size }
  }

  /// `class DefaultActorImpl` (Actor.cpp)
  enum Actor {
    /// `StatusStorage`: `ActiveActorStatus::Flags`, whose lowest bits are the state.
    static let status = 32
    static let stateMask: UInt = 7
    /// `ActiveActorStatus::Running`
    static let running: UInt = 2
    /// `ActiveActorStatus::FirstJob`: the job that was enqueued last.
    static let latestJob = 40
  }
}

/// The flags that the runtime keeps in a task's memory, as they were at one moment.
///
/// May be used only if `isReadable` is true.
struct TaskStatus {
  let flags: UInt32

  init(of task: UnownedJob) {
    let status = unsafeBitCast(task, to: UnsafeRawPointer.self) + TaskABI.Task.status
    // In a debug build `load(as:)` would be a call of a generic function. This read is inlined.
    flags = status.assumingMemoryBound(to: UInt32.self).pointee
  }

  init(flags: UInt32) { self.flags = flags }

  var isCancelled: Bool { flags & TaskABI.Status.isCancelled != 0 }

  var isRunning: Bool { flags & TaskABI.Status.isRunning != 0 && !isOver }

  var isOver: Bool { flags & TaskABI.Status.isOver != 0 }

  var isActive: Bool { has(TaskABI.Status.isRunning | TaskABI.Status.isEnqueued) && !isOver }

  /// Whether any of these bits is set, even if the layout probe has not verified them.
  func has(_ bits: UInt32) -> Bool { flags & bits != 0 }

  /// Whether the task prefers an executor, on which it also resumes after a suspension.
  ///
  /// All other tasks resume on the default executor, and hop to their actor from there.
  var hasPreference: Bool { flags & Self.preference != 0 && !isOver }

  /// Whether the task may be running, or may resume later, where its jobs do not pass through the hooks.
  var mayRunExternally: Bool { isActive || hasPreference }

  /// Whether a task runs, or will run without another event.
  ///
  /// A task that is suspended in `Task.yield` resumes when its executor runs the job of the yield, which has
  /// no task.
  static func isAboutToRun(_ task: UnownedJob) -> Bool {
    let status = TaskStatus(of: task)
    if status.isActive { return true }
    // The function is read only after the status.
    atomicMemoryFence(ordering: .acquiring)
    return !status.isOver && isYielding(task)
  }

  /// Whether a task that does not run is suspended in `Task.yield`, or was resumed there; `false` if that cannot be
  /// read.
  static func isYielding(_ task: UnownedJob) -> Bool {
    yieldFunction != 0 && resumeFunction(of: task) == yieldFunction
  }

  /// Reads the word even if the layout probe has not verified its offset.
  static func resumeFunction(of task: UnownedJob) -> UInt {
    unsafeBitCast(task, to: UnsafeRawPointer.self)
      .load(fromByteOffset: TaskABI.Job.resumeFunction, as: UInt.self)
  }

  /// Whether the task's memory is part of the parent task, so that nothing can retain it.
  static func isAsyncLet(_ task: UnownedJob) -> Bool { has(TaskABI.JobFlags.isAsyncLet, task) }

  static func isChild(_ task: UnownedJob) -> Bool { has(TaskABI.JobFlags.isChild, task) }

  /// The parent of a task, if it is a child. The parent stays in memory as long as the child.
  ///
  /// May be used only if `StatusProbe.readsChildren` is true.
  static func parent(of task: UnownedJob) -> UnownedJob? {
    guard isChild(task) else { return nil }
    return unsafeBitCast(task, to: UnsafeRawPointer.self)
      .load(
        fromByteOffset: TaskABI.Task.size + TaskABI.ChildFragment.parent, as: UnownedJob?.self)
  }

  /// Returns a task, or for an `async let` the innermost task around it that is not one.
  ///
  /// Returns the task itself if parents cannot be read.
  static func taskAroundAsyncLets(_ task: UnownedJob) -> UnownedJob {
    guard StatusProbe.here.readsChildren else { return task }
    var task = task
    while isAsyncLet(task), let parent = parent(of: task) { task = parent }
    return task
  }

  static func hasName(_ task: UnownedJob) -> Bool { has(TaskABI.JobFlags.hasName, task) }

  private static func has(_ flag: UInt32, _ task: UnownedJob) -> Bool {
    let flags = unsafeBitCast(task, to: UnsafeRawPointer.self) + TaskABI.Job.flags
    return flags.assumingMemoryBound(to: UInt32.self).pointee & flag != 0
  }

  /// Whether a task's status, and whether it is an `async let`, can be read. The first use runs the probe.
  static var isReadable: Bool { StatusProbe.here.readsStatus }

  // Stored copies for code that runs for each job: reading a lazy constant costs more than reading the status.

  nonisolated(unsafe) private(set) static var isKnownToBeReadable = false
  nonisolated(unsafe) private(set) static var readsCancellation = false
  nonisolated(unsafe) fileprivate static var readsNames = false
  /// The bit that `hasPreference` tests; 0 if the layout probe has not verified the bit.
  nonisolated(unsafe) private static var preference: UInt32 = 0

  /// The function in which a task resumes after `Task.yield`; 0 if the layout probe has not found it.
  nonisolated(unsafe) private(set) static var yieldFunction: UInt = 0

  /// Called once, before the hooks are used.
  static func prepare() {
    let probe = StatusProbe.here
    isKnownToBeReadable = probe.readsStatus
    readsCancellation = probe.readsCancellation
    readsNames = probe.readsNames
    preference = probe.readsPreferences ? TaskABI.Status.hasPreference : 0
    yieldFunction = probe.yieldFunction
  }
}

extension UnownedTask? {
  /// Throws if the task, which is the current one, is cancelled, as `Task.checkCancellation` does.
  @_transparent
  func checkCancellation() throws {
    if TaskStatus.readsCancellation, let self, !TaskStatus(of: self.job).isCancelled { return }
    try Task.checkCancellation()
  }
}

extension UnownedTask {
  /// Whether a flag shows that the task has no name. Reads no status records.
  @_transparent
  var isKnownToBeNameless: Bool { TaskStatus.readsNames && !TaskStatus.hasName(job) }

  /// Whether a flag shows that the task is cancelled. The job may be an actor drain, which has no flags.
  var isKnownToBeCancelled: Bool {
    TaskStatus.readsCancellation && id != 0 && TaskStatus(of: job).isCancelled
  }
}

import ClocksSupport

/// A task that is kept in memory, so that it can be asked whether it is over.
///
/// The runtime has no function for that. Its layout of a task's status is what debuggers rely on
/// (`RuntimeInternals.h` of the Swift runtime), and it is tried here before it is believed.
final class WatchedTask: Equatable, Sendable {
  private let task: RetainedTask

  /// The current task; `nil` outside any task, and where its status cannot be read.
  static var current: WatchedTask? {
    guard let task = UnownedTask.current, TaskStatus.isReadable, !TaskStatus.isAsyncLet(task.job),
      TaskStatus(of: task.job).isRunning
    else { return nil }
    return WatchedTask(task.handle)
  }

  /// The current task, if it is a child: a test library runs a test in one, and nothing can leave one
  /// behind.
  static var currentChild: WatchedTask? {
    guard let task = UnownedTask.current, TaskStatus.isReadable, TaskStatus.isChild(task.job)
    else {
      return nil
    }
    return current
  }

  init(_ task: RetainedTask) { self.task = task }

  static func == (lhs: WatchedTask, rhs: WatchedTask) -> Bool { lhs.task.id == rhs.task.id }

  /// The task as a job.
  var job: UnownedJob { task.job }

  /// Whether the task has come to its end. O(1).
  var isOver: Bool { TaskStatus(of: task.job).isOver }
}

/// What the runtime has written down about a task.
struct TaskStatus {
  private let flags: UInt32

  /// The status of a task that is in memory; to be asked for only where it is readable.
  init(of task: UnownedJob) {
    flags = unsafeBitCast(task, to: UnsafeRawPointer.self)
      .load(fromByteOffset: 96, as: UInt32.self)
  }

  /// Whether the task is cancelled.
  var isCancelled: Bool { flags & 0x100 != 0 }

  var isRunning: Bool { flags & 0x800 != 0 && !isOver }

  var isOver: Bool { flags & 0x2000 != 0 }

  /// Whether it runs, or is enqueued on some executor.
  var isActive: Bool { flags & 0x1800 != 0 && !isOver }

  /// Whether it was given an executor of its own to run on, where it also goes on after it was
  /// suspended. Every other task goes on on the default executor, and changes over to its actor
  /// from there.
  var hasPreference: Bool { flags & 0x8000 != 0 && !isOver }

  /// Whether it runs or goes on where it need not come through the door.
  var mayRunExternally: Bool { flags & 0x9800 != 0 && !isOver }

  /// Whether the task's memory is a part of its parent's, so that nothing keeps it.
  static func isAsyncLet(_ task: UnownedJob) -> Bool { flags(of: task) & 1 << 28 != 0 }

  /// Whether the task is a child, so that its parent's end waits for its own.
  static func isChild(_ task: UnownedJob) -> Bool { flags(of: task) & 1 << 24 != 0 }

  /// Whether the task was given a name.
  static func hasName(_ task: UnownedJob) -> Bool { flags(of: task) & 1 << 30 != 0 }

  /// What the runtime has written down about a task's job.
  private static func flags(of task: UnownedJob) -> UInt32 {
    unsafeBitCast(task, to: UnsafeRawPointer.self).load(fromByteOffset: 32, as: UInt32.self)
  }

  /// Whether that is known already: what is asked for each job, because to ask for a constant that is
  /// computed costs more than to read the status.
  @exclusivity(unchecked) nonisolated(unsafe) private(set) static var isKnownToBeReadable = false

  /// Finds out whether it is. To be called before the door is opened. Thread-safe.
  static func prepare() { isKnownToBeReadable = isReadable }

  /// Whether the layout is known here: a task that is over says so.
  static let isReadable: Bool = {
    #if os(Linux) && compiler(>=6.2) && _pointerBitWidth(_64)
      let version = dlsym(dlopen(nil, RTLD_NOW), "_swift_concurrency_debug_internal_layout_version")
      guard version?.load(as: UInt32.self) == 1 else { return false }
      guard #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) else {
        return false
      }
      let over = Task.immediate {}
      return withExtendedLifetime(over) {
        let status = TaskStatus(of: unsafeBitCast(over, to: UnownedJob.self))
        return status.isOver && status.flags & 0x800 == 0
      }
    #else
      return false
    #endif
  }()
}

extension UnownedTask {
  /// Throws if the current task is cancelled, as `Task.checkCancellation` does.
  @inline(__always)
  static func checkCancellation() throws {
    if TaskStatus.isKnownToBeReadable, let current, !TaskStatus(of: current.job).isCancelled {
      return
    }
    try Task.checkCancellation()
  }

  /// Whether the task has no name, as far as that can be told at a glance.
  @inline(__always)
  var isKnownToBeNameless: Bool {
    TaskStatus.isKnownToBeReadable && !TaskStatus.hasName(job)
  }

  /// The same task, in memory for as long as the handle is; `nil` if its status cannot be read for as
  /// long as that. O(1).
  @inline(__always)
  var retainedIfReadable: RetainedTask? {
    TaskStatus.isKnownToBeReadable && !TaskStatus.isAsyncLet(job) ? handle : nil
  }
}

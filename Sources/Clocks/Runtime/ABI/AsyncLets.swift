import Synchronization

extension TaskStatus {
  /// Returns whether a task awaits an active `async let`, or has one, perhaps nested, that is about to run.
  ///
  /// Requires the scheduler's lock.
  ///
  /// - Parameter isHeldBack: Returns whether the task with this id only waits for its scheduler, although its status
  ///   says that it runs or is about to.
  static func hasActiveAsyncLet(_ task: UnownedJob, isHeldBack: (UInt64) -> Bool) -> Bool {
    guard StatusProbe.here.readsAsyncLets else { return false }
    if findsActiveAsyncLet(awaitedBy: task, isHeldBack: isHeldBack) { return true }
    return !TaskStatus(of: task).isActive
      && findsAsyncLetAboutToRun(
        below: MemoryCopy(ofTask: unsafeBitCast(task, to: UInt.self)), isHeldBack: isHeldBack)
  }

  /// Whether a task has an `async let`, or is not suspended, so that it may have one.
  static func mayHaveAsyncLet(_ task: UnownedJob) -> Bool {
    guard StatusProbe.here.readsAsyncLets else { return false }
    let status = TaskStatus(of: task)
    guard !status.isActive, !status.isOver else { return status.isActive }
    // Another thread may resume the task meanwhile.
    guard let records = MemoryCopy(ofTask: unsafeBitCast(task, to: UInt.self))?.records else {
      return true
    }
    return records.contains { asyncLet(in: $0) != nil }
      || TaskStatus(of: task).flags != status.flags
  }

  /// The `async let` that a status record of its parent stands for.
  private static func asyncLet(in record: MemoryCopy) -> MemoryCopy? {
    guard record.kind == TaskABI.Record.Kind.childTask,
      let child = MemoryCopy(ofTask: record[TaskABI.Record.content]),
      child.half(TaskABI.Job.flags) & TaskABI.JobFlags.isAsyncLet != 0
    else { return nil }
    return child
  }

  // The functions below read the records even if the layout probe has not verified their layout.

  /// Returns whether a suspended task awaits an `async let` of its own that runs, is enqueued, or has just ended.
  ///
  /// While the scheduler's lock is held, no job of the task starts, so the `async let` stays in memory.
  static func findsActiveAsyncLet(
    awaitedBy task: UnownedJob, isHeldBack: (UInt64) -> Bool = { _ in false }
  ) -> Bool {
    let memory = unsafeBitCast(task, to: UnsafeRawPointer.self)
    let before = TaskStatus(of: task)
    guard before.has(TaskABI.Status.hasDependency), !before.isActive, !before.isOver,
      let record = memory.load(fromByteOffset: TaskABI.Task.records, as: UnsafeRawPointer?.self)
    else { return false }
    let kind = record.load(fromByteOffset: TaskABI.Record.dependencyKind, as: UInt32.self)
    let awaited = record.load(fromByteOffset: TaskABI.Record.content, as: UnownedJob?.self)
    atomicMemoryFence(ordering: .acquiring)
    // If the status has changed, another thread resumed the task, whose job is about to reach the hooks.
    guard TaskStatus(of: task).flags == before.flags,
      record.load(fromByteOffset: TaskABI.Record.dependencyKind, as: UInt32.self) == kind
    else { return true }
    guard kind == TaskABI.Record.Dependency.task, let awaited, isAsyncLet(awaited)
    else { return false }
    let status = TaskStatus(of: awaited)
    if status.isActive && !isHeldBack(taskID(of: awaited)) || status.isOver { return true }
    // A thread that resumes the task externally does not wait for the lock. It may have freed the `async let`, so its
    // status counts only if the task is still suspended.
    atomicMemoryFence(ordering: .acquiring)
    return TaskStatus(of: task).flags != before.flags
  }

  /// Returns whether an `async let` of a suspended task, or one nested in such an `async let`, is about to run.
  ///
  /// The task may be sleeping instead of awaiting the `async let`. Another thread may still resume the task, so all
  /// memory is read through `ProcessMemory`: two system calls for each `async let`.
  static func findsAsyncLetAboutToRun(
    below task: MemoryCopy?, depth: Int = 0, isHeldBack: (UInt64) -> Bool
  ) -> Bool {
    (task?.records ?? []).contains { record in
      guard let child = asyncLet(in: record) else { return false }
      let status = TaskStatus(flags: child.half(TaskABI.Task.status))
      if status.isOver { return false }
      if status.isActive
        || (yieldFunction != 0 && child[TaskABI.Job.resumeFunction] == yieldFunction)
      {
        return !isHeldBack(child.taskID)
      }
      // An `async let` nested more deeply is not found here, but later, when its parent awaits it.
      return depth < 100
        && findsAsyncLetAboutToRun(below: child, depth: depth + 1, isHeldBack: isHeldBack)
    }
  }
}

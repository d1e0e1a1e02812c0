extension TaskStatus {
  /// Returns whether an `async let` of a suspended task, or one nested in such an `async let`, is about to run.
  ///
  /// The task may be sleeping instead of awaiting the `async let`. Requires the scheduler's lock. Another thread may
  /// still resume the task, so all memory is read through `ProcessMemory`: two system calls for each `async let`.
  ///
  /// - Parameter isHeldBack: Returns whether the task with this id only seems to run, or to be about to.
  static func hasAsyncLetAboutToRun(_ task: UnownedJob, isHeldBack: (UInt64) -> Bool) -> Bool {
    guard StatusProbe.here.readsAsyncLets, !TaskStatus(of: task).isActive else { return false }
    return findsAsyncLetAboutToRun(
      below: MemoryCopy(ofTask: unsafeBitCast(task, to: UInt.self)), isHeldBack: isHeldBack)
  }

  /// Reads the records even if the layout probe has not verified their layout.
  static func findsAsyncLetAboutToRun(
    below task: MemoryCopy?, depth: Int = 0, isHeldBack: (UInt64) -> Bool
  ) -> Bool {
    (task?.records ?? []).contains { record in
      guard record.kind == TaskABI.Record.Kind.childTask,
        let child = MemoryCopy(ofTask: record[TaskABI.Record.content]),
        child.half(TaskABI.Job.flags) & TaskABI.JobFlags.isAsyncLet != 0
      else { return false }
      let status = child.half(TaskABI.Task.status)
      if status & TaskABI.Status.isOver != 0 { return false }
      if status & (TaskABI.Status.isRunning | TaskABI.Status.isEnqueued) != 0
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

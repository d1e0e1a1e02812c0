extension TaskStatus {
  /// Returns whether an `async let` of a suspended task, or one nested in such an `async let`, is about to run.
  ///
  /// The task may be sleeping instead of awaiting the `async let`. Requires the scheduler's lock. Another thread may
  /// still resume the task, so all memory is read through `ProcessMemory`: three system calls for each `async let`.
  ///
  /// - Parameter isHeldBack: Returns whether the task with this id only seems to run, or to be about to.
  static func hasAsyncLetAboutToRun(_ task: UnownedJob, isHeldBack: (UInt64) -> Bool) -> Bool {
    guard StatusProbe.here.readsAsyncLets, !TaskStatus(of: task).isActive else { return false }
    return findsAsyncLetAboutToRun(
      below: unsafeBitCast(task, to: UInt.self), isHeldBack: isHeldBack)
  }

  /// Reads the records even if the layout probe has not verified their layout.
  static func findsAsyncLetAboutToRun(
    below task: UInt, depth: Int = 0, isHeldBack: (UInt64) -> Bool
  ) -> Bool {
    // An `async let` nested more deeply is not found here, but later, when its parent awaits it.
    guard depth < 100,
      let records = ProcessMemory.words(
        at: task + UInt(TaskABI.Task.records), count: 1)
    else { return false }
    var next = records[0]
    // A longer list can only be garbage.
    for _ in 0..<10_000 {
      guard next != 0, let record = ProcessMemory.words(at: next, count: 3) else { return false }
      let word = MemoryLayout<UInt>.size
      if record[TaskABI.Record.kind / word] & TaskABI.Record.kindMask
        == TaskABI.Record.Kind.childTask,
        isAsyncLetAboutToRun(
          record[TaskABI.Record.content / word], depth: depth, isHeldBack: isHeldBack)
      {
        return true
      }
      next = record[TaskABI.Record.next / word]
    }
    return false
  }

  private static func isAsyncLetAboutToRun(
    _ child: UInt, depth: Int, isHeldBack: (UInt64) -> Bool
  ) -> Bool {
    guard let task = MemoryCopy(of: child, size: TaskABI.Task.size),
      task.half(TaskABI.Job.flags) & TaskABI.JobFlags.isAsyncLet != 0
    else { return false }
    let status = task.half(TaskABI.Task.status)
    if status & TaskABI.Status.isOver != 0 { return false }
    if status & (TaskABI.Status.isRunning | TaskABI.Status.isEnqueued) != 0
      || (yieldFunction != 0 && task[TaskABI.Job.resumeFunction] == yieldFunction)
    {
      return !isHeldBack(task.taskID)
    }
    return findsAsyncLetAboutToRun(below: child, depth: depth + 1, isHeldBack: isHeldBack)
  }
}

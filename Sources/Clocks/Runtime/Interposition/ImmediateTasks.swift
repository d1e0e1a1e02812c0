#if os(Linux) && canImport(Glibc)
  import ClocksSupport

  /// The tasks that `Task.immediate` starts within the job of their creator.
  ///
  /// Such a task may end without a job of its own. So the test case removes it here, because no hook shows its end.
  enum ImmediateTasks {
    private typealias Start = @convention(thin) (UnownedJob, UInt, UInt) -> Void

    static var entry: CallTables.Entry { start.entry }

    private static let start: Interposed<Start> = Interposed("swift_task_immediate") {
      task, executor, table in
      // The caller retains the task.
      start.original(task, executor, table)
      guard TestCaseMembership.isOn, TaskStatus(of: task).isOver else { return }
      TestCaseMembership.removeMember(taskID(of: task))
    }
  }
#endif

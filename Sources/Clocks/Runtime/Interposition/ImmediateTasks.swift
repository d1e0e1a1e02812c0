#if os(Linux) && canImport(Glibc)
  import ClocksSupport

  /// The tasks that `Task.immediate` starts within the job of their creator.
  ///
  /// A task that ends there has no job of its own, so nothing else shows that its test case need not keep it any more.
  enum ImmediateTasks {
    private typealias Start = @convention(thin) (UnownedJob, UInt, UInt) -> Void

    static var entry: CallTables.Entry { start.entry }

    private static let start: Interposed<Start> = Interposed("swift_task_immediate") {
      task, executor, table in
      // The caller retains the task.
      start.original(task, executor, table)
      guard TestCaseMembership.isOn, TaskStatus(of: task).isOver else { return }
      TestCaseMembership.letGo(of: taskID(of: task))
    }
  }
#endif

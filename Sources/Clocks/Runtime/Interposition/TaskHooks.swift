// User code creates tasks by calling functions of the runtime through the call tables of its images. This package
// replaces the functions in these tables.

import ClocksSupport

/// The creation of tasks, which shows for certain which task creates which.
enum TaskCreation {
  // Written when the hooks are installed, and by tests.

  nonisolated(unsafe) static var isSeen = false
  /// Whether the creation of `async let` tasks is seen.
  nonisolated(unsafe) static var seesAsyncLets = false
  /// Whether tasks that Swift Testing creates are seen. Also `true` if the library is not loaded.
  nonisolated(unsafe) static var seesTestCases = false

  /// Redirects the calls, and those of `JobRuns`, where that is possible. Called once, while the hooks are installed.
  static func redirect() {
    #if os(Linux) && canImport(Glibc)
      guard TaskStatus.isReadable else { return }
      // All functions are redirected in one pass, because each pass reads all call tables of the process.
      // `JobRuns.entries` may be empty.
      let others = [IsolatedDeinits.entry, ImmediateTasks.entry] + JobRuns.entries
      let entries = [createTask.entry, beginAsyncLet.entry] + others
      let seen = CallTables.redirectEach(entries, in: .users)
      (isSeen, seesAsyncLets) = (seen.contains(0), seen.contains(1))
      JobRuns.areSeen = seen.contains(4)
      seesTestCases =
        CallTables.redirect([createTestCase.entry], in: .library("libTesting.so"))
        || LoadedImage.all(named: "libTesting.so").isEmpty
    #endif
  }

  private static var creator: TaskOwner? { capturesNextTask ? nil : ThreadContext.runningOwner }

  /// Whether the thread captures the task that it creates, which is unowned until it is started.
  private static var capturesNextTask: Bool {
    guard let context = ThreadContext.current else { return false }
    if case .nothing = context.pointee.capture { return false }
    return true
  }

  /// Returns whether every hop of the task that the current thread creates with these options must be seen.
  @_transparent
  private static func seesHops(
    _ options: UnsafeRawPointer?, on thread: UnsafeMutablePointer<ThreadContext>?
  ) -> Bool {
    switch thread?.pointee.purpose {
    case .preferring: return true
    case .learning:
      TaskOption.learn(from: options)
    case .nothing, .testCase, .networking, .threadOfOwner, nil: break
    }
    // The first condition is cheap, and nearly always false.
    return TaskOwnership.shared.isAnyExplored && creator?.isExplored == true
      && TaskOption.areReadable
  }

  /// Registers a task that the current thread created, unless its first job has reached the hooks.
  ///
  /// A task without such a job waits for an actor or on a custom executor, or ran immediately on this thread.
  private static func hasMade(
    _ task: UnownedJob, on thread: UnsafeMutablePointer<ThreadContext>? = ThreadContext.current
  ) {
    let id = taskID(of: task)
    if let thread, thread.pointee.arrivedTask == id { return }
    guard !TaskStatus(of: task).isOver else { return }
    let running = creator
    if let owner = running, let isNew = TaskOwnership.shared.register(newTask: id, of: owner) {
      // If the task has an owner already, a job of it has reached the hooks, or `JobRuns` has noted one as external.
      guard isNew else { return }
      owner.taskWasCreated(task)
      owner.taskMayRunExternally(task)
    } else if !capturesNextTask {
      guard let owner = TestCaseMembership.hasMade(task, for: running) else {
        return TaskOwnership.shared.register(newUnownedTask: id)
      }
      owner.taskWasCreated(task)
      // It may have run already.
      owner.taskMayRunExternally(task, hasAsyncLets: true)
    }
  }
}

#if os(Linux) && canImport(Glibc)
  struct MadeTask {
    var task: UnownedJob
    var context: UnsafeRawPointer?
  }

  extension TaskCreation {
    private typealias Create =
      @convention(thin) (
        UInt, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?
      ) -> MadeTask

    private typealias BeginAsyncLet =
      @convention(thin) (
        UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?,
        UnsafeRawPointer?, UnsafeRawPointer?
      ) -> Void

    private static let createTask: Interposed<Create> = Interposed("swift_task_create") {
      flags, options, type, function, context in
      let state = ThreadState.ofThread
      state.pointee.creation = .begun
      // Within another creation, too: that one then notes its task when it ends.
      defer { state.pointee.creation = .none }
      let thread = state.pointee.context
      switch firstExecutor(options) {
      case .runtime:
        return create(flags, options, type, function, context, state, thread)
      case .defaultActor:
        return UnfinishedCreations.during {
          create(flags, options, type, function, context, state, thread)
        }
      case .custom(let executor):
        // The executor may resume other tasks before it takes the job.
        state.pointee.creation = .none
        if TaskOwnership.shared.isEmpty || creator == nil {
          return UnfinishedCreations.during(runsUserCode: true) {
            create(flags, options, type, function, context, state, thread)
          }
        }
        let creation = CreationsOnExecutors.begin(executor)
        let made = createTask.original(flags, options, type, function, context)
        // The id is read before the task's postponed job is enqueued, because the task may end after that.
        let id = taskID(of: made.task)
        hasMade(made.task)
        CreationsOnExecutors.end(creation, of: id)
        return made
      }
    }

    @_transparent
    private static func create(
      _ flags: UInt, _ options: UnsafeRawPointer?, _ type: UnsafeRawPointer?,
      _ function: UnsafeRawPointer?, _ context: UnsafeRawPointer?,
      _ state: ThreadState.Reference, _ known: UnsafeMutablePointer<ThreadContext>?
    ) -> MadeTask {
      if known == nil, TaskOwnership.shared.isEmpty {
        // Nearly all tasks of a suite that does not use this package take this path.
        let made = createTask.original(flags, options, type, function, context)
        if case .jobArrived(let id) = state.pointee.creation, id == taskID(of: made.task) {
          return made
        }
        if !TestCaseMembership.noteMadeWithoutOwner(made.task) { hasMade(made.task) }
        return made
      }
      let thread = known ?? ThreadContext.current
      let made =
        seesHops(options, on: thread)
        ? Hops.withPreference(options) { createTask.original(flags, $0, type, function, context) }
        : createTask.original(flags, options, type, function, context)
      hasMade(made.task, on: thread)
      return made
    }

    /// Where a task with these options begins, if a test may have to wait for it.
    @_transparent
    private static func firstExecutor(_ options: UnsafeRawPointer?) -> CustomExecutor.First {
      guard let options, TestCaseMembership.isOn || !TaskOwnership.shared.isEmpty else {
        return .runtime
      }
      return CustomExecutor.first(in: options)
    }

    /// For calls by Swift Testing, which creates a task for each test case.
    private static let createTestCase: Interposed<Create> = Interposed("swift_task_create") {
      flags, options, type, function, context in
      CompiledSwiftTesting.willCreateTask?()
      return makeTestCase { createTestCase.original(flags, options, type, function, context) }
    }

    private static let beginAsyncLet: Interposed<BeginAsyncLet> = Interposed("swift_asyncLet_begin")
    {
      place, options, type, function, context, buffer in
      if !TaskOwnership.shared.isEmpty, let owner = creator, let task = UnownedTask.current {
        owner.taskMayRunExternally(task.job, mayHaveRun: false, hasAsyncLets: true)
      }
      beginAsyncLet.original(place, options, type, function, context, buffer)
    }

    /// Thread B may run the task's first job before thread A returns from `make`, so the task is registered
    /// where that job reaches the hooks.
    static func makeTestCase(_ make: () -> MadeTask) -> MadeTask {
      guard let context = ThreadContext.current else {
        var made: MadeTask?
        var context = ThreadContext()
        context.run { _ in made = makeTestCase(make) }
        return made!
      }
      let purpose = context.pointee.purpose
      context.pointee.purpose = .testCase
      context.pointee.arrivedTask = 0
      let made = make()
      context.pointee.purpose = purpose
      if context.pointee.arrivedTask != taskID(of: made.task) {
        // The task waits for an actor, so no job of it has reached the hooks.
        hasMade(made.task)
        TestCaseMembership.noteTestCase(made.task)
      }
      return made
    }
  }
#endif

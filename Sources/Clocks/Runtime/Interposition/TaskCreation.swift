// User code makes its tasks by calling one function of the runtime through the call table of its own
// image. There we put ours in its place.

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  import Glibc
#endif

/// The creation of tasks: whoever makes a task is known for certain.
enum TaskCreation {
  /// Whether it is seen.
  static var isSeen: Bool { seen }

  nonisolated(unsafe) private static var seen = false
  /// The runtime's own function; `nil` before ours is in its place.
  nonisolated(unsafe) private static var original: UnsafeMutableRawPointer?
  /// That which begins an `async let`.
  nonisolated(unsafe) private static var originalAsyncLet: UnsafeMutableRawPointer?

  /// Sees to it that it is seen, where that is possible. To be called once, while the door is opened.
  static func redirect() {
    #if os(Linux) && canImport(Glibc) && compiler(>=6.2)
      guard TaskStatus.isReadable, let found = dlsym(nil, "swift_task_create") else { return }
      original = found
      let create: Create = { flags, options, type, function, context in
        let make = unsafeBitCast(TaskCreation.original, to: Create.self)
        let made =
          TaskCreation.seesHops(options)
          ? Hops.withPreference(options) { make(flags, $0, type, function, context) }
          : make(flags, options, type, function, context)
        if TaskCreation.isAnyWanted { TaskCreation.hasMade(made.task) }
        return made
      }
      seen = CallTables.redirectUsers([
        ("swift_task_create", unsafeBitCast(create, to: UnsafeRawPointer.self))
      ])
      let createTestCase: Create = { flags, options, type, function, context in
        let make = unsafeBitCast(TaskCreation.original, to: Create.self)
        return TaskCreation.makeTestCase { make(flags, options, type, function, context) }
      }
      _ = CallTables.redirect(
        "swift_task_create", in: "libTesting.so",
        to: unsafeBitCast(createTestCase, to: UnsafeRawPointer.self))
      guard let found = dlsym(nil, "swift_asyncLet_begin") else { return }
      originalAsyncLet = found
      let begin: BeginAsyncLet = { place, options, type, function, context, buffer in
        if !TaskOwnership.shared.isEmpty, let owner = TaskCreation.creator,
          let task = UnownedTask.current
        {
          owner.taskHasAsyncLet(task.job)
        }
        unsafeBitCast(TaskCreation.originalAsyncLet, to: BeginAsyncLet.self)(
          place, options, type, function, context, buffer)
      }
      _ = CallTables.redirectUsers([
        ("swift_asyncLet_begin", unsafeBitCast(begin, to: UnsafeRawPointer.self))
      ])
    #endif
  }

  /// Whether anybody wants to know of tasks that are made.
  @inline(__always)
  private static var isAnyWanted: Bool { !TaskOwnership.shared.isEmpty || TestCaseMembership.isOn }

  /// The owner of the tasks that the current thread makes.
  private static var creator: TaskOwner? { capturesNextTask ? nil : ThreadContext.runningOwner }

  /// Whether the thread holds back the task that it makes, which is nobody's until it is started.
  private static var capturesNextTask: Bool {
    guard let context = ThreadContext.current, case .nothing = context.pointee.capture else {
      return ThreadContext.current != nil
    }
    return false
  }

  /// Whether the task is to be seen at each of its hops that the current thread makes with these
  /// options.
  private static func seesHops(_ options: UnsafeRawPointer?) -> Bool {
    switch ThreadContext.current?.pointee.purpose {
    case .preferring: return true
    case .learning: Hops.learn(from: options)
    case .nothing, .testCase, nil: break
    }
    // Nearly always nothing is explored, and then nobody needs to know who makes the task.
    return TaskOwnership.shared.isAnyExplored && creator?.isExplored == true
  }

  /// A task has been made; if it has come to the door, it is known. If not, it waits for an actor, or
  /// on an executor of somebody's, or is about to run at once on this thread.
  private static func hasMade(_ task: UnownedJob) {
    let id = taskID(of: task)
    if let context = ThreadContext.current, context.pointee.arrivedTask == id { return }
    // One that is over needs no owner any more.
    guard !TaskStatus(of: task).isOver else { return }
    if let owner = creator {
      if TaskOwnership.shared.register(newTask: id, of: owner) { owner.taskWasCreated(task) }
      owner.taskMayRunExternally(task)
    } else if TestCaseMembership.isOn, !capturesNextTask,
      let owner = TestCaseMembership.hasMade(task)
    {
      owner.taskWasCreated(task)
      owner.taskMayRunExternally(task)
    }
  }
}

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  /// A task and its first context.
  struct MadeTask {
    var task: UnownedJob
    var context: UnsafeRawPointer?
  }

  extension TaskCreation {
    /// Makes the task of a test case, which may run before its maker goes on: so it is noted where it comes to
    /// the door.
    static func makeTestCase(_ make: () -> MadeTask) -> MadeTask {
      guard let context = ThreadContext.current else {
        var made: MadeTask?
        var context = ThreadContext()
        context.run { made = makeTestCase(in: $0, make) }
        return made!
      }
      return makeTestCase(in: context, make)
    }

    private static func makeTestCase(
      in context: UnsafeMutablePointer<ThreadContext>, _ make: () -> MadeTask
    ) -> MadeTask {
      let purpose = context.pointee.purpose
      context.pointee.purpose = .testCase
      context.pointee.arrivedTask = 0
      let made = make()
      context.pointee.purpose = purpose
      if context.pointee.arrivedTask != taskID(of: made.task) {
        // It waits for an actor.
        if isAnyWanted { hasMade(made.task) }
        TestCaseMembership.noteTestCase(made.task)
      }
      return made
    }
  }

  private typealias Create =
    @convention(thin) (
      UInt, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?
    ) -> MadeTask

  private typealias BeginAsyncLet =
    @convention(thin) (
      UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?,
      UnsafeRawPointer?
    ) -> Void
#endif

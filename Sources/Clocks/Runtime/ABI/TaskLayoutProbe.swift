/// Which bits of a task's status and flags are where `TaskABI` says.
///
/// The probe compares a plain task with one that has a name, prefers an executor, is cancelled and awaits an
/// `async let`.
struct StatusProbe: Sendable {
  /// Whether the status can be read, and whether a task is an `async let`.
  var readsStatus = false
  var readsCancellation = false
  var readsPreferences = false
  /// Whether child tasks can be recognized, and their parents found.
  var readsChildren = false
  var readsAsyncLets = false
  var readsNames = false
  /// The function in which a task resumes after `Task.yield`; 0 if it cannot be read.
  var yieldFunction: UInt = 0

  /// The result in this process. The first use runs the probe, in some ten microseconds. Thread-safe.
  static let here = StatusProbe()

  /// Descriptions of what a scheduler cannot see because a bit is not where `TaskABI` says.
  ///
  /// Cancellation and names are never listed, because functions of the runtime return them, too.
  var missing: [String] {
    #if os(Linux) && _pointerBitWidth(_64)
      guard readsStatus else { return ["whether a task is over"] }
      let yields = "Task.yield on a custom executor, and before the first clock of a test"
      return unseen(
        (readsPreferences, "tasks that prefer an executor"),
        (readsChildren, "which tasks are children"),
        (readsAsyncLets, "tasks that await an async let"), (yieldFunction != 0, yields))
    #else
      // No layout is known on this platform.
      return []
    #endif
  }

  private init() {
    #if os(Linux) && _pointerBitWidth(_64)
      let version = RuntimeSymbol.address(of: "_swift_concurrency_debug_internal_layout_version")
      guard version?.load(as: UInt32.self) == 1 else { return }
      let task = Task.immediate {}
      let plain = unsafeBitCast(task, to: UnownedJob.self)
      let status = TaskStatus(of: plain)
      if status.isOver, !status.has(TaskABI.Status.isRunning) { compare(with: plain) }
      withExtendedLifetime(task) {}
    #endif
  }

  #if os(Linux) && _pointerBitWidth(_64)
    private mutating func compare(with plain: UnownedJob) {
      let name = "a task of the layout probe"
      // The preferred executor passes the task's jobs to `jobEnqueued`, even if no hooks are installed.
      let (made, captured) = PlantedTasks.make {
        Task.detached(name: name, executorPreference: Hops.executor) {
          async let child: Void = Self.runChild()
          await child
        }
      }
      guard let task = captured else { return }
      // At a wrong offset, a pointer may be anything. So the kernel reads the memory first: it returns an error.
      let address = unsafeBitCast(task, to: UInt.self)
      readsPreferences =
        TaskStatus(of: task).has(TaskABI.Status.hasPreference) && !Self.detachedTaskHasPreference()
      readsNames =
        TaskStatus.hasName(task) && !TaskStatus.hasName(plain)
        && MemoryCopy(ofTask: address)?.name == name
      let wasCancelled = TaskStatus(of: task).isCancelled
      made.cancel()
      readsCancellation =
        !wasCancelled && TaskStatus(of: task).isCancelled && !TaskStatus(of: plain).isCancelled

      let child = ThreadContext.capturingNextJob { RuntimeHooks.run(task, on: .pool) }
      guard let child else { return }
      readsChildren =
        TaskStatus.isChild(child) && !TaskStatus.isChild(task)
        && TaskStatus.parent(of: child).map { unsafeBitCast($0, to: UInt.self) } == address
      let readsKind = TaskStatus.isAsyncLet(child) && !TaskStatus.isAsyncLet(task)
      let memory = MemoryCopy(ofTask: address)
      let awaited = (memory?.records?.first).map { $0[TaskABI.Record.content] }
      readsAsyncLets =
        readsKind && !TaskStatus(of: plain).has(TaskABI.Status.hasDependency)
        && awaited == unsafeBitCast(child, to: UInt.self)
        && TaskStatus.findsActiveAsyncLet(awaitedBy: task)
        && TaskStatus.findsAsyncLetAboutToRun(below: memory) { $0 != taskID(of: child) }
      let wasActive = TaskStatus(of: child).isActive && !TaskStatus(of: task).isActive
      ThreadContext.runToEnd(child)
      readsStatus = readsKind && wasActive && TaskStatus(of: task).isOver
      withExtendedLifetime(made) {}
      if readsStatus { findYieldFunction() }
    }

    /// Compares two tasks that yield in different functions with one that awaits a continuation instead.
    private mutating func findYieldFunction() {
      let first = Self.resumeFunction { await Task.yield() }
      let second = Self.resumeFunction {
        await Task.yield()
        _ = Task.isCancelled
      }
      let other = Self.resumeFunction {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
          Task.detached(executorPreference: Hops.executor) { continuation.resume() }
        }
      }
      if first == second, first != other { yieldFunction = first ?? 0 }
    }

    /// Returns the function in which a task resumes after its first suspension, which another job ends.
    private static func resumeFunction(of body: @escaping @Sendable () async -> Void) -> UInt? {
      let (made, captured) = PlantedTasks.make {
        Task.detached(executorPreference: Hops.executor, operation: body)
      }
      guard let task = captured,
        let end = ThreadContext.capturingNextJob({ RuntimeHooks.run(task, on: .pool) }),
        !TaskStatus(of: task).isOver
      else { return nil }
      let function = TaskStatus.resumeFunction(of: task)
      ThreadContext.runToEnd(end)
      withExtendedLifetime(made) {}
      return function
    }

    /// Returns whether a detached task has the bit. An immediate task proves nothing, because the runtime sets the bit
    /// in it.
    private static func detachedTaskHasPreference() -> Bool {
      // Without hooks, the task starts on another thread, and the job is `nil`.
      let (task, job) = PlantedTasks.make { Task.detached {} }
      let isSet = withExtendedLifetime(task) {
        TaskStatus(of: unsafeBitCast(task, to: UnownedJob.self)).has(TaskABI.Status.hasPreference)
      }
      job.map(ThreadContext.runToEnd)
      return isSet
    }

    @inline(never)
    private static func runChild() async {}
  #endif
}

/// Which parts of a suspended task can be read, found with tasks that are suspended in known ways.
struct TaskLayoutProbe: Sendable {
  /// The first word of every task; `nil` if nothing can be read.
  private(set) var metadata: UInt?
  private(set) var readsDependencies = false
  private(set) var readsChildren = false
  private(set) var readsCallStacks = false
  private(set) var readsActors = false

  /// The result of the probe in this process. Before the hooks are installed, nothing can be read.
  ///
  /// The first use runs the probe, in some ten microseconds. The caller must hold no lock.
  static var here: TaskLayoutProbe {
    RuntimeHooks.knownSelfTest == nil ? TaskLayoutProbe() : tried
  }

  private static let tried = probed()

  var missing: [String] {
    unseen(
      (readsDependencies, "what a task waits for"), (readsChildren, "the children of a task"),
      (readsCallStacks, "where it waits"), (readsActors, "which actors are busy"))
  }

  /// Whether a thread runs on the default actor at an address, as far as that can be read.
  func isBusy(_ actor: UInt) -> Bool { readsActors && Self.isBusy(actor) }

  private static func isBusy(_ actor: UInt) -> Bool {
    ProcessMemory.words(at: actor &+ UInt(TaskABI.Actor.status), count: 1).map {
      $0[0] & TaskABI.Actor.stateMask == TaskABI.Actor.running
    } ?? false
  }

  private actor PlantedActor {
    nonisolated var address: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    @inline(never)
    func findsItselfBusy() -> Bool { TaskLayoutProbe.isBusy(address) }
  }

  private static func canReadActors() -> Bool {
    let actor = PlantedActor()
    nonisolated(unsafe) var isSeen = false
    let task = ThreadContext.capturingNextJob {
      Task.detached { @Sendable in isSeen = await actor.findsItselfBusy() }
    }
    guard let task, !isBusy(actor.address) else { return false }
    ThreadContext.runToEnd(task)
    return isSeen && !isBusy(actor.address)
  }

  private static func probed() -> TaskLayoutProbe {
    #if os(Linux) && _pointerBitWidth(_64)
      guard RuntimeHooks.knownSelfTest?.seesTasks == true, let planted = PlantedTasks()
      else { return TaskLayoutProbe() }
      defer { planted.end() }
      let awaiting = unsafeBitCast(planted.awaiting, to: UInt.self)
      let unverified = TaskLayoutProbe(
        metadata: ProcessMemory.words(at: awaiting, count: 1)?[0], readsDependencies: true,
        readsChildren: true, readsCallStacks: true)
      let reader = TaskReader(CodeImages(), unverified)
      guard let first = reader.read(awaiting), first.state == .suspended,
        first.id == taskID(of: unsafeBitCast(planted.awaiting, to: UnownedJob.self))
      else { return TaskLayoutProbe() }
      let second = reader.read(unsafeBitCast(planted.awaitingTask, to: UInt.self))
      let parent = reader.read(unsafeBitCast(planted.awaitingGroup, to: UInt.self))
      let children = (parent?.children ?? []).compactMap { reader.read($0) }
      var probe = TaskLayoutProbe(metadata: unverified.metadata, readsActors: canReadActors())
      probe.readsDependencies =
        first.dependency == .continuation && second?.dependency == .task(awaiting)
        && parent?.dependency.map { if case .group = $0 { true } else { false } } == true
      probe.readsChildren =
        Set(children.map(\.id)) == Set(planted.children.map { taskID(of: $0) })
        && parent?.children.count == 2
        && children.allSatisfy { $0.parent == parent?.address && $0.state == .enqueued }
        && first.children.isEmpty && first.parent == nil
      // Every task ends in the same function of the runtime, so the outermost functions must be equal.
      probe.readsCallStacks =
        first.functions.count >= 2 && first.functions.last == second?.functions.last
        && first.functions.last == parent?.functions.last && first.functions != second?.functions
      return probe
    #else
      return TaskLayoutProbe()
    #endif
  }
}

/// Three tasks that run until they are suspended: on a continuation, on a task and on a task group.
private struct PlantedTasks {
  let awaiting: Task<Void, Never>
  let awaitingTask: Task<Void, Never>
  let awaitingGroup: Task<Void, Never>
  private let continuation: UnsafeContinuation<Void, Never>?
  /// The tasks of the group, which have not begun.
  let children: [UnownedJob]

  /// `nil` where tasks do not pass through the hooks.
  init?() {
    nonisolated(unsafe) var continuation: UnsafeContinuation<Void, Never>?
    let awaiting = Self.make {
      .detached { @Sendable in await withUnsafeContinuation { continuation = $0 } }
    }
    let awaitingTask = Self.make { .detached { await awaiting.task.value } }
    // Only one job can be captured at a time, so the group is suspended between its two tasks.
    nonisolated(unsafe) var between: UnsafeContinuation<Void, Never>?
    let awaitingGroup = Self.make {
      .detached { @Sendable in
        await withTaskGroup(of: Void.self) { group in
          group.addTask {}
          await withUnsafeContinuation { between = $0 }
          group.addTask {}
        }
      }
    }
    for made in [awaiting, awaitingTask] { made.job.map(ThreadContext.runToEnd) }
    guard let group = awaitingGroup.job,
      let first = ThreadContext.capturingNextJob({ RuntimeHooks.run(group, on: .pool) }),
      let resumed = ThreadContext.capturingNextJob({ between?.resume() }),
      let second = ThreadContext.capturingNextJob({ RuntimeHooks.run(resumed, on: .pool) })
    else { return nil }
    (self.awaiting, self.awaitingTask) = (awaiting.task, awaitingTask.task)
    (self.awaitingGroup, self.continuation) = (awaitingGroup.task, continuation)
    children = [first, second]
  }

  func end() {
    for child in children { ThreadContext.runToEnd(child) }
    ThreadContext.capturingNextJob { continuation?.resume() }.map(ThreadContext.runToEnd)
  }

  /// Returns the task that `create` makes; the job is `nil` if it was not captured.
  static func make(
    _ create: () -> Task<Void, Never>
  ) -> (task: Task<Void, Never>, job: UnownedJob?) {
    var task: Task<Void, Never>?
    let job = ThreadContext.capturingNextJob { task = create() }
    return (task!, job)
  }
}

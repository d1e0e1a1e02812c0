/// What of a suspended task can be read in this process, as it was found out: tasks were planted of
/// which all of it is known, and read.
struct TaskLayoutProbe: Sendable {
  /// What every task begins with; `nil` if nothing can be read.
  private(set) var metadata: UInt?
  /// Whether it can be read what a task waits for.
  private(set) var readsDependencies = false
  /// Whether the children of a task can be read.
  private(set) var readsChildren = false
  /// Whether the call stack of a task can be read.
  private(set) var readsCallStacks = false

  /// What can be read in this process. Found out when it is first asked for, which must be without a
  /// lock: some ten microseconds.
  /// Nothing, before the door to the runtime is open.
  static var here: TaskLayoutProbe {
    RuntimeHooks.knownSelfTest == nil ? TaskLayoutProbe(isTried: false) : tried
  }

  private static let tried = TaskLayoutProbe(isTried: true)

  /// What cannot be read, in words.
  var missing: [String] {
    var missing: [String] = []
    if !readsDependencies { missing.append("what a task waits for") }
    if !readsChildren { missing.append("the children of a task") }
    if !readsCallStacks { missing.append("where it waits") }
    return missing
  }

  /// A reader for this moment; `nil` if nothing can be read.
  func reader(_ images: CodeImages) -> TaskReader? {
    metadata.map { TaskReader(images, metadata: $0) }
  }

  /// Only what has been found to be so.
  func cut(_ records: TaskSnapshot) -> TaskSnapshot {
    var records = records
    if !readsDependencies { records.dependency = nil }
    if !readsChildren { (records.children, records.parent) = ([], nil) }
    if !readsCallStacks { records.functions = [] }
    return records
  }

  // MARK: - Trying it

  private init(isTried: Bool) {
    #if os(Linux) && _pointerBitWidth(_64)
      // Where tasks do not pass the door they cannot be planted.
      guard isTried, RuntimeHooks.knownSelfTest?.seesTasks == true, let planted = Planted() else {
        return
      }
      defer { planted.end() }
      let awaiting = unsafeBitCast(planted.awaiting, to: UInt.self)
      guard
        let word = ProcessMemory.words(at: awaiting, count: 1)?[0], word != 0,
        var reader = Optional(TaskReader(CodeImages(), metadata: word)),
        let first = reader.read(awaiting), first.state == .suspended,
        first.id == taskID(of: unsafeBitCast(planted.awaiting, to: UnownedJob.self))
      else { return }
      metadata = word
      let second = reader.read(unsafeBitCast(planted.awaitingTask, to: UInt.self))
      let parent = reader.read(unsafeBitCast(planted.awaitingGroup, to: UInt.self))
      let child = (parent?.children.first).flatMap { reader.read($0) }
      readsDependencies =
        first.dependency == .continuation && second?.dependency == .task(awaiting)
        && parent?.dependency.map { if case .group = $0 { true } else { false } } == true
      readsChildren =
        parent?.children.count == 1 && child?.parent == parent?.address
        && child?.state == .enqueued && first.children.isEmpty && first.parent == nil
      // Each task ends in the same function of the runtime's.
      readsCallStacks =
        first.functions.count >= 2 && first.functions.last == second?.functions.last
        && first.functions.last == parent?.functions.last && first.functions != second?.functions
    #endif
  }

  /// Tasks that are suspended, each in another way: they are run here until they are.
  private struct Planted {
    private final class Slot: @unchecked Sendable {
      var continuation: UnsafeContinuation<Void, Never>?
    }

    let awaiting: Task<Void, Never>
    let awaitingTask: Task<Void, Never>
    let awaitingGroup: Task<Void, Never>
    private let slot: Slot
    private let child: UnownedJob

    init?() {
      let slot = Slot()
      let awaiting = Task<Void, Never>.delayedStep {
        await withUnsafeContinuation { slot.continuation = $0 }
      }
      let awaitingTask = Task<Void, Never>.delayedStep { await awaiting.task.value }
      let awaitingGroup = Task<Void, Never>.delayedStep {
        await withTaskGroup(of: Void.self) { $0.addTask {} }
      }
      for held in [awaiting, awaitingTask] { held.job.map(Self.finish) }
      guard
        let group = awaitingGroup.job,
        let child = RuntimeHooks.jobKeptBack({ RuntimeHooks.run(group, on: .pool) })
      else { return nil }
      (self.awaiting, self.awaitingTask) = (awaiting.task, awaitingTask.task)
      (self.awaitingGroup, self.slot, self.child) = (awaitingGroup.task, slot, child)
    }

    func end() {
      Self.finish(child)
      RuntimeHooks.jobKeptBack { slot.continuation?.resume() }.map(Self.finish)
    }

    /// Runs a job, and what follows from it.
    private static func finish(_ job: UnownedJob) {
      var next: UnownedJob? = job
      while let job = next { next = RuntimeHooks.jobKeptBack { RuntimeHooks.run(job, on: .pool) } }
    }
  }
}

extension RuntimeHooks {
  /// The job that comes to the door while `body` runs; `nil` if there comes none.
  fileprivate static func jobKeptBack(_ body: () -> Void) -> UnownedJob? {
    var context = ThreadContext(capture: .next)
    context.run { _ in body() }
    guard case .job(let job) = context.capture else { return nil }
    return job
  }
}

extension Task where Success == Void, Failure == Never {
  /// Makes a task, and does not start it; the job is `nil` if it was started nevertheless.
  fileprivate static func delayedStep(
    _ body: @escaping @Sendable () async -> Void
  ) -> (task: Self, job: UnownedJob?) {
    nonisolated(unsafe) var task: Self?
    let job = RuntimeHooks.jobKeptBack { task = Task.detached(operation: body) }
    return (task!, job)
  }
}

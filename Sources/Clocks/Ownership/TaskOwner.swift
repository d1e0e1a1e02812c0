import ClocksSupport
import Synchronization

/// The threads on which a job may run.
enum ExecutorKind: UInt8, Sendable {
  /// Any thread of the default executor.
  case pool
  /// The main thread only.
  case main
}

/// A job that could run now.
struct ReadyJob: Sendable {
  var job: UnownedJob
  /// The job's task; 0 if the job is an actor drain, or another job without a task.
  var taskID: UInt64
  var executor: ExecutorKind
  /// Whether `TaskOwnership` waits for the end of the job, which is unowned.
  var isCounted = false
  /// Whether this is the rest of a running job, whose thread is parked.
  var isParked = false
}

extension ReadyJob {
  /// A debug build would call a function for each default argument of the other initializer.
  init(job: UnownedJob, taskID: UInt64, executor: ExecutorKind) {
    self.job = job
    self.taskID = taskID
    self.executor = executor
  }
}

/// A job that is to run at an instant of virtual time.
struct DelayedJob: Sendable {
  var job: UnownedJob
  /// The task that waits for the job; or the job itself, because each task is also a job with an equal pointer.
  var task: UnownedJob
  var delay: Duration
  var clock: ClockKind
}

/// The kinds of clock on which a task may sleep.
enum ClockKind: String, Sendable {
  case test = "TestClock"
  case continuous = "ContinuousClock"
  case suspending = "SuspendingClock"
  /// No task sleeps: a timed callback is to begin.
  case dispatch = "Dispatch"
}

/// The owner of a test's tasks, which takes their jobs when they become ready.
///
/// `Scheduler` is the only owner; the table of owners and the hooks do not depend on it. A class, and not a
/// protocol, so that an owner is one word in the tables and in each thread's context.
class TaskOwner: @unchecked Sendable {
  /// Whether the owner takes over delays on the runtime's own clocks: until its scope is over.
  final var isVirtual: Bool { hasVirtualTime && !isOver }

  private let hasVirtualTime: Bool

  /// Whether the owner's test or scope is over. Then other tests may adopt the leftovers.
  final var isOver: Bool {
    get { over.load(ordering: .relaxed) }
    set { over.store(newValue, ordering: .relaxed) }
  }

  private let over = Atomic(false)

  /// Whether each hop of the owner's tasks to an actor and back has to be seen.
  final let isExplored: Bool
  /// The task that made the owner's first clock. It identifies the test. 0 for a scope, or if the task is not known.
  final let maker: UInt64

  /// The task of the test case that the owner adopted last; 0 if there is none.
  final let adopted = Atomic<UInt64>(0)

  /// The task that runs the owner's test case; another task or 0 if no test case is known.
  final var testCase: UInt64 {
    let adopted = adopted.load(ordering: .relaxed)
    return adopted == 0 ? maker : adopted
  }

  /// Whether the owner has had a clock and has none now. Then a task that becomes known to it is a leftover.
  final let isWithoutClock = Atomic(false)

  /// Guarded by the lock of `TaskOwnership`.
  nonisolated(unsafe) final var registration = OwnerRegistration()

  /// The number of the newest check of external tasks that listed the owner. Guarded by the lock of
  /// `ExternalTaskRegistry`.
  nonisolated(unsafe) final var newestCheck: UInt64 = 0
  /// Whether a thread waits for the owner's lock, to recheck the owner's external tasks.
  private final let isRecheckPending = Atomic(false)

  init(isVirtual: Bool, isExplored: Bool = false, maker: UInt64 = 0) {
    hasVirtualTime = isVirtual
    self.isExplored = isExplored
    self.maker = maker
  }

  /// Takes a ready job. If `isNew`, the job on the current thread created its task, and this is the first job.
  func enqueue(_ job: ReadyJob, isNew: Bool) {
    fatalError("Clocks: a subclass of TaskOwner must override `enqueue(_:isNew:)`.")
  }

  /// Takes over a job that is to run later. Called only if the owner is virtual.
  func enqueue(_ job: DelayedJob) {
    fatalError("Clocks: a virtual TaskOwner must override `enqueue(_:)`.")
  }

  #if !canImport(CRT) && !canImport(WASILibc)
    /// Returns the virtual reading of a system clock; `nil` if the owner's time is real.
    ///
    /// A clock that shows the date has no virtual reading if the owner's date is real.
    func reading(of clock: clockid_t) -> timespec? { nil }
  #endif

  /// Called before code of the test reads a clock. In an unedited suite, some time passes.
  func timePassesWithReading() {}

  /// If the owner is explored, fills `bytes` with numbers that the chooser draws. Returns whether all of `bytes` was
  /// filled.
  func draw(_ bytes: UnsafeMutableRawBufferPointer) -> Bool { false }

  enum NondeterminismSource: Sendable {
    case clock
    case number
    /// The end of work outside the scheduler.
    case outsideWork
  }

  /// Notes that the test used a source of nondeterminism.
  func asked(_ question: NondeterminismSource) {}

  /// Notes that an externally started job ended.
  ///
  /// - Parameter executor: If given, the current thread may continue with the owner's jobs.
  /// - Returns: A job that the thread may run next; only if an executor is given.
  @discardableResult
  func externallyStartedJobEnded(on executor: ExecutorKind?) -> ReadyJob? {
    fatalError("Clocks: a subclass of TaskOwner must override `externallyStartedJobEnded(on:)`.")
  }

  /// Notes that a task, which is in memory, may run externally, so that it is checked before the test counts as idle.
  ///
  /// - Parameters:
  ///   - mayHaveRun: Whether the task may also have run externally already.
  ///   - hasAsyncLets: Whether the task begins an `async let`, which may run externally.
  func taskMayRunExternally(
    _ task: UnownedJob, mayHaveRun: Bool = true, hasAsyncLets: Bool = false
  ) {}

  func externalJobBegan(_ task: UnownedJob) {}

  func externalJobEnded(_ task: UInt64) {}

  /// Notes that an external task returned. If it was not over then, it may have run again since.
  func externalTaskReturned(_ task: UInt64, _ absence: UInt64, wasOver: Bool) {}

  /// Checks the external tasks whose return only the owner can see. Must call `recheckBegins` under the owner's lock.
  func recheckExternalTasks() { recheckBegins() }

  /// Returns whether the current thread must call `recheckExternalTasks`: no other one is about to begin to check.
  final func mustRecheck() -> Bool {
    !isRecheckPending.exchange(true, ordering: .acquiringAndReleasing)
  }

  final func recheckBegins() {
    _ = isRecheckPending.exchange(false, ordering: .acquiringAndReleasing)
  }

  func taskWasCreated(_ task: UnownedJob) {}

  /// Notes that a block is on a dispatch queue, or runs there. Returns a number for `workEnded`, never 0.
  func workBegan(on queue: BlockQueue, isBarrier: Bool = false) -> UInt64 { 1 }

  /// Calls `workBegan`. If the owner has no clock any more, the next owner of the test case also counts the block.
  final func blockBegan(on queue: BlockQueue, isBarrier: Bool) -> UInt64 {
    let number = workBegan(on: queue, isBarrier: isBarrier)
    if isWithoutClock.load(ordering: .relaxed) { leaveBlocks() }
    return number
  }

  /// Lets the next owner of the test case count the blocks of this owner that have not ended.
  func leaveBlocks() {}

  /// Notes that a block begins to run on the current thread.
  ///
  /// - Parameter mark: An address in the frame of the function that runs the block; 0 if it is not known.
  func workRuns(_ number: UInt64, on thread: Int32? = nil, mark: UInt = 0) {}

  /// Notes that a block has ended, or will never begin.
  func workEnded(_ number: UInt64) {}

  /// Calls `submit`, which submits a block to the main queue: now, or when the main actor's jobs that are ready now
  /// have begun.
  func mainBlockIsReady(_ number: UInt64, _ submit: @escaping @Sendable () -> Void) { submit() }

  /// Submits the blocks of the main queue that wait for jobs. Called before a block that does not wait is submitted, so
  /// that it stays behind them.
  func submitMainBlocks() {}

  /// Notes that something begins to keep the blocks of a queue from beginning (`change` is 1), or no longer does (-1).
  func noteStop(_ stop: BlockQueue.Stop, of queue: BlockQueue, _ change: Int) {}

  /// Notes that a queue was suspended or made inactive, or no longer is.
  func noteSuspension(of queue: BlockQueue) {}

  /// Takes over a timed callback, if the owner is virtual, and returns whether it does.
  ///
  /// During a `holding` without a deadline, a delay is a part of the held operation, and is not taken over.
  func enqueue(_ work: TimedCallback, after delay: Duration) -> Bool { false }

  func remove(_ work: TimedCallback) {}
}

/// The record that `TaskOwnership` keeps for an owner.
struct OwnerRegistration {
  /// The number of the owner's clocks. Only an owner that has clocks is registered.
  var clocks = 0
  /// The newest task when the owner was registered; `.max` until it is known. The owner owns that task, and older ones,
  /// only if they were claimed.
  var watermark: UInt64 = .max
  /// Some of the tasks may have been transferred to another owner.
  var tasks: [UInt64] = []

  var exists: Bool { @_transparent get { clocks > 0 } }
}

/// The owner of clocks made where no test is known, such as the properties of an `XCTestCase`.
///
/// It is dormant until a task uses one of its clocks, and again when all such tasks are over. While awake
/// it owns every task that has no other owner. Unowned jobs that run when it wakes become externally
/// started jobs.
struct ProcessWideOwner {
  let owner: TaskOwner
  /// The number of externally started jobs that the owner waits for.
  private var externallyStartedJobs = 0
  private var users: [User] = []

  typealias User = (task: UInt64, isOver: @Sendable () -> Bool)

  /// The most users that are kept. If these are over while the test continues, the next use wakes the owner again.
  private static let mostUsers = 8

  init(owner: TaskOwner) { self.owner = owner }

  /// The tasks that use the owner's clocks and are not over.
  var liveUsers: [UInt64] { users.filter { !$0.isOver() }.map(\.task) }

  var ownerIfAwake: TaskOwner? { users.contains { !$0.isOver() } ? owner : nil }

  /// Wakes the owner for one more task. Returns how many more jobs the owner waits for.
  ///
  /// - Parameters:
  ///   - unownedJobs: The number of unowned jobs under way.
  ///   - outdated: Keeps the removed users alive until the caller leaves the locks.
  mutating func wake(_ user: User, _ unownedJobs: Int, _ outdated: inout [User]) -> Int {
    if users.contains(where: { $0.task == user.task }) { return 0 }
    outdated = users
    users = users.filter { !$0.isOver() }
    let isAwake = !users.isEmpty
    if users.count < Self.mostUsers { users.append(user) }
    guard !isAwake else { return 0 }
    defer { externallyStartedJobs = unownedJobs }
    return unownedJobs - externallyStartedJobs
  }

  /// Notes that an unowned job ran, after which `unownedJobs` are under way. Returns the owner if it waited for it.
  mutating func unownedJobHasRun(_ unownedJobs: Int) -> TaskOwner? {
    guard externallyStartedJobs > unownedJobs else { return nil }
    externallyStartedJobs -= 1
    return owner
  }
}

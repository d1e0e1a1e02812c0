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
  /// The job's task; 0 if the job is an actor's drain, or another job without a task.
  var taskID: UInt64
  var executor: ExecutorKind
}

/// A job that is to run at an instant of virtual time.
struct DelayedJob: Sendable {
  var job: UnownedJob
  /// The task that waits for the job, or is the job itself. A task is a job, too: the same pointer.
  var task: UnownedJob
  var delay: Duration
  /// The kind of clock by which the delay is measured.
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
/// `Scheduler` is the only owner. The table of owners and the runtime's hooks know it under this name, so
/// that they do not depend on the engine.
///
/// A class, and not a protocol: so an owner is one word in the tables and in each thread's context.
class TaskOwner: @unchecked Sendable {
  /// Whether the owner takes over delays on the runtime's own clocks.
  final var isVirtual: Bool {
    get { virtual.load(ordering: .relaxed) }
    set { virtual.store(newValue, ordering: .relaxed) }
  }

  private let virtual: Atomic<Bool>

  /// Whether each hop of the owner's tasks to an actor and back has to be seen.
  final let isExplored: Bool

  /// Its registration, guarded by the lock of `TaskOwnership`; `nil` while it is not registered.
  @exclusivity(unchecked) nonisolated(unsafe) final var registration: OwnerRegistration?

  init(isVirtual: Bool, isExplored: Bool = false) {
    virtual = Atomic(isVirtual)
    self.isExplored = isExplored
  }

  /// Takes a job that has become ready.
  ///
  /// - Parameter isNew: Whether this is the first job of its task, so that the job that the current
  ///   thread runs has created it.
  func enqueue(_ job: ReadyJob, isNew: Bool) {
    fatalError("Clocks: an owner of tasks takes their jobs.")
  }

  /// Takes over a job that is to run later. Called only if the owner is virtual.
  func enqueue(_ job: DelayedJob) {
    fatalError("Clocks: a virtual owner of tasks takes their delays.")
  }

  /// Returns what a clock of the system reads for the owner's tasks; `nil` if that is the real time.
  ///
  /// - Parameter isDate: Whether `Date` reads the clock.
  func reading(of clock: clockid_t, isDate: Bool) -> timespec? { nil }

  /// Fills bytes in place of random ones, and returns whether it has. Called only if the owner is
  /// explored.
  func draw(_ bytes: UnsafeMutableRawBufferPointer) -> Bool { false }

  /// A source of nondeterminism.
  enum NondeterminismSource: Sendable {
    case clock
    case number
    /// The end of work outside the scheduler.
    case outsideWork
  }

  /// Notes that one of the owner's tasks has used a source of nondeterminism.
  func asked(_ question: NondeterminismSource) {}

  /// Notes that an externally started job has ended.
  ///
  /// - Parameter executor: If given, the current thread has nothing else to do, and may go on with the
  ///   owner's jobs.
  func externallyStartedJobEnded(on executor: ExecutorKind?) {
    fatalError("Clocks: an owner of tasks waits for externally started jobs.")
  }

  /// Notes that a task may run, now or later, without passing through the hooks: it is checked before
  /// the test counts as idle.
  ///
  /// To be called while the task is in memory.
  func taskMayRunExternally(_ task: UnownedJob) {}

  /// Notes that a user executor runs a job of a task now, until `externalJobEnded`.
  func externalJobBegan(_ task: UnownedJob) {}

  /// Notes that the job that a user executor ran has ended.
  func externalJobEnded(_ task: UInt64) {}

  /// Notes that a task has begun an `async let`, whose task is a part of it.
  func taskHasAsyncLet(_ task: UnownedJob) {}

  /// Notes that an external task has returned; it is still in memory.
  func externalTaskReturned(_ task: UInt64, _ absence: UInt64) {}

  /// Checks the external tasks whose return only the owner can see.
  func recheckExternalTasks() {}

  /// Notes that the current thread has created a task for the owner.
  func taskWasCreated(_ task: UnownedJob) {}

  /// Notes that a task begins a sleep in real time.
  func sleepsInRealTime(_ task: UInt64, for delay: Duration) {}

  // MARK: - Dispatch

  /// Notes that a block of the test is on a dispatch queue, or runs there, until `workEnded`. Returns
  /// the number of the block, which is not 0.
  func workBegan(on queue: String) -> UInt64 { 1 }

  /// Notes that a block has come to its end, or will never begin.
  func workEnded(_ number: UInt64) {}

  /// Takes over a timed callback, and returns whether it does.
  ///
  /// While `holding` keeps time from moving, a delay is a part of the held operation, and is not taken
  /// over. Called only if the owner is virtual.
  func enqueue(_ work: TimedCallback, after delay: Duration) -> Bool { false }

  /// Removes a timed callback, if it has not begun.
  func remove(_ work: TimedCallback) {}
}

/// An entry in the table of owners, guarded by the lock of `TaskOwnership`.
final class OwnerRegistration {
  let owner: TaskOwner
  /// The number of clocks that keep the owner registered.
  @exclusivity(unchecked) var clocks = 0
  /// The newest task that there was when the owner began: it does not own older tasks unless it claimed
  /// them. The greatest number until that is known.
  @exclusivity(unchecked) var watermark: UInt64 = .max
  /// The tasks that are registered for the owner, whose entries are removed at its end.
  @exclusivity(unchecked) var tasks: [UInt64] = []

  init(owner: TaskOwner) { self.owner = owner }
}

/// Work that is to begin at an instant of an owner's virtual time.
final class TimedCallback: Sendable {
  /// What it is called where pending sleeps are listed.
  let name: String
  /// Begins it, when the instant has come.
  let begin: @Sendable () -> Void
  /// Has it begin in real time, because virtual time is over; called with what was left of the delay.
  let handBack: @Sendable (Duration) -> Void

  init(
    _ name: String, begin: @escaping @Sendable () -> Void,
    handBack: @escaping @Sendable (Duration) -> Void
  ) {
    self.name = name
    self.begin = begin
    self.handBack = handBack
  }
}

/// The owner of clocks made where no test is known, such as the properties of an `XCTestCase`.
///
/// It is dormant until a task uses one of its clocks, so that it leaves other tests alone. While awake it
/// owns every task that has no other owner: unowned jobs that run when it wakes become externally started
/// jobs, so that it knows when they end. It is dormant again when all tasks that used its clocks are over.
struct ProcessWideOwner {
  let owner: TaskOwner
  /// The number of running unowned jobs.
  var unownedJobs = 0
  /// The number of those that the owner waits for.
  private var externallyStartedJobs = 0
  /// Tasks that have used a clock, and whether they are over.
  private var users: [User] = []

  typealias User = (task: UInt64, isOver: @Sendable () -> Bool)

  /// The largest number of users kept. If all of them are over while the test goes on, its next use of a
  /// clock wakes the owner again.
  private static let mostUsers = 8

  init(owner: TaskOwner) { self.owner = owner }

  /// The owner, if it is awake. O(1).
  var ownerIfAwake: TaskOwner? { users.contains { !$0.isOver() } ? owner : nil }

  /// Wakes the owner for one more task. Returns how many jobs it waits for in addition.
  ///
  /// - Parameter outdated: Receives users that are over, to be freed without the lock.
  mutating func wake(_ user: User, _ outdated: inout [User]) -> Int {
    if users.contains(where: { $0.task == user.task }) { return 0 }
    let isAwake = ownerIfAwake != nil
    outdated = users.filter { $0.isOver() }
    users.removeAll { $0.isOver() }
    if users.count < Self.mostUsers { users.append(user) }
    guard !isAwake else { return 0 }
    defer { externallyStartedJobs = unownedJobs }
    return unownedJobs - externallyStartedJobs
  }

  /// Counts an unowned job that has run. Returns the owner if it waited for the job.
  mutating func unownedJobHasRun() -> TaskOwner? {
    unownedJobs -= 1
    guard externallyStartedJobs > unownedJobs else { return nil }
    externallyStartedJobs -= 1
    return owner
  }
}

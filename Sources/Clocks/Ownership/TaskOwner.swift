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
  /// The job's task; 0 if it is no task's, but an actor's queue.
  var taskID: UInt64
  var executor: ExecutorKind
}

/// A job that is to run after a while.
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
  /// No task sleeps: work waits that is to begin later.
  case dispatch = "Dispatch"
}

/// Whom tasks belong to: it is handed their jobs when they become ready.
///
/// The scheduler of a test is the only kind of owner that there is. The register of tasks and the
/// door to the runtime know it under this name, so that neither depends on the engine.
class TaskOwner: @unchecked Sendable {
  /// Whether the owner takes over delays on the runtime's own clocks.
  final var isVirtual: Bool {
    get { virtual.load(ordering: .relaxed) }
    set { virtual.store(newValue, ordering: .relaxed) }
  }

  private let virtual: Atomic<Bool>

  /// Whether each hop of the owner's tasks to an actor and back is to be seen.
  final let isExplored: Bool

  /// What the register of all owners knows of it, whose lock guards it; `nil` while it is not registered.
  @exclusivity(unchecked) nonisolated(unsafe) final var registration: OwnerRegistration?

  init(isVirtual: Bool, isExplored: Bool = false) {
    virtual = Atomic(isVirtual)
    self.isExplored = isExplored
  }

  /// Takes a job that has become ready.
  ///
  /// - Parameter isNew: Whether this is the first that is seen of the job's task, so that whatever
  ///   the current thread runs has made it.
  func enqueue(_ job: ReadyJob, isNew: Bool) {
    fatalError("Clocks: an owner of tasks takes their jobs.")
  }

  /// Takes over a job that is to run after a while. Asked only if the owner is virtual.
  func enqueue(_ job: DelayedJob) {
    fatalError("Clocks: a virtual owner of tasks takes their delays.")
  }

  /// What a clock of the system reads for the owner's tasks; `nil` if that is what it reads for all.
  ///
  /// - Parameter isDate: Whether it is `Date` that asks.
  func reading(of clock: clockid_t, isDate: Bool) -> timespec? { nil }

  /// Fills bytes in place of chance, and says whether it has. Asked only if the owner is explored.
  func draw(_ bytes: UnsafeMutableRawBufferPointer) -> Bool { false }

  /// What a task may ask for that nobody can make the same each time.
  enum NondeterminismSource: Sendable {
    case clock
    case number
    /// The end of work that is not the test's.
    case outsideWork
  }

  /// Learns that one of the owner's tasks has asked for it.
  func asked(_ question: NondeterminismSource) {}

  /// Learns that a job has ended that was one of the owner's without having been started by it.
  ///
  /// - Parameter lane: If given, the current thread has nothing else to do, and may go on with the
  ///   owner's jobs.
  func externallyStartedJobEnded(on executor: ExecutorKind?) {
    fatalError("Clocks: an owner of tasks waits for its visitors.")
  }

  /// Learns that a task of the owner's may run, now or later, without coming through the door: it is
  /// looked at before the owner counts as idle. To be called while the task is in memory.
  func taskMayRunExternally(_ task: UnownedJob) {}

  /// Learns that somebody's executor runs a task of the owner's now, until `externalJobEnded`.
  func externalJobBegan(_ task: UnownedJob) {}

  /// Learns that the job that somebody's executor ran has ended.
  func externalJobEnded(_ task: UInt64) {}

  /// Learns that a task of the owner's has begun an `async let`, whose task is a part of it.
  func taskHasAsyncLet(_ task: UnownedJob) {}

  /// Learns that a task of the owner's that was away is back; it is in memory still.
  func externalTaskReturned(_ task: UInt64, _ absence: UInt64) {}

  /// Looks whether tasks are back of which nobody else can tell.
  func recheckExternalTasks() {}

  /// Learns that the current thread has made a task for the owner.
  func taskWasCreated(_ task: UnownedJob) {}

  /// Learns that a task of the owner's begins a sleep in real time.
  func sleepsInRealTime(_ task: UInt64, for delay: Duration) {}

  // MARK: - Work on queues

  /// Learns that work of the owner's is on a queue of Dispatch's, or runs there, until `workEnded`.
  /// Returns the number of the work, which is not 0.
  func workBegan(on queue: String) -> UInt64 { 1 }

  /// Learns that work has come to its end, or never will begin.
  func workEnded(_ number: UInt64) {}

  /// Takes over work that is to begin after a while, and says so; while real work keeps time from
  /// moving, a delay is a part of that, and nothing is taken over. Asked only if the owner is virtual.
  func enqueue(_ work: TimedCallback, after delay: Duration) -> Bool { false }

  /// Takes out work that was to begin later, if it has not begun.
  func remove(_ work: TimedCallback) {}
}

/// What the register of all owners knows of one that is registered; the register's lock guards it.
///
/// The owner has it, too, so that it is found without a search.
final class OwnerRegistration {
  let owner: TaskOwner
  /// The number of clocks that keep the owner registered.
  @exclusivity(unchecked) var clocks = 0
  /// The newest task there was when the owner began: older ones are not its own unless it claimed
  /// them. The greatest number until that is known.
  @exclusivity(unchecked) var watermark: UInt64 = .max
  /// The tasks that are registered as the owner's, to strike them off at its end.
  @exclusivity(unchecked) var tasks: [UInt64] = []

  init(owner: TaskOwner) { self.owner = owner }
}

import ClocksSupport

/// The owner and task of the code that a thread runs, for the duration of one job. Only that thread reads or writes it.
struct ThreadContext {
  /// The owner of the job and of the tasks that it makes; `nil` while an unowned job runs.
  var owner: TaskOwner?

  /// The id of the task whose job runs; 0 for a job that belongs to no task, such as an actor drain.
  var taskID: UInt64 = 0

  /// Whether the owner is resuming one of its tasks. The owner of that task's job then needs no look-up.
  var isWaking = false

  /// Whether the owner is resuming a task whose job is the next one to reach the hooks.
  private(set) var takesNext = false

  /// The task that the owner resumes by running a job of the runtime; 0 if there is none.
  var wakingTask: UInt64 = 0

  /// The job that reached the hooks when the owner resumed a task, and that the owner still has to take.
  var taken: ReadyJob?

  /// Keeps a job that reached the hooks in `taken`, if the owner resumes its task. Returns whether it does.
  @_transparent
  mutating func takes(_ job: UnownedJob, on executor: ExecutorKind) -> Bool {
    guard takesNext || wakingTask != 0 else { return false }
    let id = Clocks.taskID(of: job)
    guard takesNext || id == wakingTask else { return false }
    (takesNext, wakingTask) = (false, 0)
    taken = ReadyJob(job: job, taskID: id, executor: executor)
    return true
  }

  /// - Parameter isOwn: Whether the task belongs to the owner, which then takes the job from `taken`.
  @_transparent
  mutating func beginWaking(_ isOwn: Bool) {
    isWaking = isOwn
    takesNext = isOwn
  }

  @_transparent
  mutating func endWaking() {
    isWaking = false
    takesNext = false
  }

  /// The id of the task whose job was the last to reach the hooks from this thread.
  var arrivedTask: UInt64 = 0

  /// Whether the thread captures the next job that reaches the hooks, or the job that it captured.
  enum Capture {
    case nothing
    case next
    case job(UnownedJob)
  }

  var capture = Capture.nothing

  /// Whether the thread runs `Scheduler.pump`, the only code that runs kept jobs.
  var isOfPump = false
  /// The `Idleness.threadNumber` of the thread. Defined only if `isOfPump` is true.
  var number = 0

  /// Whether the next unowned job for the pool becomes `kept`.
  var keepsNext = false
  /// Whether there is a kept job. A debug build reads a flag faster than an optional.
  private(set) var hasKept = false
  /// An unowned job that this thread runs next, unless the owner has another job for the thread.
  private(set) var kept: ReadyJob?

  /// Whether there is a `waiter`. A debug build reads a flag faster than an optional.
  private(set) var isAwaited = false
  /// The task that is resumed after the job.
  private(set) var waiter: UnsafeContinuation<Void, Never>?

  enum Purpose {
    case nothing
    /// The thread creates a task that runs a test case of Swift Testing.
    case testCase
    /// The thread creates a task whose options show which kinds of options name an executor.
    case learning
    /// The thread creates a task that gets a preferred executor, to test whether its hops are seen.
    case preferring
    /// The thread runs a block of `URLSession`, whose own timers take real time.
    case networking
    /// The thread creates another thread, which counts as a job of the owner.
    case threadOfOwner
  }

  var purpose = Purpose.nothing

  /// The owners for which the job counts as externally started, and that wait for its end.
  ///
  /// Such an owner adopted the job's task while the job ran, or started the job, which has paused since.
  var ownersAwaitingEnd: [TaskOwner] = []

  /// Whether a job runs now, as opposed to the loop between jobs.
  var isInJob = false

  /// Whether the condition of an invariant is being evaluated. The search makes no decision meanwhile.
  var isInCondition = false

  /// Whether the job is a block on a dispatch queue, which runs in parallel with the owner's jobs.
  var isOnQueue = false

  /// Returns whether `owner` started this job. Mutating, because a debug build would otherwise copy the context.
  @_transparent
  mutating func runsJob(of owner: TaskOwner) -> Bool { self.owner === owner && !isOnQueue }

  var runLoops = TimeInRunLoops()

  /// The thread's waits in virtual time; `nil` before the first one.
  var waits: ThreadWaits?

  /// The innermost `DispatchQueue.sync` that runs on the thread, in unedited suites.
  var sync: UnsafePointer<SyncQueue>?

  /// An address in the frame of the function that runs the job; 0 if the context itself is in that frame.
  var placeInFrame: UInt = 0

  /// The context of the current thread; `nil` if its job did not pass through the hooks.
  static var current: UnsafeMutablePointer<ThreadContext>? {
    guard let thread = ThreadState.existing else { return nil }
    // Not `??`, which calls a closure in a debug build.
    if let context = thread.pointee.context { return context }
    return makeForUnownedJob(on: thread)
  }

  /// Makes the context of the thread's unowned job; `nil` if the thread runs none.
  ///
  /// Most unowned jobs end without a context, because they belong to no test.
  @inline(never)
  private static func makeForUnownedJob(
    on thread: ThreadState.Reference
  ) -> UnsafeMutablePointer<ThreadContext>? {
    guard let job = thread.pointee.unownedJob else { return nil }
    let context = job.pointee.context
    context.initialize(
      to: ThreadContext(
        taskID: RunningJobs.task(of: job), isInJob: true,
        placeInFrame: thread.pointee.placeInFrame))
    thread.pointee.context = context
    return context
  }

  mutating func run(_ body: (UnsafeMutablePointer<ThreadContext>) -> Void) {
    let thread = ThreadState.ofThread
    let outer = thread.pointee.context
    withUnsafeMutablePointer(to: &self) { pointer in
      thread.pointee.context = pointer
      body(pointer)
      thread.pointee.context = outer
    }
  }
}

extension ThreadContext {
  /// Runs `body` in the last job of a test. If `body` makes an unowned job ready, this thread may run that job next.
  ///
  /// Waking another thread takes longer than a short test.
  static func keepingNextJob(_ body: () -> Void) {
    let context = current
    // Only the thread of a pump runs kept jobs. On an executor of the user, the unowned job becomes ready as usual.
    if PriorExecutors.areDispatch, context?.pointee.isOfPump == true {
      context?.pointee.keepsNext = true
    }
    body()
    context?.pointee.keepsNext = false
  }

  mutating func keep(_ job: UnownedJob) {
    keepsNext = false
    hasKept = true
    kept = ReadyJob(
      job: job, taskID: Clocks.taskID(of: job), executor: .pool,
      isCounted: TaskOwnership.shared.unownedJobWillRun())
  }

  /// Resumes a task that waits for the end of the current task. Called in the current task's last job.
  ///
  /// If a pump runs the job, the waiting task is resumed after it. Otherwise it is resumed immediately.
  static func resumeAfterJob(_ continuation: UnsafeContinuation<Void, Never>) {
    guard let context = current, context.pointee.isOfPump, context.pointee.isInJob,
      context.pointee.taskID != 0, context.pointee.taskID == UnownedTask.currentID
    else { return keepingNextJob { continuation.resume() } }
    (context.pointee.isAwaited, context.pointee.waiter) = (true, continuation)
  }

  /// Resumes the task that waits for the job that just ended.
  ///
  /// - Parameter context: The context of the current thread. It changes while the task is resumed.
  @inline(never)
  static func resumeWaiter(of context: UnsafeMutablePointer<ThreadContext>) {
    context.pointee.isAwaited = false
    let continuation = context.pointee.waiter.take()
    keepingNextJob { continuation?.resume() }
  }

  mutating func takeKept() -> ReadyJob? {
    defer { (hasKept, kept) = (false, nil) }
    return kept
  }

  /// Runs `body`, and captures the first job that reaches the hooks meanwhile; `nil` if none does.
  static func capturingNextJob(
    for purpose: Purpose = .nothing, _ body: () -> Void
  ) -> UnownedJob? {
    var context = ThreadContext(capture: .next, purpose: purpose)
    context.run { _ in body() }
    guard case .job(let job) = context.capture else { return nil }
    return job
  }

  /// Runs a captured job on this thread, then the first job that it enqueues, and so on to the end.
  static func runToEnd(_ job: UnownedJob) {
    var next: UnownedJob? = job
    while let job = next { next = capturingNextJob { RuntimeHooks.run(job, on: .pool) } }
  }
}

/// The state that this package keeps for each thread. Only the thread itself reads or writes it.
struct ThreadState {
  typealias Reference = UnsafeMutablePointer<ThreadState>

  /// The context of the innermost job; `nil` if there is no job, or if its context has not been needed.
  var context: UnsafeMutablePointer<ThreadContext>?
  /// The innermost unowned job. If `context` is `nil`, it is the innermost job.
  var unownedJob: RunningJob?
  /// An address in the frame of the function that runs `unownedJob`.
  var placeInFrame: UInt = 0
  /// The block that the thread runs, if its test case had no owner when it was submitted.
  var unownedBlock: UnownedBlock?
  /// Records for the next jobs that begin on the thread.
  var unusedRecords: RunningJob?
  var creation = TaskCreationState.none
  var clockReadings = ClockReadings()
  /// Whether a task may have ended in an actor drain on the thread (`RuntimeHooks.noteEndOfTask`).
  var mayHaveEndedTask = false

  /// - Parameter place: A variable of the function that runs the job.
  mutating func beginUnownedJob(_ job: RunningJob, _ place: UnsafePointer<UInt8>) {
    (context, unownedJob, placeInFrame) = (nil, job, UInt(bitPattern: place))
  }

  /// Restores the state before the job.
  mutating func endUnownedJob(within outer: ThreadState) {
    (context, unownedJob, placeInFrame) = (outer.context, outer.unownedJob, outer.placeInFrame)
  }

  /// The state of the current thread; `nil` if no job has passed through the hooks on it.
  @_transparent
  static var existing: Reference? {
    guard let key else { return nil }
    return threadValue(key)?.assumingMemoryBound(to: ThreadState.self)
  }

  /// The state of the current thread, which is made if there is none.
  @_transparent
  static var ofThread: Reference {
    if let existing { return existing }
    return make()
  }

  @inline(never)
  static func make() -> Reference {
    let thread = Reference.allocate(capacity: 1)
    thread.initialize(to: ThreadState())
    setThreadValue(prepare(), thread)
    return thread
  }

  /// The key of the states; `nil` before the hooks are installed.
  ///
  /// The key is a variable, because reading a lazy constant costs more than looking up the state by the key.
  nonisolated(unsafe) private static var key: ThreadKey?

  /// Creates the key. Must be called before the hooks are installed. Thread-safe.
  @discardableResult @inline(never)
  static func prepare() -> ThreadKey { madeKey }

  private static let madeKey: ThreadKey = {
    let made = makeThreadKey { threadEnds($0) }
    key = made
    return made
  }()

  private static func threadEnds(_ value: UnsafeMutableRawPointer?) {
    guard let thread = value?.assumingMemoryBound(to: ThreadState.self) else { return }
    RunningJobs.threadEnds(thread)
    thread.deallocate()
  }
}

/// The progress of a thread that creates a task.
enum TaskCreationState {
  /// The thread creates no task, or it is known that another task may be resumed first.
  case none
  /// No job of a task has reached the hooks yet.
  case begun
  /// A job of the task with this id has reached the hooks. Nearly always that is the new task, but its executor may
  /// resume another one first.
  case jobArrived(UInt64)
}

import ClocksSupport

/// What a thread runs, for the duration of one job. Only that thread reads or writes its context.
struct ThreadContext {
  /// The owner of the job and of the tasks that it makes; `nil` while an unowned job runs.
  var owner: TaskOwner?

  /// The id of the task whose job runs; 0 for a job that belongs to no task, such as an actor drain.
  var taskID: UInt64 = 0

  /// Whether the owner is resuming one of its tasks. The owner of that task's job then needs no look-up.
  var isWaking = false

  /// Whether the next job that reaches the hooks is that of the task that the owner resumes.
  private(set) var takesNext = false

  /// The task that the owner resumes by running a job of the runtime; 0 if there is none.
  var wakingTask: UInt64 = 0

  /// The job that reached the hooks when the owner resumed a task, and that the owner still has to take.
  var taken: ReadyJob?

  /// Keeps a job that has reached the hooks in `taken`, if the owner resumes its task. Returns whether it does.
  @_transparent
  mutating func takes(_ job: UnownedJob, on executor: ExecutorKind) -> Bool {
    guard takesNext || wakingTask != 0 else { return false }
    let id = UnownedTask(job: job).id
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

  /// Whether the thread captures the next job that reaches the hooks, or the job that it has captured.
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
  /// The task that is resumed when the job has ended.
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
  /// Such an owner has adopted the job's task while the job ran, or has started the job, which has paused since.
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

  /// The innermost `DispatchQueue.sync` that runs on the thread, in suites that were not written for virtual time.
  var sync: UnsafePointer<SyncQueue>?

  /// The context of the current thread; `nil` if its job did not pass through the hooks.
  @_transparent
  static var current: UnsafeMutablePointer<ThreadContext>? {
    guard let key else { return nil }
    return threadValue(key)?.assumingMemoryBound(to: ThreadContext.self)
  }

  @_transparent
  mutating func run(_ body: (UnsafeMutablePointer<ThreadContext>) -> Void) {
    let key = Self.key ?? Self.prepare()
    let outer = threadValue(key)
    withUnsafeMutablePointer(to: &self) { pointer in
      setThreadValue(key, pointer)
      body(pointer)
      setThreadValue(key, outer)
    }
  }

  /// The key of the contexts; `nil` before the hooks are installed.
  ///
  /// The key is a variable, because reading a lazy constant costs more than looking up the context by the key.
  @exclusivity(unchecked) nonisolated(unsafe) private static var key: ThreadKey?

  /// Creates the key. Must be called before the hooks are installed. Thread-safe.
  @discardableResult @inline(never)
  static func prepare() -> ThreadKey { madeKey }

  private static let madeKey: ThreadKey = {
    let made = makeThreadKey()
    key = made
    return made
  }()
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

  mutating func keep(_ job: UnownedJob, for yielder: UInt64) {
    keepsNext = false
    hasKept = true
    kept = ReadyJob(
      job: job, taskID: yielder, executor: .pool,
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

  /// Resumes the task that waits for the job that has just ended.
  ///
  /// - Parameter context: That of the current thread. It changes while the task is resumed.
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

/// The real time that a job has spent in run loops, which may be nested.
struct TimeInRunLoops {
  private var sum: UInt64 = 0
  private var depth = 0
  private var start: RealTime?

  var isRunning: Bool { depth > 0 }

  mutating func begin() {
    if depth == 0 { start = RealTime(in: .zero) }
    depth += 1
  }

  mutating func end() {
    depth -= 1
    guard depth == 0 else { return }
    sum = nanoseconds
    start = nil
  }

  /// The time in run loops up to now, including a run loop in progress.
  var nanoseconds: UInt64 { sum + (start?.nanosecondsSince ?? 0) }
}

/// The variable in which the runtime notes the task that a thread runs.
/// Any thread may read the variable while its thread is known to be alive.
struct CurrentTaskSlot {
  private let place: UnsafePointer<UInt>

  /// The variable of the current thread; `nil` if its address is not known.
  static var ofThread: CurrentTaskSlot? {
    #if os(Linux) && canImport(Glibc) && _pointerBitWidth(_64)
      guard let distance,
        let place = UnsafePointer<UInt>(bitPattern: UInt(pthread_self()) &+ distance)
      else { return nil }
      return CurrentTaskSlot(place: place)
    #else
      return nil
    #endif
  }

  /// Returns whether the thread now runs a task other than the given one.
  func isAnother(than task: UnownedJob) -> Bool {
    let running = place.pointee
    return running != 0 && running != unsafeBitCast(task, to: UInt.self)
  }

  #if os(Linux) && canImport(Glibc) && _pointerBitWidth(_64)
    /// The distance of the variable from the beginning of the thread's own data.
    ///
    /// The distance is equal in all threads, because the runtime's library was loaded when the program began. It is
    /// verified on another thread with another task. `nil` if no distance fits, or more than one.
    static let distance: UInt? = {
      guard TaskStatus.isReadable else { return nil }
      let here = candidates()
      guard here.count == 1 else { return nil }
      nonisolated(unsafe) var there: [UInt] = []
      var thread = pthread_t()
      let body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { result in
        result?.assumingMemoryBound(to: [UInt].self).pointee = CurrentTaskSlot.candidates()
        return nil
      }
      guard withUnsafeMutablePointer(to: &there, { pthread_create(&thread, nil, body, $0) }) == 0
      else { return nil }
      pthread_join(thread, nil)
      return here == there ? here[0] : nil
    }()

    /// The distances of those words in this thread's variables that hold the current task whenever there is one.
    private static func candidates() -> [UInt] {
      let runtime = LoadedImage.all(named: "libswift_Concurrency").first
      guard let found = runtime?.threadVariables else { return [] }
      nonisolated(unsafe) let variables = found
      let start = UInt(bitPattern: variables.baseAddress) &- UInt(pthread_self())
      var places = Set(variables.indices)
      for _ in 0..<2 {
        let before = Array(variables)
        nonisolated(unsafe) var during: [UInt] = []
        nonisolated(unsafe) var task: UInt = 0
        // An immediate task runs on this thread, so its address appears in this thread's variables.
        _ = Task.immediate { @Sendable in
          during = Array(variables)
          task = UnownedTask.current.map { unsafeBitCast($0.job, to: UInt.self) } ?? 0
        }
        guard task != 0, during.count == before.count else { return [] }
        places.formIntersection(
          during.indices.filter { during[$0] == task && before[$0] != task })
      }
      return places.sorted().map { start &+ UInt($0 * MemoryLayout<UInt>.stride) }
    }
  #endif
}

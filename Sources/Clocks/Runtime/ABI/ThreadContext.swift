import ClocksSupport

/// What the current thread is running, for as long as it runs one job.
///
/// A context lives on the stack of the loop that runs the job; only its own thread reads or writes
/// it.
struct ThreadContext {
  /// What becomes of the next job that comes to the door.
  enum Capture {
    /// It goes where it belongs.
    case nothing
    /// It is kept back.
    case next
    /// It was kept back.
    case job(UnownedJob)
  }

  /// The owner on whose behalf the thread runs; `nil` while a job runs that is foreign.
  ///
  /// Whatever the job starts belongs to the same owner: this is how a new task finds it.
  var owner: TaskOwner?

  /// The task whose job this is; 0 for a job that is no task's (an actor's queue).
  var taskID: UInt64 = 0

  /// Whether the owner is at this moment resuming a task of its own, so that the job that comes to
  /// the door is known to be its own and nobody needs to look up whose it is.
  var isWaking = false

  /// Whether the next job that comes to the door while it does so is to be put into `taken`.
  var takesNext = false

  /// The job that came to the door when the owner resumed a task, and that it still has to take.
  var taken: ReadyJob?

  /// The owner resumes a task, and takes its job itself if it comes to the door meanwhile.
  @inline(__always)
  mutating func beginWaking(_ isOwn: Bool) {
    isWaking = isOwn
    takesNext = isOwn
  }

  @inline(__always)
  mutating func endWaking() {
    isWaking = false
    takesNext = false
  }

  /// The task whose job came to the door last from this thread; 0 if none has since it was set so.
  var arrivedTask: UInt64 = 0

  var capture = Capture.nothing

  /// What a task is made for.
  enum Purpose {
    /// Nothing that matters here.
    case nothing
    /// To run a test case of Swift Testing's.
    case testCase
    /// To learn how a preference for an executor is passed, while the runtime is tried out.
    case learning
    /// To be made with such a preference, then.
    case preferring
  }

  var purpose = Purpose.nothing

  /// The owners that the job's task has gone over to while the job ran, having been started by
  /// somebody else; they wait for the job's end.
  var ownersAwaitingEnd: [TaskOwner] = []

  /// Whether a job runs at this moment, and not the loop between jobs.
  var isInJob = false

  /// Whether it is work on a queue of Dispatch's, which runs beside the owner's jobs.
  var isOnQueue = false

  /// Whether it is a job that an owner has put into order. Nothing is changed; but a debug build would make
  /// a copy of all, if it could not be.
  @inline(__always)
  mutating func runsJob(of owner: TaskOwner) -> Bool { self.owner === owner && !isOnQueue }

  /// The real time that the job has spent in run loops of Foundation's.
  var runLoops = TimeInRunLoops()

  /// The context of the job that the current thread runs, or `nil` if it runs none that came
  /// through the door.
  @inline(__always)
  static var current: UnsafeMutablePointer<ThreadContext>? {
    guard let key else { return nil }
    return pthread_getspecific(key)?.assumingMemoryBound(to: ThreadContext.self)
  }

  /// Runs `body` with this as the current context.
  @inline(__always)
  mutating func run(_ body: (UnsafeMutablePointer<ThreadContext>) -> Void) {
    let key = Self.key ?? Self.prepared()
    let outer = pthread_getspecific(key)
    withUnsafeMutablePointer(to: &self) { pointer in
      pthread_setspecific(key, pointer)
      body(pointer)
      pthread_setspecific(key, outer)
    }
  }

  /// Runs `body` as in a job that began before the door was opened; for tests.
  static func withoutContext(_ body: () -> Void) {
    let key = Self.key ?? Self.prepared()
    let outer = pthread_getspecific(key)
    pthread_setspecific(key, nil)
    body()
    pthread_setspecific(key, outer)
  }

  /// Where the contexts are found; `nil` before the door is opened. A variable, because to ask for a
  /// constant that is computed costs more than to look up the context.
  @exclusivity(unchecked) nonisolated(unsafe) private static var key: pthread_key_t?

  /// Makes it possible to have a context. To be called before the door is opened. Thread-safe.
  static func prepare() { _ = prepared() }

  @inline(never)
  private static func prepared() -> pthread_key_t { madeKey }

  private static let madeKey: pthread_key_t = {
    var made = pthread_key_t()
    guard pthread_key_create(&made, nil) == 0 else {
      fatalError("Clocks: this process has used up all its thread-specific keys.")
    }
    key = made
    return made
  }()
}

/// The real time that a job has spent in run loops, which may be nested.
struct TimeInRunLoops {
  private var sum: UInt64 = 0
  private var depth = 0
  private var start: RealTime?

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

  /// All of it, up to now.
  var nanoseconds: UInt64 { sum + (start?.nanosecondsSince ?? 0) }
}

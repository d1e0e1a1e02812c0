import ClocksSupport

/// What this package keeps of a thread. Only the thread itself reads or writes it.
struct ThreadState {
  typealias Reference = UnsafeMutablePointer<ThreadState>

  /// The context of the innermost job; `nil` if there is no job, or if its context has not been needed.
  var context: UnsafeMutablePointer<ThreadContext>?
  /// The innermost unowned job. If `context` is `nil`, it is the innermost job.
  var unownedJob: RunningJob?
  /// An address in the frame of the function that runs `unownedJob`.
  var placeInFrame: UInt = 0
  /// Records for the next jobs that run within the current one.
  var unusedRecords: RunningJob?

  /// - Parameter place: A variable of the function that runs the job.
  mutating func beginUnownedJob(_ job: RunningJob, _ place: UnsafePointer<UInt8>) {
    (context, unownedJob, placeInFrame) = (nil, job, UInt(bitPattern: place))
  }

  /// Restores what was before the job.
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
  static var ofThread: Reference { existing ?? make() }

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
  @exclusivity(unchecked) nonisolated(unsafe) private static var key: ThreadKey?

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
    if let records = thread.pointee.unusedRecords { RunningJobs.threadEnds(with: records) }
    thread.deallocate()
  }
}

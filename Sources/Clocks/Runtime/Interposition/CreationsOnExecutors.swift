import ClocksSupport

/// The unfinished creations of owned tasks that begin on a custom executor.
///
/// Thread A creates a task. The runtime hands the first job to the executor before the creation returns.
/// Thread B is about to run the job on that executor before thread A registers the task. So thread B postpones the job,
/// and thread A enqueues it again when the task is registered.
enum CreationsOnExecutors {
  struct Creation: Equatable {
    fileprivate let executor: CustomExecutor
    /// An id between those of the earlier tasks and that of the created task. It identifies the creation.
    fileprivate let newestTask: UInt64
  }

  private typealias Postponed = (job: UnownedJob, executor: CustomExecutor)

  /// Guards the variables below. Rank `leaf`: no executor is called under it.
  private static let lock = Lock(.leaf)
  nonisolated(unsafe) private static var creations: [Creation] = []
  nonisolated(unsafe) private static var postponed: [Postponed] = []

  static func begin(_ executor: CustomExecutor) -> Creation {
    let creation = Creation(executor: executor, newestTask: UnownedTask.newestID())
    lock.withLock { creations.append(creation) }
    return creation
  }

  /// Ends the creation of a task, after the task was registered.
  ///
  /// Enqueues the task's job if it was postponed. Thread B may be creating another task on the executor. That task's
  /// job stays postponed until thread B calls this, so that thread B's own jobs keep their order.
  static func end(_ creation: Creation, of task: UInt64) {
    let jobs: [Postponed] = lock.withLock {
      if let place = creations.firstIndex(of: creation) { creations.remove(at: place) }
      // A postponed job may belong to an unowned task, for which `end` is never called. The end of the last creation on
      // the executor enqueues such jobs.
      let isLast = !creations.contains { $0.executor == creation.executor }
      func goesOn(_ postponed: Postponed) -> Bool {
        taskID(of: postponed.job) == task || isLast && postponed.executor == creation.executor
      }
      defer { postponed.removeAll(where: goesOn) }
      return postponed.filter(goesOn)
    }
    for (job, executor) in jobs { executor.enqueue(job) }
  }

  /// Postpones the job of an unregistered task if the task may be one that is being created. Returns whether it did.
  static func postpone(
    _ job: UnownedJob, on executor: CustomExecutor, or other: CustomExecutor?
  ) -> Bool {
    let task = taskID(of: job)
    return lock.withLock {
      let creation = creations.first {
        ($0.executor == executor || $0.executor == other) && task > $0.newestTask
      }
      guard let creation else { return false }
      postponed.append((job, creation.executor))
      return true
    }
  }
}

/// A custom executor: a serial executor, or a task executor that tasks prefer.
struct CustomExecutor: Equatable {
  private let reference: ExecutorWords
  private let isSerial: Bool

  init(_ executor: UnownedTaskExecutor) {
    self.init(reference: ExecutorWords(executor).reference, isSerial: false)
  }

  init(_ executor: UnownedSerialExecutor) {
    self.init(reference: ExecutorWords(executor).reference, isSerial: true)
  }

  private init(reference: ExecutorWords, isSerial: Bool) {
    (self.reference, self.isSerial) = (reference, isSerial)
  }

  /// The receiver of a task's first job.
  enum First {
    case custom(CustomExecutor)
    case defaultActor
    /// The default executor or the main actor's, whose jobs pass through the hooks.
    case runtime
  }

  /// Returns the receiver of the first job of a task with these options.
  ///
  /// A serial executor takes precedence over one that the task prefers.
  static func first(in options: UnsafeRawPointer) -> First {
    guard TaskOption.areReadable else { return .runtime }
    var found: CustomExecutor?
    var next: UnsafeRawPointer? = options
    while let option = next {
      // In a debug build `load(as:)` would be a call of a generic function. These reads are inlined.
      next = (option + TaskABI.Option.next).assumingMemoryBound(to: UnsafeRawPointer?.self).pointee
      let kind = (option + TaskABI.Option.kind).assumingMemoryBound(to: UInt.self).pointee
      // An option of another kind may be shorter than one that names an executor.
      guard kind == TaskOption.serialKind || kind == TaskOption.preferenceKind else { continue }
      let executor = (option + TaskABI.Option.executor)
        .assumingMemoryBound(to: ExecutorWords.self).pointee.reference
      if kind == TaskOption.serialKind {
        // The jobs of the main actor pass through the hooks, too.
        if executor == ExecutorWords(MainActor.sharedUnownedExecutor).reference { return .runtime }
        // Neither a default actor nor the default executor has a table.
        if executor.table != 0 { return .custom(Self(reference: executor, isSerial: true)) }
        if executor.object != 0 { return .defaultActor }
      } else if executor.object != 0 {
        found = Self(reference: executor, isSerial: false)
      }
    }
    return found.map(First.custom) ?? .runtime
  }

  func enqueue(_ job: UnownedJob) {
    if isSerial {
      unsafeBitCast(reference, to: (any SerialExecutor).self).enqueue(ExecutorJob(job))
    } else {
      unsafeBitCast(reference, to: (any TaskExecutor).self).enqueue(ExecutorJob(job))
    }
  }
}

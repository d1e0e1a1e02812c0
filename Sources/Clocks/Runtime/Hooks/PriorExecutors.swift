import ClocksSupport

/// The two words by which the runtime refers to an executor: an object and the table of its methods.
struct ExecutorWords: Equatable {
  var object: UInt
  var table: UInt

  init(_ executor: UnownedSerialExecutor) { self = unsafeBitCast(executor, to: Self.self) }

  init(_ executor: UnownedTaskExecutor) { self = unsafeBitCast(executor, to: Self.self) }

  // Without the cast to the argument's own type, the compiler would open the existential and pass only one
  // word.
  init(_ executor: any TaskExecutor) {
    self = unsafeBitCast(executor as any TaskExecutor, to: Self.self)
  }

  /// The words of a reference to the executor: without the runtime's flags, which are the low bits of the table.
  var reference: ExecutorWords {
    var words = self
    words.table &= ~7
    return words
  }
}

/// The executors from before the hooks were installed, which still run unowned jobs.
enum PriorExecutors {
  static let pool: any TaskExecutor = globalConcurrentExecutor
  private static let main = MainActor.sharedUnownedExecutor

  /// Must be called before the executors are replaced.
  static func remember() {
    _ = (pool, main)
    areDispatch = submitToDispatch
  }

  /// Whether the executors are the platform's, which submit their jobs to Dispatch.
  ///
  /// A variable, because each unowned job reads it, and reading a lazy constant costs more.
  nonisolated(unsafe) private(set) static var areDispatch = false

  private static var submitToDispatch: Bool {
    switch _typeName(type(of: pool)) {
    // The executors of Swift 6.1 and earlier, which cannot be replaced.
    case "Swift._DefaultGlobalConcurrentExecutor": return true
    case "Swift.DispatchGlobalTaskExecutor", "Swift.CFTaskExecutor":
      let main = mainExecutor.map { _typeName(type(of: $0)) }
      return main == "Swift.DispatchMainExecutor" || main == "Swift.CFMainExecutor"
    // The executors of another copy of this module also submit their jobs to Dispatch.
    default: return OtherCopy.place != nil
    }
  }

  /// The main actor's executor, if it is a Swift object, as it is since Swift 6.2.
  fileprivate static var mainExecutor: (any SerialExecutor)? {
    let words = ExecutorWords(main).reference
    guard words.object != 0, words.table != 0 else { return nil }
    return unsafeBitCast(words, to: (any SerialExecutor).self)
  }
}

extension RuntimeHooks {
  /// Passes an unowned job to where it would go without this package.
  ///
  /// The platform's executors would only submit the job to Dispatch. This function does that itself, to see the
  /// job's end. Custom executors receive the job itself.
  static func runElsewhere(_ job: UnownedJob, on executor: ExecutorKind) {
    guard PriorExecutors.areDispatch else {
      if executor == .pool { return PriorExecutors.pool.enqueue(ExecutorJob(job)) }
      PriorExecutors.mainExecutor?.enqueue(ExecutorJob(job))
      return
    }
    let isCounted = TaskOwnership.shared.unownedJobWillRun()
    UnownedJobs.submit(
      ReadyJob(job: job, taskID: taskID(of: job), executor: executor, isCounted: isCounted))
  }

  static func runElsewhere(_ job: UnownedJob, after delay: Duration) {
    if captureDelayed(job) { return }
    noteRealSleep(job, for: delay)
    RealTime(in: delay).schedule { runElsewhere(job, on: .pool) }
  }

  /// Replaces the default executor where the runtime stores it, and returns whether that worked.
  ///
  /// The runtime's library keeps the executor in two neighbouring words without an exported name. A public
  /// getter returns their content, by which they are found. If several places have this content, the right one
  /// is the one that changes the getter's result. O(size of the library's data), some 10 KB.
  static func replaceDefaultExecutor() -> Bool {
    let prior = ExecutorWords(PriorExecutors.pool)
    let replacement = ExecutorWords(poolExecutor as any TaskExecutor)
    // Writing the words changes no retain count, so both executors are retained forever.
    _ = Unmanaged.passRetained(PriorExecutors.pool as AnyObject)
    _ = Unmanaged.passRetained(poolExecutor)
    for data in LoadedImage.all(named: "libswift_Concurrency").flatMap(\.writableData) {
      let wordSize = MemoryLayout<UInt>.size
      for offset in stride(from: 0, through: data.count - 2 * wordSize, by: wordSize) {
        let place = (data.baseAddress! + offset).assumingMemoryBound(to: ExecutorWords.self)
        guard place.pointee == prior else { continue }
        place.pointee = replacement
        if globalConcurrentExecutor === poolExecutor { return true }
        place.pointee = prior
      }
    }
    return false
  }

  /// Replaces the methods of the main actor's executor, and returns whether that worked.
  ///
  /// Needed in runtimes without a hook for the main actor's executor. Every client of `SerialExecutor` relies on
  /// the order of the protocol's table, so this order never changes: the conformance's description, the table of
  /// `Executor`, and three methods that enqueue a job.
  static func replaceMainMethods() -> Bool {
    // A custom executor must keep its methods, or it would not receive the unowned jobs.
    guard
      PriorExecutors.areDispatch,
      let prior = methods(of: MainActor.sharedUnownedExecutor),
      let replacement = methods(of: mainReference)
    else { return false }
    let methods = 2...4
    return ProtectedMemory.write(
      at: prior + methods.lowerBound, count: methods.count * MemoryLayout<UInt>.size,
      readOnly: LoadedImage.all.flatMap(\.readOnlyData)
    ) { _ in
      for method in methods { prior[method] = replacement[method] }
    }
  }

  private static func methods(of executor: UnownedSerialExecutor) -> UnsafeMutablePointer<UInt>? {
    UnsafeMutablePointer(bitPattern: ExecutorWords(executor).reference.table)
  }
}

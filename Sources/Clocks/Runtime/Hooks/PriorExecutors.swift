import ClocksSupport
import Dispatch

#if os(Linux)
  internal import CDispatch
#endif

/// The two words by which the runtime refers to an executor: an object and the table of its methods.
struct ExecutorWords: Equatable {
  var object: UInt
  var table: UInt

  init(_ executor: UnownedSerialExecutor) { self = unsafeBitCast(executor, to: Self.self) }

  // Why the cast to the argument's own type: without it the compiler would open the existential and pass one
  // word.
  init(_ executor: any TaskExecutor) {
    self = unsafeBitCast(executor as any TaskExecutor, to: Self.self)
  }

  /// The table, without the low bits, in which the runtime keeps flags.
  var methods: UnsafeMutablePointer<UInt>? { UnsafeMutablePointer(bitPattern: table & ~7) }
}

/// The executors from before the hooks were installed, which still run unowned jobs.
enum PriorExecutors {
  static let pool: any TaskExecutor = globalConcurrentExecutor
  private static let main = MainActor.sharedUnownedExecutor

  /// To be called before the executors are replaced.
  static func remember() { _ = (pool, main, areDispatch) }

  /// Whether the executors are those of the platform, which submit their jobs to Dispatch.
  static let areDispatch: Bool = {
    switch _typeName(type(of: pool)) {
    // The executors of Swift 6.1 and earlier, which cannot be replaced.
    case "Swift._DefaultGlobalConcurrentExecutor": return true
    case "Swift.DispatchGlobalTaskExecutor", "Swift.CFTaskExecutor":
      let main = mainExecutor.map { _typeName(type(of: $0)) }
      return main == "Swift.DispatchMainExecutor" || main == "Swift.CFMainExecutor"
    // Another copy of this module, which submits them to Dispatch, too.
    default: return OtherCopy.place != nil
    }
  }()

  /// The main actor's executor, if it is a Swift object, as it is since Swift 6.2.
  private static var mainExecutor: (any SerialExecutor)? {
    var words = ExecutorWords(main)
    words.table &= ~7
    guard words.object != 0, words.table != 0 else { return nil }
    return unsafeBitCast(words, to: (any SerialExecutor).self)
  }

  fileprivate static func enqueue(_ job: UnownedJob, on executor: ExecutorKind) {
    switch executor {
    case .pool: pool.enqueue(ExecutorJob(job))
    case .main: mainExecutor?.enqueue(ExecutorJob(job))
    }
  }
}

extension RuntimeHooks {
  /// Passes an unowned job to where it would go without this package.
  ///
  /// The platform's executors only submit a job to Dispatch. So does this function, but the end of the job is
  /// seen, and the queues get a new thread when one is blocked: a test that blocks its thread stops no other
  /// test, and no report. Custom executors receive the job itself.
  static func runElsewhere(_ job: UnownedJob, on executor: ExecutorKind) {
    guard PriorExecutors.areDispatch else {
      TestCaseMembership.forgetYield(job)
      return PriorExecutors.enqueue(job, on: executor)
    }
    let isCounted = TaskOwnership.shared.unownedJobWillRun()
    #if os(Linux)
      // A function and a pointer, as the platform does it, allocate nothing; a closure would.
      let pointer = unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
      let queue =
        executor == .main
        ? dispatch_get_main_queue() : InternalDispatch.poolQueue(quality(of: job.priority))
      switch executor {
      case .pool where isCounted:
        dispatch_async_f(queue, pointer) {
          RuntimeHooks.runUnowned(
            unsafeBitCast($0, to: UnownedJob.self), on: .pool, isCounted: true)
        }
      case .pool:
        dispatch_async_f(queue, pointer) {
          RuntimeHooks.runUnowned(unsafeBitCast($0, to: UnownedJob.self), on: .pool)
        }
      case .main where isCounted:
        dispatch_async_f(queue, pointer) {
          RuntimeHooks.runUnowned(
            unsafeBitCast($0, to: UnownedJob.self), on: .main, isCounted: true)
        }
      case .main:
        dispatch_async_f(queue, pointer) {
          RuntimeHooks.runUnowned(unsafeBitCast($0, to: UnownedJob.self), on: .main)
        }
      }
    #else
      let pool = DispatchQueue.global(qos: quality(of: job.priority))
      (executor == .main ? .main : pool).async {
        runUnowned(job, on: executor, isCounted: isCounted)
      }
    #endif
  }

  static func runElsewhere(_ job: UnownedJob, after delay: Duration) {
    if captureDelayed(job) { return }
    noteRealSleep(job, for: delay)
    // The job only resumes the task that has slept. Its priority counts when the task's own job is enqueued.
    RealTime(in: delay).schedule { runUnowned(job, on: .pool) }
  }

  #if os(Linux)
    /// `sys/qos.h`
    private static func quality(of priority: JobPriority) -> Int {
      switch priority.rawValue {
      case 33...: 33
      case 25...: 25
      case 18...: 21
      case 10...: 17
      case 1...: 9
      default: 21
      }
    }
  #else
    private static func quality(of priority: JobPriority) -> DispatchQoS.QoSClass {
      switch priority.rawValue {
      case 33...: .userInteractive
      case 25...: .userInitiated
      case 18...: .default
      case 10...: .utility
      case 1...: .background
      default: .default
      }
    }
  #endif
}

extension RuntimeHooks {
  /// Replaces the default executor where the runtime stores it, and returns whether that worked.
  ///
  /// The runtime's library has two neighbouring words for the executor, which have no exported name. They are
  /// found by their content, which a public getter returns. If several places have this content, the right
  /// one is the one that changes the getter's result. O(size of the library's data), some 10 KB.
  static func replaceDefaultExecutor() -> Bool {
    let prior = ExecutorWords(PriorExecutors.pool)
    let replacement = ExecutorWords(poolExecutor as any TaskExecutor)
    // Writing the words changes no retain count, so both executors are retained for ever.
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
  /// This is for runtimes without a hook for it. Every client of the protocol uses the table of methods, so
  /// its order never changes: the conformance's description, the table of `Executor`, and three methods that
  /// enqueue a job.
  static func replaceMainMethods() -> Bool {
    // A custom executor must keep its methods: it would not receive the unowned jobs otherwise.
    guard
      PriorExecutors.areDispatch,
      let prior = ExecutorWords(MainActor.sharedUnownedExecutor).methods,
      let replacement = ExecutorWords(mainReference).methods
    else { return false }
    let methods = 2...4
    return ProtectedMemory.write(
      at: prior + methods.lowerBound, count: methods.count * MemoryLayout<UInt>.size,
      readOnly: LoadedImage.all.flatMap(\.readOnlyData)
    ) { _ in
      for method in methods { prior[method] = replacement[method] }
    }
  }
}

import ClocksSupport
import Synchronization

#if os(Linux)
  internal import CDispatch
  import Dispatch
#endif

/// The two words by which the runtime refers to an executor: an object and the table of its methods.
struct ExecutorWords: Equatable {
  var object: UInt
  var table: UInt

  init(_ executor: UnownedSerialExecutor) { self = unsafeBitCast(executor, to: Self.self) }

  // Without the cast to the argument's own type, the compiler would open the existential and pass only one
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

  /// Must be called before the executors are replaced.
  static func remember() { _ = (pool, main, areDispatch) }

  /// Whether the executors are the platform's, which submit their jobs to Dispatch.
  static let areDispatch: Bool = {
    switch _typeName(type(of: pool)) {
    // The executors of Swift 6.1 and earlier, which cannot be replaced.
    case "Swift._DefaultGlobalConcurrentExecutor": return true
    case "Swift.DispatchGlobalTaskExecutor", "Swift.CFTaskExecutor":
      let main = mainExecutor.map { _typeName(type(of: $0)) }
      return main == "Swift.DispatchMainExecutor" || main == "Swift.CFMainExecutor"
    // The executors of another copy of this module also submit their jobs to Dispatch.
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
  /// The platform's executors would only submit the job to Dispatch. This function does that itself, to see the
  /// job's end. Custom executors receive the job itself.
  static func runElsewhere(_ job: UnownedJob, on executor: ExecutorKind) {
    guard PriorExecutors.areDispatch else {
      TestCaseMembership.forgetYield(job)
      return PriorExecutors.enqueue(job, on: executor)
    }
    let isCounted = TaskOwnership.shared.unownedJobWillRun()
    let jobs = executor == .pool ? UnownedJobs.of(job.priority) : UnownedJobs.ofMainThread
    jobs.submit(job, isCounted: isCounted)
  }

  static func runElsewhere(_ job: UnownedJob, after delay: Duration) {
    if captureDelayed(job) { return }
    noteRealSleep(job, for: delay)
    RealTime(in: delay).schedule { runElsewhere(job, on: .pool) }
  }
}

/// The unowned jobs of one priority, which run on a queue like the runtime's own; or those of the main thread.
///
/// The queue runs at most as many jobs together as there are cores. With more threads, a test that blocks its
/// thread would affect other tests differently than without this package.
///
/// Each block on the queue runs the job that is first when the block begins. So once the queue is known to be
/// blocked, other threads can run the jobs.
final class UnownedJobs: @unchecked Sendable {
  /// The jobs of the pool, by their priorities.
  private static let all = (0...33).map { UnownedJobs(priority: $0) }
  static let ofMainThread = UnownedJobs(on: .main, InternalDispatch.mainQueue)

  static func of(_ priority: JobPriority) -> UnownedJobs { all[min(Int(priority.rawValue), 33)] }

  static var isAnyWaiting: Bool {
    all.contains { jobs in jobs.lock.withLock { !jobs.waiting.isEmpty } }
  }

  /// From now on, runs jobs on additional threads if no thread is free. Called when a job occupies its thread for long.
  static func threadIsBlocked() {
    for jobs in all { jobs.useMoreThreads() }
  }

  func useMoreThreads() {
    let count = lock.withLock {
      isQueueBlocked = true
      return waiting.count
    }
    for _ in 0..<count { startThread(isQueueBlocked: true) }
  }

  /// Runs `body` once each unowned job that now runs, or waits for a thread, has ended.
  static func afterPresentJobs(_ body: @escaping @Sendable () -> Void) {
    let ends = CountedEnds(count: all.count + 1, body)
    for jobs in all + [ofMainThread] { jobs.wait(for: ends) }
  }

  /// Calls `body` when as many ends as expected were counted.
  private final class CountedEnds: Sendable {
    private let missing: Atomic<Int>
    private let body: @Sendable () -> Void

    init(count: Int, _ body: @escaping @Sendable () -> Void) {
      missing = Atomic(count)
      self.body = body
    }

    func count() {
      if missing.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { body() }
    }
  }

  /// Runs `body` once all schedulers and all jobs of default priority that now wait for a thread have got one.
  static func afterReadyJobs(_ body: @escaping @Sendable () -> Void) {
    RuntimeHooks.startThread(on: .pool) {
      let jobs = all[Int(TaskPriority.medium.rawValue)]
      let isBlocked = jobs.lock.withLock { jobs.isQueueBlocked }
      InternalDispatch.submit(body, to: jobs.queue(isBlocked: isBlocked))
    }
  }

  private let priority: Int
  private let executor: ExecutorKind
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  @exclusivity(unchecked) private var waiting = JobQueue()
  @exclusivity(unchecked) private var isQueueBlocked = false
  /// Counts the jobs that have begun. A job's number is the value of this count when it begins.
  @exclusivity(unchecked) private var begun: UInt64 = 0
  /// The numbers of the jobs that run.
  @exclusivity(unchecked) private var running: [UInt64] = []
  /// What is to be counted when all jobs have ended whose numbers are at most `last`.
  @exclusivity(unchecked) private var awaited: [(last: UInt64, ends: CountedEnds)] = []
  private let queue: InternalDispatch.Queue

  convenience init(priority: Int) {
    self.init(
      priority: priority, on: .pool, InternalDispatch.cooperativeQueue(priority))
  }

  private init(
    priority: Int = QualityOfService.default.rawValue, on executor: ExecutorKind,
    _ queue: InternalDispatch.Queue
  ) {
    self.priority = priority
    self.executor = executor
    self.queue = queue
  }

  @inline(__always)
  func submit(_ job: UnownedJob, isCounted: Bool) {
    let isQueueBlocked = lock.withLock {
      waiting.append(ReadyJob(job: job, taskID: 0, executor: .pool, isCounted: isCounted))
      return self.isQueueBlocked
    }
    startThread(isQueueBlocked: isQueueBlocked)
  }

  static func submit(_ job: ReadyJob) {
    of(job.job.priority).submit(job.job, isCounted: job.isCounted)
  }

  private func startThread(isQueueBlocked: Bool) {
    let queue = queue(isBlocked: isQueueBlocked)
    #if os(Linux)
      dispatch_async_f(queue, Unmanaged.passUnretained(self).toOpaque()) {
        Unmanaged<UnownedJobs>.fromOpaque($0!).takeUnretainedValue().runFirst()
      }
    #else
      InternalDispatch.submit({ self.runFirst() }, to: queue)
    #endif
  }

  private func queue(isBlocked: Bool) -> InternalDispatch.Queue {
    isBlocked ? InternalDispatch.globalQueue(QualityOfService(priority), isBlocked: true) : queue
  }

  private func runFirst() {
    // Another thread may have run the job, because the queue was blocked.
    guard let (first, number) = beginFirst() else { return }
    var job = RuntimeHooks.runUnowned(first.job, on: executor, isCounted: first.isCounted)
    end(number)
    var count = 0
    while let next = job {
      count += 1
      guard count <= Self.mostInTurn, Self.of(next.job.priority) === self,
        lock.withLock({ waiting.isEmpty })
      else { return Self.submit(next) }
      job = RuntimeHooks.runUnowned(next.job, on: .pool, isCounted: next.isCounted)
    }
  }

  private func beginFirst() -> (job: ReadyJob, number: UInt64)? {
    lock.withLock {
      guard !waiting.isEmpty else { return nil }
      begun += 1
      running.append(begun)
      return (waiting.remove(at: 0), begun)
    }
  }

  private func end(_ number: UInt64) {
    let over = lock.withLock {
      if let place = running.firstIndex(of: number) { running.remove(at: place) }
      return awaited.isEmpty ? [] : takeOver()
    }
    for ends in over { ends.count() }
  }

  private func wait(for ends: CountedEnds) {
    let over = lock.withLock {
      awaited.append((begun + UInt64(waiting.count), ends))
      return takeOver()
    }
    for ends in over { ends.count() }
  }

  /// Removes from `awaited` what no present job keeps any more, and returns it. Requires the lock.
  private func takeOver() -> [CountedEnds] {
    let first = running.min() ?? begun + 1
    let over = awaited.prefix { $0.last < first }
    awaited.removeFirst(over.count)
    return over.map(\.ends)
  }

  /// The number of jobs that a thread has kept and runs before other blocks of the queue.
  private static let mostInTurn = 16
}

extension RuntimeHooks {
  /// Replaces the default executor where the runtime stores it, and returns whether that worked.
  ///
  /// The runtime's library keeps the executor in two neighbouring words without an exported name. A public
  /// getter returns their content, by which they are found. If several places have this content, the right one
  /// is the one that changes the getter's result. O(size of the library's data), some 10 KB.
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
  /// Needed in runtimes without a hook for the main actor's executor. Every client of `SerialExecutor` relies on
  /// the order of the protocol's table, so this order never changes: the conformance's description, the table of
  /// `Executor`, and three methods that enqueue a job.
  static func replaceMainMethods() -> Bool {
    // A custom executor must keep its methods, or it would not receive the unowned jobs.
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

// The door to the Swift runtime: the only file that touches the runtime's symbols, its executors or
// its SPI. Everything else in the package would not notice if it were replaced.
//
// Through the door every job passes that is about to run on the default executor or on the main
// thread. What belongs to a test is handed to its scheduler; everything else goes where it would
// have gone without us.
//
// Sources: the Swift runtime, `stdlib/public/Concurrency` (`ExecutorBridge.swift`,
// `DispatchExecutor.swift`, `ConcurrencyHooks.cpp`), as of Swift 6.3.1.

import Dispatch

#if os(Linux) && compiler(>=6.3)
  internal import CDispatch
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

enum RuntimeDoor {
  // MARK: - Opening

  /// How much of what a test does passes through the door.
  static var rung: SchedulingRung { opened }

  /// Opens the door, if it is not open yet; it is never closed. Thread-safe.
  static func open() { _ = opened }

  private static let opened: SchedulingRung = {
    let highest = SchedulingRung.highestAllowed
    #if os(Linux) && compiler(>=6.3)
      if highest >= .executors {
        replaceExecutors()
        return .executors
      }
    #endif
    if highest >= .enqueueHook, setEnqueueHook() { return .enqueueHook }
    return .patience
  }()

  // MARK: - Tasks and jobs

  /// A task, valid for as long as it is not over.
  ///
  /// A task is a job: its `UnsafeCurrentTask` and its `UnownedJob` are the same pointer.
  struct TaskReference: Sendable {
    let job: UnownedJob

    var id: UInt64 { RuntimeDoor.taskID(of: job) }

    func cancel() { unsafeBitCast(job, to: UnsafeCurrentTask.self).cancel() }

    var isCancelled: Bool { unsafeBitCast(job, to: UnsafeCurrentTask.self).isCancelled }

    /// Keeps the task in memory until `letGo`, even if it is over before; except an `async let`,
    /// which is in memory for as long as its parent is in the block.
    func keep() { _ = object.retain() }

    /// May free the task and what it holds, so it is not to be called while a lock is held, unless
    /// the task is not over.
    func letGo() { object.release() }

    private var object: Unmanaged<AnyObject> {
      .fromOpaque(unsafeBitCast(job, to: UnsafeRawPointer.self))
    }
  }

  /// A task that is kept in memory, so that it can be asked whether it is over.
  ///
  /// The runtime has no function for that. Its layout of a task's status is what debuggers rely on
  /// (`RuntimeInternals.h` of the Swift runtime), and it is tried here before it is believed.
  final class WatchedTask: Sendable {
    nonisolated(unsafe) private let task: Unmanaged<AnyObject>

    /// The current task; `nil` outside any task, and where its status cannot be read.
    static var current: WatchedTask? {
      #if os(Linux) && compiler(>=6.3) && _pointerBitWidth(_64)
        guard let job = RuntimeDoor.currentTask?.job, isLayoutKnown else { return nil }
        let pointer = unsafeBitCast(job, to: UnsafeRawPointer.self)
        guard !isAsyncLet(pointer), status(of: pointer) & (running | complete) == running else {
          return nil
        }
        return WatchedTask(pointer)
      #else
        return nil
      #endif
    }

    private init(_ pointer: UnsafeRawPointer) {
      task = Unmanaged.fromOpaque(pointer).retain()
    }

    deinit { task.release() }

    /// Whether the task has come to its end. O(1).
    var isOver: Bool { Self.status(of: task.toOpaque()) & Self.complete != 0 }

    private static let running: UInt32 = 0x800
    private static let complete: UInt32 = 0x2000

    private static func status(of task: UnsafeRawPointer) -> UInt32 {
      task.load(fromByteOffset: 96, as: UInt32.self)
    }

    /// Whether the task's memory is a part of its parent's, so that nothing keeps it.
    private static func isAsyncLet(_ task: UnsafeRawPointer) -> Bool {
      task.load(fromByteOffset: 32, as: UInt32.self) & 1 << 28 != 0
    }

    /// Whether a task that is over says so.
    private static let isLayoutKnown: Bool = {
      let version = dlsym(dlopen(nil, RTLD_NOW), "_swift_concurrency_debug_internal_layout_version")
      guard version?.load(as: UInt32.self) == 1 else { return false }
      guard #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) else {
        return false
      }
      let over = Task.immediate {}
      return withExtendedLifetime(over) {
        let flags = status(of: unsafeBitCast(over, to: UnsafeRawPointer.self))
        return flags & (running | complete) == complete
      }
    }()
  }

  /// The current task, or `nil` outside any task.
  @inline(__always)
  static var currentTask: TaskReference? {
    withUnsafeCurrentTask { task in
      task.map { TaskReference(job: unsafeBitCast($0, to: UnownedJob.self)) }
    }
  }

  /// The id of the current task, or `nil` outside any task.
  @inline(__always)
  static var currentTaskID: UInt64? { currentTask?.id }

  /// The name that the current task was given, if any.
  static var currentTaskName: String? {
    if #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) {
      return Task.name
    }
    return nil
  }

  /// An id that is greater than that of every task so far and smaller than that of every task to
  /// come.
  static func newestTaskID() -> UInt64 {
    if #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) {
      // An immediate task runs here and now and passes no door; only its number is of interest.
      return taskID(of: unsafeBitCast(Task.immediate {}, to: UnownedJob.self))
    }
    return currentTaskID ?? 0
  }

  /// A task that has been made and has not started; it is to be started once, or run.
  struct HeldTask: Sendable {
    let job: UnownedJob

    /// Starts it on a thread of the pool, as no test's.
    func start() { RuntimeDoor.runElsewhere(job, on: .pool) }

    /// Runs it here and now.
    func runHere() { RuntimeDoor.run(job, on: .pool) }
  }

  /// Makes a task with the current one's task-local values, and does not start it.
  ///
  /// Returns `nil`, and runs `body`, where tasks do not pass through the door.
  static func hold(_ body: @escaping @Sendable () -> Void) -> HeldTask? {
    let context = ThreadContext.run(ThreadContext(isHolding: true)) { _ in
      Task { body() }
    }
    return context.held.map(HeldTask.init)
  }

  /// The id of the task whose job this is; 0 for a job that is no task's.
  @_silgen_name("swift_task_getJobTaskId")
  static func taskID(of job: UnownedJob) -> UInt64

  /// Runs a job here and now, as the executor of `lane` would.
  @inline(__always)
  static func run(_ job: UnownedJob, on lane: Lane) {
    switch lane {
    case .pool: job.runSynchronously(on: genericExecutor)
    case .main: job.runSynchronously(on: MainActor.sharedUnownedExecutor)
    }
  }

  /// What the runtime means by "no particular executor".
  ///
  /// A job that runs on it may change over to an actor without being enqueued again; one that runs
  /// on a task executor of ours could not, and every hop would cost twice.
  private static let genericExecutor = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)

  // MARK: - Threads

  /// Runs `body` soon on a thread of `lane`.
  static func startThread(on lane: Lane, _ body: @escaping @Sendable () -> Void) {
    switch lane {
    case .pool: DispatchQueue.global().async(execute: body)
    case .main: DispatchQueue.main.async(execute: body)
    }
  }

  /// Runs `body` on the main thread as soon as the job has ended that it runs now. To be called on
  /// the main queue.
  static func afterCurrentMainJob(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.main.async(execute: body)
  }

  /// Whether the current thread runs a turn of the main queue.
  static var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainQueueKey) != nil }

  private static let mainQueueKey: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  // MARK: - Through the door

  /// Where every job arrives that is ready to run.
  @inline(__always)
  private static func arrive(_ job: UnownedJob, on lane: Lane) {
    let context = ThreadContext.current
    if let context {
      if context.pointee.isWaking, let scheduler = context.pointee.scheduler {
        scheduler.enqueue(job, taskID: taskID(of: job), lane: lane)
        return
      }
      if context.pointee.isHolding {
        context.pointee.held = job
        return
      }
    }
    if !TaskOwnership.shared.isEmpty {
      let id = taskID(of: job)
      let running = runningScheduler
      if let owner = TaskOwnership.shared.owner(ofReadyJob: id, on: running) {
        owner.enqueue(job, taskID: id, lane: lane)
        return
      }
    }
    runElsewhere(job, on: lane)
  }

  /// The scheduler on whose behalf the current thread runs.
  ///
  /// It is that of the current task, which in an actor's queue may be another one than that of the
  /// thread: whoever sets the queue going also runs what others have left in it. A job that began
  /// before the door was opened has no context, but its task may be a test's.
  static var runningScheduler: Scheduler? {
    guard let context = ThreadContext.current else {
      return currentTaskID.flatMap { TaskOwnership.shared.owner(of: $0) }
    }
    let scheduler = context.pointee.scheduler
    guard let task = currentTaskID, task != context.pointee.taskID else { return scheduler }
    return TaskOwnership.shared.owner(of: task, on: scheduler)
  }

  /// Runs a job that is no test's on the thread that it was given.
  ///
  /// It may become a test's while it runs, by making a clock; then that test's scheduler waits for
  /// its end.
  private static func runStranger(_ job: UnownedJob, on lane: Lane) {
    let context = ThreadContext.run(ThreadContext(taskID: taskID(of: job), isInJob: true)) { _ in
      run(job, on: lane)
    }
    for scheduler in context.visited.dropLast() { scheduler.visitorLeft(on: nil) }
    // The thread has nothing else to do, so it can go on with the last one's jobs.
    context.visited.last?.visitorLeft(on: lane)
  }
}

// MARK: - The executors (Linux, Swift 6.3)

#if os(Linux) && compiler(>=6.3)
  extension RuntimeDoor {
    fileprivate static func replaceExecutors() {
      _ = (priorMain, priorDefault, priorScheduling)
      _createExecutors(factory: DoorFactory.self)
    }

    /// The executors that were there before.
    fileprivate static let priorMain: any MainExecutor = MainActor.executor
    fileprivate static let priorDefault: any TaskExecutor = Task.defaultExecutor
    fileprivate static let priorScheduling = priorDefault as? any SchedulingExecutor
    fileprivate static var sleepingExecutor: any SchedulingExecutor {
      guard let priorScheduling else {
        fatalError("Clocks: the default executor of this process, \(priorDefault), cannot sleep.")
      }
      return priorScheduling
    }
    /// Whether those executors are the platform's own and hand their jobs to Dispatch.
    private static let priorIsDispatch =
      _typeName(type(of: priorDefault)) == "Swift.DispatchGlobalTaskExecutor"
      && _typeName(type(of: priorMain)) == "Swift.DispatchMainExecutor"

    /// Hands a job that is no test's to where it would have gone without us.
    ///
    /// The platform's executors do nothing but hand a job to Dispatch, so that is what is done here
    /// as well, with two differences: we see when the job has ended; and the queues are Dispatch's
    /// own, which get a new thread when one is blocked, and not the platform's, which have as many
    /// as there are cores: a test that blocks its thread keeps no other test from running, nor us
    /// from saying so. Executors that somebody else installed get the job as it is.
    fileprivate static func runElsewhere(_ job: UnownedJob, on lane: Lane) {
      guard priorIsDispatch else {
        switch lane {
        case .pool: priorDefault.enqueue(job)
        case .main: priorMain.enqueue(ExecutorJob(job))
        }
        return
      }
      // With a function and a pointer, as the platform does it, and not with a closure: that takes
      // no memory of its own.
      let pointer = unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
      switch lane {
      case .pool:
        dispatch_async_f(poolQueue(for: job.priority), pointer) {
          RuntimeDoor.runStranger(unsafeBitCast($0, to: UnownedJob.self), on: .pool)
        }
      case .main:
        dispatch_async_f(dispatch_get_main_queue(), pointer) {
          RuntimeDoor.runStranger(unsafeBitCast($0, to: UnownedJob.self), on: .main)
        }
      }
    }

    /// The queue of the class of quality (`sys/qos.h`) whose number the priority is.
    private static func poolQueue(for priority: JobPriority) -> dispatch_queue_t {
      let quality =
        switch priority.rawValue {
        case 33...: 33
        case 25...: 25
        case 18...: 21
        case 10...: 17
        case 1...: 9
        default: 21
        }
      return dispatch_get_global_queue(quality, 0)
    }

    // MARK: Sleeps that nobody injected

    /// Takes over a job that is to run at an instant of a clock of the runtime's, if the time of the
    /// task that waits for it is virtual.
    ///
    /// This is how the runtime wakes a sleep of the current task. An executor of somebody's that
    /// delays its jobs comes here with one of a task on its way there, which is not the current one.
    fileprivate static func delayVirtually<C: Clock>(
      _ job: UnownedJob, until instant: @autoclosure () -> C.Instant, clock: C
    ) -> Bool {
      guard let task = currentTask ?? delayedTask(job), let scope = scope(of: task) else {
        return false
      }
      return delay(job, of: task, for: clock.now.duration(to: instant()), clock: clock, in: scope)
    }

    /// Takes over a job that is to run after a while, if the time of its task is virtual.
    ///
    /// The runtime itself does not ask for that, only an executor of somebody's that delays its jobs.
    fileprivate static func delayVirtually<C: Clock>(
      _ job: UnownedJob, for delay: C.Duration, clock: C
    ) -> Bool {
      guard let task = delayedTask(job) ?? currentTask, let scope = scope(of: task) else {
        return false
      }
      return self.delay(job, of: task, for: delay, clock: clock, in: scope)
    }

    /// The task that a job is; `nil` if it is no task.
    private static func delayedTask(_ job: UnownedJob) -> TaskReference? {
      taskID(of: job) == 0 ? nil : TaskReference(job: job)
    }

    /// The scheduler of a task that is the current one or about to be delayed, if its time is
    /// virtual.
    private static func scope(of task: TaskReference) -> Scheduler? {
      guard !TaskOwnership.shared.isEmpty else { return nil }
      let running = runningScheduler
      let owner =
        task.id == currentTaskID
        ? running : TaskOwnership.shared.owner(ofReadyJob: task.id, on: running)
      return owner?.runtimeSleeps == nil ? nil : owner
    }

    private static func delay<C: Clock>(
      _ job: UnownedJob, of task: TaskReference, for delay: C.Duration, clock: C,
      in scope: Scheduler
    ) -> Bool {
      guard let delay = delay as? Duration, let sleeps = scope.runtimeSleeps else { return false }
      switch clock {
      case is ContinuousClock: sleeps.sleep(task, job, for: delay, on: .continuous, scope)
      case is SuspendingClock: sleeps.sleep(task, job, for: delay, on: .suspending, scope)
      default: return false
      }
      return true
    }

    fileprivate static func arriveOnPool(_ job: UnownedJob) { arrive(job, on: .pool) }
    fileprivate static func arriveOnMain(_ job: UnownedJob) { arrive(job, on: .main) }
  }

  private struct DoorFactory: ExecutorFactory {
    static let mainExecutor: any MainExecutor = DoorMainExecutor()
    static let defaultExecutor: any TaskExecutor = DoorExecutor()
  }

  // Why no method of the two executors reads `self`: the runtime keeps an executor as two words, an
  // object and a table of its methods, and other threads may read the one before and the other
  // after we replaced them. Whichever pair they get, the method that they call does the right
  // thing, for ours never look at the object, and those of the platform's executors do not either.

  private final class DoorExecutor: TaskExecutor, SchedulingExecutor {
    func enqueue(_ job: UnownedJob) { RuntimeDoor.arriveOnPool(job) }

    func enqueue(_ job: consuming ExecutorJob) { RuntimeDoor.arriveOnPool(UnownedJob(job)) }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      if RuntimeDoor.delayVirtually(job, for: delay, clock: clock) { return }
      RuntimeDoor.sleepingExecutor.enqueue(
        ExecutorJob(job), after: delay, tolerance: tolerance, clock: clock)
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      if RuntimeDoor.delayVirtually(job, until: instant, clock: clock) { return }
      RuntimeDoor.sleepingExecutor.enqueue(
        ExecutorJob(job), at: instant, tolerance: tolerance, clock: clock)
    }
  }

  private final class DoorMainExecutor: MainExecutor {
    func enqueue(_ job: consuming ExecutorJob) { RuntimeDoor.arriveOnMain(UnownedJob(job)) }

    func run() throws { try RuntimeDoor.priorMain.run() }

    func stop() { RuntimeDoor.priorMain.stop() }

    func checkIsolated() { RuntimeDoor.priorMain.checkIsolated() }
  }

  // In a test process the door is opened at load, before there is a second thread: then nothing can
  // have been enqueued elsewhere, and every job that can make a clock has come through it. A
  // process is a test process if its executable is a test bundle. In any other process nothing
  // happens here, and the door stays shut until the first clock is made.

  @section(".init_array") @used
  private let openAtLoad: @convention(c) (CInt, UnsafePointer<UnsafePointer<CChar>?>?) -> Void = {
    _, arguments in
    guard let path = arguments?.pointee else { return }
    let suffix: StaticString = ".xctest"
    let length = strlen(path)
    guard length >= suffix.utf8CodeUnitCount else { return }
    let end = path + (length - suffix.utf8CodeUnitCount)
    guard memcmp(end, suffix.utf8Start, suffix.utf8CodeUnitCount) == 0 else { return }
    RuntimeDoor.open()
  }
#else
  extension RuntimeDoor {
    fileprivate static func runElsewhere(_ job: UnownedJob, on lane: Lane) {
      let queue = lane == .main ? DispatchQueue.main : DispatchQueue.global()
      queue.async { runStranger(job, on: lane) }
    }
  }
#endif

// MARK: - The enqueue hook (older runtimes and other platforms)

extension RuntimeDoor {
  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void

  /// Has the runtime ask us for every job on the default executor. The main executor's jobs are not
  /// seen.
  private static func setEnqueueHook() -> Bool {
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else {
      return false
    }
    let hook: EnqueueHook = { job, _ in RuntimeDoor.arrive(job, on: .pool) }
    // One word, written at once: a thread that reads it finds the hook or no hook.
    symbol.assumingMemoryBound(to: EnqueueHook?.self).pointee = hook
    return true
  }
}

import ClocksSupport
import Synchronization

/// The unfinished creations of tasks whose first job does not pass through the hooks.
///
/// Thread A creates a task that begins on a default actor, or on a custom executor. The runtime hands over the first
/// job before the creation returns. Thread B may run the job before thread A registers the task. Then the task would
/// count as one of the test for which B runs, and what the task creates would belong to no test. So thread B waits
/// until the creation ends.
///
/// An owned task that begins on a custom executor is one of `CreationsOnExecutors` instead.
enum UnfinishedCreations {
  private struct Creation {
    var number: UInt64
    var thread: Int32
    /// The task that creates the other one; 0 if there is none. The created task is newer.
    var maker: UInt64
    var runsUserCode: Bool

    /// Whether the creation ends without the help of the threads that wait for it.
    ///
    /// The `enqueue` of a custom executor may wait for the thread that was given the job.
    var endsByItself: Bool {
      #if os(Linux) && canImport(Glibc)
        !runsUserCode || KernelThread.canRun(thread)
      #else
        !runsUserCode
      #endif
    }
  }

  /// Guards the variables below. Rank `leaf`.
  private static let lock = Lock(.leaf)
  nonisolated(unsafe) private static var creations: [Creation] = []
  { didSet { count.store(creations.count, ordering: .sequentiallyConsistent) } }
  nonisolated(unsafe) private static var newest: UInt64 = 0
  /// The number of creations, which is read without the lock.
  private static let count = Atomic(0)

  @_transparent
  static var isAny: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

  /// Runs the creation of a task and its registration.
  ///
  /// - Parameter runsUserCode: Whether a custom executor receives the task's first job meanwhile.
  static func during<Result>(runsUserCode: Bool = false, _ make: () -> Result) -> Result {
    let (thread, maker) = (OutsideWork.currentThread, UnownedTask.currentID ?? 0)
    let number = lock.withLock {
      newest += 1
      creations.append(
        Creation(number: newest, thread: thread, maker: maker, runsUserCode: runsUserCode))
      return newest
    }
    defer { lock.withLock { creations.removeAll { $0.number == number } } }
    return make()
  }

  /// Waits until an unknown task has its owner, if other threads create tasks on default actors now.
  ///
  /// - Parameter mayGiveUp: Whether the thread may run a signal handler, which interrupted the holder of a lock.
  @_transparent
  static func awaitOwner(of task: UInt64, mayGiveUp: Bool = false) {
    if isAny { awaitUnknown(task, mayGiveUp) }
  }

  @inline(never)
  private static func awaitUnknown(_ task: UInt64, _ mayGiveUp: Bool) {
    guard task != 0, TaskOwnership.shared.isKnown(task, mayGiveUp: mayGiveUp) == false else {
      return
    }
    awaitEnd(of: task, mayGiveUp) { !$0.runsUserCode }
  }

  /// Waits until an unknown task is noted as one of a test case, if other threads create tasks now.
  ///
  /// - Returns: The task. If a custom executor runs it within its creation, on the same thread, the creating task,
  ///   which has the same test case.
  @inline(never)
  static func awaitTestCase(of task: UInt64) -> UInt64 {
    let thread = OutsideWork.currentThread
    // The outermost creation: the others are made by tasks that are not noted either.
    let own = lock.withLock { creations.first { $0.thread == thread && $0.runsUserCode } }
    if let own, own.maker < task { return own.maker }
    awaitEnd(of: task) { _ in true }
    return task
  }

  /// Waits until the creations are over that may make a task.
  ///
  /// A creation that runs no user code ends soon, unless its thread gets no processor. A thread that creates a task
  /// itself does not wait. The wait is limited, because a thread may hold a lock here that the creation needs, and
  /// because an executor may run a job for long within its `enqueue`.
  private static func awaitEnd(
    of task: UInt64, _ mayGiveUp: Bool = false, _ isAwaited: (Creation) -> Bool
  ) {
    let thread = OutsideWork.currentThread
    let last =
      lock.withLock(mayGiveUp: mayGiveUp) {
        creations.contains { $0.thread == thread } ? 0 : newest
      } ?? 0
    let limit = RealTime(in: mayGiveUp ? .milliseconds(100) : .seconds(10))
    let limitOfUserCode = RealTime(in: .seconds(1))
    func isAnyLeft() -> Bool {
      lock.withLock(mayGiveUp: mayGiveUp) {
        creations.contains {
          $0.number <= last && $0.maker < task && isAwaited($0) && $0.endsByItself
            && !($0.runsUserCode && limitOfUserCode.hasPassed)
        }
      } ?? false
    }
    while isAnyLeft(), !limit.hasPassed { yieldThread() }
  }
}

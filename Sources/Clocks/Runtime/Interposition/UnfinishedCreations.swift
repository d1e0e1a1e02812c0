import ClocksSupport
import Synchronization

/// The unfinished creations of tasks whose first job does not pass through the hooks.
///
/// Thread A creates a task that begins on a default actor, or on a custom executor. The runtime hands over the first job
/// before the creation returns. Thread B may run the job before thread A has registered the task. Then the task would
/// count as one of the test for which B runs, and what the task creates would belong to no test. So thread B waits until
/// the creation has ended.
///
/// An owned task that begins on a custom executor is one of `CreationsOnExecutors` instead.
enum UnfinishedCreations {
  private struct Creation {
    var number: UInt64
    var thread: Int32
    var runsUserCode: Bool

    /// Whether the creation ends without the help of the threads that wait for it.
    ///
    /// The `enqueue` of a custom executor may wait for the thread that has been given the job.
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
  @exclusivity(unchecked) nonisolated(unsafe) private static var creations: [Creation] = []
  { didSet { count.store(creations.count, ordering: .sequentiallyConsistent) } }
  @exclusivity(unchecked) nonisolated(unsafe) private static var newest: UInt64 = 0
  /// The number of creations, which is read without the lock.
  private static let count = Atomic(0)

  @_transparent
  static var isAny: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

  /// Runs the creation of a task and its registration.
  ///
  /// - Parameter runsUserCode: Whether a custom executor receives the task's first job meanwhile.
  static func during<Result>(runsUserCode: Bool = false, _ make: () -> Result) -> Result {
    let thread = OutsideWork.currentThread
    let number = lock.withLock {
      newest += 1
      creations.append(Creation(number: newest, thread: thread, runsUserCode: runsUserCode))
      return newest
    }
    defer { lock.withLock { creations.removeAll { $0.number == number } } }
    return make()
  }

  /// Waits until an unknown task is registered, if other threads create tasks now.
  ///
  /// - Parameter mayGiveUp: Whether the thread may run a signal handler, which has interrupted the holder of a lock.
  @_transparent
  static func awaitEnd(of task: UInt64, mayGiveUp: Bool = false) {
    if isAny { awaitEndOfAny(of: task, mayGiveUp) }
  }

  /// A creation that runs no user code ends soon, unless its thread gets no processor.
  ///
  /// A thread that creates a task itself does not wait. The wait is limited, because a thread may hold a lock here that
  /// the creation needs.
  @inline(never)
  private static func awaitEndOfAny(of task: UInt64, _ mayGiveUp: Bool) {
    guard task != 0, TaskOwnership.shared.isKnown(task, mayGiveUp: mayGiveUp) == false else {
      return
    }
    let thread = OutsideWork.currentThread
    let last =
      lock.withLock(mayGiveUp: mayGiveUp) {
        creations.contains { $0.thread == thread } ? 0 : newest
      } ?? 0
    let limit = RealTime(in: mayGiveUp ? .milliseconds(100) : .seconds(10))
    func isAnyLeft() -> Bool {
      lock.withLock(mayGiveUp: mayGiveUp) {
        creations.contains { $0.number <= last && $0.endsByItself }
      } ?? false
    }
    while isAnyLeft(), !limit.hasPassed {
      yieldThread()
    }
  }
}

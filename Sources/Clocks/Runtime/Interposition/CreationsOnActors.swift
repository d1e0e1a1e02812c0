import ClocksSupport
import Synchronization

/// The unfinished creations of owned tasks that begin on a default actor.
///
/// Thread A creates a task. The runtime puts the first job into the actor's queue before the creation returns. Thread
/// B, which runs for another test, may take that job out of the queue before thread A has registered the task. Then the
/// task would count as one of the other test. So thread B waits until the creation has ended.
enum CreationsOnActors {
  /// Guards the variables below. Rank `leaf`.
  private static let lock = Lock(.leaf)
  @exclusivity(unchecked) nonisolated(unsafe) private static var creations:
    [(number: UInt64, thread: Int32)] = []
  { didSet { count.store(creations.count, ordering: .sequentiallyConsistent) } }
  @exclusivity(unchecked) nonisolated(unsafe) private static var newest: UInt64 = 0
  /// The number of creations, which is read without the lock.
  private static let count = Atomic(0)

  /// Runs the creation of a task and its registration.
  static func during<Result>(_ make: () -> Result) -> Result {
    let thread = OutsideWork.currentThread
    let number = lock.withLock {
      newest += 1
      creations.append((newest, thread))
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
    if count.load(ordering: .sequentiallyConsistent) > 0 { awaitEndOfAny(of: task, mayGiveUp) }
  }

  /// A creation runs no code of a test, so it ends soon, unless its thread gets no processor.
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
    while lock.withLock(mayGiveUp: mayGiveUp, { creations.contains { $0.number <= last } }) == true,
      !limit.hasPassed
    {
      yieldThread()
    }
  }
}

import ClocksSupport

/// The semaphores for which threads of tests wait without a time limit.
///
/// A thread that waits does not keep time from jumping. From a signal until a thread goes on, time must not jump. Each
/// of the threads may be the one that goes on. So the signal counts as a block, until one of them does.
enum AwaitedSemaphores {
  private struct Waiters {
    let owner: any PausableOwner
    var count = 0
    /// The numbers of the blocks as which signals count.
    var signals: [UInt64] = []
  }

  /// Guards `waiters`. Rank `dispatchNotifications`: owners' locks are taken under it.
  private static let lock = Lock(.dispatchNotifications)
  @exclusivity(unchecked) nonisolated(unsafe) private static var waiters: [OpaquePointer: Waiters] =
    [:]

  /// Waits on a thread of a test. `wait` returns 0 if it has taken a signal. It blocks, unless its argument is 0.
  static func wait(
    for semaphore: OpaquePointer, on thread: ThreadWaits, _ wait: (UInt64) -> Int
  ) -> Int {
    lock.withLock { waiters[semaphore, default: Waiters(owner: thread.owner)].count += 1 }
    // A signal that came before this thread was registered was not counted, so there is no need to wait for it.
    var result = wait(0)
    if result != 0 {
      thread.owner.workEnded(thread.block)
      result = wait(.max)
      thread.beginBlock()
    }
    lock.withLock { waiterGoesOn(semaphore) }
    return result
  }

  private static func waiterGoesOn(_ semaphore: OpaquePointer) {
    guard var state = waiters[semaphore] else { return }
    state.count -= 1
    if let signal = state.signals.popLast() { state.owner.workEnded(signal) }
    // Code that is not seen may have taken a signal. No thread is left that could go on by it.
    while state.signals.count > state.count, let signal = state.signals.popLast() {
      state.owner.workEnded(signal)
    }
    waiters[semaphore] = state.count == 0 ? nil : state
  }

  static func willSignal(_ semaphore: OpaquePointer) {
    lock.withLock {
      guard var state = waiters[semaphore], state.signals.count < state.count else { return }
      state.signals.append(state.owner.workBegan(on: .thread))
      waiters[semaphore] = state
    }
  }
}

import ClocksSupport

/// The semaphores for which threads of tests wait without a time limit.
///
/// A waiting thread does not keep time from jumping. But time must not jump between a signal and the return of the wait
/// that takes it. It is not known which thread takes a signal. So the signal counts as a block until one of the waits
/// returns.
enum AwaitedSemaphores {
  private struct Waiters {
    let owner: any PausableOwner
    var count = 0
    /// The numbers under which signals count as blocks.
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
    // Tries without blocking first: a signal that was sent before this thread was registered does not count as a block.
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
    // Code whose waits are not seen may have taken a signal. Then more signals are counted than threads wait.
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

import ClocksSupport

/// The semaphores for which threads of tests wait without a time limit.
///
/// A waiting thread does not keep time from jumping. But time must not jump between a signal and the return of the wait
/// that takes it. It is not known which thread takes a signal. So until one of the waits returns, the signal counts as a
/// block of each test that waits.
enum AwaitedSemaphores {
  /// The waits of one test.
  private struct Waits {
    let owner: any PausableOwner
    var count = 0
    /// The numbers under which signals count as blocks.
    var blocks: [UInt64] = []
  }

  private struct Waiters {
    /// One element for each test that waits.
    var tests: [Waits] = []
    /// The signals that may be taken by one of the waits, and have not been.
    var signals = 0

    mutating func change(_ owner: any PausableOwner, by change: Int) {
      let index = tests.firstIndex { $0.owner === owner } ?? tests.count
      if index == tests.count { tests.append(Waits(owner: owner)) }
      tests[index].count += change
    }

    /// Counts the signals again, in each test at most as many as it has waits. Removes the tests that do not wait.
    mutating func countSignals() {
      // Code whose waits are not seen may have taken a signal. Then more signals are counted than threads wait.
      signals = min(signals, tests.reduce(0) { $0 + $1.count })
      for index in tests.indices {
        let (owner, count) = (tests[index].owner, min(signals, tests[index].count))
        while tests[index].blocks.count < count {
          tests[index].blocks.append(owner.workBegan(on: .thread))
        }
        while tests[index].blocks.count > count {
          owner.workEnded(tests[index].blocks.removeLast())
        }
      }
      tests.removeAll { $0.count == 0 }
    }
  }

  /// Guards `waiters`. Rank `dispatchNotifications`: owners' locks are taken under it.
  ///
  /// A test method tries to take a signal, and pauses if there is none, under the lock. So thread B, which signals under
  /// the lock, either leaves a signal that the method takes, or ends its pause.
  static let lock = Lock(.dispatchNotifications)
  @exclusivity(unchecked) nonisolated(unsafe) private static var waiters: [OpaquePointer: Waiters] =
    [:]

  /// Waits on a thread of a test. `wait` returns 0 if it has taken a signal. It blocks, unless its argument is 0.
  static func wait(
    for semaphore: OpaquePointer, on thread: ThreadWaits, _ wait: (UInt64) -> Int
  ) -> Int {
    lock.withLock { waiters[semaphore, default: Waiters()].change(thread.owner, by: 1) }
    // Tries without blocking first: a signal that was sent before this thread was registered does not count as a block.
    var result = wait(0)
    if result != 0 {
      thread.owner.workEnded(thread.block)
      result = wait(.max)
      thread.beginBlock()
    }
    lock.withLock { threadContinues(after: semaphore, thread.owner) }
    return result
  }

  private static func threadContinues(
    after semaphore: OpaquePointer, _ owner: any PausableOwner
  ) {
    guard var state = waiters[semaphore] else { return }
    state.change(owner, by: -1)
    state.signals = max(0, state.signals - 1)
    state.countSignals()
    waiters[semaphore] = state.tests.isEmpty ? nil : state
  }

  /// Signals a semaphore, by calling `signal`. A thread that waits for it counts as running before it continues.
  static func signal(_ semaphore: OpaquePointer, _ signal: () -> Int) -> Int {
    lock.withLock {
      if var state = waiters[semaphore] {
        state.signals += 1
        state.countSignals()
        waiters[semaphore] = state
      }
      ThreadWaits.methodWait(for: semaphore)?.waits.resume()
      return signal()
    }
  }
}

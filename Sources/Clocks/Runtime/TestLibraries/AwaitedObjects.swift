import ClocksSupport

/// The semaphores for which test methods and threads of tests wait without a time limit, and the groups for which test
/// methods do.
///
/// A waiting thread does not keep time from jumping. But time must not jump between a signal and the return of the wait
/// that takes it. It is not known which thread takes a signal. So until one of the waits returns, the signal counts as
/// a block of each test that waits. That a group becomes empty is a signal, too.
enum AwaitedObjects {
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
    /// The number of signals since a thread began to wait, less those that were taken.
    ///
    /// Code whose waits are not seen may have taken some. Then time stands still until no thread waits, or the process
    /// is idle.
    var signals = 0

    mutating func change(_ owner: any PausableOwner, by change: Int) {
      let index = tests.firstIndex { $0.owner === owner } ?? tests.count
      if index == tests.count { tests.append(Waits(owner: owner)) }
      tests[index].count += change
    }

    /// Counts the signals again, in each test at most as many as it has waits. Removes the tests that do not wait.
    mutating func countSignals() {
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
  private static let lock = Lock(.dispatchNotifications)
  nonisolated(unsafe) private static var waiters: [OpaquePointer: Waiters] =
    [:]

  /// Calls `wait`, which waits on a thread of a test, and returns 0 if it has taken a signal.
  ///
  /// `wait` tries without blocking first. While it blocks, the test does not wait for the thread.
  static func wait(
    for object: OpaquePointer, of owner: any PausableOwner, _ wait: () -> Int
  ) -> Int {
    lock.withLock { waiters[object, default: Waiters()].change(owner, by: 1) }
    let result = wait()
    lock.withLock {
      change(object) {
        $0.change(owner, by: -1)
        if result == 0 { $0.signals = max(0, $0.signals - 1) }
      }
    }
    return result
  }

  /// Waits on a thread that the test started. `wait` returns 0 if it has taken a signal. It blocks, unless its argument
  /// is 0.
  static func wait(
    for semaphore: OpaquePointer, on thread: ThreadWaits, _ wait: (UInt64) -> Int
  ) -> Int {
    Self.wait(for: semaphore, of: thread.owner) {
      if wait(0) == 0 { return 0 }
      thread.owner.workEnded(thread.block)
      defer { thread.beginBlock() }
      return wait(.max)
    }
  }

  /// Calls `body`, which signals a semaphore, and returns its result.
  ///
  /// The lock is held meanwhile. If thread A signals while thread B begins to wait, either thread A sees that thread B
  /// waits, or thread B finds the signal and does not wait.
  static func signal(_ semaphore: OpaquePointer, _ body: () -> Int) -> Int {
    lock.withLock {
      change(semaphore) { $0.signals += 1 }
      return body()
    }
  }

  /// Notes a signal that is about to come; or that a group became empty, in a block of the test.
  static func willSignal(_ object: OpaquePointer) {
    lock.withLock { change(object) { $0.signals += 1 } }
  }

  /// Notes that code for which the test waits took a signal.
  static func signalWasTaken(_ semaphore: OpaquePointer) {
    lock.withLock { change(semaphore) { $0.signals = max(0, $0.signals - 1) } }
  }

  /// Changes the entry of an object, if a thread waits for it.
  private static func change(_ object: OpaquePointer, _ change: (inout Waiters) -> Void) {
    guard var state = waiters[object] else { return }
    change(&state)
    state.countSignals()
    waiters[object] = state.tests.isEmpty ? nil : state
  }
}

import Dispatch
import Foundation
import Synchronization

/// Threads that all start when a round starts.
final class RacingThreads: Sendable {
  private let starts: [DispatchSemaphore]
  private let running = Atomic(0)
  private let ends = AsyncStream<Void>.makeStream()

  /// What the threads do in the current round; `nil` ends them. Written while all of them wait.
  nonisolated(unsafe) private var body: (@Sendable (_ thread: Int) -> Void)?

  init(_ count: Int) {
    starts = (0..<count).map { _ in DispatchSemaphore(value: 0) }
    for thread in 0..<count {
      Thread.detachNewThread { [self] in
        repeat { starts[thread].wait() } while run(thread)
      }
    }
  }

  /// Calls `body` with its number on each thread, all together. Returns when all calls have ended.
  func run(_ body: @escaping @Sendable (_ thread: Int) -> Void) async {
    self.body = body
    begin()
    for await _ in ends.stream { break }
    _ = running.load(ordering: .acquiring)
  }

  /// Ends the threads. No round may follow.
  func end() {
    body = nil
    begin()
  }

  // ThreadSanitizer on Linux does not see the ordering by a semaphore, nor that by a continuation
  // that is resumed before its task is suspended. It sees the ordering by an atomic.

  private func begin() {
    running.store(starts.count, ordering: .releasing)
    for start in starts { start.signal() }
  }

  private func run(_ thread: Int) -> Bool {
    _ = running.load(ordering: .acquiring)
    guard let body else { return false }
    body(thread)
    let isLast = running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    if isLast { ends.continuation.yield() }
    return true
  }
}

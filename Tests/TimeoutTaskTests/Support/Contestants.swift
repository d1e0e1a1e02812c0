import Dispatch
import Foundation
import Synchronization

/// Threads that all begin to run when a round begins.
final class Contestants: Sendable {
  private let starts: [DispatchSemaphore]
  private let running = Atomic(0)
  private let ends = AsyncStream<Void>.makeStream()

  /// What the threads do in the current round; `nil` if they are to end. Written while all of them
  /// wait.
  nonisolated(unsafe) private var body: (@Sendable (_ contestant: Int) -> Void)?

  init(_ count: Int) {
    starts = (0..<count).map { _ in DispatchSemaphore(value: 0) }
    for contestant in 0..<count {
      Thread.detachNewThread { [self] in
        repeat { starts[contestant].wait() } while run(contestant)
      }
    }
  }

  /// Lets every thread call `body` with its number, all at once, and returns when all have.
  func race(_ body: @escaping @Sendable (_ contestant: Int) -> Void) async {
    self.body = body
    begin()
    for await _ in ends.stream { break }
    _ = running.load(ordering: .acquiring)
  }

  /// Ends the threads. There is no round after this.
  func dismiss() {
    body = nil
    begin()
  }

  // ThreadSanitizer on Linux does not know what a semaphore orders, nor a continuation that is
  // resumed before its task is suspended. It knows atomics.

  private func begin() {
    running.store(starts.count, ordering: .releasing)
    for start in starts { start.signal() }
  }

  private func run(_ contestant: Int) -> Bool {
    _ = running.load(ordering: .acquiring)
    guard let body else { return false }
    body(contestant)
    let isLast = running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    if isLast { ends.continuation.yield() }
    return true
  }
}

import Dispatch
import Foundation
import Synchronization

/// Threads that all begin to run when a round begins.
final class Contestants: Sendable {
  private let count: Int
  private let starts: [DispatchSemaphore]
  private let running = Atomic(0)
  private let round = Round()

  /// What the threads do in the current round. Written while all of them wait.
  private final class Round: @unchecked Sendable {
    var body: (@Sendable (_ contestant: Int) -> Void)?
    var end: UnsafeContinuation<Void, Never>?
  }

  init(_ count: Int) {
    self.count = count
    starts = (0..<count).map { _ in DispatchSemaphore(value: 0) }
    for contestant in 0..<count {
      Thread.detachNewThread { [self] in
        repeat { starts[contestant].wait() } while run(contestant)
      }
    }
  }

  /// Lets every thread call `body` with its number, all at once, and returns when all have.
  func race(_ body: @escaping @Sendable (_ contestant: Int) -> Void) async {
    await withUnsafeContinuation { end in
      round.body = body
      round.end = end
      begin()
    }
  }

  /// Ends the threads. There is no round after this.
  func dismiss() {
    round.body = nil
    begin()
  }

  private func begin() {
    running.store(count, ordering: .releasing)
    for start in starts { start.signal() }
  }

  private func run(_ contestant: Int) -> Bool {
    // ThreadSanitizer on Linux does not know what a semaphore orders. It knows atomics.
    _ = running.load(ordering: .acquiring)
    guard let body = round.body else { return false }
    body(contestant)
    let isLast = running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    if isLast { round.end?.resume() }
    return true
  }
}

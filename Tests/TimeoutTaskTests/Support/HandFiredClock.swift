@testable import TimeoutTask

/// A clock for one sleep, whose deadline comes when some thread says so.
final class HandFiredClock: Clock, Sendable {
  private enum State {
    case unused
    case sleeping(UnsafeContinuation<Void, any Error>)
    case ended
  }

  /// Guards `state`.
  private let lock = Lock()
  nonisolated(unsafe) private var state = State.unused

  /// Called when the sleep is being cancelled and is still there.
  private let willCancel: @Sendable (HandFiredClock) -> Void

  let now = ContinuousClock.now
  var minimumResolution: Duration { .zero }

  init(willCancel: @escaping @Sendable (HandFiredClock) -> Void = { _ in }) {
    self.willCancel = willCancel
  }

  deinit { lock.destroy() }

  var isSleeping: Bool {
    lock.withLock {
      if case .sleeping = state { true } else { false }
    }
  }

  /// Lets the deadline come. A sleep that has been cancelled stays so.
  func fire() {
    end()?.resume()
  }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        let hasEnded = lock.withLock {
          if case .ended = state { return true }
          state = .sleeping(continuation)
          return false
        }
        if hasEnded {
          continuation.resume()
        } else if Task.isCancelled {
          end()?.resume(throwing: CancellationError())
        }
      }
    } onCancel: {
      willCancel(self)
      end()?.resume(throwing: CancellationError())
    }
  }

  private func end() -> UnsafeContinuation<Void, any Error>? {
    lock.withLock {
      defer { state = .ended }
      if case .sleeping(let continuation) = state { return continuation }
      return nil
    }
  }
}

@testable import TimeoutTask

/// A clock for one sleep, whose deadline passes when a thread calls `fire()`.
final class HandFiredClock: Clock, Sendable {
  private enum State {
    case unused
    case sleeping(UnsafeContinuation<Void, any Error>)
    case ended
  }

  private let state = Guarded(State.unused)

  /// Called when the sleep is being cancelled and is still on the clock.
  private let willCancel: @Sendable (HandFiredClock) -> Void

  let now = ContinuousClock.now
  var minimumResolution: Duration { .zero }

  init(willCancel: @escaping @Sendable (HandFiredClock) -> Void = { _ in }) {
    self.willCancel = willCancel
  }

  var isSleeping: Bool {
    state.withLock { if case .sleeping = $0 { true } else { false } }
  }

  /// Lets the deadline pass. A sleep that was cancelled before stays cancelled.
  func fire() {
    end()?.resume()
  }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        let hasEnded = state.withLock { state in
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
    state.withLock { state in
      defer { state = .ended }
      if case .sleeping(let continuation) = state { return continuation }
      return nil
    }
  }
}

import ClocksSupport

/// Somebody who waits for sleeps to come.
///
/// It ends once: whoever takes it out of its virtual clock's `waiters` ends it.
final class SleepsWaiter: Sendable {
  /// For how many sleeps it waits.
  let count: Int
  /// Its place among the virtual clock's waiters, which sets it once; 0 before.
  nonisolated(unsafe) var number: UInt64 = 0

  /// Guards `state`.
  private let lock = Lock(.leaf)
  nonisolated(unsafe) private var state = State.begun

  private enum State {
    case begun
    case waiting(UnsafeContinuation<Void, any Error>)
    case ended(Result<Void, any Error>)
  }

  init(count: Int) {
    self.count = count
  }

  deinit { lock.destroy() }

  func succeed() { end(.success(())) }

  func fail(_ error: any Error) { end(.failure(error)) }

  private func end(_ result: Result<Void, any Error>) {
    let continuation: UnsafeContinuation<Void, any Error>? = lock.withLock {
      defer { state = .ended(result) }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(with: result)
  }

  nonisolated(nonsending) func wait() async throws {
    try await withUnsafeThrowingContinuation { continuation in
      let result: Result<Void, any Error>? = lock.withLock {
        if case .ended(let result) = state { return result }
        state = .waiting(continuation)
        return nil
      }
      if let result { continuation.resume(with: result) }
    }
  }
}

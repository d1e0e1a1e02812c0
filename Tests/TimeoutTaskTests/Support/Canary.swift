@testable import TimeoutTask

/// An object whose cage shows whether something that holds it was left behind.
final class Canary: Error, Sendable {
  /// Counts the canaries of one test.
  final class Cage: Sendable {
    private struct State {
      var count = 0
      var observers: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Guarded(State())

    fileprivate func add() { state.withLock { $0.count += 1 } }

    fileprivate func remove() {
      let observers = state.withLock { state in
        state.count -= 1
        if state.count > 0 { return [UnsafeContinuation<Void, Never>]() }
        defer { state.observers = [] }
        return state.observers
      }
      for observer in observers { observer.resume() }
    }

    /// Waits until no canary is left. Throws an error after 300 seconds.
    func waitUntilEmpty() async throws {
      try await TimeoutTask(seconds: 300, name: "wait until every canary is gone") {
        await withUnsafeContinuation { observer in
          let isEmpty = self.state.withLock { state in
            if state.count > 0 { state.observers.append(observer) }
            return state.count == 0
          }
          if isEmpty { observer.resume() }
        }
      }.value
    }
  }

  private let cage: Cage

  init(in cage: Cage) {
    self.cage = cage
    cage.add()
  }

  deinit { cage.remove() }
}

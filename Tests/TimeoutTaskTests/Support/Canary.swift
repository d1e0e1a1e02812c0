@testable import TimeoutTask

/// An object whose count shows whether something that holds it was left behind.
final class Canary: Error, Sendable {
  private struct State {
    var count = 0
    var observers: [UnsafeContinuation<Void, Never>] = []
  }

  private static let state = Guarded(State())

  init() {
    Canary.state.withLock { $0.count += 1 }
  }

  deinit {
    let observers = Canary.state.withLock { state in
      state.count -= 1
      if state.count > 0 { return [UnsafeContinuation<Void, Never>]() }
      defer { state.observers = [] }
      return state.observers
    }
    for observer in observers { observer.resume() }
  }

  /// Waits until there is no canary in the process.
  static func allGone() async {
    await withUnsafeContinuation { observer in
      let isEmpty = state.withLock { state in
        if state.count > 0 { state.observers.append(observer) }
        return state.count == 0
      }
      if isEmpty { observer.resume() }
    }
  }
}

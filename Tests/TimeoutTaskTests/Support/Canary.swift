@testable import TimeoutTask

/// An object that shows whether something that holds it was left behind.
final class Canary: Error, Sendable {
  private struct Cage {
    var count = 0
    var observers: [UnsafeContinuation<Void, Never>] = []
  }

  /// Guards `cage`.
  private static let lock = Lock()
  nonisolated(unsafe) private static var cage = Cage()

  init() {
    Canary.lock.withLock { Canary.cage.count += 1 }
  }

  deinit {
    let observers = Canary.lock.withLock {
      Canary.cage.count -= 1
      if Canary.cage.count > 0 { return [UnsafeContinuation<Void, Never>]() }
      defer { Canary.cage.observers = [] }
      return Canary.cage.observers
    }
    for observer in observers { observer.resume() }
  }

  /// Waits until there is none in the process.
  static func allGone() async {
    await withUnsafeContinuation { observer in
      let isEmpty = lock.withLock {
        if cage.count > 0 { cage.observers.append(observer) }
        return cage.count == 0
      }
      if isEmpty { observer.resume() }
    }
  }
}

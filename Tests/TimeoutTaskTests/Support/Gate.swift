@testable import TimeoutTask

/// A place where tasks wait until it is opened, whether they are cancelled or not.
final class Gate: Sendable {
  /// Guards `waiting`.
  private let lock = Lock()
  /// Who waits; `nil` once the gate is open.
  nonisolated(unsafe) private var waiting: [UnsafeContinuation<Void, Never>]? = []

  deinit { lock.destroy() }

  nonisolated(nonsending) func pass() async {
    await withUnsafeContinuation { continuation in
      let isOpen = lock.withLock {
        waiting?.append(continuation)
        return waiting == nil
      }
      if isOpen { continuation.resume() }
    }
  }

  var isClosed: Bool { lock.withLock { waiting != nil } }

  func open() {
    let waiting = lock.withLock {
      defer { self.waiting = nil }
      return self.waiting ?? []
    }
    for continuation in waiting { continuation.resume() }
  }
}

import ClocksSupport

/// Suspends tasks until it is opened, whether they are cancelled or not.
package final class Gate: Sendable {
  /// Guards `waiting`.
  private let lock = Lock()
  /// The waiting tasks; `nil` once the gate is open.
  nonisolated(unsafe) private var waiting: [UnsafeContinuation<Void, Never>]? = []

  package init() {}

  package nonisolated(nonsending) func pass() async {
    await withUnsafeContinuation { continuation in
      let isOpen = lock.withLock {
        waiting?.append(continuation)
        return waiting == nil
      }
      if isOpen { continuation.resume() }
    }
  }

  package var isClosed: Bool { lock.withLock { waiting != nil } }

  package func open() {
    let continuations = lock.withLock {
      defer { waiting = nil }
      return waiting ?? []
    }
    for continuation in continuations { continuation.resume() }
  }
}

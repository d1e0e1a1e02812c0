import Dispatch

@testable import TimeoutTask

/// Suspends tasks until it is opened, whether they are cancelled or not.
final class Gate: Sendable {
  /// The waiting tasks; `nil` once the gate is open.
  private let waiting = Guarded<[UnsafeContinuation<Void, Never>]?>([])

  nonisolated(nonsending) func pass() async {
    await withUnsafeContinuation { continuation in
      let isOpen = waiting.withLock { waiting in
        waiting?.append(continuation)
        return waiting == nil
      }
      if isOpen { continuation.resume() }
    }
  }

  var isClosed: Bool { waiting.withLock { $0 != nil } }

  func open() {
    let continuations = waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting ?? []
    }
    for continuation in continuations { continuation.resume() }
  }
}

/// Blocks threads until it is opened, one thread for each call of `open()`.
final class DispatchGate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func wait() { semaphore.wait() }
  func open() { semaphore.signal() }
}

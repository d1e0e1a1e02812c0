import Dispatch

/// A place where a thread waits until it is opened.
final class DispatchGate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func wait() { semaphore.wait() }
  func open() { semaphore.signal() }
}

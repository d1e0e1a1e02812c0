import Foundation

/// A serial queue that a block of no test holds, so that a test's blocks on it count, and begin late.
package struct HeldQueue: Sendable {
  private let end = DispatchSemaphore(value: 0)

  package init(_ queue: DispatchQueue) {
    let (begun, end) = (DispatchSemaphore(value: 0), end)
    Thread.detachNewThread {
      queue.async {
        begun.signal()
        end.wait()
      }
    }
    begun.wait()
  }

  package func release() { end.signal() }
}

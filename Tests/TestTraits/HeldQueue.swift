import Foundation

/// A serial queue that is occupied by a block of no test until `release()`.
///
/// Blocks that a test submits meanwhile are outstanding, but cannot begin.
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

import Synchronization
import TimeoutTask

/// Many concurrent timeouts around work that waits for cancellation, and the same work without timeouts.
public final class LiveTimeouts: Sendable {
  /// The cost of a timeout.
  public enum Quantity: Sendable {
    /// The time from the start until the work waits.
    case start
    /// The memory in use.
    case bytes
    /// The time from its cancellation, in random order, until the work ends.
    case cancel
  }

  private let count: Int
  private let running = Atomic(0)
  /// Yields a value when the expected number of timeouts runs: all, or none.
  private let milestones = AsyncStream<Void>.makeStream()

  private init(_ count: Int) { self.count = count }

  private func work() async {
    let gate = AsyncGate()
    if running.add(1, ordering: .acquiringAndReleasing).newValue == count {
      milestones.continuation.yield()
    }
    await gate.waitUntilCancelled()
    if running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
      milestones.continuation.yield()
    }
  }

  /// Measures timeouts of at least an hour, in random order.
  public static func timeouts(_ count: Int, _ quantity: Quantity) async -> Double {
    let seconds = Workloads.shuffled(count).map { 3600 + Double($0) / 1000 }
    return await measure(count, quantity) { live, number in
      TimeoutTask(seconds: seconds[number]) { await live.work() }
    } cancel: {
      $0.cancel()
    }
  }

  /// Measures the same work without timeouts.
  public static func tasks(_ count: Int, _ quantity: Quantity) async -> Double {
    await measure(count, quantity) { live, _ in
      Task { await live.work() }
    } cancel: {
      $0.cancel()
    }
  }

  private static func measure<Live>(
    _ count: Int, _ quantity: Quantity, start: (LiveTimeouts, Int) -> Live, cancel: (Live) -> Void
  ) async -> Double {
    let live = LiveTimeouts(count)
    var milestones = live.milestones.stream.makeAsyncIterator()
    let order = Workloads.shuffled(count)
    var tasks: [Live] = []
    tasks.reserveCapacity(count)
    let before = residentBytes()
    let begin = ContinuousClock.now
    for number in 0..<count { tasks.append(start(live, number)) }
    await milestones.next()
    let started = ContinuousClock.now
    let bytes = residentBytes() - before
    for number in order { cancel(tasks[number - 1]) }
    await milestones.next()
    let ended = ContinuousClock.now
    switch quantity {
    case .start: return (started - begin) / .nanoseconds(count)
    case .bytes: return Double(bytes) / Double(count)
    case .cancel: return (ended - started) / .nanoseconds(count)
    }
  }
}

/// Waits for cancellation without a clock.
private final class AsyncGate: Sendable {
  private enum State: UInt8, AtomicRepresentable { case empty, waiting, cancelled }

  private let state = Atomic(State.empty)
  nonisolated(unsafe) private var continuation: UnsafeContinuation<Void, Never>?

  func waitUntilCancelled() async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        self.continuation = continuation
        if state.exchange(.waiting, ordering: .acquiringAndReleasing) == .cancelled {
          continuation.resume()
        }
      }
    } onCancel: {
      if state.exchange(.cancelled, ordering: .acquiringAndReleasing) == .waiting {
        continuation?.resume()
      }
    }
  }
}

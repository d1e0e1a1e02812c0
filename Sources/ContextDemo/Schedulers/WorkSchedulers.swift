import Dispatch
import Foundation

/// Runs synchronous work somewhere, now or later.
///
/// Every scheduler runs each piece of work once. A serial scheduler runs one piece at a time, in the order of
/// submission. Work that a running piece submits starts after that piece has ended.
protocol WorkScheduler: Sendable {
  func schedule(_ work: @escaping @Sendable () -> Void)
}

/// Creates schedulers, so that a class can have as many as it needs without exposing their number.
protocol WorkSchedulerFactory: Sendable {
  /// Returns a scheduler that runs one piece of work at a time.
  func serial(named name: String) -> any WorkScheduler
  /// Returns a scheduler that may run several pieces of work concurrently.
  func concurrent(named name: String) -> any WorkScheduler
  var main: any WorkScheduler { get }
}

// MARK: - Production

/// Creates schedulers for production: dispatch queues.
struct DispatchSchedulers: WorkSchedulerFactory {
  func serial(named name: String) -> any WorkScheduler {
    QueueScheduler(queue: DispatchQueue(label: name))
  }

  func concurrent(named name: String) -> any WorkScheduler {
    QueueScheduler(queue: DispatchQueue(label: name, attributes: .concurrent))
  }

  var main: any WorkScheduler { QueueScheduler(queue: .main) }

  private struct QueueScheduler: WorkScheduler {
    let queue: DispatchQueue

    func schedule(_ work: @escaping @Sendable () -> Void) {
      queue.async(execute: work)
    }
  }
}

// MARK: - Tests

/// Creates schedulers for tests: work has run when `schedule` returns.
struct SynchronousSchedulers: WorkSchedulerFactory {
  func serial(named name: String) -> any WorkScheduler { SerialScheduler() }

  func concurrent(named name: String) -> any WorkScheduler { ImmediateScheduler() }

  let main: any WorkScheduler = SerialScheduler()

  /// Runs work immediately, even inside other work.
  private struct ImmediateScheduler: WorkScheduler {
    func schedule(_ work: @escaping @Sendable () -> Void) { work() }
  }

  /// Runs work immediately. If work of this scheduler is running, the new work runs after it.
  ///
  /// A serial queue never starts a piece of work inside another, so this scheduler must not either.
  private final class SerialScheduler: WorkScheduler {
    /// Held while work runs, so that other threads wait; guards the properties below.
    private let lock = NSRecursiveLock()
    nonisolated(unsafe) private var backlog: [@Sendable () -> Void] = []
    nonisolated(unsafe) private var isRunning = false

    func schedule(_ work: @escaping @Sendable () -> Void) {
      lock.withLock {
        backlog.append(work)
        guard !isRunning else { return }
        isRunning = true
        while !backlog.isEmpty { backlog.removeFirst()() }
        isRunning = false
      }
    }
  }
}

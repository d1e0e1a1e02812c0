import Foundation

/// Schedulers for tests: work has run when the call that hands it in returns.
struct SynchronousSchedulers: WorkSchedulerFactory {
  func serial(named name: String) -> any WorkScheduler { SerialScheduler() }

  func concurrent(named name: String) -> any WorkScheduler { ImmediateScheduler() }

  let main: any WorkScheduler = SerialScheduler()

  /// Runs work at once, whatever else is running.
  private struct ImmediateScheduler: WorkScheduler {
    func schedule(_ work: @escaping @Sendable () -> Void) { work() }

    func wait<Value: Sendable>(for work: @Sendable () -> Value) -> Value { work() }
  }

  /// Runs work at once, unless its own work is running: then when that has come to its end.
  ///
  /// Without this exception a piece of work would begin in the middle of another, which on a serial
  /// queue never happens.
  private final class SerialScheduler: WorkScheduler {
    /// Is held while work runs, so that other threads wait for their turn; guards what follows.
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

    func wait<Value: Sendable>(for work: @Sendable () -> Value) -> Value {
      lock.withLock(work)
    }
  }
}

import Dispatch

/// Runs tasks, and is interrupted each time that one of them becomes ready to run.
final class InterruptingExecutor: TaskExecutor {
  private let interruption: @Sendable () -> Void
  private let queue = DispatchQueue(label: "interrupted")

  init(_ interruption: @escaping @Sendable () -> Void) {
    self.interruption = interruption
  }

  /// Calls `body` when the task that calls this is suspended.
  func afterThisJob(_ body: @escaping @Sendable () -> Void) {
    queue.async(execute: body)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    interruption()
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

@testable import Clocks

extension RetainedTask {
  /// Retains a task, whether or not it is over.
  static func retaining(_ task: Task<Void, Never>) -> RetainedTask {
    withExtendedLifetime(task) {
      UnownedTask(job: unsafeBitCast(task, to: UnownedJob.self)).handle
    }
  }

  /// Starts a task that does nothing, and retains it, for states that need any task.
  static func any() -> RetainedTask { retaining(Task {}) }
}

@testable import Clocks

extension RetainedTask {
  /// Starts a task that does nothing, and retains it, for states that need any task.
  static func any() -> RetainedTask {
    let task = Task {}
    return withExtendedLifetime(task) {
      UnownedTask(job: unsafeBitCast(task, to: UnownedJob.self)).handle
    }
  }
}

/// The reports about tasks that a scope leaves behind when it ends.
enum LeftoverFailure {
  /// Tasks sleep, and none should.
  static func asleep(now: String, pending: [String]) -> String {
    """
    withVirtualTime expects that no task sleeps any more when its operation returns, but at \(now) \
    there \(count(pending)) pending:
    \(pending.listed)
    Await those tasks or cancel them before the operation returns.
    """
  }

  /// A task runs without end, and none should be left.
  static func neverIdles(_ task: UInt64, now: String) -> String {
    """
    withVirtualTime expects that no task is left when its operation returns, but at \(now) task \
    #\(task) runs on, and never comes to rest: it yields in an endless loop.
    Await the task or cancel it before the operation returns.
    """
  }

  /// A task runs without end although it was cancelled.
  static func ignoresCancellation(_ task: UInt64) -> String {
    """
    withVirtualTime has cancelled task #\(task), which ran on when its operation had returned, but it \
    never comes to rest: it yields in an endless loop that does not ask `Task.isCancelled`. It has \
    been suspended for good.
    """
  }

  /// Tasks sleep again and again.
  static func endless(pending: [String]) -> String {
    """
    withVirtualTime has cancelled the tasks that still slept when its operation returned, a hundred \
    times, but there \(count(pending)) pending again:
    \(pending.listed)
    A task that sleeps on after its cancellation never ends: let it throw the CancellationError.
    """
  }

  private static func count(_ pending: [String]) -> String {
    pending.count == 1 ? "is 1 sleep" : "are \(pending.count) sleeps"
  }
}

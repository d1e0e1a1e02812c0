/// The reports about tasks that still sleep when a scope ends.
enum LeftoverSleepsFailure {
  static func unexpected(now: String, pending: [String]) -> String {
    """
    withVirtualTime expects that no task sleeps any more when its operation returns, but at \(now) \
    there \(count(pending)) pending:
    \(pending.listed)
    Await those tasks or cancel them before the operation returns.
    """
  }

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

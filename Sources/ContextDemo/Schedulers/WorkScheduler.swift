/// Runs work somewhere, sooner or later: all that a class needs to know of whatever runs it.
///
/// It promises three things. Work that is handed in runs once. Work of a serial scheduler runs one
/// piece at a time, in the order in which it was handed in; a piece that hands in another comes to
/// its own end first. And when `wait` returns, its work has run.
protocol WorkScheduler: Sendable {
  /// Hands in `work`.
  func schedule(_ work: @escaping @Sendable () -> Void)

  /// Runs `work` in its turn, and returns what it returns.
  ///
  /// Not to be called from work of the same scheduler, which would have to wait for itself.
  func wait<Value: Sendable>(for work: @Sendable () -> Value) -> Value
}

/// Makes schedulers, so that a class can have as many as it needs and nobody outside has to know.
protocol WorkSchedulerFactory: Sendable {
  /// A scheduler that runs one piece of work at a time.
  func serial(named name: String) -> any WorkScheduler
  /// A scheduler that may run several pieces at the same time.
  func concurrent(named name: String) -> any WorkScheduler
  /// The scheduler of the main queue.
  var main: any WorkScheduler { get }
}

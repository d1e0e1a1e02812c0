/// Is told what a scheduler does, in the order in which it does it.
///
/// The one spot from which the scheduling of a test can be seen. When nobody observes, it costs a
/// comparison with `nil`. The observer is called without any lock, from whichever thread does the
/// thing; it must not call back into the clock.
protocol SchedulerObserver: AnyObject, Sendable {
  /// A job of a task is about to run; the id is 0 for an actor's queue.
  func jobWillRun(task: UInt64, lane: Lane)
}

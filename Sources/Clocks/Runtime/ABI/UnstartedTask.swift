/// A task that has been made and has not started; it is to be run once.
struct UnstartedTask: Sendable {
  let job: UnownedJob

  /// Makes a task with the current one's task-local values, and does not start it.
  ///
  /// `nil`, and `body` runs, where tasks do not pass through the door.
  init?(_ body: @escaping @Sendable () -> Void) {
    var context = ThreadContext(capture: .next)
    context.run { _ in Task { body() } }
    guard case .job(let job) = context.capture else { return nil }
    self.job = job
  }

  /// Runs it here and now.
  func runHere() { RuntimeHooks.run(job, on: .pool) }
}

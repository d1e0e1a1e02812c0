/// What waits for a deadline.
enum Timer: Sendable {
  /// A task that sleeps on the deadline's clock.
  case task(Task<Void, Never>)
  /// The timers that all deadlines on the `ContinuousClock` share.
  case shared(TimerHeap.Ticket)

  func cancel() {
    switch self {
    case .task(let task): task.cancel()
    case .shared(let ticket): SharedTimers.shared.remove(ticket)
    }
  }

  /// Raises the priority of the task, if it is one. The shared timers have a high one.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  func escalatePriority(to priority: TaskPriority) {
    if case .task(let task) = self { task.escalatePriority(to: priority) }
  }
}

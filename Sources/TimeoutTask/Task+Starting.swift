/// Starts a task on an actor, from anywhere.
///
/// `Task.init` reads the isolation of its closure and enqueues the task on that actor immediately.
/// So tasks start in the order in which they are created. A closure that only calls an operation
/// has no isolation. Its task would start on the global executor and hop to the actor later,
/// perhaps out of order. A closure that captures an isolated parameter has the isolation of that
/// parameter, so `start` has an isolated parameter.
///
/// The cast removes the requirement that the caller runs on the actor. That is safe, because
/// `start` only creates the task, and the task runs on the actor. The standard library implements
/// `assumeIsolated` with the same cast.
func startingIsolated<Success, Failure: Error>(
  as isolation: (any Actor)?,
  _ start: @escaping (isolated (any Actor)?) -> Task<Success, Failure>
) -> Task<Success, Failure> {
  typealias FromAnywhere = ((any Actor)?) -> Task<Success, Failure>
  return unsafeBitCast(start, to: FromAnywhere.self)(isolation)
}

/// Starts a task that sleeps until an instant and then calls `ended`, unless the task was
/// cancelled.
///
/// The sleep is registered on the clock when this function returns. On systems without
/// `Task.immediate`, the task has only been enqueued by then.
///
/// - Parameter operation: The name of the operation. The task's name contains it, and a test clock
///   shows the task's name in a failure about a pending sleep.
func startTimerTask<C: Clock>(
  until instant: C.Instant, tolerance: C.Duration?, on clock: C, for operation: String?,
  _ ended: @escaping @Sendable (Interruption) -> Void
) -> Task<Void, Never> {
  let name = operation.map { "timeout of \($0)" }
  let tolerance = tolerance.map(\.asTolerance)
  let sleep: @Sendable () async -> Void = {
    do {
      try await clock.sleep(until: instant, tolerance: tolerance)
      if !Task.isCancelled { ended(.deadlinePassed) }
    } catch {
      if !Task.isCancelled { ended(.clockFailed(error)) }
    }
  }
  guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
    return Task(name: name, operation: sleep)
  }
  return Task.immediate(name: name, operation: sleep)
}

/// The timer of a `TimeoutTask`: a task of its own, or one of the shared timers.
enum Timer: Sendable {
  /// A task that sleeps on the deadline's clock.
  case task(Task<Void, Never>)
  /// A shared timer for a deadline on the `ContinuousClock`.
  case shared(TimerHeap.Ticket)

  func cancel() {
    switch self {
    case .task(let task): task.cancel()
    case .shared(let ticket): SharedTimers.shared.remove(ticket)
    }
  }

  /// Raises the priority of a timer that is a task. The shared timers always have a high priority.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  func escalatePriority(to priority: TaskPriority) {
    if case .task(let task) = self { task.escalatePriority(to: priority) }
  }
}

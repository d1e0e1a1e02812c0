/// Starts a task on an actor, from anywhere.
///
/// `Task.init` reads the isolation of its closure and enqueues the task on that actor immediately,
/// so tasks that are made one after another start in that order. A closure that only calls an
/// operation has no isolation: its task would start on the global executor and hop to the actor
/// later, out of order. A closure has the isolation of a parameter that it captures, so `start` has
/// such a parameter.
///
/// The cast drops the requirement that the caller is on the actor. That is safe: nothing is used
/// there before the new task runs on it. The standard library writes `assumeIsolated` with the same
/// cast.
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
/// The sleep is on the clock when this returns. Systems without `Task.immediate` only enqueue the
/// task.
///
/// - Parameter operation: The name of the operation. The task's name is made of it, which the
///   report of a test clock shows for a sleep that is left.
func startTimerTask<C: Clock>(
  until instant: C.Instant, tolerance: C.Duration?, on clock: C, for operation: String?,
  _ ended: @escaping @Sendable (Interruption) -> Void
) -> Task<Void, Never> {
  let name = operation.map { "timeout of \($0)" }
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

/// What waits for the deadline of a `TimeoutTask`.
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

  /// Raises the priority of the task, if it is one. The shared timers have a high priority.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  func escalatePriority(to priority: TaskPriority) {
    if case .task(let task) = self { task.escalatePriority(to: priority) }
  }
}

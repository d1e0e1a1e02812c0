extension Task where Success == Void, Failure == Never {
  /// Starts a task whose first steps, up to its first suspension, are taken before this returns.
  ///
  /// Where the system cannot do that, the task is enqueued as any other.
  static func startingNow(
    name: String?, _ operation: sending @escaping @isolated(any) () async -> Void
  ) -> Task<Void, Never> {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      Task.immediate(name: name, operation: operation)
    } else {
      Task(name: name, operation: operation)
    }
  }

  /// Starts a task that runs `operation` and then hands what came of it to `completion`, all of it
  /// isolated as `operation` is.
  ///
  /// `Task.init` reads the isolation of the closure it is given and enqueues the task on that actor
  /// at once, so that tasks made one after another on an actor start one after another. A closure
  /// that merely calls `operation` is isolated nowhere: its task would start on the global executor
  /// and hop to the actor later, out of order. Here the closure takes the isolation of a parameter
  /// that it captures.
  ///
  /// The cast drops the demand that the caller be on the actor already. That is safe, because
  /// nothing is touched there before the new task runs on it; the standard library writes
  /// `assumeIsolated` with the same cast.
  static func start<Value: Sendable>(
    name: String?,
    priority: TaskPriority?,
    isolatedAs operation: sending @escaping @isolated(any) () async throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Task<Void, Never> {
    typealias OnTheActor = (isolated (any Actor)?) -> Task<Void, Never>
    typealias FromAnywhere = ((any Actor)?) -> Task<Void, Never>

    // Used by the one new task only.
    nonisolated(unsafe) let operation = operation
    let start: OnTheActor = { isolation in
      Task(name: name, priority: priority) {
        _ = isolation
        do {
          completion(.success(try await operation()))
        } catch {
          completion(.failure(error))
        }
      }
    }
    return unsafeBitCast(start, to: FromAnywhere.self)(operation.isolation)
  }
}

/// Runs `operation` and, for as long as it takes, keeps `task`'s priority at least as high as the
/// current task's.
///
/// Where the system cannot escalate a task by hand, this just runs `operation`.
nonisolated(nonsending)
  func withEscalation(
    of task: Task<Void, Never>?,
    during operation: nonisolated(nonsending) () async throws -> Void
  ) async throws
{
  guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), let task else {
    return try await operation()
  }
  task.escalatePriority(to: Task.currentPriority)
  try await withTaskPriorityEscalationHandler {
    try await operation()
  } onPriorityEscalated: { _, priority in
    task.escalatePriority(to: priority)
  }
}

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
}

/// Starts a task on an actor, from anywhere.
///
/// `Task.init` reads the isolation of the closure it is given and enqueues the task on that actor
/// at once, so that tasks made one after another on an actor start one after another. A closure
/// that merely calls an operation is isolated nowhere: its task would start on the global executor
/// and hop to the actor later, out of order. A closure takes the isolation of a parameter that it
/// captures; hence `start` has such a parameter.
///
/// The cast drops the demand that the caller be on the actor already. That is safe, because nothing
/// is touched there before the new task runs on it; the standard library writes `assumeIsolated`
/// with the same cast.
func startingIsolated<Success, Failure: Error>(
  as isolation: (any Actor)?,
  _ start: @escaping (isolated (any Actor)?) -> Task<Success, Failure>
) -> Task<Success, Failure> {
  typealias FromAnywhere = ((any Actor)?) -> Task<Success, Failure>
  return unsafeBitCast(start, to: FromAnywhere.self)(isolation)
}

/// The name of the task that sleeps until something has to be done.
///
/// It is what a test reads that is told of a sleep nobody woke.
func timerName(for operation: String?) -> String? {
  operation.map { "timeout of \($0)" }
}

/// Runs `operation` and, for as long as it takes, keeps the priority of the tasks at least as high
/// as the current task's.
///
/// Where the system cannot escalate a task by hand, this just runs `operation`.
nonisolated(nonsending)
  func withEscalation(
    of running: Running,
    during operation: nonisolated(nonsending) () async throws -> Void
  ) async throws
{
  guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *),
    running.timer != nil || running.work != nil
  else { return try await operation() }
  running.escalate(to: Task.currentPriority)
  try await withTaskPriorityEscalationHandler {
    try await operation()
  } onPriorityEscalated: { _, priority in
    running.escalate(to: priority)
  }
}

extension Running {
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  fileprivate func escalate(to priority: TaskPriority) {
    work?.escalatePriority(to: priority)
    // It is the timer that frees a waiter whose work takes too long.
    timer?.escalatePriority(to: priority)
  }
}

extension Task where Failure == any Error {
  /// Starts an unstructured task that is under the deadlines of the current task.
  ///
  /// Usually an unstructured task has no deadline, because it may outlive the task that starts it.
  /// This function passes the deadlines on. The new task is cancelled at the same instants, even if
  /// the current task has ended by then:
  ///
  /// ```swift
  /// try await withTimeout(.seconds(5)) {
  ///   let upload = Task.inheritingDeadline { try await server.upload(photo) }
  ///   …
  /// }
  /// ```
  ///
  /// When the task begins to run, it sets the deadlines again, each on its own clock. In place of a
  /// movable deadline it sets a fixed one, at the instant that the movable deadline has at that
  /// moment. The task fails with ``TimeoutError`` if the operation throws after a deadline has
  /// cancelled it, as with ``withDeadline(_:tolerance:clock:name:operation:)``. If the current task
  /// has no deadline, the function is like `Task.init`.
  ///
  /// - Parameters:
  ///   - name: The name of the task.
  ///   - priority: The priority of the task; `nil` means that of the current task.
  ///   - operation: What to do. As with `Task`, it has the isolation of its context and inherits
  ///     task-local values.
  /// - Returns: The task.
  /// - Complexity: O(d²) for d deadlines around the caller: each is compared with those around it. A
  ///   deadline that passes after an outer one is not set.
  @discardableResult
  public static func inheritingDeadline(
    name: String? = nil,
    priority: TaskPriority? = nil,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) -> Task<Success, any Error> {
    // The outermost deadline comes first.
    let deadlines =
      ActiveDeadline.current.map { sequence(first: $0, next: { $0.outer }).reversed() } ?? []
    // Safe, because the current task no longer uses the operation: only the new task does.
    nonisolated(unsafe) let operation = operation
    return startingIsolated(as: operation.isolation) { isolation in
      Task(name: name, priority: priority) {
        _ = isolation
        return try await reapply(deadlines.compactMap(\.onClock)[...]) { try await operation() }
      }
    }
  }
}

/// Sets deadlines again, each inside the one before, and runs an operation under them.
private nonisolated(nonsending) func reapply<Return>(
  _ deadlines: ArraySlice<any AnyDeadlineOnClock>,
  _ operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
  guard let first = deadlines.first else { return try await operation() }
  return try await first.reapply { try await reapply(deadlines.dropFirst(), operation) }
}

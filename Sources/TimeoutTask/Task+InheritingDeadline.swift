extension Task where Failure == any Error {
  /// Starts an unstructured task that is under the deadlines of the current task.
  ///
  /// An unstructured task is under no deadline: it is its starter's that it outlives. Where the
  /// task is a part of what has to be done in time, this passes the deadlines on. The task is
  /// cancelled at the same instants, even if its starter has ended by then:
  ///
  /// ```swift
  /// try await withTimeout(.seconds(5)) {
  ///   let upload = Task.inheritingDeadline { try await server.upload(photo) }
  ///   …
  /// }
  /// ```
  ///
  /// The deadlines are set again, each on its own clock, when the task begins to run; one that is
  /// movable is passed on as it is at this moment. What comes of them is as with
  /// ``withDeadline(_:tolerance:clock:name:operation:)``: the task fails with ``TimeoutError`` if
  /// the operation throws after it has been cancelled. Without a deadline this is like `Task.init`.
  ///
  /// - Parameters:
  ///   - name: The name of the task.
  ///   - priority: The priority of the task; `nil` means that of the current task.
  ///   - operation: What to do. Like `Task`'s, it is isolated as its surroundings are, and sees
  ///     their task-local values.
  /// - Returns: The task.
  /// - Complexity: O(d) for d deadlines around the caller, of which those are set that the others
  ///   do not make useless.
  @discardableResult
  public static func inheritingDeadline(
    name: String? = nil,
    priority: TaskPriority? = nil,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) -> Task<Success, any Error> {
    let deadlines = ActiveDeadline.current?.all ?? []
    // Used by the one new task only.
    nonisolated(unsafe) let operation = operation
    return startingIsolated(as: operation.isolation) { isolation in
      Task(name: name, priority: priority) {
        _ = isolation
        return try await ActiveDeadline.reapply(deadlines[...]) { try await operation() }
      }
    }
  }
}

extension ActiveDeadline {
  /// This deadline and those around it, the outermost first.
  fileprivate var all: [ActiveDeadline] {
    var all: [ActiveDeadline] = []
    var next: ActiveDeadline? = self
    while let deadline = next {
      all.append(deadline)
      next = deadline.outer
    }
    return all.reversed()
  }

  /// Sets the deadlines once more, one inside the other, and runs an operation under them.
  fileprivate nonisolated(nonsending) static func reapply<Return>(
    _ deadlines: ArraySlice<ActiveDeadline>,
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return {
    guard let first = deadlines.first else { return try await operation() }
    return try await first.reapply { try await reapply(deadlines.dropFirst(), operation) }
  }
}

import ClocksSupport

extension VirtualTime {
  /// Fails the test unless `condition` holds after each step of the scope, from now on.
  ///
  /// ```swift
  /// time.always("at most one leader") { log.leaders.count <= 1 }
  /// ```
  ///
  /// A step is one job. The condition is called at the end of the current step, after each later step, and
  /// once more when the body returns. It is not called at an instant at which no job runs. It runs on the
  /// scope's own thread, while no other job of the scope runs. So it sees every state that another task of
  /// the scope could see. The condition must not wait, and may read only what any thread may read, such as
  /// ``now``. A failure names the step after which the condition is false for the first time. From then on,
  /// the condition is not called. In a search, the failure is explained and shrunk like any other. It is
  /// recorded at the line of this call. Outside a search it is a known issue if the call is in
  /// `withKnownIssue`, whose body must not end before the condition is called.
  ///
  /// May be called from any thread and isolation. O(1), and for each step the cost of the condition.
  ///
  /// - Parameters:
  ///   - name: The invariant in words, for a failure.
  ///   - condition: Returns whether the invariant holds.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public func always(
    _ name: String, fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, _ condition: @escaping @Sendable () -> Bool
  ) {
    scheduler.state(
      .always, name, .anywhere(condition),
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  /// Fails the test unless `condition` holds for the state of an actor after each step of the scope, from now on.
  ///
  /// ```swift
  /// time.always("no overdraft", on: account) { $0.balance >= 0 }
  /// ```
  ///
  /// The runtime itself runs the condition on the actor, so the condition may access the actor's state like the actor's
  /// own jobs. The condition is checked between two steps, as soon as no job runs or is queued on the actor. While work
  /// outside the scope runs on the actor, the check waits for the end of that work. A condition on the main actor is
  /// checked after each step on the main thread, because no other step can change that state. If the actor has an
  /// executor of its own, that executor runs the condition, at a time that is not known. When the body returns, the
  /// scope does not wait for an actor that is not free. The condition is then not checked at the end.
  ///
  /// The condition does not see the states within a step; no other task can see them either. Otherwise, the
  /// function is like ``always(_:fileID:filePath:line:column:_:)``. The scope retains the actor until the
  /// scope ends. The call costs O(1), and each step costs a task that hops to the actor.
  ///
  /// - Parameters:
  ///   - name: The invariant in words, for a failure.
  ///   - actor: The actor.
  ///   - condition: Returns whether the invariant holds.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public func always<A: Actor>(
    _ name: String, on actor: A,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column,
    _ condition: @escaping @Sendable (isolated A) -> Bool
  ) {
    let site = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    scheduler.state(
      .always, name,
      actor is MainActor
        ? .onMain { actor.assumeIsolated { condition($0) } }
        : .onActor(ActorCondition(actor, condition)),
      at: site)
  }

  /// Fails the test unless `condition` is true after one of the next `steps` steps of the scope.
  ///
  /// ```swift
  /// time.eventually(within: 500, "there is a leader") { !log.leaders.isEmpty }
  /// ```
  ///
  /// A step is one job. As with ``always(_:fileID:filePath:line:column:_:)``, the condition is called at the
  /// end of the current step and after each later step, until it is true. The test fails after `steps`
  /// further steps, or if the body returns earlier and the condition is false then. O(1), and for each step
  /// the cost of the condition.
  ///
  /// - Parameters:
  ///   - steps: The number of steps. A negative number is a failure of the test, and nothing is checked.
  ///   - name: The condition in words, for a failure.
  ///   - condition: The condition that has to become true.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public func eventually(
    within steps: Int, _ name: String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column, _ condition: @escaping @Sendable () -> Bool
  ) {
    let site = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard steps >= 0 else {
      return recordFailure(
        "`within:` is a number of steps, 0 or more; it is \(steps). Nothing is checked.", at: site)
    }
    scheduler.state(.eventually(within: steps), name, .anywhere(condition), at: site)
  }
}

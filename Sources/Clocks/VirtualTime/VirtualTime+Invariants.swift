import ClocksSupport

extension VirtualTime {
  /// Fails the test unless `condition` holds after each step of the scope, from now on.
  ///
  /// ```swift
  /// time.always("at most one leader") { log.leaders.count <= 1 }
  /// ```
  ///
  /// A step is one job. The condition is called at the end of the current one, after each later one, and once more
  /// when the body returns: on the scope's own thread, while no other job of the scope runs. So it sees every
  /// state that another task of the scope could see. It must not wait, and reads only what any thread may read. The
  /// failure names the step after which the condition is first false; after that it is not called again. In a search the
  /// failure is explained and reduced like any other.
  ///
  /// May be called from any thread and isolation. O(1), and for each step that of the condition.
  ///
  /// - Parameters:
  ///   - name: What holds, in words, for the failure.
  ///   - condition: What holds.
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
  /// The runtime itself runs the condition on the actor, so the access is as legal as that of the actor's own jobs.
  /// It is checked between two steps, as soon as the actor is idle: if jobs are queued on the actor, after they have
  /// run; if work outside the scope runs the actor, when that ends. On the main actor it is checked after each step on
  /// the main thread, because no other step can change that state. If the actor has an executor of its own, that
  /// executor runs the condition, at a time that is not known.
  ///
  /// The condition cannot see a state within a step, which no other task can see either. Else like
  /// ``always(_:fileID:filePath:line:column:_:)``. The scope keeps the actor until it ends. O(1); for each step a task
  /// that hops to the actor.
  ///
  /// - Parameters:
  ///   - name: What holds, in words, for the failure.
  ///   - actor: The actor.
  ///   - condition: What holds.
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
    let isMain = actor is MainActor
    scheduler.state(
      .always, name,
      isMain
        ? .onMain { MainActor.assumeIsolated { withoutIsolation(condition)(actor) } }
        : .onActor(ActorCondition(actor, condition)),
      at: site)
  }

  /// Fails the test unless `condition` is true after one of the next `steps` steps of the scope.
  ///
  /// ```swift
  /// time.eventually(within: 500, "there is a leader") { !log.leaders.isEmpty }
  /// ```
  ///
  /// A step is one job. The condition is called at the end of the current one and after each later one, as that of
  /// ``always(_:fileID:filePath:line:column:_:)``, until it is true. The test fails after `steps` further steps, or
  /// when the body returns earlier and the condition is false then. O(1), and for each step that of the condition.
  ///
  /// - Parameters:
  ///   - steps: The number of steps, which is not negative.
  ///   - name: What becomes true, in words, for the failure.
  ///   - condition: What becomes true.
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

/// The condition as a function that the caller calls where the isolation is known to be right.
private func withoutIsolation<A: Actor>(
  _ condition: @escaping @Sendable (isolated A) -> Bool
) -> @Sendable (A) -> Bool {
  // As `assumeIsolated` of the standard library: the isolation of a parameter is no part of the calling convention.
  unsafeBitCast(condition, to: (@Sendable (A) -> Bool).self)
}

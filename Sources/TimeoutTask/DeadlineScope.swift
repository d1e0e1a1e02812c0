/// One run of an operation under a deadline.
///
/// The operation runs in a child task because, as of Swift 6.3, only a whole task can be cancelled,
/// and the caller's must not be. That child runs in the caller's isolation while the caller is
/// suspended, so the two never run at once: hence nothing has to be `Sendable`, and hence the
/// places below that tell the compiler so.
struct DeadlineScope<C: Clock> {
  let expiration: C.Instant
  let tolerance: C.Duration?
  let clock: C

  /// The time that a `TimeoutError` is to name.
  let allowed: C.Duration

  /// What is being done.
  let name: String?

  /// Runs `operation`, cancels it at the deadline, and returns when it has ended.
  func run<Return: ~Copyable>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return {
    let outer = ActiveDeadline.current
    if let earlier = outer?.expiration(on: clock), earlier <= expiration {
      return try await operation()
    }

    let slot = ResultSlot<Return>()
    let interruption = await race(inside: outer, slot) {
      // A closure is isolated as its surroundings are if it captures their isolated parameter.
      _ = isolation
      return try await operation()
    }
    do {
      return try slot.take().get()
    } catch is CancellationError {
      throw interruption ?? CancellationError()
    }
  }

  // Why in a closure: Swift 6.2 cannot let a function escape that takes its isolation over from its
  // caller.
  private func race<Return: ~Copyable>(
    inside outer: ActiveDeadline?, _ slot: ResultSlot<Return>,
    isolation: isolated (any Actor)? = #isolation,
    _ operation: () async throws -> Return
  ) async -> (any Error)? {
    await withoutActuallyEscaping(operation) { operation in
      _ = isolation
      nonisolated(unsafe) let child = child(inside: outer, slot: slot, operation)
      return await race(child)
    }
  }

  /// The child task's closure, isolated as the caller is, so that the task starts there.
  private func child<Return: ~Copyable>(
    inside outer: ActiveDeadline?,
    slot: ResultSlot<Return>,
    isolation: isolated (any Actor)? = #isolation,
    _ operation: @escaping () async throws -> Return
  ) -> @isolated(any) () async -> Event {
    {
      _ = isolation
      await ActiveDeadline.withValue(expiration, on: clock, inside: outer) {
        do {
          slot.result = .success(try await operation())
        } catch {
          slot.result = .failure(error)
        }
      }
      return .operationEnded
    }
  }

  /// Runs the child beside the timer, and returns why it was cancelled, if the timer did it.
  ///
  /// Not on the caller's actor, which the operation may be keeping busy: the deadline has to be
  /// able to cancel it there.
  @concurrent
  private func race(
    _ child: sending @escaping @isolated(any) () async -> Event
  ) async -> (any Error)? {
    // It is sent into the group once, and used no more here; Swift 6.2 does not see that.
    let child = unsafeBitCast(child, to: (@Sendable @isolated(any) () async -> Event).self)
    return await withTaskGroup(of: Event.self) { group in
      var interruption: (any Error)?
      if expiration <= clock.now {
        interruption = TimeoutError(timeout: allowed, operation: name)
        group.cancelAll()
      } else {
        // Before the operation, so that the sleep is on the clock before the operation can run.
        addTimer(to: &group)
      }
      group.addTask(name: name, operation: child)

      var isRunning = true
      while let event = await group.next() {
        switch event {
        case .operationEnded:
          isRunning = false
          group.cancelAll()
        case .deadlinePassed where isRunning:
          interruption = TimeoutError(timeout: allowed, operation: name)
          group.cancelAll()
        case .clockFailed(let error) where isRunning:
          interruption = error
          group.cancelAll()
        case .deadlinePassed, .clockFailed, .timerCancelled:
          break
        }
      }
      return interruption
    }
  }

  private func addTimer(to group: inout TaskGroup<Event>) {
    let timer: @Sendable () async -> Event = {
      do {
        try await clock.sleep(until: expiration, tolerance: tolerance)
        return .deadlinePassed
      } catch {
        return Task.isCancelled ? .timerCancelled : .clockFailed(error)
      }
    }
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      group.addImmediateTask(operation: timer)
    } else {
      group.addTask(operation: timer)
    }
  }
}

/// What the two child tasks of a scope end with.
private enum Event: Sendable {
  case operationEnded
  case deadlinePassed
  case clockFailed(any Error)
  case timerCancelled
}

/// Carries the operation's result out of its child task; written there, read after the join.
private final class ResultSlot<Value: ~Copyable> {
  var result: Result<Value, any Error>?

  /// Takes the result out, which can be done once, after the operation has ended.
  func take() -> Result<Value, any Error> {
    var taken: Result<Value, any Error>?
    swap(&taken, &result)
    guard let taken else { preconditionFailure("The operation has not ended.") }
    return taken
  }
}

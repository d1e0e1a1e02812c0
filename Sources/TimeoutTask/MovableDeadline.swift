/// A deadline that can be moved while its operation runs.
///
/// ``withMovableDeadline(_:tolerance:clock:name:operation:)`` and
/// ``withMovableTimeout(_:tolerance:clock:name:operation:)`` pass it to their operation, which may
/// pass it on. For example, a download can get more time whenever data arrives, and a user can end
/// the download early.
///
/// Each move replaces the one before. Concurrent moves happen in some order, and the last one
/// counts. When a move returns, the clock has the new sleep, and the old one has been cancelled. If the
/// new instant has passed, the operation has been cancelled.
public struct MovableDeadline<C: Clock>: Sendable {
  let deadline: ClockDeadline<C>

  /// When the deadline passes, or `nil` if it never does.
  public var expiration: C.Instant? { deadline.instant }

  /// Moves the deadline to an instant. If the instant has passed, the operation is cancelled immediately.
  ///
  /// - Parameter instant: When the deadline passes. If the instant is 2⁶² seconds away or more, the
  ///   deadline never passes.
  /// - Returns: Whether the deadline was moved. `false` means that it had passed, or that the
  ///   operation had ended.
  /// - Complexity: The clock's cost of a sleep, and of cancelling one.
  @discardableResult
  public func expire(at instant: C.Instant) -> Bool {
    let instant = deadline.clock.withinReach(instant)
    let isForEver = deadline.clock.now.duration(to: instant).isForEver
    return deadline.move(to: isForEver ? nil : instant)
  }

  /// Moves the deadline to a duration from now. Zero or less cancels the operation immediately.
  ///
  /// - Parameter timeout: The time from now on. A `Swift.Duration` from 2⁶² seconds on never
  ///   passes.
  /// - Returns: Whether the deadline was moved. `false` means that it had passed, or that the
  ///   operation had ended.
  /// - Complexity: The clock's cost of a sleep, and of cancelling one.
  @discardableResult
  public func expire(after timeout: C.Duration) -> Bool {
    if timeout.isForEver { return neverExpire() }
    return deadline.move(to: deadline.clock.now.after(timeout))
  }

  /// Removes the instant: the deadline never passes, unless it is moved again.
  ///
  /// - Returns: Whether the deadline was moved. `false` means that it had passed, or that the
  ///   operation had ended.
  /// - Complexity: The clock's cost of cancelling a sleep.
  @discardableResult
  public func neverExpire() -> Bool {
    deadline.move(to: nil)
  }
}

/// Runs an operation and cancels it if it has not ended by a movable deadline.
///
/// The function gives all guarantees of ``withDeadline(_:tolerance:clock:name:operation:)``. A
/// deadline inside the movable deadline always has its own timer, even if it is later, because the
/// outer one may move.
///
/// - Parameters:
///   - expiration: The instant by which the operation has to end, unless the deadline is moved.
///   - tolerance: How much later the clock may let the deadline pass.
///   - clock: The clock to sleep on. The sleep is registered before the operation begins.
///   - name: The name of the operation's task, which the error contains.
///   - operation: What to do, given the deadline. It runs in a child task.
///
/// - Returns: The operation's result.
/// - Throws: The operation's error; ``TimeoutError`` if it throws after the deadline has cancelled
///   it; the clock's error if it throws after the clock's `sleep` has failed. A `TimeoutError` names the
///   time from the start to the instant of the last move.
/// - Complexity: O(1): a task group, two tasks, and the clock's cost of a sleep.
public nonisolated(nonsending) func withMovableDeadline<C: Clock, Return: ~Copyable>(
  _ expiration: C.Instant,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) (MovableDeadline<C>) async throws -> Return
) async throws -> Return {
  let start = clock.now
  let expiration = clock.withinReach(expiration)
  let isForEver = start.duration(to: expiration).isForEver
  return try await runMovable(
    until: isForEver ? nil : expiration, from: start, tolerance: tolerance, clock: clock,
    name: name, operation)
}

/// Runs an operation and cancels it if it has not ended within a duration that can be changed.
///
/// This is ``withMovableDeadline(_:tolerance:clock:name:operation:)`` for the clock's `now` plus
/// `timeout`.
///
/// ```swift
/// try await withMovableTimeout(.seconds(10), name: "download") { deadline in
///   for try await chunk in server.download() {
///     file.append(chunk)
///     deadline.expire(after: .seconds(10))
///   }
/// }
/// ```
///
/// - Parameters:
///   - timeout: How long the operation may take, unless the deadline is moved. With zero or less it
///     begins cancelled. A `Swift.Duration` from 2⁶² seconds on never passes.
///   - tolerance: How much later than its deadline the clock may let the timeout pass.
///   - clock: The clock to sleep on. The sleep is registered before the operation begins.
///   - name: The name of the operation's task, which the error contains.
///   - operation: What to do, given the deadline. It runs in a child task.
///
/// - Returns: The operation's result.
/// - Throws: As ``withMovableDeadline(_:tolerance:clock:name:operation:)``.
/// - Complexity: O(1): a task group, two tasks, and the clock's cost of a sleep.
public nonisolated(nonsending) func withMovableTimeout<C: Clock, Return: ~Copyable>(
  _ timeout: C.Duration,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) (MovableDeadline<C>) async throws -> Return
) async throws -> Return {
  let start = clock.now
  return try await runMovable(
    until: timeout.isForEver ? nil : start.after(timeout), from: start, tolerance: tolerance,
    clock: clock, name: name, operation)
}

/// Runs an operation and cancels it if it has not ended by a movable deadline of the
/// `ContinuousClock`.
///
/// See ``withMovableDeadline(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withMovableDeadline<Return: ~Copyable>(
  _ expiration: ContinuousClock.Instant,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) (MovableDeadline<ContinuousClock>) async throws -> Return
) async throws -> Return {
  try await withMovableDeadline(
    expiration, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

/// Runs an operation and cancels it if it has not ended within a changeable duration of the
/// `ContinuousClock`.
///
/// See ``withMovableTimeout(_:tolerance:clock:name:operation:)``.
public nonisolated(nonsending) func withMovableTimeout<Return: ~Copyable>(
  _ timeout: Duration,
  tolerance: Duration? = nil,
  name: String? = nil,
  operation: nonisolated(nonsending) (MovableDeadline<ContinuousClock>) async throws -> Return
) async throws -> Return {
  try await withMovableTimeout(
    timeout, tolerance: tolerance, clock: ContinuousClock(), name: name, operation: operation)
}

private nonisolated(nonsending) func runMovable<C: Clock, Return: ~Copyable>(
  until end: C.Instant?, from start: C.Instant, tolerance: C.Duration?, clock: C, name: String?,
  _ operation: nonisolated(nonsending) (MovableDeadline<C>) async throws -> Return
) async throws -> Return {
  let deadline = ClockDeadline(
    at: end, .movable(since: start), tolerance: tolerance, on: clock, name: name,
    inside: ActiveDeadline.current)
  return try await deadline.run { () async throws -> Return in
    try await operation(MovableDeadline(deadline: deadline))
  }
}

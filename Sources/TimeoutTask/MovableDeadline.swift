/// A deadline that can be moved while the operation runs.
///
/// An operation gets it from ``withMovableDeadline(_:tolerance:clock:name:operation:)`` or
/// ``withMovableTimeout(_:tolerance:clock:name:operation:)``, and may hand it to whoever knows when
/// time is to be given or taken: progress gives a download more time, a user's impatience ends it.
///
/// Every move forgets the one before. Moves from several threads at once are put into some order,
/// and the last one counts. When a move returns, the clock has the new sleep and not the old one;
/// or, if the deadline was moved to an instant that is over, the operation has been cancelled.
public struct MovableDeadline<C: Clock>: Sendable {
  let deadline: CancellingDeadline<C>

  /// When the deadline passes, or `nil` if it never does.
  public var expiration: C.Instant? { deadline.instant }

  /// Lets the deadline pass at an instant. One that is over cancels the operation here and now.
  ///
  /// - Parameter instant: When the deadline is to pass. An instant that is 2⁶² seconds away or more
  ///   never comes.
  /// - Returns: Whether that was in time: the deadline had not passed, nor had the operation ended.
  /// - Complexity: The clock's cost of a sleep, and of cancelling one.
  @discardableResult
  public func expire(at instant: C.Instant) -> Bool {
    let isForEver = deadline.clock.now.duration(to: instant).isForEver
    return deadline.move(to: isForEver ? nil : instant)
  }

  /// Lets the deadline pass a duration from now. Zero or less cancels the operation here and now.
  ///
  /// - Parameter timeout: The time from now on. A `Swift.Duration` from 2⁶² seconds on means for
  ///   ever.
  /// - Returns: Whether that was in time: the deadline had not passed, nor had the operation ended.
  /// - Complexity: The clock's cost of a sleep, and of cancelling one.
  @discardableResult
  public func expire(after timeout: C.Duration) -> Bool {
    if timeout.isForEver { return neverExpire() }
    let now = deadline.clock.now
    return deadline.move(to: timeout > .zero ? now.advanced(by: timeout) : now)
  }

  /// Lets the deadline never pass, unless it is moved again.
  ///
  /// - Returns: Whether that was in time: the deadline had not passed, nor had the operation ended.
  /// - Complexity: The clock's cost of cancelling a sleep.
  @discardableResult
  public func neverExpire() -> Bool {
    deadline.move(to: nil)
  }
}

/// Runs an operation and cancels it if it has not ended by a deadline that can be moved meanwhile.
///
/// All that ``withDeadline(_:tolerance:clock:name:operation:)`` guarantees holds here, too. A
/// deadline inside this one is always set, even if it is later, because this one may become later
/// still.
///
/// - Parameters:
///   - expiration: The instant by which the operation is to end, unless it is moved.
///   - tolerance: How much later the clock may let the deadline pass.
///   - clock: The clock that measures. The sleep is registered on it before the operation begins.
///   - name: What is being done: the name of the operation's task, and a part of the error.
///   - operation: What to do, given the deadline. It runs in a child task.
///
/// - Returns: What the operation returned.
/// - Throws: The operation's error; or ``TimeoutError`` if it threw after the deadline had
///   cancelled it. The time allowed is that up to the instant to which the deadline was moved last.
/// - Complexity: O(1): a task group, two tasks, and the clock's cost of a sleep.
public nonisolated(nonsending) func withMovableDeadline<C: Clock, Return: ~Copyable>(
  _ expiration: C.Instant,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) (MovableDeadline<C>) async throws -> Return
) async throws -> Return {
  let start = clock.now
  let isForEver = start.duration(to: expiration).isForEver
  return try await runMovable(
    until: isForEver ? nil : expiration, from: start, tolerance: tolerance, clock: clock,
    name: name, operation)
}

/// Runs an operation and cancels it if it has not ended within a duration that can be changed
/// meanwhile.
///
/// This is ``withMovableDeadline(_:tolerance:clock:name:operation:)`` for the instant that is
/// `timeout` after the clock's `now`.
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
///   - timeout: How long the operation may take, unless the deadline is moved. Zero or less lets it
///     begin cancelled. A `Swift.Duration` from 2⁶² seconds on means for ever.
///   - tolerance: How much later than its deadline the clock may let the timeout pass.
///   - clock: The clock that measures. The sleep is registered on it before the operation begins.
///   - name: What is being done: the name of the operation's task, and a part of the error.
///   - operation: What to do, given the deadline. It runs in a child task.
///
/// - Returns: What the operation returned.
/// - Throws: The operation's error; or ``TimeoutError`` if it threw after the deadline had
///   cancelled it.
/// - Complexity: O(1): a task group, two tasks, and the clock's cost of a sleep.
public nonisolated(nonsending) func withMovableTimeout<C: Clock, Return: ~Copyable>(
  _ timeout: C.Duration,
  tolerance: C.Duration? = nil,
  clock: C,
  name: String? = nil,
  operation: nonisolated(nonsending) (MovableDeadline<C>) async throws -> Return
) async throws -> Return {
  let start = clock.now
  let end = timeout > .zero && !timeout.isForEver ? start.advanced(by: timeout) : start
  return try await runMovable(
    until: timeout.isForEver ? nil : end, from: start, tolerance: tolerance, clock: clock,
    name: name, operation)
}

/// Runs an operation and cancels it if it has not ended by a deadline of the `ContinuousClock` that
/// can be moved meanwhile.
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

/// Runs an operation and cancels it if it has not ended within a duration of the `ContinuousClock`
/// that can be changed meanwhile.
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
  let deadline = CancellingDeadline(
    at: end, tolerance: tolerance, on: clock, name: name, inside: ActiveDeadline.current,
    isMovable: true)
  let place = UnsafeMutablePointer<Return>.allocate(capacity: 1)
  defer { place.deallocate() }
  let error = await deadline.run(into: place) { () async throws -> Return in
    try await operation(MovableDeadline(deadline: deadline))
  }
  if let error {
    let end = deadline.instant ?? start
    let limit = TimeLimit(
      instant: end, allowed: start.duration(to: end), tolerance: tolerance, clock: clock,
      name: name)
    throw deadline.interruption.error(insteadOf: error, limit)
  }
  return place.move()
}

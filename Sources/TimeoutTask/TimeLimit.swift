/// What a caller of `withDeadline`, and of its kin, has asked for.
struct TimeLimit<C: Clock> {
  let instant: C.Instant
  /// The time that a `TimeoutError` is to name.
  let allowed: C.Duration
  let tolerance: C.Duration?
  let clock: C
  /// What is being done.
  let name: String?

  /// The time from now on.
  init(timeout: C.Duration, tolerance: C.Duration?, clock: C, name: String?) {
    let now = clock.now
    self.init(
      instant: timeout > .zero ? now.advanced(by: timeout) : now, allowed: timeout,
      tolerance: tolerance, clock: clock, name: name)
  }

  init(
    instant: C.Instant, allowed: C.Duration, tolerance: C.Duration?, clock: C, name: String?
  ) {
    self.instant = instant
    self.allowed = allowed
    self.tolerance = tolerance
    self.clock = clock
    self.name = name
  }

  /// Runs an operation, and makes a `TimeoutError` of what it throws when its time is over.
  func run<Return: ~Copyable, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
  ) async throws -> Return {
    guard let deadline else { return try await operation() }
    let place = UnsafeMutablePointer<Return>.allocate(capacity: 1)
    defer { place.deallocate() }
    if let error = await deadline.run(into: place, operation) {
      throw deadline.interruption.error(insteadOf: error, self)
    }
    return place.move()
  }

  /// Runs an operation, and returns `nil` for what it throws when its time is over.
  func runOrNil<Return: ~Copyable, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
  ) async throws(Failure) -> Return? {
    guard let deadline else { return try await operation() }
    let place = UnsafeMutablePointer<Return>.allocate(capacity: 1)
    defer { place.deallocate() }
    if let error = await deadline.run(into: place, operation) {
      if case .deadlinePassed = deadline.interruption { return nil }
      guard let error = error as? Failure else { preconditionFailure("It threw another error.") }
      throw error
    }
    return place.move()
  }

  /// The deadline to set, or `nil` if one around it does all that it could do.
  var deadline: OperationDeadline? {
    let outer = ActiveDeadline.current
    if let outer, outer.covers(instant, tolerance: tolerance, on: clock) { return nil }
    if C.self == ContinuousClock.self, RealTime.isCertain,
      let instant = instant as? ContinuousClock.Instant
    {
      let slack = (tolerance as? Duration)?.attoseconds
      return RealTimeDeadline(at: RealTime.reading(of: instant), slack, name: name, inside: outer)
    }
    return CancellingDeadline(
      at: instant, tolerance: tolerance, on: clock, name: name, inside: outer)
  }
}

extension Interruption? {
  /// The error that a caller gets in place of the one which an operation has thrown.
  func error<C: Clock>(insteadOf error: any Error, _ limit: TimeLimit<C>) -> any Error {
    switch self {
    case nil: error
    case .clockFailed(let clockError): clockError
    case .deadlinePassed:
      TimeoutError(timeout: limit.allowed, operation: limit.name, underlyingError: error)
    }
  }
}

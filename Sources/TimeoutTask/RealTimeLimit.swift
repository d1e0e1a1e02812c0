/// What a caller of `withDeadline`, and of its kin, or of `TimeoutTask`, has asked for on the
/// `ContinuousClock`, whose time is real.
///
/// All of it is numbers, which take no time to copy: of instants and durations the compiler does not
/// know the layout, and optional ones have types that it looks up. All in attoseconds.
struct RealTimeLimit {
  /// The instant, as `RealTime` reads it.
  let deadline: Int128
  let allowed: Int128
  let tolerance: Int128?

  /// A limit that begins now; `nil` if the clock is another one, time is not certain to be real, or
  /// the limit never comes.
  @_specialize(where C == ContinuousClock)
  static func from<C: Clock>(
    timeout: C.Duration, tolerance: C.Duration?, clock: C
  ) -> RealTimeLimit? {
    guard C.self == ContinuousClock.self, RealTime.isCertain, let timeout = timeout as? Duration
    else { return nil }
    return from(timeout, tolerance: (tolerance as? Duration)?.attoseconds)
  }

  /// The same, where the clock is known.
  @inline(__always)
  static func from(_ timeout: Duration, tolerance: Int128?) -> RealTimeLimit? {
    let allowed = timeout.attoseconds
    if allowed >= Duration.forEver.attoseconds { return nil }
    return RealTimeLimit(
      deadline: RealTime.reading(of: .now) + max(0, allowed), allowed: allowed,
      tolerance: tolerance)
  }

  /// A limit that ends at an instant; `nil` as above.
  @_specialize(where C == ContinuousClock)
  static func from<C: Clock>(
    instant: C.Instant, tolerance: C.Duration?, clock: C
  ) -> RealTimeLimit? {
    guard C.self == ContinuousClock.self, RealTime.isCertain,
      let instant = instant as? ContinuousClock.Instant
    else { return nil }
    let deadline = RealTime.reading(of: instant)
    let allowed = deadline - RealTime.reading(of: .now)
    if allowed >= Duration.forEver.attoseconds { return nil }
    return RealTimeLimit(
      deadline: deadline, allowed: allowed, tolerance: (tolerance as? Duration)?.attoseconds)
  }

  /// Runs an operation, and makes a `TimeoutError` of what it throws when its time is over.
  nonisolated(nonsending) func run<Return: ~Copyable, Failure: Error>(
    name: String?, _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
  ) async throws -> Return {
    let outer = ActiveDeadline.current
    if let outer, isUseless(inside: outer) { return try await operation() }
    let deadline = RealTimeDeadline(at: deadline, tolerance, name: name, inside: outer)
    let place = UnsafeMutablePointer<Return>.allocate(capacity: 1)
    defer { place.deallocate() }
    if let error = await deadline.run(into: place, operation) {
      throw self.error(insteadOf: error, deadline)
    }
    return place.move()
  }

  /// Whether a deadline around this one does all that it could do.
  @inline(never)
  private func isUseless(inside outer: ActiveDeadline) -> Bool {
    let limit = limit(name: nil)
    return outer.covers(limit.instant, tolerance: limit.tolerance, on: limit.clock)
  }

  @inline(never)
  private func error(insteadOf error: any Error, _ deadline: RealTimeDeadline) -> any Error {
    deadline.interruption.error(insteadOf: error, limit(name: deadline.name))
  }

  private func limit(name: String?) -> TimeLimit<ContinuousClock> {
    TimeLimit(
      instant: RealTime.instant(deadline), allowed: Duration(attoseconds: allowed),
      tolerance: tolerance.map { Duration(attoseconds: $0) }, clock: ContinuousClock(), name: name)
  }
}

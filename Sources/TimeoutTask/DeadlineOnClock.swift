/// A deadline as an instant of a clock.
struct DeadlineOnClock<C: Clock>: Sendable {
  let clock: C

  /// When the deadline passes; `nil` if it never does.
  let instant: C.Instant?

  /// How much later than its instant the clock may let the deadline pass.
  let tolerance: C.Duration?

  /// Whether the instant may change.
  var isMovable = false

  /// The same, if it is on a clock whose instants can be compared with this one's.
  ///
  /// SE-0526 makes the system's clocks identifiable. They are not yet, but of each there is one.
  func reading<Other: Clock>(on other: Other) -> DeadlineOnClock<Other>? {
    guard let same = self as? DeadlineOnClock<Other> else { return nil }
    if C.self == ContinuousClock.self || C.self == SuspendingClock.self { return same }
    guard let clock = clock as? any Identifiable else { return nil }
    return haveEqualIDs(clock, other) ? same : nil
  }

  /// Runs an operation under the same deadline.
  nonisolated(nonsending) func reapply<Return>(
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return {
    guard let instant else { return try await operation() }
    var name: String?
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { name = Task.name }
    return try await withDeadline(
      instant, tolerance: tolerance, clock: clock, name: name, operation: operation)
  }
}

extension DeadlineOnClock where C == ContinuousClock {
  /// A deadline at an instant as `RealTime` reads it.
  static func inRealTime(_ reading: Int128, _ tolerance: Int128?) -> Self {
    Self(
      clock: ContinuousClock(), instant: RealTime.instant(reading),
      tolerance: tolerance.map { Duration(attoseconds: $0) })
  }
}

private func haveEqualIDs<First: Identifiable>(_ first: First, _ second: Any) -> Bool {
  first.id == (second as? First)?.id
}

/// A deadline that somebody else sees to.
final class FixedDeadline<C: Clock>: ActiveDeadline, @unchecked Sendable {
  private let deadline: DeadlineOnClock<C>

  init(_ deadline: DeadlineOnClock<C>) {
    self.deadline = deadline
    super.init(inside: nil)
  }

  override func reading<Other: Clock>(on other: Other) -> DeadlineOnClock<Other>? {
    deadline.reading(on: other)
  }

  override nonisolated(nonsending) func reapply<Return>(
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return {
    try await deadline.reapply(operation)
  }
}

/// A deadline on the `ContinuousClock` that somebody else sees to.
///
/// What it is made of is known to the compiler: an object of a generic class costs look-ups of types
/// when it ends.
final class FixedRealTimeDeadline: ActiveDeadline, @unchecked Sendable {
  /// The instant, as `RealTime` reads it, and the tolerance; in attoseconds.
  private let at: Int128
  private let tolerance: Int128?

  init(at: Int128, _ tolerance: Int128?) {
    self.at = at
    self.tolerance = tolerance
    super.init(inside: nil)
  }

  private var deadline: DeadlineOnClock<ContinuousClock> { .inRealTime(at, tolerance) }

  override func reading<Other: Clock>(on other: Other) -> DeadlineOnClock<Other>? {
    deadline.reading(on: other)
  }

  override nonisolated(nonsending) func reapply<Return>(
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return {
    try await deadline.reapply(operation)
  }
}

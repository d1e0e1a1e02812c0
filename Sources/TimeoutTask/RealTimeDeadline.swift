/// A deadline on the `ContinuousClock` that cancels an operation, where time is real: the timers that
/// all such deadlines share tell it that it has passed.
final class RealTimeDeadline: OperationDeadline, Alarm, @unchecked Sendable {
  /// The instant, as `RealTime` reads it, and the tolerance; in attoseconds.
  private let at: Int128
  private let tolerance: Int128?

  /// Written before the operation begins, and read after it has ended.
  private var ticket: TimerHeap.Ticket?

  init(at: Int128, _ tolerance: Int128?, name: String?, inside outer: ActiveDeadline?) {
    self.at = at
    self.tolerance = tolerance
    super.init(name: name, inside: outer)
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

  override func startTimer() {
    if at <= RealTime.reading(of: .now) { return pass(0, .deadlinePassed) }
    // From here on somebody may tell that it has passed, also before the operation begins.
    withUnsafeCurrentTask { task in state.withLock { $0.operation.willBegin(for: task) } }
    ticket = SharedTimers.shared.add(at: at, tolerance: tolerance, self)
  }

  override func stopTimer() {
    if let ticket { SharedTimers.shared.remove(ticket) }
  }

  func ring() { pass(0, .deadlinePassed) }
}

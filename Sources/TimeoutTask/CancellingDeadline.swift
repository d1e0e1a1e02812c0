/// A deadline on any clock that cancels an operation, and can be moved.
///
/// The timer is a task of its own and not a child of the operation's caller: a clock whose sleep
/// ignores cancellation must not keep the caller waiting. When the operation has ended the timer is
/// cancelled, and whatever it does afterwards is ignored.
final class CancellingDeadline<C: Clock>: OperationDeadline, @unchecked Sendable {
  let clock: C
  private let tolerance: C.Duration?
  private let canBeMoved: Bool

  /// When the deadline passes; `nil` if it never does. Guarded by the lock of `state`.
  private var guardedInstant: C.Instant?

  init(
    at instant: C.Instant?, tolerance: C.Duration?, on clock: C, name: String?,
    inside outer: ActiveDeadline?, isMovable: Bool = false
  ) {
    canBeMoved = isMovable
    guardedInstant = instant
    self.clock = clock
    self.tolerance = tolerance
    super.init(name: name, inside: outer)
  }

  var instant: C.Instant? { state.withLock { _ in guardedInstant } }

  private var deadline: DeadlineOnClock<C> {
    DeadlineOnClock(clock: clock, instant: instant, tolerance: tolerance, isMovable: canBeMoved)
  }

  override func reading<Other: Clock>(on other: Other) -> DeadlineOnClock<Other>? {
    deadline.reading(on: other)
  }

  override nonisolated(nonsending) func reapply<Return>(
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return {
    try await deadline.reapply(operation)
  }

  // MARK: - The timer

  override var hasTimerTask: Bool { true }

  override func startTimer() {
    if let instant { startTimer(0, until: instant) }
  }

  override func stopTimer() { cancelTimerTask() }

  /// Lets the deadline pass at an instant, or never, and forgets when it was to pass before.
  /// Returns `false` if it has passed already, or the operation has ended.
  ///
  /// When this returns the sleep is on the clock, or else the operation has been cancelled.
  func move(to instant: C.Instant?) -> Bool {
    let move: (number: Int, replaced: Task<Void, Never>?)? = state.withLock { state in
      guard state.isPending else { return nil }
      guardedInstant = instant
      state.timerNumber += 1
      defer { state.timer = nil }
      return (state.timerNumber, state.timer)
    }
    guard let move else { return false }
    move.replaced?.cancel()
    if let instant { startTimer(move.number, until: instant) }
    return true
  }

  private func startTimer(_ number: Int, until instant: C.Instant) {
    if instant <= clock.now { return pass(number, .deadlinePassed) }
    let timer = Task<Void, Never>.startingNow(name: timerName(for: name)) {
      [self, clock, tolerance] in
      do {
        try await clock.sleep(until: instant, tolerance: tolerance)
        if !Task.isCancelled { pass(number, .deadlinePassed) }
      } catch {
        if !Task.isCancelled { pass(number, .clockFailed(error)) }
      }
    }
    let isPresent = state.withLock { state in
      let isPresent = state.isPending && state.timerNumber == number
      if isPresent { state.timer = timer }
      return isPresent
    }
    if !isPresent { return timer.cancel() }
    // A clock that does not wait has come to the instant already, though its sleep may have been
    // suspended. The operation must see that from the beginning.
    if instant <= clock.now { pass(number, .deadlinePassed) }
  }
}

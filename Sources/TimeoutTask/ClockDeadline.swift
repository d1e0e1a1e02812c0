/// A fixed or movable deadline on any clock. Its timer is a task that sleeps on the clock.
final class ClockDeadline<C: Clock>: OperationDeadline, @unchecked Sendable {
  enum Kind: Sendable {
    /// A fixed deadline, and the time that its `TimeoutError` names.
    case fixed(allowed: C.Duration)
    /// A movable deadline, and the instant at which its operation began.
    case movable(since: C.Instant)
  }

  let clock: C
  private let kind: Kind
  private let tolerance: C.Duration?

  /// When the deadline passes; `nil` if it never does. Guarded by the lock of `state`.
  private var guardedInstant: C.Instant?

  /// The time at which the deadline was set, if its instant had passed by then. Guarded by the lock of `state`.
  private var guardedLateStart: C.Instant?

  init(
    at instant: C.Instant?, _ kind: Kind, tolerance: C.Duration?, on clock: C, name: String?,
    inside outer: ActiveDeadline?
  ) {
    guardedInstant = instant
    self.kind = kind
    self.clock = clock
    self.tolerance = tolerance
    super.init(name: name, inside: outer)
  }

  var instant: C.Instant? { state.withLock { _ in guardedInstant } }

  override var onClock: (any AnyDeadlineOnClock)? {
    let isMovable = if case .movable = kind { true } else { false }
    return DeadlineOnClock(
      clock: clock, instant: instant, tolerance: tolerance, isMovable: isMovable)
  }

  override func timeoutError(underlying error: any Error) -> TimeoutError {
    let allowed: C.Duration =
      switch kind {
      case .fixed(let allowed): allowed
      case .movable(let start): start.duration(to: instant ?? start)
      }
    let timeout = TimeoutError(timeout: allowed, operation: name, underlyingError: error)
    guard let instant else { return timeout }
    let cancelled = max(instant, state.withLock { _ in guardedLateStart } ?? instant)
    return timeout.goingOn(for: cancelled.duration(to: clock.now), allowed: allowed)
  }

  // MARK: - The timer

  override var hasTimerTask: Bool { true }

  override func startTimer() {
    if let instant { startTimer(0, until: instant) }
  }

  /// Replaces the instant and the timer. Returns `false` if the deadline has passed already, or the
  /// operation has ended.
  ///
  /// When the function returns, the new sleep is on the clock, or the operation has been cancelled.
  func move(to instant: C.Instant?) -> Bool {
    let move: (number: Int, replaced: Task<Void, Never>?)? = state.withLock { state in
      guard state.operation.isPending else { return nil }
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
    let now = clock.now
    if instant <= now {
      state.withLock { _ in guardedLateStart = now }
      return pass(.deadlinePassed, timer: number)
    }
    if number == 0 {
      // From here on the deadline may pass, even before the operation begins.
      withUnsafeCurrentTask { task in state.withLock { $0.operation.willBegin(for: task) } }
    }
    let timer = startTimerTask(until: instant, tolerance: tolerance, on: clock, for: name) {
      [self] in pass($0, timer: number)
    }
    let isCurrent = state.withLock { state in
      let isCurrent = state.operation.isPending && state.timerNumber == number
      if isCurrent { state.timer = timer }
      return isCurrent
    }
    if !isCurrent { return timer.cancel() }
    // On a clock that does not wait, such as an immediate clock, the deadline has passed now,
    // although the timer's task may still be suspended. The operation must begin cancelled.
    if instant <= clock.now { pass(.deadlinePassed, timer: number) }
  }
}

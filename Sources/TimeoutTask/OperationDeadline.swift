/// A deadline that cancels an operation when it passes.
///
/// A subclass has the timer: `RealTimeDeadline` or `ClockDeadline`.
class OperationDeadline: ActiveDeadline, @unchecked Sendable {
  struct State {
    var operation = InterruptibleOperation()
    /// The task that sleeps until the deadline, if there is one.
    var timer: Task<Void, Never>?
    /// The number of the current timer. Timers with another number have been replaced.
    var timerNumber = 0
  }

  /// While the lock of `state` is held, no continuation is resumed, no task cancelled and no clock called.
  let state = Guarded(State())

  /// The name of the operation.
  let name: String?

  init(name: String?, inside outer: ActiveDeadline?) {
    self.name = name
    super.init(inside: outer)
  }

  /// Returns a deadline that is `timeout` from now, or `nil` if it never passes or an outer
  /// deadline passes first.
  @_specialize(where C == ContinuousClock)
  static func after<C: Clock>(
    _ timeout: C.Duration, tolerance: C.Duration?, on clock: C, name: String?
  ) -> OperationDeadline? {
    if timeout.isForEver { return nil }
    return make(
      at: clock.now.after(timeout), allowed: timeout, tolerance: tolerance, on: clock, name: name)
  }

  /// Returns a deadline at an instant, or `nil` if it never passes or an outer deadline passes
  /// first.
  @_specialize(where C == ContinuousClock)
  static func at<C: Clock>(
    _ instant: C.Instant, tolerance: C.Duration?, on clock: C, name: String?
  ) -> OperationDeadline? {
    let instant = clock.withinReach(instant)
    let allowed = clock.now.duration(to: instant)
    if allowed.isForEver { return nil }
    return make(at: instant, allowed: allowed, tolerance: tolerance, on: clock, name: name)
  }

  /// Returns a deadline, or `nil` if a deadline around the current task is certain to pass first.
  private static func make<C: Clock>(
    at instant: C.Instant, allowed: C.Duration, tolerance: C.Duration?, on clock: C, name: String?
  ) -> OperationDeadline? {
    let outer = ActiveDeadline.current
    if let outer, outer.covers(instant, tolerance: tolerance, on: clock) {
      // An outer deadline that has passed may cancel only later. Without time left, the operation begins cancelled.
      if Task.isCancelled || clock.now < instant { return nil }
    }
    if let limit = RealTimeLimit.from(instant, allowed: allowed, tolerance: tolerance, on: clock) {
      return RealTimeDeadline(limit, name: name, inside: outer)
    }
    return ClockDeadline(
      at: instant, .fixed(allowed: allowed), tolerance: tolerance, on: clock, name: name,
      inside: outer)
  }

  // MARK: - For subclasses

  /// Whether the timer is a task, which has to stop when the caller is cancelled.
  var hasTimerTask: Bool { false }

  /// Starts the timer. Called once, before the operation can run.
  func startTimer() {}

  /// Stops the timer. Called when the operation has ended, and if the timer is a task, also when the
  /// caller is cancelled.
  func stopTimer() { state.withLock { $0.timer }?.cancel() }

  /// Returns the error for an operation that threw after the deadline had cancelled it.
  func timeoutError(underlying error: any Error) -> TimeoutError {
    TimeoutError(operation: name, underlyingError: error)
  }

  // MARK: - Passing

  /// Why this deadline cancelled the operation; `nil` if it did not.
  var interruption: Interruption? { state.withLock { $0.operation.interruption } }

  final override var hasPassed: Bool { interruption != nil || super.hasPassed }

  /// Cancels the operation, unless it has ended or the timer with this number has been replaced.
  final func pass(_ interruption: Interruption, timer number: Int = 0) {
    let task = state.withLock { state in
      state.timerNumber == number ? state.operation.interrupt(interruption) : nil
    }
    guard let task else { return }
    task.cancel()
    state.withLock { $0.operation.cancelled() }?.resume()
  }

  /// Returns the error to throw in place of the one that the operation threw.
  final func error(insteadOf error: any Error) -> any Error {
    switch interruption {
    case nil: error
    case .clockFailed(let clockError): clockError
    case .deadlinePassed: timeoutError(underlying: error)
    }
  }

  // MARK: - The operation

  /// Runs an operation under this deadline. Throws `TimeoutError` if the deadline made it throw.
  final func run<Return: ~Copyable, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
  ) async throws -> Return {
    let place = UnsafeMutablePointer<Return>.allocate(capacity: 1)
    defer { place.deallocate() }
    if let error = await run(into: place, operation) { throw self.error(insteadOf: error) }
    return place.move()
  }

  /// Runs an operation under this deadline. Returns `nil` if the deadline made it throw.
  final func runOrNil<Return: ~Copyable, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
  ) async throws(Failure) -> Return? {
    let place = UnsafeMutablePointer<Return>.allocate(capacity: 1)
    defer { place.deallocate() }
    if let error = await run(into: place, operation) {
      if case .deadlinePassed = interruption { return nil }
      guard let error = error as? Failure else {
        preconditionFailure("The operation threw an error that is not a \(Failure.self).")
      }
      throw error
    }
    return place.move()
  }

  /// Runs an operation under this deadline, stores its result at `place`, or returns its error.
  ///
  /// The result is stored in separate memory so that no type here depends on `Return`. A type that
  /// depends on `Return` is looked up at run time, which is slow.
  private func run<Return: ~Copyable, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    into place: UnsafeMutablePointer<Return>,
    _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
  ) async -> (any Error)? {
    nonisolated(unsafe) let place = place
    var failure: (any Error)?
    await run {
      do throws(Failure) {
        place.initialize(to: try await operation())
      } catch {
        failure = error
      }
    }
    return failure
  }

  /// Runs an operation in a child task, and returns when both have ended.
  ///
  /// As of Swift 6.3 only a whole task can be cancelled, and the caller's task must not be cancelled, so the
  /// operation needs its own task. The child runs in the caller's isolation while the caller is suspended, so
  /// nothing has to be `Sendable`. The compiler cannot see that, hence `nonisolated(unsafe)`.
  private func run(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async -> Void
  ) async {
    startTimer()
    await withoutActuallyEscaping(operation) { operation in
      // A closure that captures its context's isolated parameter is isolated to it.
      _ = isolation
      let child = child(operation)
      if hasTimerTask {
        await withTimerTask {
          _ = isolation
          await join(child)
        }
      } else {
        await join(child)
      }
    }
    stopTimer()
  }

  private func join(
    isolation: isolated (any Actor)? = #isolation,
    _ child: @escaping @isolated(any) () async -> Void
  ) async {
    // Only the child task calls the closure, so no two threads use it together. A cast to a `@Sendable` closure would
    // add a thunk to each call.
    nonisolated(unsafe) let child = child
    await withTaskGroup(of: Void.self, isolation: isolation) { group in
      #if compiler(>=6.3)
        group.addTask(name: name, operation: child)
      #else
        // The compiler of Swift 6.2 ignores `nonisolated(unsafe)` here.
        struct Child: @unchecked Sendable { let body: @isolated(any) () async -> Void }
        let sendable = Child(body: child)
        group.addTask(name: name) { await sendable.body() }
      #endif
      await group.next()
    }
  }

  /// Runs `body`. Cancelling or escalating the current task meanwhile also cancels or escalates the timer's task.
  ///
  /// The timer's task cannot be a child task: a clock whose sleep ignores cancellation would delay
  /// the caller.
  private func withTimerTask(
    isolation: isolated (any Actor)? = #isolation, _ body: () async -> Void
  ) async {
    await withTaskCancellationHandler {
      _ = isolation
      guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
        return await body()
      }
      await withTaskPriorityEscalationHandler {
        // The timer's task has the priority that the current task had before the handler was added.
        state.withLock { $0.timer }?.escalatePriority(to: Task.currentPriority)
        await body()
      } onPriorityEscalated: { _, priority in
        state.withLock { $0.timer }?.escalatePriority(to: priority)
      }
    } onCancel: {
      stopTimer()
    }
  }

  /// Returns the closure of the child task. The closure has the caller's isolation, so the task
  /// starts on the caller's actor.
  ///
  /// A `@Sendable` closure would not have that isolation, although it captures the isolated
  /// parameter.
  private func child(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) @escaping () async -> Void
  ) -> @isolated(any) () async -> Void {
    nonisolated(unsafe) let operation = operation
    return { [self] in
      _ = isolation
      begin()
      await governing {
        _ = isolation
        await operation()
      }
      if state.withLock({ $0.operation.end() }) { await waitForCancellation() }
    }
  }

  private func begin() {
    withUnsafeCurrentTask { task in
      let isInterrupted = state.withLock { $0.operation.begin(in: task) }
      if isInterrupted { task?.cancel() }
    }
  }

  private nonisolated(nonsending) func waitForCancellation() async {
    await withUnsafeContinuation { continuation in
      let waits = state.withLock { $0.operation.wait(continuation) }
      if !waits { continuation.resume() }
    }
  }
}

/// A deadline on the `ContinuousClock`, in real time: its timer is one of the shared timers.
///
/// A `ClockDeadline` would work, too, but would need a second task and a sleep of its own.
final class RealTimeDeadline: OperationDeadline, Alarm, @unchecked Sendable {
  private let limit: RealTimeLimit

  /// Written before the operation begins, and read after it has ended.
  private var ticket: TimerHeap.Ticket?

  init(_ limit: RealTimeLimit, name: String?, inside outer: ActiveDeadline?) {
    self.limit = limit
    super.init(name: name, inside: outer)
  }

  override var onClock: (any AnyDeadlineOnClock)? { limit.onClock }

  override func timeoutError(underlying error: any Error) -> TimeoutError {
    let allowed = Duration(attoseconds: limit.allowed)
    let overrun = Duration(attoseconds: RealTime.reading(of: .now) - limit.deadline)
    return TimeoutError(timeout: allowed, operation: name, underlyingError: error)
      .goingOn(for: overrun, allowed: allowed)
  }

  override func startTimer() {
    if limit.deadline <= RealTime.reading(of: .now) { return pass(.deadlinePassed) }
    // From here on the deadline may pass, even before the operation begins.
    withUnsafeCurrentTask { task in state.withLock { $0.operation.willBegin(for: task) } }
    ticket = SharedTimers.shared.add(limit, self)
  }

  override func stopTimer() {
    if let ticket { SharedTimers.shared.remove(ticket) }
  }

  func ring() { pass(.deadlinePassed) }
}

/// A deadline that cancels an operation when it passes.
///
/// The timer is a task of its own and not a child of the operation's caller: a clock whose sleep
/// ignores cancellation must not keep the caller waiting. When the operation has ended the timer is
/// cancelled, and whatever it does afterwards is ignored.
final class CancellingDeadline<C: Clock>: DeadlineOnClock<C>, @unchecked Sendable {
  private struct State {
    /// When the deadline passes; `nil` if it never does.
    var instant: C.Instant?
    /// The task that sleeps until then.
    var timer: Task<Void, Never>?
    /// Counts the timers, so that one that has been replaced can be told from the present one.
    var timerNumber = 0
    var operation = InterruptibleOperation()
    /// Whether the deadline can still be moved: it has not passed, nor has the operation ended.
    var isPending = true
  }

  /// Guards `state`. Nothing is resumed, cancelled or called while it is held.
  private let lock = Lock()
  private var state: State

  private let canBeMoved: Bool

  /// What is being done.
  private let name: String?

  init(
    at instant: C.Instant?, tolerance: C.Duration?, on clock: C, name: String?,
    inside outer: ActiveDeadline?, isMovable: Bool = false
  ) {
    canBeMoved = isMovable
    self.name = name
    state = State(instant: instant)
    super.init(at: instant, tolerance: tolerance, on: clock, inside: outer)
  }

  deinit { lock.destroy() }

  override var instant: C.Instant? { lock.withLock { state.instant } }
  override var isMovable: Bool { canBeMoved }

  /// What has cancelled the operation, if this deadline has.
  var interruption: Interruption? { lock.withLock { state.operation.interruption } }

  // MARK: - The timer

  /// Lets the deadline pass at an instant, or never, and forgets when it was to pass before.
  /// Returns `false` if it has passed already, or the operation has ended.
  ///
  /// When this returns the sleep is on the clock, or else the operation has been cancelled.
  func move(to instant: C.Instant?) -> Bool {
    let move: (number: Int, replaced: Task<Void, Never>?)? = lock.withLock {
      guard state.isPending else { return nil }
      state.instant = instant
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
    let isPresent = lock.withLock {
      let isPresent = state.isPending && state.timerNumber == number
      if isPresent { state.timer = timer }
      return isPresent
    }
    if !isPresent { return timer.cancel() }
    // A clock that does not wait has come to the instant already, though its sleep may have been
    // suspended. The operation must see that from the beginning.
    if instant <= clock.now { pass(number, .deadlinePassed) }
  }

  /// Cancels the operation, unless the timer is not the present one or the operation has ended.
  private func pass(_ number: Int, _ interruption: Interruption) {
    let task: UnsafeCurrentTask? = lock.withLock {
      guard state.isPending, state.timerNumber == number else { return nil }
      state.isPending = false
      return state.operation.interrupt(interruption)
    }
    guard let task else { return }
    task.cancel()
    lock.withLock { state.operation.cancelled() }?.resume()
  }

  private func cancelTimer() {
    lock.withLock { state.timer }?.cancel()
  }

  // MARK: - The operation

  /// Runs an operation, cancels it when the deadline passes, and returns when it has ended.
  ///
  /// The operation runs in a child task because, as of Swift 6.3, only a whole task can be
  /// cancelled, and the caller's must not be. That child runs in the caller's isolation while the
  /// caller is suspended, so the two never run at once: hence nothing has to be `Sendable`, and
  /// hence the places below that tell the compiler so.
  func run<Return: ~Copyable, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
  ) async -> Result<Return, Failure> {
    // Before the operation, so that the sleep is on the clock before the operation can run.
    if let instant { startTimer(0, until: instant) }
    let slot = ResultSlot<Return, Failure>()
    await withoutActuallyEscaping(operation) { operation in
      // A closure is isolated as its surroundings are if it captures their isolated parameter.
      _ = isolation
      let child = child(slot, operation)
      await withTimerInStep {
        _ = isolation
        await withTaskGroup(of: Void.self, isolation: isolation) { group in
          group.addTask(name: name, operation: child)
          await group.next()
        }
      }
    }
    cancelTimer()
    return slot.take()
  }

  /// Does for the timer what is done for a child task: cancels it with the current task, and raises
  /// its priority with the current task's.
  private func withTimerInStep(
    isolation: isolated (any Actor)? = #isolation, _ body: () async -> Void
  ) async {
    await withTaskCancellationHandler {
      _ = isolation
      guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
        return await body()
      }
      await withTaskPriorityEscalationHandler {
        await body()
      } onPriorityEscalated: { _, priority in
        lock.withLock { state.timer }?.escalatePriority(to: priority)
      }
    } onCancel: {
      cancelTimer()
    }
  }

  /// The child task's closure, isolated as the caller is, so that the task starts there.
  private func child<Return: ~Copyable, Failure: Error>(
    _ slot: ResultSlot<Return, Failure>,
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) @escaping () async throws(Failure) -> Return
  ) -> @isolated(any) @Sendable () async -> Void {
    nonisolated(unsafe) let slot = slot
    nonisolated(unsafe) let operation = operation
    return { [self] in
      _ = isolation
      begin()
      await governing {
        _ = isolation
        do throws(Failure) {
          slot.result = .success(try await operation())
        } catch {
          slot.result = .failure(error)
        }
      }
      await end()
    }
  }

  private func begin() {
    withUnsafeCurrentTask { task in
      let isInterrupted = lock.withLock { state.operation.begin(in: task) }
      if isInterrupted { task?.cancel() }
    }
  }

  private nonisolated(nonsending) func end() async {
    let mustWait = lock.withLock {
      state.isPending = false
      return state.operation.end()
    }
    if !mustWait { return }
    await withUnsafeContinuation { continuation in
      let waits = lock.withLock { state.operation.wait(continuation) }
      if !waits { continuation.resume() }
    }
  }
}

/// Carries the operation's result out of its child task; written there, read after the join.
private final class ResultSlot<Value: ~Copyable, Failure: Error> {
  var result: Result<Value, Failure>?

  /// Takes the result out, which can be done once, after the operation has ended.
  func take() -> Result<Value, Failure> {
    var taken: Result<Value, Failure>?
    swap(&taken, &result)
    guard let taken else { preconditionFailure("The operation has not ended.") }
    return taken
  }
}

/// A deadline that cancels an operation when it passes. Who tells it that it has passed is up to its
/// subclasses.
class OperationDeadline: ActiveDeadline, @unchecked Sendable {
  struct State {
    var operation = InterruptibleOperation()
    /// Whether the deadline can still be moved: it has not passed, nor has the operation ended.
    var isPending = true
    /// The task that sleeps until the deadline, if there is one.
    var timer: Task<Void, Never>?
    /// Counts the timers, so that one that has been replaced can be told from the present one.
    var timerNumber = 0
  }

  /// Nothing is resumed, cancelled or called under its lock.
  let state: Guarded<State>

  /// What is being done.
  let name: String?

  init(name: String?, inside outer: ActiveDeadline?) {
    self.name = name
    state = Guarded(State())
    super.init(inside: outer)
  }

  deinit { state.destroy() }

  /// What has cancelled the operation, if this deadline has.
  var interruption: Interruption? { state.withLock { $0.operation.interruption } }

  // MARK: - The timer

  /// Whether a task sleeps until the deadline: it has to be cancelled with the caller.
  var hasTimerTask: Bool { false }

  /// Called once, before the operation: the sleep has to be on the clock before that can run.
  func startTimer() {}

  /// Called once, when the operation has ended.
  func stopTimer() {}

  /// Cancels the operation, unless the timer is not the present one or the operation has ended.
  func pass(_ number: Int, _ interruption: Interruption) {
    let task: UnsafeCurrentTask? = state.withLock { state in
      guard state.isPending, state.timerNumber == number else { return nil }
      state.isPending = false
      return state.operation.interrupt(interruption)
    }
    guard let task else { return }
    task.cancel()
    state.withLock { $0.operation.cancelled() }?.resume()
  }

  final func cancelTimerTask() {
    state.withLock { $0.timer }?.cancel()
  }

  // MARK: - The operation

  /// Runs an operation, cancels it when the deadline passes, and returns when it has ended: the error
  /// that it has thrown, if any; otherwise its result is at `place`.
  ///
  /// The result has a place of its own so that nothing that is made here has a type which would first
  /// have to be looked up.
  final func run<Return: ~Copyable, Failure: Error>(
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

  /// Runs an operation, cancels it when the deadline passes, and returns when it has ended.
  ///
  /// The operation runs in a child task because, as of Swift 6.3, only a whole task can be
  /// cancelled, and the caller's must not be. That child runs in the caller's isolation while the
  /// caller is suspended, so the two never run at once: hence nothing has to be `Sendable`, and
  /// hence the places below that tell the compiler so.
  private func run(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async -> Void
  ) async {
    startTimer()
    await withoutActuallyEscaping(operation) { operation in
      // A closure is isolated as its surroundings are if it captures their isolated parameter.
      _ = isolation
      let child = child(operation)
      if hasTimerTask {
        await withTimerInStep {
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
    _ child: @escaping @isolated(any) @Sendable () async -> Void
  ) async {
    await withTaskGroup(of: Void.self, isolation: isolation) { group in
      group.addTask(name: name, operation: child)
      await group.next()
    }
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
        state.withLock { $0.timer }?.escalatePriority(to: priority)
      }
    } onCancel: {
      cancelTimerTask()
    }
  }

  /// The child task's closure, isolated as the caller is, so that the task starts there.
  private func child(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) @escaping () async -> Void
  ) -> @isolated(any) @Sendable () async -> Void {
    nonisolated(unsafe) let operation = operation
    return { [self] in
      _ = isolation
      begin()
      await governing {
        _ = isolation
        await operation()
      }
      await end()
    }
  }

  private func begin() {
    withUnsafeCurrentTask { task in
      let isInterrupted = state.withLock { $0.operation.begin(in: task) }
      if isInterrupted { task?.cancel() }
    }
  }

  private nonisolated(nonsending) func end() async {
    let mustWait = state.withLock { state in
      state.isPending = false
      return state.operation.end()
    }
    if mustWait { await waitForCancellation() }
  }

  private nonisolated(nonsending) func waitForCancellation() async {
    await withUnsafeContinuation { continuation in
      let waits = state.withLock { $0.operation.wait(continuation) }
      if !waits { continuation.resume() }
    }
  }
}

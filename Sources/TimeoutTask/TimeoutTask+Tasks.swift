extension TimeoutTask: Alarm {
  /// Starts the timer, then the work.
  ///
  /// The timer or the work may decide the outcome before both are stored in `outcome`. Then `startWork`
  /// cancels both. No task can wait for the outcome yet, because the initializer has not returned.
  ///
  /// Inlined, so that the compiler specializes it for the clock of `init(seconds:)`.
  @inline(__always)
  func start<C: Clock>(
    _ timeout: C.Duration, tolerance: C.Duration?, clock: C, priority: TaskPriority?,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    if timeout.isForEver {
      return startWork(with: nil, priority: priority, under: nil, operation: operation)
    }
    let instant = clock.now.after(timeout)
    guard timeout > .zero,
      let limit = RealTimeLimit.from(instant, allowed: timeout, tolerance: tolerance, on: clock)
    else {
      return startOnAnyClock(
        until: instant, allowed: timeout, tolerance: tolerance, clock: clock, priority: priority,
        operation: operation)
    }
    allowed = limit.allowed
    let ticket = SharedTimers.shared.add(limit, self)
    startWork(
      with: .shared(ticket), priority: priority, under: FixedDeadline(.realTime(limit)),
      operation: operation)
  }

  // This function is not inlined, so that callers on the `ContinuousClock` do not look up types that depend on `C`.
  @inline(never)
  private func startOnAnyClock<C: Clock>(
    until instant: C.Instant, allowed timeout: C.Duration, tolerance: C.Duration?, clock: C,
    priority: TaskPriority?, operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    var timer: Timer?
    if timeout > .zero {
      let task = startTimerTask(until: instant, tolerance: tolerance, on: clock, for: name) {
        [self] ended in
        switch ended {
        case .deadlinePassed: timeOut(TimeoutError(timeout: timeout, operation: name))
        case .clockFailed(let error): timeOut(error)
        }
      }
      timer = .task(task)
    }
    // On a clock that does not wait, such as an immediate clock, the timeout has passed now, although the timer's task
    // may still be suspended. Or its sleep has ended, although the clock's time has not moved. The work must begin
    // cancelled.
    let isTooLate = timeout <= .zero || instant <= clock.now
    if isTooLate { outcome.decide(.failure(TimeoutError(timeout: timeout, operation: name))) }
    let deadline = DeadlineOnClock(clock: clock, instant: instant, tolerance: tolerance)
    startWork(
      with: timer, priority: priority, under: FixedDeadline(.onClock(deadline)),
      beginsCancelled: isTooLate || outcome.isDecided, operation: operation)
  }

  /// Called by the shared timers when the deadline has passed.
  func ring() {
    timeOut(TimeoutError(timeout: Duration(attoseconds: allowed), operation: name))
  }

  /// Offers an error as the outcome, and cancels the work after the waiters have the error.
  private func timeOut(_ error: any Error) {
    // The waiters have been resumed, but may not have run yet, and cancelling the work here would
    // run its cancellation handlers before them. Where jobs run one at a time, a new task runs
    // after the waiters.
    guard let decision = outcome.decide(.failure(error)), let work = decision.work else { return }
    if decision.hadWaiters { Task { work.cancel() } } else { work.cancel() }
  }

  /// Starts the work, and offers its result or error as the outcome; see `startingIsolated(as:_:)`.
  ///
  /// If `beginsCancelled`, the task cancels itself before `operation` begins. The caller could
  /// cancel the task only later, when `operation` may be running already.
  private func startWork(
    with timer: Timer?, priority: TaskPriority?, under deadline: ActiveDeadline?,
    beginsCancelled: Bool = false,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    // Safe, because the current task no longer uses the operation: only the new task does.
    nonisolated(unsafe) let operation = operation
    // The closure captures an integer, because the compiler does not know the layout of `TaskPriority`.
    let priority = priority?.rawValue
    let work = startingIsolated(as: operation.isolation) { [self] isolation in
      Task<Void, Never>(name: name, priority: priority.map { TaskPriority(rawValue: $0) }) {
        _ = isolation
        if beginsCancelled { withUnsafeCurrentTask { $0?.cancel() } }
        // The result is stored in separate memory so that no type here depends on `Success`. A type
        // that depends on `Success` is looked up at run time, which is slow.
        nonisolated(unsafe) let place = UnsafeMutablePointer<Success>.allocate(capacity: 1)
        var failure: (any Error)?
        await ActiveDeadline.governing(deadline) {
          _ = isolation
          do {
            place.initialize(to: try await operation())
          } catch {
            failure = error
          }
        }
        workEnded(place, failure)
      }
    }
    let isInTime = outcome.keep(Running(timer: timer, work: work))
    if isInTime { return }
    timer?.cancel()
    work.cancel()
  }

  /// Offers the work's error, or the result at `place`, as the outcome. Takes ownership of `place`.
  private func workEnded(_ place: UnsafeMutablePointer<Success>, _ failure: (any Error)?) {
    if let failure {
      place.deallocate()
      if outcome.decide(.failure(failure)) == nil { cameLate(failure) }
    } else if outcome.decide(.success(place)) == nil {
      cameLate(place)
    }
  }

  // Not inlined, so that only a late result looks up the type of the argument of `onLateResult` at run time.

  @inline(never)
  private func cameLate(_ failure: any Error) {
    onLateResult?(.failure(failure))
  }

  @inline(never)
  private func cameLate(_ place: UnsafeMutablePointer<Success>) {
    onLateResult?(.success(place.pointee))
    place.deinitialize(count: 1)
    place.deallocate()
  }
}

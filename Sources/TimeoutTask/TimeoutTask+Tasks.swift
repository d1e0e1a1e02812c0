extension TimeoutTask: Alarm {
  /// Starts the timer, then the work: the sleep is on the clock before the work can run.
  ///
  /// The tasks are remembered together. An outcome may win before that; its tasks are then
  /// cancelled here, and nobody can know of the outcome yet, because the initializer has not
  /// returned.
  func start<C: Clock>(
    _ timeout: C.Duration, tolerance: C.Duration?, clock: C, priority: TaskPriority?,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    if let limit = RealTimeLimit.from(timeout: timeout, tolerance: tolerance, clock: clock),
      limit.allowed > 0
    {
      start(limit, priority: priority, operation: operation)
    } else {
      startOnAnyClock(
        timeout, tolerance: tolerance, clock: clock, priority: priority, operation: operation)
    }
  }

  /// Apart, because the types that depend on the clock's have to be looked up.
  @inline(never)
  func startOnAnyClock<C: Clock>(
    _ timeout: C.Duration, tolerance: C.Duration?, clock: C, priority: TaskPriority?,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    if timeout.isForEver {
      return startWork(with: nil, priority: priority, under: nil, operation: operation)
    }
    let now = clock.now
    let instant = timeout > .zero ? now.advanced(by: timeout) : now
    let timer =
      timeout > .zero
      ? Timer.task(startTimer(until: instant, timeout, tolerance: tolerance, clock: clock)) : nil
    // A clock that does not wait has come to the instant already, though its sleep may have been
    // suspended. The work must see that from the beginning.
    let isTooLate = timeout <= .zero || instant <= clock.now
    if isTooLate { contest.decide(.failure(TimeoutError(timeout: timeout, operation: name))) }
    let deadline = FixedDeadline(
      DeadlineOnClock(clock: clock, instant: instant, tolerance: tolerance))
    startWork(
      with: timer, priority: priority, under: deadline, beginsCancelled: isTooLate,
      operation: operation)
  }

  /// Starts on the `ContinuousClock`, whose time is real: the timers that all share wait.
  func start(
    _ limit: RealTimeLimit, priority: TaskPriority?,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    allowed = limit.allowed
    let ticket = SharedTimers.shared.add(at: limit.deadline, tolerance: limit.tolerance, self)
    startWork(
      with: .shared(ticket), priority: priority,
      under: FixedRealTimeDeadline(at: limit.deadline, limit.tolerance), operation: operation)
  }

  /// Registers the timer on its clock; it offers the outcome when it is due.
  private func startTimer<C: Clock>(
    until instant: C.Instant, _ timeout: C.Duration, tolerance: C.Duration?, clock: C
  ) -> Task<Void, Never> {
    Task<Void, Never>.startingNow(name: timerName(for: name)) { [self] in
      do {
        try await clock.sleep(until: instant, tolerance: tolerance)
        timeOut(.failure(TimeoutError(timeout: timeout, operation: name)))
      } catch {
        // If this is our own cancellation of the timer, an outcome has won, and this is none.
        timeOut(.failure(error))
      }
    }
  }

  /// The shared timers say that the deadline has passed.
  func ring() {
    timeOut(.failure(TimeoutError(timeout: Duration(attoseconds: allowed), operation: name)))
  }

  /// Offers the timer's outcome, and cancels the work after the waiters were told.
  private func timeOut(_ outcome: Outcome) {
    // By the time they are resumed the waiters have not run yet, and cancelling runs the work's
    // cancellation handlers here and now. Where jobs run one at a time, a job that is enqueued
    // after the waiters' is what comes after them.
    guard let decision = contest.decide(outcome), let work = decision.work else { return }
    if decision.hadWaiters { Task { work.cancel() } } else { work.cancel() }
  }

  /// Starts the work, whose end is offered as the outcome; see `startingIsolated(as:_:)`.
  ///
  /// If `beginsCancelled`, the task cancels itself before `operation` begins. Whoever starts it
  /// could do so afterwards only, when `operation` may be running already.
  private func startWork(
    with timer: Timer?, priority: TaskPriority?, under deadline: ActiveDeadline?,
    beginsCancelled: Bool = false,
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    // Used by the one new task only.
    nonisolated(unsafe) let operation = operation
    // A number, and not a type whose layout the compiler does not know.
    let priority = priority?.rawValue
    let work = startingIsolated(as: operation.isolation) { [self] isolation in
      Task<Void, Never>(name: name, priority: priority.map { TaskPriority(rawValue: $0) }) {
        _ = isolation
        if beginsCancelled { withUnsafeCurrentTask { $0?.cancel() } }
        // The result has a place of its own from the beginning: nothing that is made here has a type
        // that would first have to be looked up for `Success`.
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
    let isInTime = contest.keep(Running(timer: timer, work: work))
    if isInTime { return }
    timer?.cancel()
    work.cancel()
  }

  /// Offers what came of the work: an error, or what is at `place`, which is given up here.
  private func workEnded(_ place: UnsafeMutablePointer<Success>, _ failure: (any Error)?) {
    if let failure {
      place.deallocate()
      if contest.decide(.failure(failure)) == nil { cameLate(failure) }
    } else if contest.decide(.success(place)) == nil {
      cameLate(place)
    }
  }

  // Apart, because the type of what is handed over has to be looked up.

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

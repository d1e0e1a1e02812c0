// The executors that replace the runtime's default executor and main executor, on Linux with Swift 6.3 or
// later.

#if os(Linux) && compiler(>=6.3)
  import Dispatch
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

  extension RuntimeHooks {
    static func replaceExecutors() {
      _ = (priorMain, priorScheduling)
      _createExecutors(factory: SPIExecutorFactory.self)
    }

    fileprivate static let priorMain: any MainExecutor = MainActor.executor
    fileprivate static let priorScheduling = PriorExecutors.pool as? any SchedulingExecutor

    /// Passes an unowned job on with its delay: to the prior executor, or to Dispatch if that executor cannot sleep.
    fileprivate static func passOn<D: DurationProtocol>(
      _ job: UnownedJob, after delay: @autoclosure () -> D,
      by prior: (any SchedulingExecutor, UnownedJob) -> Void
    ) {
      if captureDelayed(job) { return }
      guard let priorScheduling else {
        return runElsewhere(job, after: delay() as? Duration ?? .zero)
      }
      // Dispatch would end the sleep on a thread of the pool, and a test that was abandoned may hold all of these.
      if PriorExecutors.areDispatch, isPoolBlocked.load(ordering: .acquiring),
        let delay = delay() as? Duration
      {
        return runElsewhere(job, after: delay)
      }
      noteRealSleep(
        job, for: delay() as? Duration, isOfDispatch: PriorExecutors.areDispatch)
      prior(priorScheduling, job)
    }
  }

  extension ClockKind {
    /// `nil` if the runtime does not provide the clock.
    fileprivate static func of<C: Clock>(_: C) -> ClockKind? {
      if C.self == ContinuousClock.self { return .continuous }
      return C.self == SuspendingClock.self ? .suspending : nil
    }
  }

  private struct SPIExecutorFactory: ExecutorFactory {
    static let mainExecutor: any MainExecutor = SPIMainExecutor()
    static let defaultExecutor: any TaskExecutor = SPIDefaultExecutor()
  }

  // No method of the two executors reads `self`. The runtime stores an executor as two words, an object and a
  // table of its methods. While thread A replaces both, thread B may read the old object with the new table, or
  // the reverse. Every such pair works, because neither our methods nor those of the platform's executors read
  // the object.

  private final class SPIDefaultExecutor: TaskExecutor, SchedulingExecutor {
    func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .pool) }

    func enqueue(_ job: consuming ExecutorJob) {
      RuntimeHooks.jobEnqueued(UnownedJob(job), on: .pool)
    }

    /// The runtime never calls this. Custom executors that delay their jobs do.
    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      let task = RuntimeHooks.delayedTask(job) ?? UnownedTask.current
      let kind = ClockKind.of(clock)
      if RuntimeHooks.delayVirtually(job, of: task, kind, { _ in delay as? Duration }) { return }
      RuntimeHooks.passOn(job, after: delay) {
        $0.enqueue(ExecutorJob($1), after: delay, tolerance: tolerance, clock: clock)
      }
    }

    /// The runtime calls this to end a sleep of the current task. A custom executor that delays its jobs
    /// calls it with the job of another task.
    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      let isVirtual = RuntimeHooks.delayVirtually(
        job, of: RuntimeHooks.sleeper(job), ClockKind.of(clock)
      ) { owner in
        // Both clocks of the runtime have these durations. A dynamic cast would take longer.
        let delay = unsafeBitCast(clock.now.duration(to: instant), to: Duration.self)
        return RuntimeHooks.intendedDelay(delay, of: owner)
      }
      if isVirtual { return }
      RuntimeHooks.passOn(job, after: clock.now.duration(to: instant)) {
        $0.enqueue(ExecutorJob($1), at: instant, tolerance: tolerance, clock: clock)
      }
    }
  }

  private final class SPIMainExecutor: MainExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      RuntimeHooks.jobEnqueued(UnownedJob(job), on: .main)
    }

    func run() throws { try RuntimeHooks.priorMain.run() }

    func stop() { RuntimeHooks.priorMain.stop() }

    func checkIsolated() { RuntimeHooks.priorMain.checkIsolated() }
  }
#endif

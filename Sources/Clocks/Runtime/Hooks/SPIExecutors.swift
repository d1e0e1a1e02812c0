// The executors through which every job comes, on Linux with Swift 6.3 or later: ours take the places
// of the runtime's default executor and main executor, and hand on what belongs to nobody.

#if os(Linux) && compiler(>=6.3)
  import Dispatch
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

  extension RuntimeHooks {
    static func replaceExecutors() {
      _ = (priorMain, priorScheduling)
      _createExecutors(factory: SPIExecutorFactory.self)
    }

    /// The executors that were there before.
    fileprivate static let priorMain: any MainExecutor = MainActor.executor
    fileprivate static let priorScheduling = PriorExecutors.pool as? any SchedulingExecutor

    // MARK: Sleeps that nobody injected

    /// Takes over a job that is to run at an instant of a clock of the runtime's, if the time of the
    /// task that waits for it is virtual.
    ///
    /// This is how the runtime wakes a sleep of the current task. An executor of somebody's that
    /// delays its jobs comes here with one of a task on its way there, which is not the current one.
    fileprivate static func delayVirtually<C: Clock>(
      _ job: UnownedJob, until instant: @autoclosure () -> C.Instant, clock: C
    ) -> Bool {
      guard let task = UnownedTask.current ?? delayedTask(job), let owner = virtualOwner(of: task)
      else { return false }
      var delay = clock.now.duration(to: instant()) as? Duration
      if let measured = delay { delay = meantDelay(measured, of: owner) }
      return self.delay(job, of: task, by: delay, clock: clock, in: owner)
    }

    /// Takes over a job that is to run after a while, if the time of its task is virtual.
    ///
    /// The runtime itself does not ask for that, only an executor of somebody's that delays its jobs.
    fileprivate static func delayVirtually<C: Clock>(
      _ job: UnownedJob, for delay: C.Duration, clock: C
    ) -> Bool {
      guard let task = delayedTask(job) ?? UnownedTask.current,
        let owner = virtualOwner(of: task)
      else { return false }
      return self.delay(job, of: task, by: delay as? Duration, clock: clock, in: owner)
    }

    private static func delay<C: Clock>(
      _ job: UnownedJob, of task: UnownedTask, by delay: Duration?, clock: C,
      in owner: TaskOwner
    ) -> Bool {
      guard let delay else { return false }
      let kind: ClockKind
      switch clock {
      case is ContinuousClock: kind = .continuous
      case is SuspendingClock: kind = .suspending
      default: return false
      }
      owner.enqueue(DelayedJob(job: job, task: task.job, delay: delay, clock: kind))
      return true
    }

    /// Has a foreign job run later by the executor that was there before, or by Dispatch if that one
    /// cannot sleep.
    fileprivate static func handOn<D: DurationProtocol>(
      _ job: UnownedJob, after delay: @autoclosure () -> D,
      by prior: (any SchedulingExecutor, UnownedJob) -> Void
    ) {
      if delayStep(job) { return }
      guard let priorScheduling else {
        return runElsewhere(job, after: delay() as? Duration ?? .zero)
      }
      noteRealSleep(job, for: delay() as? Duration)
      prior(priorScheduling, job)
    }

    fileprivate static func arriveOnPool(_ job: UnownedJob) { jobEnqueued(job, on: .pool) }
    fileprivate static func arriveOnMain(_ job: UnownedJob) { jobEnqueued(job, on: .main) }
  }

  private struct SPIExecutorFactory: ExecutorFactory {
    static let mainExecutor: any MainExecutor = SPIMainExecutor()
    static let defaultExecutor: any TaskExecutor = SPIDefaultExecutor()
  }

  // Why no method of the two executors reads `self`: the runtime keeps an executor as two words, an
  // object and a table of its methods, and other threads may read the one before and the other
  // after we replaced them. Whichever pair they get, the method that they call does the right
  // thing, for ours never look at the object, and those of the platform's executors do not either.

  private final class SPIDefaultExecutor: TaskExecutor, SchedulingExecutor {
    func enqueue(_ job: UnownedJob) { RuntimeHooks.arriveOnPool(job) }

    func enqueue(_ job: consuming ExecutorJob) { RuntimeHooks.arriveOnPool(UnownedJob(job)) }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      if RuntimeHooks.delayVirtually(job, for: delay, clock: clock) { return }
      RuntimeHooks.handOn(job, after: delay) {
        $0.enqueue(ExecutorJob($1), after: delay, tolerance: tolerance, clock: clock)
      }
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      if RuntimeHooks.delayVirtually(job, until: instant, clock: clock) { return }
      RuntimeHooks.handOn(job, after: clock.now.duration(to: instant)) {
        $0.enqueue(ExecutorJob($1), at: instant, tolerance: tolerance, clock: clock)
      }
    }
  }

  private final class SPIMainExecutor: MainExecutor {
    func enqueue(_ job: consuming ExecutorJob) { RuntimeHooks.arriveOnMain(UnownedJob(job)) }

    func run() throws { try RuntimeHooks.priorMain.run() }

    func stop() { RuntimeHooks.priorMain.stop() }

    func checkIsolated() { RuntimeHooks.priorMain.checkIsolated() }
  }
#endif

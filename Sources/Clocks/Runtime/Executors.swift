// The executors through which every job comes, on Linux with Swift 6.3 or later: ours take the places
// of the runtime's default executor and main executor, and hand on what belongs to nobody.

#if os(Linux) && compiler(>=6.3)
  internal import CDispatch
  import Dispatch
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
#endif

#if os(Linux) && compiler(>=6.3)
  extension RuntimeDoor {
    static func replaceExecutors() {
      _ = (priorMain, priorDefault, priorScheduling)
      _createExecutors(factory: DoorFactory.self)
    }

    /// The executors that were there before.
    fileprivate static let priorMain: any MainExecutor = MainActor.executor
    fileprivate static let priorDefault: any TaskExecutor = Task.defaultExecutor
    fileprivate static let priorScheduling = priorDefault as? any SchedulingExecutor
    fileprivate static var sleepingExecutor: any SchedulingExecutor {
      guard let priorScheduling else {
        fatalError("Clocks: the default executor of this process, \(priorDefault), cannot sleep.")
      }
      return priorScheduling
    }
    /// Whether those executors are the platform's own and hand their jobs to Dispatch.
    private static let priorIsDispatch =
      _typeName(type(of: priorDefault)) == "Swift.DispatchGlobalTaskExecutor"
      && _typeName(type(of: priorMain)) == "Swift.DispatchMainExecutor"

    /// Hands a foreign job to where it would have gone without us.
    ///
    /// The platform's executors do nothing but hand a job to Dispatch, so that is what is done here
    /// as well, with two differences: we see when the job has ended; and the queues are Dispatch's
    /// own, which get a new thread when one is blocked, and not the platform's, which have as many
    /// as there are cores: a test that blocks its thread keeps no other test from running, nor us
    /// from saying so. Executors that somebody else installed get the job as it is.
    static func runElsewhere(_ job: UnownedJob, on lane: Lane) {
      guard priorIsDispatch else {
        switch lane {
        case .pool: priorDefault.enqueue(job)
        case .main: priorMain.enqueue(ExecutorJob(job))
        }
        return
      }
      // With a function and a pointer, as the platform does it, and not with a closure: that takes
      // no memory of its own.
      let pointer = unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
      let isCounted = TaskOwnership.shared.foreignJobWillRun()
      switch lane {
      case .pool where isCounted:
        dispatch_async_f(poolQueue(for: job.priority), pointer) {
          RuntimeDoor.runForeign(
            unsafeBitCast($0, to: UnownedJob.self), on: .pool, isCounted: true)
        }
      case .pool:
        dispatch_async_f(poolQueue(for: job.priority), pointer) {
          RuntimeDoor.runForeign(unsafeBitCast($0, to: UnownedJob.self), on: .pool)
        }
      case .main where isCounted:
        dispatch_async_f(dispatch_get_main_queue(), pointer) {
          RuntimeDoor.runForeign(
            unsafeBitCast($0, to: UnownedJob.self), on: .main, isCounted: true)
        }
      case .main:
        dispatch_async_f(dispatch_get_main_queue(), pointer) {
          RuntimeDoor.runForeign(unsafeBitCast($0, to: UnownedJob.self), on: .main)
        }
      }
    }

    /// The queue of the class of quality (`sys/qos.h`) whose number the priority is.
    private static func poolQueue(for priority: JobPriority) -> dispatch_queue_t {
      let quality =
        switch priority.rawValue {
        case 33...: 33
        case 25...: 25
        case 18...: 21
        case 10...: 17
        case 1...: 9
        default: 21
        }
      return dispatch_get_global_queue(quality, 0)
    }

    // MARK: Sleeps that nobody injected

    /// Takes over a job that is to run at an instant of a clock of the runtime's, if the time of the
    /// task that waits for it is virtual.
    ///
    /// This is how the runtime wakes a sleep of the current task. An executor of somebody's that
    /// delays its jobs comes here with one of a task on its way there, which is not the current one.
    fileprivate static func delayVirtually<C: Clock>(
      _ job: UnownedJob, until instant: @autoclosure () -> C.Instant, clock: C
    ) -> Bool {
      guard let task = TaskReference.current ?? delayedTask(job), let owner = virtualOwner(of: task)
      else { return false }
      return delay(job, of: task, by: clock.now.duration(to: instant()), clock: clock, in: owner)
    }

    /// Takes over a job that is to run after a while, if the time of its task is virtual.
    ///
    /// The runtime itself does not ask for that, only an executor of somebody's that delays its jobs.
    fileprivate static func delayVirtually<C: Clock>(
      _ job: UnownedJob, for delay: C.Duration, clock: C
    ) -> Bool {
      guard let task = delayedTask(job) ?? TaskReference.current,
        let owner = virtualOwner(of: task)
      else { return false }
      return self.delay(job, of: task, by: delay, clock: clock, in: owner)
    }

    /// The task that a job is; `nil` if it is no task.
    private static func delayedTask(_ job: UnownedJob) -> TaskReference? {
      taskID(of: job) == 0 ? nil : TaskReference(job: job)
    }

    /// The owner of a task that is the current one or about to be delayed, if its time is virtual.
    private static func virtualOwner(of task: TaskReference) -> TaskOwner? {
      guard !TaskOwnership.shared.isEmpty else { return nil }
      let running = runningOwner
      let owner =
        task.id == TaskReference.currentID
        ? running : TaskOwnership.shared.owner(ofReadyJob: task.id, on: running).owner
      return owner?.isVirtual == true ? owner : nil
    }

    private static func delay<C: Clock>(
      _ job: UnownedJob, of task: TaskReference, by delay: C.Duration, clock: C,
      in owner: TaskOwner
    ) -> Bool {
      guard let delay = delay as? Duration else { return false }
      let kind: ClockKind
      switch clock {
      case is ContinuousClock: kind = .continuous
      case is SuspendingClock: kind = .suspending
      default: return false
      }
      owner.enqueue(DelayedJob(job: job, task: task.job, delay: delay, clock: kind))
      return true
    }

    fileprivate static func arriveOnPool(_ job: UnownedJob) { arrive(job, on: .pool) }
    fileprivate static func arriveOnMain(_ job: UnownedJob) { arrive(job, on: .main) }
  }

  private struct DoorFactory: ExecutorFactory {
    static let mainExecutor: any MainExecutor = DoorMainExecutor()
    static let defaultExecutor: any TaskExecutor = DoorExecutor()
  }

  // Why no method of the two executors reads `self`: the runtime keeps an executor as two words, an
  // object and a table of its methods, and other threads may read the one before and the other
  // after we replaced them. Whichever pair they get, the method that they call does the right
  // thing, for ours never look at the object, and those of the platform's executors do not either.

  private final class DoorExecutor: TaskExecutor, SchedulingExecutor {
    func enqueue(_ job: UnownedJob) { RuntimeDoor.arriveOnPool(job) }

    func enqueue(_ job: consuming ExecutorJob) { RuntimeDoor.arriveOnPool(UnownedJob(job)) }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      if RuntimeDoor.delayVirtually(job, for: delay, clock: clock) { return }
      RuntimeDoor.sleepingExecutor.enqueue(
        ExecutorJob(job), after: delay, tolerance: tolerance, clock: clock)
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      if RuntimeDoor.delayVirtually(job, until: instant, clock: clock) { return }
      RuntimeDoor.sleepingExecutor.enqueue(
        ExecutorJob(job), at: instant, tolerance: tolerance, clock: clock)
    }
  }

  private final class DoorMainExecutor: MainExecutor {
    func enqueue(_ job: consuming ExecutorJob) { RuntimeDoor.arriveOnMain(UnownedJob(job)) }

    func run() throws { try RuntimeDoor.priorMain.run() }

    func stop() { RuntimeDoor.priorMain.stop() }

    func checkIsolated() { RuntimeDoor.priorMain.checkIsolated() }
  }
#endif

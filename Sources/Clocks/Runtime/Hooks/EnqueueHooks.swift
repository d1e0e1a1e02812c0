import ClocksSupport

// If a hook is set, the runtime calls it in place of the function in the hook's name, and passes that function
// as an argument. A hook is one pointer, which is written atomically: a thread that reads it finds our function
// or none.
//
// | hook (all since Swift 5.5 except where noted) | called for |
// |---|---|
// | `enqueueGlobal` | a job on the default executor; since 6.2 not for `Task.yield` |
// | `enqueueGlobalWithDelay`, `…WithDeadline` | a sleep; since 6.2 only for executors that cannot sleep |
// | `enqueueMainExecutor` | a job on the main actor, in some runtimes |
// | `getMainExecutor`, `isMainExecutor` (6.1) | the main actor's executor |
//
// Hooks are `@convention(thin)`: the runtime calls them by Swift's calling convention, without a context.

extension RuntimeHooks {
  typealias EnqueueHook =
    @convention(thin) (UnownedJob, @convention(thin) (UnownedJob) -> Void) -> Void
  private typealias DelayHook =
    @convention(thin) (UInt64, UnownedJob, @convention(thin) (UInt64, UnownedJob) -> Void) -> Void
  private typealias Deadline =
    @convention(thin) (Int64, Int64, Int64, Int64, CInt, UnownedJob) -> Void
  private typealias DeadlineHook =
    @convention(thin) (Int64, Int64, Int64, Int64, CInt, UnownedJob, Deadline) -> Void
  private typealias GetMainHook =
    @convention(thin) (@convention(thin) () -> UnownedSerialExecutor) -> UnownedSerialExecutor
  private typealias IsMain = @convention(thin) (UnownedSerialExecutor) -> Bool
  private typealias IsMainHook = @convention(thin) (UnownedSerialExecutor, IsMain) -> Bool

  static func slot<Hook>(_ name: String, of _: Hook.Type) -> UnsafeMutablePointer<Hook>? {
    RuntimeSymbol.address(of: "swift_task_\(name)_hook")?.assumingMemoryBound(to: Hook.self)
  }

  static func setHooks() -> Bool {
    guard let enqueue = slot("enqueueGlobal", of: EnqueueHook?.self), setDelayHooks() else {
      return false
    }
    if JobHook.now != 0 {
      Terminal.writeLine(
        """
        warning: another library has set the runtime's hook for jobs. The hook strategy of Clocks needs that \
        hook, so this process no longer calls the other library's.
        """)
    }
    _ = (poolExecutor, mainExecutor, mainReference)
    enqueue.pointee = { job, _ in RuntimeHooks.jobEnqueued(job, on: .pool) }
    slot("enqueueMainExecutor", of: EnqueueHook?.self)?.pointee = { job, _ in
      RuntimeHooks.jobEnqueued(job, on: .main)
    }
    return true
  }

  /// Sets the hooks for sleeps, and returns whether both exist.
  ///
  /// The hooks also tell other code that sleeps may take no real time. A library with timers of its own, such
  /// as TimeoutTask, then does not use its timers.
  @discardableResult
  static func setDelayHooks() -> Bool {
    guard
      let afterDelay = slot("enqueueGlobalWithDelay", of: DelayHook?.self),
      let atDeadline = slot("enqueueGlobalWithDeadline", of: DeadlineHook?.self)
    else { return false }
    // The hooks never call the runtime's own functions, which would ask the default executor to sleep. That
    // executor is ours, and cannot sleep.
    afterDelay.pointee = { nanoseconds, job, _ in
      RuntimeHooks.delay(job, by: .nanoseconds(Int64(clamping: nanoseconds)))
    }
    atDeadline.pointee = {
      seconds, nanoseconds, _, _, clock, job, _ in
      let deadline: Duration = .seconds(seconds) + .nanoseconds(nanoseconds)
      RuntimeHooks.delay(job, until: deadline, clock: clock)
    }
    return true
  }

  /// Sets the hooks by which the runtime finds the main actor's executor, and returns whether that worked.
  static func setMainHooks() -> Bool {
    guard
      let getMain = slot("getMainExecutor", of: GetMainHook?.self),
      let isMain = slot("isMainExecutor", of: IsMainHook?.self)
    else { return false }
    // The prior executor must still count as the main actor's, for code that kept a reference to it.
    isMain.pointee = { executor, original in
      ExecutorWords(executor).object == ExecutorWords(RuntimeHooks.mainReference).object
        || original(executor)
    }
    getMain.pointee = { _ in RuntimeHooks.mainReference }
    return true
  }

  @_silgen_name("swift_get_time")
  private static func readClock(
    _ seconds: UnsafeMutablePointer<Int64>, _ nanoseconds: UnsafeMutablePointer<Int64>,
    _ clock: CInt)

  /// Delays the job that ends a `Task.sleep(nanoseconds:)`.
  private static func delay(_ job: UnownedJob, by delay: Duration) {
    // The runtime measures this delay by the clock that also runs while the system sleeps.
    if delayVirtually(job, of: sleeper(job), .continuous, { _ in delay }) { return }
    runElsewhere(job, after: delay)
  }

  /// Delays the job that ends any other sleep on the runtime's clocks.
  private static func delay(_ job: UnownedJob, until deadline: Duration, clock: CInt) {
    var (seconds, nanoseconds): (Int64, Int64) = (0, 0)
    readClock(&seconds, &nanoseconds, clock)
    let left = deadline - .seconds(seconds) - .nanoseconds(nanoseconds)
    let kind: ClockKind = clock == 1 ? .continuous : .suspending
    if delayVirtually(job, of: sleeper(job), kind, { intendedDelay(left, of: $0) }) { return }
    runElsewhere(job, after: left)
  }

  /// Returns the task that a job belongs to; `nil` for an actor drain.
  static func delayedTask(_ job: UnownedJob) -> UnownedTask? {
    taskID(of: job) == 0 ? nil : UnownedTask(job: job)
  }

  /// Returns a task's owner if the owner's time is virtual. The task is current, or its job is about to be delayed.
  static func virtualOwner(of task: UnownedTask) -> TaskOwner? {
    guard !TaskOwnership.shared.isEmpty else { return nil }
    var owner = ThreadContext.runningOwner
    if !task.isCurrent {
      UnfinishedCreations.awaitOwner(of: task.id)
      owner = TaskOwnership.shared.owner(ofReadyJob: task.id, on: owner).owner
    }
    return owner?.isVirtual == true ? owner : nil
  }

  /// Returns the task that waits for a delayed job: the current task, which sleeps; outside tasks, the job's own task.
  static func sleeper(_ job: UnownedJob) -> UnownedTask? { UnownedTask.current ?? delayedTask(job) }

  /// Delays a job in virtual time, and returns `false` if the waiting task's time is real.
  ///
  /// - Parameters:
  ///   - clock: `nil` if the runtime does not provide the clock.
  ///   - delay: Returns the delay, for the owner of the task.
  static func delayVirtually(
    _ job: UnownedJob, of task: UnownedTask?, _ clock: ClockKind?, _ delay: (TaskOwner) -> Duration?
  ) -> Bool {
    guard let task, let owner = virtualOwner(of: task), let clock, let delay = delay(owner)
    else { return false }
    owner.enqueue(DelayedJob(job: job, task: task.job, delay: delay, clock: clock))
    return true
  }

  /// - Parameter isOfDispatch: Whether Dispatch runs the job at the end of the delay.
  static func noteRealSleep(_ job: UnownedJob, for delay: Duration?, isOfDispatch: Bool = false) {
    guard let task = sleeper(job), let delay else { return }
    RealSleeps.begin(task, for: delay, wake: isOfDispatch ? delayedTask(job) : nil)
  }

  /// Captures an unowned job that is to run later, if the thread captures its next job.
  static func captureDelayed(_ job: UnownedJob) -> Bool {
    guard let context = ThreadContext.current, case .next = context.pointee.capture else {
      return false
    }
    context.pointee.capture = .job(job)
    return true
  }

  /// Returns the delay that the caller intended.
  ///
  /// `delay` is a little shorter: the clock was read again after the caller computed the deadline.
  static func intendedDelay(_ delay: Duration, of owner: TaskOwner) -> Duration {
    RuntimeClocks.areVirtual(for: owner) ? delay : delay.roundedUpAfterReadingTheClockTwice
  }
}

extension Duration {
  /// The delay, rounded up to four digits, and to whole microseconds.
  var roundedUpAfterReadingTheClockTwice: Duration {
    // A longer delay never ends, and need not be rounded. The arithmetic below does not overflow for shorter delays.
    guard attoseconds < Self.attosecondsOfLongest else { return self }
    var unit: Int128 = 1_000_000_000_000
    while unit &* 10_000 <= attoseconds { unit &*= 10 }
    let remainder = attoseconds % unit
    return remainder > 0 ? Duration(attoseconds: attoseconds - remainder + unit) : self
  }

  /// A million million million seconds.
  @_transparent
  private static var attosecondsOfLongest: Int128 {
    1_000_000_000_000_000_000_000_000_000_000_000_000
  }
}

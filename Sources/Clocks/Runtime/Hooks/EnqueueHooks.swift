import ClocksSupport

// The runtime asks a hook, if one is set, before it does what the hook's name says, and hands it the
// function that would do it. A hook is one pointer, which is written at once: a thread that reads it
// finds ours or none.
//
// | hook (all since Swift 5.5 but where noted) | asked for |
// |---|---|
// | `enqueueGlobal` | a job on the default executor; since 6.2 not for `Task.yield` |
// | `enqueueGlobalWithDelay`, `…WithDeadline` | a sleep; since 6.2 only if the default executor cannot |
// | `enqueueMainExecutor` | a job on the main actor, in some runtimes |
// | `getMainExecutor`, `isMainExecutor` (6.1) | the main actor's executor |
//
// Why `@convention(thin)`: the hooks are Swift functions without a context, which the runtime calls
// in Swift's way and not in C's.

extension RuntimeHooks {
  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void
  private typealias Delay = @convention(thin) (UInt64, UnownedJob) -> Void
  private typealias DelayHook = @convention(thin) (UInt64, UnownedJob, Delay) -> Void
  private typealias Deadline =
    @convention(thin) (Int64, Int64, Int64, Int64, CInt, UnownedJob) -> Void
  private typealias DeadlineHook =
    @convention(thin) (Int64, Int64, Int64, Int64, CInt, UnownedJob, Deadline) -> Void
  private typealias GetMain = @convention(thin) () -> UnownedSerialExecutor
  private typealias GetMainHook = @convention(thin) (GetMain) -> UnownedSerialExecutor
  private typealias IsMain = @convention(thin) (UnownedSerialExecutor) -> Bool
  private typealias IsMainHook = @convention(thin) (UnownedSerialExecutor, IsMain) -> Bool

  /// Where the runtime, or another library of this process, keeps what has the name.
  static func symbol(_ name: String) -> UnsafeMutableRawPointer? {
    // Why the handle is never closed: it stands for the process itself.
    dlsym(dlopen(nil, RTLD_NOW), name)
  }

  private static func slot<Hook>(
    _ name: String, of _: Hook.Type
  ) -> UnsafeMutablePointer<Hook>? {
    symbol("swift_task_\(name)_hook")?.assumingMemoryBound(to: Hook.self)
  }

  /// Has the runtime ask us for every job on the default executor and for every sleep, as far as it
  /// asks anybody; says whether that could be done.
  static func setHooks() -> Bool {
    guard let enqueue = slot("enqueueGlobal", of: EnqueueHook?.self) else { return false }
    _ = (poolExecutor, mainExecutor, mainReference)
    setDelayHooks()
    enqueue.pointee = { job, _ in RuntimeHooks.jobEnqueued(job, on: .pool) }
    slot("enqueueMainExecutor", of: EnqueueHook?.self)?.pointee = { job, _ in
      RuntimeHooks.jobEnqueued(job, on: .main)
    }
    return true
  }

  /// Has the runtime ask us for every sleep, as far as it asks anybody.
  ///
  /// That these hooks are set is also how other code can see that sleeps may take no real time: a
  /// library that has timers of its own, as TimeoutTask does, gives them up then.
  static func setDelayHooks() {
    // The runtime's own functions for delays are never called: once the default executor is ours,
    // they would ask it to sleep, and it cannot.
    slot("enqueueGlobalWithDelay", of: DelayHook?.self)?.pointee = { nanoseconds, job, _ in
      RuntimeHooks.delay(job, by: .nanoseconds(Int64(clamping: nanoseconds)))
    }
    slot("enqueueGlobalWithDeadline", of: DeadlineHook?.self)?.pointee = {
      seconds, nanoseconds, _, _, clock, job, _ in
      RuntimeHooks.delay(job, until: (seconds, nanoseconds), clock: clock)
    }
  }

  /// Has the runtime take an executor of ours for that of the main actor; says whether that could be
  /// done.
  static func setMainHooks() -> Bool {
    guard
      let getMain = slot("getMainExecutor", of: GetMainHook?.self),
      let isMain = slot("isMainExecutor", of: IsMainHook?.self)
    else { return false }
    // The executor that was there before is still the main one, for whoever has it already.
    isMain.pointee = { executor, original in
      RuntimeHooks.isMainExecutor(executor) || original(executor)
    }
    getMain.pointee = { _ in RuntimeHooks.mainReference }
    return true
  }

  private static func isMainExecutor(_ executor: UnownedSerialExecutor) -> Bool {
    ExecutorWords(executor).object == ExecutorWords(mainReference).object
  }

  // MARK: - Sleeps

  @_silgen_name("swift_get_time")
  private static func readClock(
    _ seconds: UnsafeMutablePointer<Int64>, _ nanoseconds: UnsafeMutablePointer<Int64>,
    _ clock: CInt)

  /// Has a job run after a while: this is how `Task.sleep(nanoseconds:)` ends.
  private static func delay(_ job: UnownedJob, by delay: Duration) {
    // It is measured by the clock that goes on while the system sleeps.
    if delayVirtually(job, by: delay, clock: .continuous) { return }
    runElsewhere(job, after: delay)
  }

  /// Has a job run at a deadline: this is how all other sleeps end on the runtime's clocks.
  private static func delay(
    _ job: UnownedJob, until deadline: (seconds: Int64, nanoseconds: Int64), clock: CInt
  ) {
    var now: (seconds: Int64, nanoseconds: Int64) = (0, 0)
    readClock(&now.seconds, &now.nanoseconds, clock)
    let left = Duration(deadline) - Duration(now)
    let kind: ClockKind = clock == 1 ? .continuous : .suspending
    if delayVirtually(job, by: meantDelay(left, of: runningOwner), clock: kind) { return }
    runElsewhere(job, after: left)
  }
}

extension Duration {
  fileprivate init(_ reading: (seconds: Int64, nanoseconds: Int64)) {
    self = .seconds(reading.seconds) + .nanoseconds(reading.nanoseconds)
  }
}

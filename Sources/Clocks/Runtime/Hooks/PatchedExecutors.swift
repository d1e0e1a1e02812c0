#if canImport(Dispatch)
  import Dispatch
#endif

// The executors that replace those of the runtime where the runtime's interface for custom executors cannot be
// used. The methods that enqueue jobs never read `self`; SPIExecutors.swift says why.

extension RuntimeHooks {
  static let poolExecutor = PatchedDefaultExecutor()
  static let mainExecutor = PatchedMainExecutor()
  static let mainReference = UnownedSerialExecutor(ordinary: mainExecutor)
}

/// The default executor, and the preferred executor of tasks whose every hop must be seen.
///
/// It does not conform to `SchedulingExecutor`, so the runtime calls the hooks for every sleep.
final class PatchedDefaultExecutor: TaskExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .pool) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // The task prefers this executor, so the runtime bypasses the hook that other code set. This calls the hook.
    guard RuntimeHooks.isOnlyPreferred, let hook = JobHook.ofOtherCode else {
      return RuntimeHooks.jobEnqueued(job, on: .pool)
    }
    hook(job) { RuntimeHooks.jobEnqueued($0, on: .pool) }
  }
}

final class PatchedMainExecutor: SerialExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .main) }

  func enqueue(_ job: consuming ExecutorJob) {
    RuntimeHooks.jobEnqueued(UnownedJob(job), on: .main)
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  #if canImport(Dispatch)
    func checkIsolated() { dispatchPrecondition(condition: .onQueue(.main)) }
  #endif
}

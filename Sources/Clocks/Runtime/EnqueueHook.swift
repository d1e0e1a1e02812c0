#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The hook that the runtime calls for each job on the default executor: for older runtimes and
/// other platforms.
extension RuntimeDoor {
  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void

  /// Has the runtime ask us for every job on the default executor, and says whether that could be
  /// done. The main executor's jobs are not seen.
  static func setEnqueueHook() -> Bool {
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else {
      return false
    }
    let hook: EnqueueHook = { job, _ in RuntimeDoor.arrive(job, on: .pool) }
    // One word, written at once: a thread that reads it finds the hook or no hook.
    symbol.assumingMemoryBound(to: EnqueueHook?.self).pointee = hook
    return true
  }
}

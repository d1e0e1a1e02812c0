import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch
#elseif canImport(Dispatch)
  import Dispatch
#endif

/// A semaphore whose waits block the thread, unseen by the package's own hooks.
final class ThreadSemaphore: Sendable {
  #if os(Linux) && canImport(Glibc)
    nonisolated(unsafe) private let semaphore = dispatch_semaphore_create(0)

    deinit { DispatchObject.release(semaphore) }

    func signal() { dispatch_semaphore_signal(semaphore) }
    func wait() { _ = dispatch_semaphore_wait(semaphore, .max) }

    /// Returns whether the semaphore was signalled in time.
    func wait(seconds: Double) -> Bool {
      dispatch_semaphore_wait(semaphore, dispatch_time(0, Int64(seconds * 1e9))) == 0
    }
  #elseif canImport(Dispatch)
    private let semaphore = DispatchSemaphore(value: 0)

    func signal() { semaphore.signal() }
    func wait() { semaphore.wait() }
    func wait(seconds: Double) -> Bool { semaphore.wait(timeout: .now() + seconds) == .success }
  #else
    // No thread waits, because without hooks no scheduler is explored, and no job is paused.
    func signal() {}
    func wait() { fatalError("Clocks: a thread cannot wait for another one here.") }
    func wait(seconds: Double) -> Bool { false }
  #endif
}

/// Lets other threads run, while this one waits for a thread that runs no code of the test.
func yieldThread() {
  #if os(Linux) && canImport(Glibc)
    sched_yield()
  #endif
}

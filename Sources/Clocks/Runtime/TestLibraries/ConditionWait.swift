import ClocksSupport

#if os(Linux) && canImport(Glibc)
  /// A wait of Foundation for a condition that ends at an instant of virtual time, in a suite that was not written for it.
  ///
  /// The thread holds its job, or its block, as in a `LimitedWait`. It waits without a limit in real time. At the instant
  /// of virtual time the condition is broadcast, until the thread goes on. Other threads that wait for the condition may
  /// wake up, too. POSIX allows that.
  final class ConditionWait: Sendable {
    nonisolated(unsafe) private let condition: UnsafeMutablePointer<pthread_cond_t>
    /// Guards the variables below. Rank `leaf`.
    private let lock = Lock(.leaf)
    nonisolated(unsafe) private var isLimitReached = false
    /// Whether the thread goes on, so that the condition may be destroyed.
    nonisolated(unsafe) private var isOver = false

    private init(for condition: UnsafeMutablePointer<pthread_cond_t>) {
      self.condition = condition
    }

    /// Waits as `pthread_cond_timedwait` does; `nil` if the current thread waits in another way.
    static func wait(
      for condition: UnsafeMutablePointer<pthread_cond_t>,
      _ mutex: UnsafeMutablePointer<pthread_mutex_t>, until date: timespec, from present: timespec
    ) -> CInt? {
      guard let owner = ThreadContext.runningOwner?.pausingAll else { return nil }
      let delay = date.duration - present.duration
      guard delay > .zero else { return ETIMEDOUT }
      let wait = ConditionWait(for: condition)
      let callback = TimedCallback("a wait with a limit") { wait.broadcast() }
      guard owner.enqueue(callback, after: delay) else { return nil }
      let result = pthread_cond_wait(condition, mutex)
      let isLimitReached = wait.lock.withLock {
        wait.isOver = true
        return wait.isLimitReached
      }
      owner.remove(callback)
      return isLimitReached ? ETIMEDOUT : result
    }

    /// The thread may not wait yet when the condition is first broadcast.
    private func broadcast() {
      let isOver = lock.withLock {
        isLimitReached = true
        if !self.isOver { pthread_cond_broadcast(condition) }
        return self.isOver
      }
      if !isOver { RealTime(in: .milliseconds(1)).schedule { self.broadcast() } }
    }
  }
#endif

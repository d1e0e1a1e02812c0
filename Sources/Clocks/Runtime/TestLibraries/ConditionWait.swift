import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc)
  /// A wait of Foundation for a condition that ends at an instant of virtual time, in a suite that was not written for it.
  ///
  /// The thread holds its job, or its block, as in a `LimitedWait`. It waits without a limit in real time. At the instant
  /// of virtual time the condition is broadcast, until the thread goes on. Other threads that wait for the condition may
  /// wake up, too. POSIX allows that.
  final class ConditionWait: Sendable {
    private enum Phase {
      static let waiting = 0
      static let broadcasting = 1
      /// The thread goes on, so the condition may be destroyed.
      static let over = 2
    }

    nonisolated(unsafe) private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let phase = Atomic(Phase.waiting)
    private let isLimitReached = Atomic(false)

    private init(for condition: UnsafeMutablePointer<pthread_cond_t>) {
      self.condition = condition
    }

    /// Waits as `pthread_cond_timedwait` does; `nil` if the current thread waits in another way.
    static func wait(
      for condition: UnsafeMutablePointer<pthread_cond_t>,
      _ mutex: UnsafeMutablePointer<pthread_mutex_t>, until date: timespec, from present: timespec
    ) -> CInt? {
      guard ThreadWaits.areSleepsSeen,
        let owner = ThreadContext.runningOwner as? any PausableOwner, owner.pausedWaits == .all
      else { return nil }
      let delay = date.duration - present.duration
      guard delay > .zero else { return ETIMEDOUT }
      let wait = ConditionWait(for: condition)
      let callback = TimedCallback("a wait with a limit") { wait.limitIsReached() }
      guard owner.enqueue(callback, after: delay) else { return nil }
      let result = pthread_cond_wait(condition, mutex)
      wait.end()
      owner.remove(callback)
      return wait.isLimitReached.load(ordering: .acquiring) ? ETIMEDOUT : result
    }

    private func limitIsReached() {
      isLimitReached.store(true, ordering: .releasing)
      broadcast()
    }

    /// The thread may not wait yet when the condition is first broadcast.
    private func broadcast() {
      guard change(from: Phase.waiting, to: Phase.broadcasting) else { return }
      pthread_cond_broadcast(condition)
      phase.store(Phase.waiting, ordering: .releasing)
      RealTime(in: .milliseconds(1)).schedule { self.broadcast() }
    }

    private func end() {
      while !change(from: Phase.waiting, to: Phase.over) { JobPause.yieldThread() }
    }

    private func change(from expected: Int, to desired: Int) -> Bool {
      phase.compareExchange(expected: expected, desired: desired, ordering: .acquiringAndReleasing)
        .exchanged
    }
  }
#endif

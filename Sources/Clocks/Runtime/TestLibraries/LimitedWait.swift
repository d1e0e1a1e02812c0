import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc)
  /// A wait, in an unedited suite, for a semaphore, a group or a work item that ends at an instant of virtual time.
  ///
  /// The thread holds its job, or its block. If all threads of the process wait for each other, other jobs run and time
  /// moves (`IdleProcess`). So the thread does not wait for the object with a limit in real time. It waits to be woken:
  /// when the object is signalled, and at the instant.
  ///
  /// `IdleProcess` takes milliseconds for each step of time, because it checks all threads. So the wait of a test
  /// method pauses the method, unless work outside the scope may end the wait: then time would jump to the limit before
  /// that work is done.
  final class LimitedWait: Sendable {
    nonisolated(unsafe) private let object: OpaquePointer
    /// The test method that waits; `nil` if the wait does not pause it.
    private let method: ThreadWaits?
    private let isOver = Atomic(false)
    private let wake = ThreadSemaphore()

    /// Guards `all`. Rank `leaf`.
    private static let lock = Lock(.leaf)
    nonisolated(unsafe) private static var all: [LimitedWait] = []

    private init(for object: OpaquePointer, of method: ThreadWaits?) {
      (self.object, self.method) = (object, method)
    }

    /// The method counts as running before its thread continues, so that time does not move in between.
    ///
    /// Thread A is about to call this for one wait of the method. The wait ends, and the method pauses for another
    /// wait. Thread A then ends that pause, so the method counts as running although it waits. Time still moves, by
    /// `IdleProcess`.
    private func wakeUp() {
      method?.resume()
      wake.signal()
    }

    /// Returns the result if the object is signalled, or if the instant has come.
    ///
    /// A signal that was sent before the instant counts, so `isOver` is read first.
    private func end(_ wait: (UInt64) -> Int) -> Int? {
      let isOver = isOver.load(ordering: .acquiring)
      let result = wait(DispatchTimes.now)
      return isOver || result == 0 ? result : nil
    }

    /// Waits until the thread is woken. Returns the result of `end`.
    private func next(_ wait: (UInt64) -> Int) -> Int? {
      func wakesUp() -> Int? {
        wake.wait()
        return end(wait)
      }
      guard let method, !OutsideWork.isPossible else { return wakesUp() }
      let isReady: () -> Int?? = {
        if let result = self.end(wait) { return .some(result) }
        return OutsideWork.isPossible ? .some(nil) : nil
      }
      return method.paused(unless: isReady, wakesUp)
    }

    /// Notes that work outside the scopes begins, which may end the waits of test methods. Then these count as running.
    static func outsideWorkBegins() {
      guard ThreadWaits.areSleepsSeen else { return }
      for wait in lock.withLock({ all }) { wait.method?.resume() }
    }

    /// Waits for an object, and returns the result; `nil` if the current thread waits in another way.
    ///
    /// - Parameters:
    ///   - observe: Lets a function be called when the object is signalled, for objects whose signals are not all seen.
    ///   - wait: Returns 0 if the object is signalled. Its argument is an instant; 0 is now.
    static func wait(
      for object: OpaquePointer, until instant: UInt64,
      observe: ((@escaping @Sendable () -> Void) -> Void)? = nil, _ wait: (UInt64) -> Int
    ) -> Int? {
      guard instant != DispatchTimes.now, let owner = ThreadContext.runningOwner?.pausingAll,
        let delay = DispatchTimes.delay(until: instant, for: owner), delay > .zero
      else { return nil }
      ClockReadings.threadWaits()
      // Signals that are not all seen could not end the pause in time.
      let waits = observe == nil ? ThreadWaits.ofThread : nil
      let method = waits?.work == .method ? waits : nil
      let limited = LimitedWait(for: object, of: method)
      lock.withLock { all.append(limited) }
      defer { lock.withLock { all.removeAll { $0 === limited } } }
      // The wait is registered, so a later signal wakes the thread. An earlier signal is taken here.
      if wait(DispatchTimes.now) == 0 { return 0 }
      observe? { limited.wakeUp() }
      let callback = TimedCallback("a wait with a limit") {
        limited.isOver.store(true, ordering: .releasing)
        limited.wakeUp()
      }
      guard owner.enqueue(callback, after: delay) else { return nil }
      defer { owner.remove(callback) }
      while true {
        if let result = limited.next(wait) { return result }
      }
    }

    /// Notes that an object was signalled, that a group may be empty, or that an item ran.
    ///
    /// Another thread may have taken the signal.
    static func mayEnd(for object: OpaquePointer) {
      guard ThreadWaits.areSleepsSeen else { return }
      for wait in lock.withLock({ all.filter { $0.object == object } }) { wait.wakeUp() }
    }
  }

  /// A wait of Foundation for a condition that ends at an instant of virtual time.
  ///
  /// The thread holds its job, or its block, as in a `LimitedWait`. It waits without a limit in real time. At the
  /// instant of virtual time the condition is broadcast, until the thread continues. Other threads that wait for the
  /// condition may wake up, too. POSIX allows that.
  final class ConditionWait: Sendable {
    nonisolated(unsafe) private let condition: UnsafeMutablePointer<pthread_cond_t>
    /// Guards the variables below. Rank `leaf`.
    private let lock = Lock(.leaf)
    nonisolated(unsafe) private var isLimitReached = false
    /// Whether the thread returned from its wait. Then the condition may be destroyed.
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
      ClockReadings.threadWaits()
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

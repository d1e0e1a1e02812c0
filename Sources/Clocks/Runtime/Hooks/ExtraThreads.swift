import ClocksSupport

#if os(Linux) && canImport(Glibc)
  import Glibc
#endif

/// The threads that run jobs once a job has blocked its thread.
///
/// Dispatch has 255 threads for the serial queues of one priority. If jobs ran on those threads and waited for serial
/// queues, the queues might get no thread. So these threads are not Dispatch's.
///
/// There are at most 64 of them, and one more for each job or block of a test that is known to be blocked. With many
/// more threads than processors, each would rarely run, and so would the watchdog's.
enum ExtraThreads {
  #if os(Linux) && canImport(Glibc)
    private final class Work {
      let body: @Sendable () -> Void
      var next: Work?

      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Guards the variables below. Rank `leaf`.
    private static let lock = Lock(.leaf)
    /// The work that waits for a thread, in its order.
    nonisolated(unsafe) private static var first: Work?
    nonisolated(unsafe) private static var last: Work?
    /// The number of threads that exist or are being created.
    nonisolated(unsafe) private static var threads = 0
    /// The number of pieces of work that wait.
    nonisolated(unsafe) private static var waiting = 0
    /// The number of threads that wait for work.
    nonisolated(unsafe) private static var idle = 0
    /// The largest number of threads. Threads above it end when their work ends.
    nonisolated(unsafe) private static var most = 64

    /// Signalled once for each piece of work. A thread whose wait succeeded takes one.
    private static let isReady = ThreadSemaphore()

    /// Runs `body` on one of the threads. All have the same priority, so `quality` is ignored. O(1).
    static func submit(_ body: @escaping @Sendable () -> Void, _ quality: QualityOfService) {
      let work = Work(body)
      let mayStart = lock.withLock {
        if let last { last.next = work } else { first = work }
        last = work
        waiting += 1
        guard waiting > idle, threads < most else { return false }
        threads += 1
        return true
      }
      isReady.signal()
      if mayStart { startThread() }
    }

    /// Notes that `change` more jobs block their threads, or fewer if it is negative.
    static func changeBlocked(by change: Int) {
      let count = lock.withLock {
        most += change
        // Without work that waits, the new threads would have nothing to do.
        guard waiting > idle, threads < most else { return 0 }
        let count = max(0, min(change, most - threads))
        threads += count
        return count
      }
      for _ in 0..<count { startThread() }
    }

    private typealias SetName = @convention(c) (pthread_t, UnsafePointer<CChar>) -> CInt

    /// Looked up by name, because the header declares it for GNU programs only.
    private static let setName = RuntimeSymbol.function("pthread_setname_np", as: SetName.self)

    private static func startThread() {
      guard !createThread() else { return }
      let isLast = lock.withLock {
        threads -= 1
        return threads == 0
      }
      // Another thread takes the work. If there is none, Dispatch tries once a second to create one for all the work.
      guard isLast else { return }
      InternalDispatch.submit(
        { while isReady.wait(seconds: 0) { lock.withLock { removeFirst() }.body() } },
        to: InternalDispatch.globalQueue(.default, isBlocked: true))
    }

    /// Creates a thread, and returns whether that was possible.
    private static func createThread() -> Bool {
      guard let thread = InternalThread.start(nil, body) else { return false }
      pthread_detach(thread)
      return true
    }

    private static let body: InternalThread.Body = { _ in
      prepareThread()
      while let work = next() { work.body() }
      return nil
    }

    /// Makes the thread like one of Dispatch, whatever thread created it.
    private static func prepareThread() {
      _ = setName?(pthread_self(), "ClocksExtra")
      // A thread inherits the `nice` value of its creator, which may be one of Dispatch's threads for low priorities.
      // The call has no effect if the process may not lower the value.
      let process = CInt(PRIO_PROCESS.rawValue)
      setpriority(process, 0, getpriority(process, id_t(getpid())))
      // Signals that are sent to the process are left to other threads.
      var signals = sigset_t()
      sigfillset(&signals)
      for own in [SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPIPE, SIGPROF] {
        sigdelset(&signals, own)
      }
      pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Removes the first work. Requires the lock, and a wait for `isReady`.
    private static func removeFirst() -> Work {
      let work = first!
      first = work.next
      if first == nil { last = nil }
      // Work that blocks its thread must not keep the work after it in memory.
      work.next = nil
      waiting -= 1
      return work
    }

    /// Returns the work that the current thread does next; `nil` if the thread ends.
    private static func next() -> Work? {
      let isOneTooMany = lock.withLock {
        let isOneTooMany = threads > most
        if isOneTooMany { threads -= 1 } else { idle += 1 }
        return isOneTooMany
      }
      if isOneTooMany { return nil }
      while !isReady.wait(seconds: 5) {
        let ends = lock.withLock {
          // Thread A, this one, was not signalled. Thread B has submitted work since, and signals it soon.
          guard waiting == 0 else { return false }
          idle -= 1
          threads -= 1
          return true
        }
        if ends { return nil }
      }
      return lock.withLock {
        idle -= 1
        return removeFirst()
      }
    }
  #else
    static func submit(_ body: @escaping @Sendable () -> Void, _ quality: QualityOfService) {
      InternalDispatch.submit(body, to: InternalDispatch.globalQueue(quality, isBlocked: true))
    }

    static func changeBlocked(by change: Int) {}
  #endif
}

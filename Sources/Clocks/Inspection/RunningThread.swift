import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc) && arch(x86_64)
  /// Copies the stack of a thread that runs: the kernel shows the stack pointers of blocked threads only.
  ///
  /// A signal interrupts the thread, and the signal's handler copies the stack. Dispatch blocks most signals on its
  /// threads, but not `SIGPROF`. If the program handles that signal itself, for example in a profiler, nothing is
  /// copied. The handler stays, because without it a signal that comes late would end the process.
  enum RunningThread {
    /// Held while a thread is interrupted; guards what the handler writes. Rank `leaf`.
    private static let lock = Lock(.leaf)
    /// Whether the handler has to copy a stack. The handler takes the request, or the caller withdraws it.
    private static let isRequested = Atomic(false)
    private static let isDone = ThreadSemaphore()
    /// The most words of a stack that are copied.
    private static let capacity = 1 << 17
    /// Where a stack is copied. The memory is never freed: a handler may be about to use it.
    nonisolated(unsafe) private static let buffer = UnsafeMutablePointer<UInt>.allocate(
      capacity: capacity)

    nonisolated(unsafe) private static var mark: UInt = 0
    /// Another thread's stack may be below the one with the mark. So the thread with the highest stack pointer counts.
    nonisolated(unsafe) private static var least: UInt = 0
    /// The stack pointer; 0 if it is not between `least` and `mark`.
    nonisolated(unsafe) private static var end: UInt = 0
    /// The address of the instruction that was interrupted.
    nonisolated(unsafe) private static var instruction: UInt = 0

    private static let handler:
      @convention(c) (
        CInt, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?
      ) -> Void = { _, _, context in
        // The interrupted function may be about to read `errno`.
        let error = errno
        RunningThread.copy(context)
        errno = error
      }

    /// Installs the handler. Returns `false` if that fails, or if the program has a handler of its own.
    private static func installHandler() -> Bool {
      var action = sigaction()
      guard sigaction(SIGPROF, nil, &action) == 0 else { return false }
      // Both kinds of handlers are in the same place.
      let present = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      if present == unsafeBitCast(handler, to: Int.self) { return true }
      guard present == 0 else { return false }
      action = sigaction()
      action.sa_flags = SA_SIGINFO | SA_RESTART
      action.__sigaction_handler.sa_sigaction = handler
      return sigaction(SIGPROF, &action, nil) == 0
    }

    private static let send = RuntimeSymbol.function(
      "tgkill", as: (@convention(c) (pid_t, pid_t, CInt) -> CInt).self)

    /// Whether the handler can read this process's memory. Evaluated under `lock`.
    ///
    /// Calls the handler for the current thread, without a signal. In a debug build the first call allocates memory,
    /// and takes locks of the runtime. A thread that a signal interrupts may hold these locks.
    private static let isPrepared: Bool = {
      var context = ucontext_t()
      return withUnsafeMutablePointer(to: &context) { context in
        let place = UInt(bitPattern: context)
        context.pointee.uc_mcontext.gregs.15 = greg_t(place)
        (mark, least, end) = (place + word, place - 1, 0)
        isRequested.store(true, ordering: .sequentiallyConsistent)
        handler(SIGPROF, nil, context)
        isDone.wait()
        return end == place
      }
    }()

    /// Returns the stack, up to `mark`, of the running thread whose stack pointer is the highest between `least` and
    /// `mark`.
    ///
    /// The instruction is the one that the thread executes. At most a megabyte is read.
    static func stack(
      upTo mark: UInt, above least: UInt
    ) -> (end: UInt, words: [UInt], instruction: UInt)? {
      guard let send, lock.withLock({ isPrepared }) else { return nil }
      let own = OutsideWork.currentThread
      var closest: (end: UInt, words: [UInt], instruction: UInt)?
      guard installHandler() else { return nil }
      // Dispatch reads a clock, under the lock. That must not count as a reading of the test.
      var context = ThreadContext()
      context.run { _ in
        for thread in ProcFileSystem.threads where thread != own {
          guard ProcFileSystem.words(of: thread, in: .syscall).first == "running" else { continue }
          let stack: (UInt, [UInt], UInt)? = lock.withLock {
            (Self.mark, Self.least, end) = (mark, closest?.end ?? least, 0)
            isRequested.store(true, ordering: .sequentiallyConsistent)
            let isSent = send(getpid(), thread, SIGPROF) == 0
            if !isSent || !isDone.wait(seconds: 1) {
              if isRequested.exchange(false, ordering: .sequentiallyConsistent) { return nil }
              // The handler has begun, and ends soon.
              isDone.wait()
            }
            guard end != 0 else { return nil }
            let words = UnsafeBufferPointer(start: buffer, count: Int((mark - end) / word) + 1)
            return (end, Array(words), instruction)
          }
          closest = stack ?? closest
        }
      }
      return closest
    }

    private static let word = UInt(MemoryLayout<UInt>.size)

    /// Runs in the signal handler: reads memory by a system call, signals a semaphore, and does nothing else.
    ///
    /// Must use only what was used before (`isPrepared`): a first use may allocate memory or take a lock.
    private static func copy(_ context: UnsafeMutableRawPointer?) {
      guard isRequested.exchange(false, ordering: .sequentiallyConsistent) else { return }
      if let context {
        let registers = context.assumingMemoryBound(to: ucontext_t.self).pointee.uc_mcontext.gregs
        // The elements at the indices `REG_RSP` and `REG_RIP`.
        let pointer = UInt(bitPattern: Int(registers.15))
        let words = pointer < mark ? Int((mark - pointer) / word) + 1 : .max
        if pointer > least, words <= capacity,
          ProcessMemory.read(
            pointer, into: UnsafeMutableRawBufferPointer(start: buffer, count: words * Int(word)))
        {
          instruction = UInt(bitPattern: Int(registers.16))
          end = pointer
        }
      }
      isDone.signal()
    }
  }
#endif

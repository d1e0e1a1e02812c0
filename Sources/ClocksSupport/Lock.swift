/// The order in which a thread may take locks: each must have a higher rank than all that the thread holds.
///
/// The lock table in `Sources/Clocks/README.md` says what each rank guards. A debug build
/// that was made with `CHECK_LOCK_RANKS=1` in the environment stops the program where a thread breaks the order.
public enum LockRank: UInt, Sendable {
  case dispatchNotifications
  case dispatchSource
  case testCaseMembership
  case unownedBlocks
  case scheduler
  case externalTasks
  case taskOwnership
  case issueGate
  /// While a thread holds a lock of this rank, it takes no other lock.
  case leaf
}

#if canImport(CRT) || canImport(WASILibc)
  import Synchronization

  public typealias PlatformMutex = Mutex<Void>
#else
  public typealias PlatformMutex = pthread_mutex_t
#endif

/// A lock. A comment at each use names the state that it guards.
///
/// Where there are POSIX threads, it is a pthread mutex. ThreadSanitizer on Linux does not understand
/// `Synchronization.Mutex`, and would report races in every test suite that uses this package.
///
/// Public, because the compiler does not inline package functions across modules.
public struct Lock: ~Copyable, @unchecked Sendable {
  @usableFromInline let mutex: UnsafeMutablePointer<PlatformMutex>
  #if DEBUG && CHECK_LOCK_RANKS
    @usableFromInline let rank: LockRank?
  #endif

  /// - Parameter rank: The lock's place in the order; `nil` if the order is not checked for this lock.
  public init(_ rank: LockRank? = nil) {
    mutex = .allocate(capacity: 1)
    #if canImport(CRT) || canImport(WASILibc)
      mutex.initialize(to: Mutex(()))
    #else
      mutex.initialize(to: pthread_mutex_t())
      pthread_mutex_init(mutex, nil)
      GivenUp.prepare()
    #endif
    #if DEBUG && CHECK_LOCK_RANKS
      self.rank = rank
    #endif
  }

  deinit {
    #if canImport(CRT) || canImport(WASILibc)
      mutex.deinitialize(count: 1)
    #else
      pthread_mutex_destroy(mutex)
    #endif
    mutex.deallocate()
  }

  // Transparent, so that even a debug build calls no generic function.
  @_transparent
  public func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Runs `body` with the lock held. Returns `nil` if the thread holds the lock itself, or if another thread holds it
  /// and waits for something else.
  ///
  /// A signal handler may call this. It may have interrupted a thread that holds the lock, or that holds what another
  /// thread needs to leave the lock. So `body` takes no other lock, not even that of the memory allocator, and the
  /// lock's rank does not matter.
  @_transparent
  public func withLockIfAvailable<Result>(_ body: () -> Result) -> Result? {
    #if canImport(CRT) || canImport(WASILibc)
      return withLock(body)
    #else
      guard pthread_mutex_trylock(mutex) == 0 || lock(within: .milliseconds(100)) else {
        return nil
      }
      defer { pthread_mutex_unlock(mutex) }
      return body()
    #endif
  }

  /// Runs `body` with the lock held. If `mayGiveUp`, may return `nil`, as `withLockIfAvailable` does.
  @_transparent
  public func withLock<Result>(mayGiveUp: Bool, _ body: () -> Result) -> Result? {
    mayGiveUp ? withLockIfAvailable(body) : withLock(body)
  }

  #if !canImport(CRT) && !canImport(WASILibc)
    /// Takes a lock. Returns `false` if the current thread holds it, or if the wait takes too long.
    ///
    /// After `limit` and 1,000 yields, each further yield is followed by a check of the holder's thread. The wait takes
    /// too long if that thread waits for something in 100 checks in a row, and after ten seconds at the latest.
    ///
    /// The limit is for a signal handler that waits for itself. Thread A holds a lock, and its handler waits for
    /// another one, which thread B holds; B waits for A's lock. Or the handler has interrupted A just after A has taken
    /// the lock, and before the C library has noted that A holds it. On a busy machine, 1,000 yields take seconds: each
    /// lets another thread run, and one of them is the holder.
    ///
    /// A holder that can run may only lack a processor, so it is awaited for longer. Ten seconds are the limit, because
    /// the holder may run a handler, too: thread A's handler waits for B's lock, and thread B's handler for A's.
    ///
    /// A profiler's next signal may come before A executes an instruction. So a thread that has given up does not wait
    /// again soon.
    @inline(never)
    public func lock(within limit: Duration) -> Bool {
      if GivenUp.isRecent { return false }
      let (limit, limitOfRunning) = (RealTime(in: limit), RealTime(in: .seconds(10)))
      // A holder that runs may wait for a moment, for example for another lock.
      var (yields, waits) = (0, 0)
      while waits < 100, !limitOfRunning.hasPassed {
        #if os(Linux) && canImport(Glibc)
          if mutex.pointee.__data.__owner == Self.currentThread { return false }
        #endif
        sched_yield()
        yields += 1
        if pthread_mutex_trylock(mutex) == 0 { return true }
        guard limit.hasPassed, yields >= 1_000 else { continue }
        waits = canHolderRun ? 0 : waits + 1
      }
      GivenUp.note()
      return false
    }

    /// Whether the holder runs or waits for a processor; `false` if that is not known.
    private var canHolderRun: Bool {
      #if os(Linux) && canImport(Glibc)
        let holder = mutex.pointee.__data.__owner
        return holder > 0 && KernelThread.canRun(holder)
      #else
        return false
      #endif
    }
  #endif

  #if os(Linux) && canImport(Glibc)
    /// The kernel's number of the current thread, which the C library stores in a lock that the thread holds.
    private static var currentThread: CInt {
      var mutex = pthread_mutex_t()
      pthread_mutex_init(&mutex, nil)
      pthread_mutex_lock(&mutex)
      defer {
        pthread_mutex_unlock(&mutex)
        pthread_mutex_destroy(&mutex)
      }
      return mutex.__data.__owner
    }
  #endif

  /// Takes the lock until `unlock`. Only for the hottest code, because a debug build calls each closure.
  @_transparent
  public func lock() {
    #if DEBUG && CHECK_LOCK_RANKS
      HeldLocks.willLock(rank)
    #endif
    #if canImport(CRT) || canImport(WASILibc)
      // `Mutex.withLock` returns only values that can be sent to another thread.
      mutex.pointee._unsafeLock()
    #else
      pthread_mutex_lock(mutex)
    #endif
  }

  @_transparent
  public func unlock() {
    #if canImport(CRT) || canImport(WASILibc)
      mutex.pointee._unsafeUnlock()
    #else
      pthread_mutex_unlock(mutex)
    #endif
    #if DEBUG && CHECK_LOCK_RANKS
      HeldLocks.didUnlock(rank)
    #endif
  }
}

#if !canImport(CRT) && !canImport(WASILibc)
  /// Whether the current thread has given up waiting for a lock in the last seconds.
  private enum GivenUp {
    private static let key = makeThreadKey()
    private static let memory = Duration.seconds(10)

    /// Makes the key before a signal handler needs it.
    static func prepare() { _ = key }

    static var isRecent: Bool {
      guard let end = threadValue(key) else { return false }
      return !RealTime(nanoseconds: UInt64(UInt(bitPattern: end)) << 24).hasPassed
    }

    static func note() {
      // In units of 2^24 ns, which fit into a word of 32 bits.
      let end = RealTime(in: memory).nanoseconds >> 24
      setThreadValue(key, UnsafeMutableRawPointer(bitPattern: UInt(truncatingIfNeeded: end)))
    }
  }
#endif

#if DEBUG && CHECK_LOCK_RANKS
  /// The ranks of the locks that the current thread holds, a bit for each.
  @usableFromInline enum HeldLocks {
    private static let key = makeThreadKey()

    @usableFromInline static func willLock(_ rank: LockRank?) {
      guard let rank else { return }
      let held = UInt(bitPattern: threadValue(key))
      precondition(
        held >> rank.rawValue == 0,
        "A thread that holds locks of the ranks \(ranks(of: held)) takes one of the rank \(rank)."
      )
      setThreadValue(key, UnsafeMutableRawPointer(bitPattern: held | 1 << rank.rawValue))
    }

    @usableFromInline static func didUnlock(_ rank: LockRank?) {
      guard let rank else { return }
      let held = UInt(bitPattern: threadValue(key))
      setThreadValue(key, UnsafeMutableRawPointer(bitPattern: held & ~(1 << rank.rawValue)))
    }

    private static func ranks(of held: UInt) -> [LockRank] {
      (0..<UInt(UInt.bitWidth)).filter { held & 1 << $0 != 0 }.compactMap(LockRank.init)
    }
  }
#endif

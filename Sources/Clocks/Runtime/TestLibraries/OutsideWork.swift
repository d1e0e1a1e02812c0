import ClocksSupport
import Synchronization

/// Work that no scope sees, and that may end a wait.
enum OutsideWork {
  /// The number of threads, apart from the main thread, those of Dispatch and those on which XCTest waits.
  private static let threads = Atomic(0)
  /// The number of these threads that count as blocks of a test.
  private static let testThreads = Atomic(0)
  /// Whether the process has used files or sockets through Dispatch.
  private static let hasSources = Atomic(false)

  /// Whether there may be such work, besides real timers of run loops. Without it, time may jump immediately.
  ///
  /// A file, a socket or a child process that can end a wait has a thread, or a source of Dispatch.
  static var isPossible: Bool {
    threads.load(ordering: .relaxed) > 0 || hasSources.load(ordering: .relaxed)
      || MainRunLoop.hasBlocks
  }

  static func threadBegins() { threads.add(1, ordering: .relaxed) }
  static func threadEnds() { threads.subtract(1, ordering: .relaxed) }
  static func testThreadBegins() { testThreads.add(1, ordering: .relaxed) }
  static func testThreadEnds() { testThreads.subtract(1, ordering: .relaxed) }
  static func sourceBegins() { hasSources.store(true, ordering: .relaxed) }

  /// Whether the main run loop has a timer in real time, or another thread runs or sleeps for some time. O(threads).
  ///
  /// A thread that waits for a file, a socket or a lock does not count: most such threads wait forever.
  static var isLikely: Bool { MainRunLoop.hasRealTimer || isAnyThreadBusy }

  private static var isAnyThreadBusy: Bool {
    #if os(Linux) && canImport(Glibc)
      let own = currentThread
      return threadNumbers?.contains { $0 != own && isBusy($0) } ?? false
    #else
      return false
    #endif
  }

  #if os(Linux) && canImport(Glibc)
    /// The kernel's numbers of all threads of the process; `nil` if they cannot be read.
    private static var threadNumbers: [pid_t]? {
      let names = ProcFileSystem.numbers(in: "/proc/self/task")
      return names.isEmpty ? nil : names.compactMap { pid_t($0) }
    }

    // Numbers of system calls, and of their variants.
    #if arch(x86_64)
      /// `nanosleep` and `clock_nanosleep`.
      private static let sleeps = ["35", "230"]
      /// `poll`, `select`, `accept` and `epoll_wait`.
      private static let eventWaits = ["7", "23", "43", "232", "270", "271", "281", "288", "441"]
      private static let epollWaits = ["232", "281", "441"]
      /// `futex`: waits for a lock or a semaphore.
      private static let lockWaits = ["202"]
      /// `pause`, `rt_sigtimedwait` and `rt_sigsuspend`.
      private static let signalWaits = ["34", "128", "130"]
    #else
      private static let sleeps = ["101", "115"]
      private static let eventWaits = ["22", "72", "73", "202", "242", "441"]
      private static let epollWaits = ["22", "441"]
      private static let lockWaits = ["98"]
      private static let signalWaits = ["133", "137"]
    #endif

    private static func isBusy(_ thread: pid_t) -> Bool {
      guard let call = systemCall(of: thread) else { return false }
      return call == "running" || sleeps.contains(call)
    }

    /// Returns the number of the system call in which a thread is, or `running`.
    private static func systemCall(of thread: pid_t) -> String? {
      systemCallWords(of: thread)?.first
    }

    /// Returns the number of the system call in which a thread is, and then the call's arguments.
    private static func systemCallWords(of thread: pid_t) -> [String]? {
      TextFile.read("/proc/self/task/\(thread)/syscall")
        .map { $0.split { $0 == " " || $0 == "\n" }.map(String.init) }
    }

    /// Whether a thread waits, and nothing but another thread of this process or a timer can end the wait.
    ///
    /// - Parameter isOfBlock: Whether a block runs on the thread. Then a wait with a limit ends by itself. Idle threads
    ///   of Dispatch wait with a limit, too.
    private static func waitsWithinTheProcess(_ thread: pid_t, isOfBlock: Bool) -> Bool {
      guard let words = systemCallWords(of: thread), let call = words.first else { return false }
      // The fourth argument of `futex` is the address of the limit.
      if lockWaits.contains(call) { return !isOfBlock || words.count > 4 && words[4] == "0x0" }
      // Such a wait may have a limit, too.
      if signalWaits.contains(call) { return !isOfBlock }
      guard epollWaits.contains(call), words.count > 1,
        let set = Int(words[1].dropFirst(2), radix: 16),
        let lines = TextFile.read("/proc/self/fdinfo/\(set)")
      else { return false }
      return lines.split(separator: "\n").filter { $0.hasPrefix("tfd:") }.allSatisfy { line in
        guard let file = line.split(separator: " ").dropFirst().first else { return false }
        var target = [CChar](repeating: 0, count: 32)
        guard readlink("/proc/self/fd/\(file)", &target, 31) > 0 else { return false }
        return strcmp(target, "anon_inode:[eventfd]") == 0
          || strcmp(target, "anon_inode:[timerfd]") == 0
      }
    }

    private static let getThread = RuntimeSymbol.function(
      "gettid", as: (@convention(c) () -> pid_t).self)
  #endif

  /// The kernel's number of the current thread; 0 if unknown.
  static var currentThread: Int32 {
    #if os(Linux) && canImport(Glibc)
      getThread?() ?? 0
    #else
      0
    #endif
  }

  static func isMain(_ thread: Int32) -> Bool {
    #if os(Linux) && canImport(Glibc)
      thread == getpid()
    #else
      false
    #endif
  }

  /// Returns how often each thread of the process has run, if all wait for each other; `nil` if one may go on.
  ///
  /// - Parameters:
  ///   - holders: The threads of the test's jobs and blocks. A wait with a limit ends by itself.
  ///   - paused: The threads whose waits end in virtual time. They may wake up in between.
  static func turnsIfAllWait(holders: Set<Int32>, paused: Set<Int32>) -> [Int32: UInt64]? {
    #if os(Linux) && canImport(Glibc)
      let unknown = threads.load(ordering: .relaxed) - testThreads.load(ordering: .relaxed)
      guard unknown <= 0, holders.allSatisfy({ waitsWithinTheProcess($0, isOfBlock: true) }),
        let all = threadNumbers
      else { return nil }
      let own = currentThread
      var turns: [Int32: UInt64] = [:]
      for thread in all {
        guard !paused.contains(thread) else {
          // It may be about to run a block of its run loop.
          if systemCall(of: thread) == "running" { return nil }
          continue
        }
        guard thread == own || waitsWithinTheProcess(thread, isOfBlock: false) else { return nil }
        // The fields are the time on a processor, the time in a processor's queue, and the number of turns.
        let fields = TextFile.read("/proc/self/task/\(thread)/schedstat")?.split(separator: " ")
        // A thread of Dispatch that waits for timers runs for the watchdog's.
        let isForEvents = systemCall(of: thread).map(epollWaits.contains) == true
        turns[thread] = isForEvents ? 0 : fields?.last.flatMap { UInt64($0.prefix { $0 != "\n" }) }
      }
      return turns
    #else
      return nil
    #endif
  }

  /// Whether a thread waits for events of several files, or for a connection.
  @Sendable static func waitsForEvents(_ thread: Int32) -> Bool {
    #if os(Linux) && canImport(Glibc)
      systemCall(of: thread).map(eventWaits.contains) ?? false
    #else
      false
    #endif
  }
}

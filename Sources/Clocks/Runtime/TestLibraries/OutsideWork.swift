import ClocksSupport
import Synchronization

/// Work that no scope sees, and that may end a wait.
enum OutsideWork {
  /// Counts all threads except the main thread, those of Dispatch and those on which XCTest waits.
  ///
  /// Also counts blocks that wait for a run loop, and sources of Dispatch until they are freed. Dispatch's uses of
  /// files count forever, and so do sources whose finalizer the program replaces.
  private static let count = Atomic(0)
  static func begins() {
    continues()
    #if os(Linux) && canImport(Glibc)
      LimitedWait.outsideWorkBegins()
    #endif
  }
  /// Counts a thread again, without an effect on waits that are under way.
  static func continues() { count.add(1, ordering: .relaxed) }
  static func ends() { count.subtract(1, ordering: .relaxed) }

  /// Whether outside work may exist, besides real timers of run loops. Without such work, time may jump immediately.
  ///
  /// `count` includes files, sockets and child processes that can end a wait: each has a thread or a dispatch source.
  static var isPossible: Bool { count.load(ordering: .relaxed) > 0 }

  /// Guards `outsideThreads`. Rank `leaf`.
  private static let lock = Lock(.leaf)
  /// The numbers of the threads that no test started.
  nonisolated(unsafe) private static var outsideThreads: Set<Int32> = []

  /// Notes that the current thread belongs to no test (`isOutside`), or no longer does, or ends.
  static func setOutside(_ isOutside: Bool) {
    let thread = currentThread
    lock.withLock {
      if isOutside { outsideThreads.insert(thread) } else { outsideThreads.remove(thread) }
    }
  }

  /// How often threads have run.
  struct Turns {
    var ofAll: [Int32: UInt64] = [:]
    /// The sum for the threads that belong to no test; `nil` if there are none.
    var ofOutside: UInt64?
  }

  #if os(Linux) && canImport(Glibc)
    /// Whether another thread may run or sleep for some time, or a child process has not ended. O(threads).
    ///
    /// A thread that waits for a file, a socket or a lock does not count: most such threads wait forever.
    static var isAnyBusy: Bool {
      guard ProcFileSystem.ThreadFile.syscall.isShown else { return true }
      let own = currentThread
      return ProcFileSystem.threads.contains { thread in
        let call = systemCall(of: thread).first ?? ""
        return thread != own && (call == "running" || sleeps.contains(call))
          || ProcFileSystem.words(of: thread, in: .children).contains(where: isRunning)
      }
    }

    /// Whether a child process has not ended. One that has ended remains until its parent asks for its exit code.
    private static func isRunning(_ process: String) -> Bool {
      let state = TextFile.read("/proc/\(process)/stat")?.split(separator: ")").last
      return state.map { !$0.hasPrefix(" Z") && !$0.hasPrefix(" X") } ?? false
    }

    /// Whether one of the threads runs, or is ready to.
    static func isAnyRunning(_ threads: [Int32]) -> Bool {
      threads.contains { systemCall(of: $0).first == "running" }
    }

    /// How the limit of its wait is passed to a system call. The numbers are positions among the call's arguments.
    private enum Limit {
      case none
      case pointer(Int)
      case milliseconds(Int)

      func mayBeReached(_ words: [String]) -> Bool {
        switch self {
        case .none: false
        case .pointer(let position): words.count <= position || words[position] != "0x0"
        // -1, in 32 or 64 bits
        case .milliseconds(let position):
          words.count <= position || !words[position].hasSuffix("ffffffff")
        }
      }
    }

    // Numbers of system calls, and of their variants.
    #if arch(x86_64)
      /// `nanosleep` and `clock_nanosleep`.
      private static let sleeps = ["35", "230"]
      /// `epoll_wait`.
      private static let epollWaits = ["232", "281", "441"]
      /// For `poll`, `select`, `accept` and `epoll_wait`, where the limit is among the arguments.
      private static let limits: [String: Limit] = [
        "7": .milliseconds(3), "23": .pointer(5), "43": .none, "232": .milliseconds(4),
        "270": .pointer(5), "271": .pointer(3), "281": .milliseconds(4), "288": .none,
        "441": .pointer(4),
      ]
      /// `futex`: waits for a lock or a semaphore.
      private static let lockWaits = ["202"]
      /// `pause`, `rt_sigtimedwait` and `rt_sigsuspend`.
      private static let signalWaits = ["34", "128", "130"]
    #else
      private static let sleeps = ["101", "115"]
      private static let epollWaits = ["22", "441"]
      private static let limits: [String: Limit] = [
        "22": .milliseconds(4), "72": .pointer(5), "73": .pointer(3), "202": .none, "242": .none,
        "441": .pointer(4),
      ]
      private static let lockWaits = ["98"]
      private static let signalWaits = ["133", "137"]
    #endif

    /// Returns the number and the arguments of the system call that a thread is in; `running` if it runs.
    private static func systemCall(of thread: pid_t) -> [String] {
      ProcFileSystem.words(of: thread, in: .syscall)
    }

    /// Whether a system call waits, and nothing but another thread of this process or a timer can end the wait.
    ///
    /// - Parameter isOfBlock: Whether the thread runs a job or a block of a test. If so, a wait with a limit does not
    ///   count, because it ends by itself. On other threads it counts: idle threads of Dispatch wait with a limit.
    private static func waitsWithinTheProcess(_ words: [String], isOfBlock: Bool) -> Bool {
      guard let call = words.first else { return false }
      // The fourth argument of `futex` is the address of the limit.
      if lockWaits.contains(call) { return !isOfBlock || !Limit.pointer(4).mayBeReached(words) }
      // A wait for a signal may have a limit, too.
      if signalWaits.contains(call) { return !isOfBlock }
      guard epollWaits.contains(call) else { return false }
      let kinds = watchedFiles(words)?.map(kind)
      return kinds?.allSatisfy([eventFile, timerFile].contains) ?? false
    }

    /// Whether a call of a thread that belongs to no test waits, and only a thread or an event can end it.
    private static func waitsForever(_ words: [String]) -> Bool {
      guard let call = words.first else { return false }
      if lockWaits.contains(call) { return !Limit.pointer(4).mayBeReached(words) }
      guard let limit = limits[call], !limit.mayBeReached(words) else { return false }
      guard epollWaits.contains(call) else { return true }
      return watchedFiles(words)?.allSatisfy { !isArmedTimer($0) } ?? false
    }

    /// Returns the numbers of the files that a thread watches in `epoll_wait`; `nil` if they cannot be read.
    private static func watchedFiles(_ words: [String]) -> [Substring]? {
      guard words.count > 1, let set = Int(words[1].dropFirst(2), radix: 16),
        let lines = TextFile.read("/proc/self/fdinfo/\(set)")
      else { return nil }
      return lines.split(separator: "\n").filter { $0.hasPrefix("tfd:") }.map {
        $0.split(separator: " ").dropFirst().first ?? ""
      }
    }

    private static func kind(of file: Substring) -> String {
      ProcFileSystem.target(of: "/proc/self/fd/\(file)")
    }

    private static func isArmedTimer(_ file: Substring) -> Bool {
      kind(of: file) == timerFile
        && TextFile.read("/proc/self/fdinfo/\(file)")?.contains("it_value: (0, 0)") != true
    }

    private static let (eventFile, timerFile) = ("anon_inode:[eventfd]", "anon_inode:[timerfd]")

    private static let getThread = RuntimeSymbol.function(
      "gettid", as: (@convention(c) () -> pid_t).self)

    /// Descriptions of the parts of a test that are not seen because threads have no numbers.
    static var missing: [String] { getThread == nil ? ["which threads wait (gettid)"] : [] }

    /// The kernel's number of the current thread; 0 if unknown.
    static var currentThread: Int32 { getThread?() ?? 0 }

    static func isMain(_ thread: Int32) -> Bool { thread == getpid() }

    /// Returns how often each thread of the process has run, if all wait for each other; `nil` if one may continue.
    ///
    /// A thread that belongs to no test may also wait for events.
    ///
    /// - Parameters:
    ///   - holders: The threads of the test's jobs and blocks. A wait with a limit ends by itself.
    ///   - paused: The threads whose waits end in virtual time. They may wake up in between.
    ///   - abandoned: The threads of blocks for which no test waits any more. They may wait for anything.
    static func turnsIfAllWait(
      holders: Set<Int32>, paused: Set<Int32>, abandoned: Set<Int32>
    ) -> Turns? {
      guard ProcFileSystem.ThreadFile.syscall.isShown,
        holders.allSatisfy({ waitsWithinTheProcess(systemCall(of: $0), isOfBlock: true) })
      else { return nil }
      let all = ProcFileSystem.threads
      guard !all.isEmpty else { return nil }
      let own = currentThread
      let outside = lock.withLock { outsideThreads }.union(ThreadWaits.outsideThreads)
      var turns = Turns()
      for thread in all {
        let call = systemCall(of: thread)
        guard !paused.contains(thread) else {
          // The thread may be about to run a block of its run loop.
          if call.first == "running" { return nil }
          continue
        }
        let isOutside = outside.contains(thread)
        let isAbandoned = abandoned.contains(thread)
        guard
          thread == own || isAbandoned && call.first != "running"
            || (isOutside ? waitsForever(call) : waitsWithinTheProcess(call, isOfBlock: false))
        else { return nil }
        // Without the number of its turns, it is not known whether the thread ran between two checks.
        guard
          let number = ProcFileSystem.words(of: thread, in: .schedstat).last.flatMap(UInt64.init)
        else { return nil }
        // Dispatch's thread for timers also runs for the watchdog's timer, so its turns do not count.
        let isForEvents = epollWaits.contains(call.first ?? "")
        turns.ofAll[thread] = isForEvents && !isOutside ? 0 : number
        if isOutside { turns.ofOutside = (turns.ofOutside ?? 0) &+ number }
      }
      return turns
    }

    /// Whether a thread waits for events of several files, or for a connection.
    @Sendable static func waitsForEvents(_ thread: Int32) -> Bool {
      limits[systemCall(of: thread).first ?? ""] != nil
    }
  #else
    static var currentThread: Int32 { 0 }
    static func isMain(_ thread: Int32) -> Bool { false }
    static func turnsIfAllWait(
      holders: Set<Int32>, paused: Set<Int32>, abandoned: Set<Int32>
    ) -> Turns? { nil }
    static func isAnyRunning(_ threads: [Int32]) -> Bool { false }
    @Sendable static func waitsForEvents(_ thread: Int32) -> Bool { false }
  #endif
}

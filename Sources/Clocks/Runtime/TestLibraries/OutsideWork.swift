import ClocksSupport

/// Work that no scope sees, and that may end a wait of the main thread.
enum OutsideWork {
  /// Whether the main run loop has a timer, or another thread runs or sleeps for some time. O(threads).
  ///
  /// A thread that waits for a file, a socket or a lock does not count: most such threads wait forever.
  static var isLikely: Bool { MainRunLoop.hasTimer || isAnyThreadBusy }

  private static var isAnyThreadBusy: Bool {
    #if os(Linux) && canImport(Glibc)
      guard let folder = opendir("/proc/self/task") else { return false }
      defer { closedir(folder) }
      // The caller is the main thread, whose id is that of the process.
      let own = getpid()
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        guard let thread = pid_t(name), thread != own else { continue }
        if isBusy(thread) { return true }
      }
    #endif
    return false
  }

  #if os(Linux) && canImport(Glibc)
    /// The numbers of the system calls `nanosleep` and `clock_nanosleep`.
    #if arch(x86_64)
      private static let sleeps = ["35", "230"]
    #else
      private static let sleeps = ["101", "115"]
    #endif

    private static func isBusy(_ thread: pid_t) -> Bool {
      let file = open("/proc/self/task/\(thread)/syscall", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return false }
      defer { close(file) }
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = read(file, &bytes, bytes.count)
      guard count > 0 else { return false }
      let text = String(decoding: bytes[..<count], as: UTF8.self)
      let call = text.prefix { $0 != " " && $0 != "\n" }
      return call == "running" || sleeps.contains(String(call))
    }
  #endif
}

/// Foundation's run loops: `run` uses that of the current thread, `hasTimer` that of the main thread.
enum MainRunLoop {
  private typealias Run = @convention(c) (UnsafeRawPointer?, Double, Bool) -> Int32
  private typealias GetMain = @convention(c) () -> UnsafeRawPointer?
  private typealias GetTimer = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> Double

  private static let run = RuntimeSymbol.function("CFRunLoopRunInMode", as: Run.self)
  private static let main = RuntimeSymbol.function("CFRunLoopGetMain", as: GetMain.self)
  private static let timer = RuntimeSymbol.function(
    "CFRunLoopGetNextTimerFireDate", as: GetTimer.self)
  nonisolated(unsafe) private static let mode = RuntimeSymbol.address(of: "kCFRunLoopDefaultMode")?
    .load(as: UnsafeRawPointer.self)

  /// Runs the current thread's run loop. Returns why it has ended, as a `CFRunLoopRunResult`.
  @discardableResult
  static func run(seconds: Double, returnsAfterOneSource: Bool = true) -> Int32 {
    run?(mode, seconds, returnsAfterOneSource) ?? finished
  }

  /// `kCFRunLoopRunFinished`, `kCFRunLoopRunStopped` and `kCFRunLoopRunTimedOut`.
  static let (finished, stopped, timedOut) = (Int32(1), Int32(2), Int32(3))

  static func isMain(_ runLoop: UnsafeRawPointer?) -> Bool { runLoop == main?() }

  static var hasTimer: Bool {
    guard let main, let timer else { return false }
    return timer(main(), mode) > 0
  }
}

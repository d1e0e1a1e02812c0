#if os(Linux) && canImport(Glibc)
  /// The functions whose calls could not be replaced at load, so that time is real where they are called.
  ///
  /// The process does not have them, or a library that is known to call them does not. Nothing is
  /// known about the calls of a test bundle: it may make any of them, or none.
  enum LostCalls {
    /// Written at load, while the process has one thread.
    nonisolated(unsafe) private static var names: [StaticString] = []

    static func note(_ entries: [CallTables.Entry], except seen: Set<Int> = []) {
      for (number, entry) in entries.enumerated() where !seen.contains(number) {
        names.append(entry.name)
      }
    }

    /// Notes the functions that the process does not have.
    static func noteMissing(_ entries: [CallTables.Entry]) { note(entries.filter { !$0.isFound }) }

    /// Descriptions of the parts of a test that are not seen without these functions, with the functions' names.
    static var missing: [String] {
      guard !names.isEmpty else { return [] }
      let names = Set(names.map { "\($0)" })
      return effects.compactMap { part, effect, functions in
        let lost = functions.filter(names.contains)
        return lost.isEmpty ? nil : "\(part) (\(lost.joined(separator: ", "))), \(effect)"
      }
    }

    private static let effects: [(part: String, effect: String, functions: [String])] = [
      (
        "waits of Foundation", "which may end too early",
        [
          "CFAbsoluteTimeGetCurrent", "CFRunLoopRunInMode", "pthread_cond_timedwait",
          "pthread_mutex_timedlock",
        ]
      ),
      (
        "waits of XCTest", "which take real time",
        ["_CFRunLoopFinished", "CFRunLoopStop", "$s10Foundation6ThreadC09detachNewB0yyyyYbcFZ"]
      ),
      (
        "sleeps of threads", "which take real time",
        ["nanosleep", "usleep", "sleep", "CFGetSystemUptime"]
      ),
      ("run loops without an end", "which run in real time", ["CFRunLoopRun"]),
      (
        "timers of run loops", "which fire in real time",
        ["clock_gettime", "close", "dispatch_time", "ppoll", "timerfd_settime"]
      ),
      (
        "threads, Dispatch's files, and blocks on run loops", "for which time does not wait",
        [
          "pthread_create", "CFRunLoopPerformBlock", "CFRunLoopAddObserver", "dispatch_io_create",
          "dispatch_io_create_with_path", "dispatch_read", "dispatch_write",
        ]
      ),
      (
        "signals of semaphores", "so time may move too early",
        ["dispatch_semaphore_signal"]
      ),
      ("clocks of the C library", "which are real", ["gettimeofday", "time"]),
    ]
  }
#endif

import ClocksSupport
import Synchronization

/// Reports the schedule in which an explored test ends the process.
///
/// A failed precondition, a range error or a continuation that is resumed twice raises a signal on the thread that
/// runs the job. The handler reports the schedule; then the signal has the effect that it has without the handler.
///
/// The report allocates memory and writes a file, which a signal handler may not do: if the crash damaged the
/// allocator, or interrupted it, the report is lost. An alarm ends the process if the report does not return.
///
/// On a thread of a scheduler, the handler has a stack of its own (`SignalStack`). So a stack overflow is reported,
/// too. On other threads that run jobs, such as those of custom executors, there is no report of a stack overflow.
enum CrashHandler {
  /// Installs the handler when it is first read: before a run whose scope has a `crashed` closure. Thread-safe.
  static let installed: Void = {
    #if os(Linux) && canImport(Glibc)
      var action = sigaction()
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | CInt(truncatingIfNeeded: UInt(SA_NODEFER))
      action.__sigaction_handler.sa_sigaction = { signal, info, _ in
        CrashHandler.handle(signal, isSent: (info?.pointee.si_code ?? 0) <= 0)
      }
      for signal in signals {
        var old = sigaction()
        sigaction(signal, nil, &old)
        previous.append(old)
      }
      for signal in signals { sigaction(signal, &action, nil) }
    #endif
  }()

  #if os(Linux) && canImport(Glibc)
    private static let signals: [CInt] = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT]
    /// The previous actions, in the order of `signals`. Written before the handler is installed.
    nonisolated(unsafe) private static var previous: [sigaction] = []
    private static let hasCrashed = Atomic(false)
    private static let limitInSeconds: CUnsignedInt = 10

    /// - Parameter isSent: Whether a function call sent the signal. If so, it is raised again; a signal of the
    ///   processor recurs by itself.
    private static func handle(_ signal: CInt, isSent: Bool) {
      let scheduler = ThreadContext.current?.pointee.owner as? Scheduler
      let crashed = scheduler?.scope?.crashed
      if crashed != nil {
        Glibc.signal(SIGALRM, SIG_DFL)
        alarm(limitInSeconds)
      }
      // In a debug build, this may allocate memory, too.
      for index in signals.indices { sigaction(signals[index], &previous[index], nil) }
      if let crashed {
        if !hasCrashed.exchange(true, ordering: .relaxed) { crashed(signal) }
        alarm(0)
      }
      if isSent { raise(signal) }
    }
  #endif
}

extension Exploration.Crash {
  /// The text of the crash: the signal, after the failure or divergence that the search found before.
  var text: String {
    switch found {
    case .failure(let text, let token): "\(text)\nSchedule \(token).\n\(endOfRepetition)"
    case .divergence(let text): "\(text)\n\(endOfComparison)"
    case nil: "The process ends with signal \(signal)."
    }
  }

  private var endOfRepetition: String {
    "A run that was to shrink or replay this schedule ends the process with signal \(signal)."
  }

  private var endOfComparison: String {
    "A later run, which was to show the cause, ends the process with signal \(signal)."
  }

  /// Returns the report for the terminal.
  func report(in testID: String, replayForm: (String) -> String) -> String {
    let schedule = "\(testID): schedule \(number.grouped) (\((number - 1).grouped) passed)"
    switch found {
    case .failure(let text, let failing):
      return """
        \(schedule) fails: \(text)
        Replay: \(replayForm(failing))
        \(endOfRepetition) Neither schedule is shrunk.
        Replay: \(replayForm(token))
        """
    case .divergence(let text):
      return """
        \(testID): \(text)
        \(endOfComparison)
        Replay: \(replayForm(token))
        """
    case nil:
      return """
        \(schedule) ends the process with signal \(signal). The schedule is not shrunk.
        Replay: \(replayForm(token))
        """
    }
  }
}

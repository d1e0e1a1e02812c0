import ClocksSupport

/// Failures about the use of a clock, in an app or in a test.
///
/// This module does not depend on a test library. `Clocks` sets a reporter, which records the failures in the
/// running test.
package enum UsageFailure {
  package typealias Reporter = @Sendable (_ message: String, _ callSite: CallSite) -> Void

  private static let lock = Lock(.leaf)
  /// Guarded by `lock`.
  nonisolated(unsafe) private static var reporter: Reporter?

  package static func setReporter(_ new: @escaping Reporter) {
    lock.withLock { reporter = new }
  }

  /// Records a failure in the running test. Without a test, writes a line to standard error.
  ///
  /// In a test process that does not link Clocks, the process also ends with a code other than 0, so that the
  /// run fails.
  static func report(_ message: String, at callSite: CallSite) {
    if let reporter = lock.withLock({ reporter }) { return reporter(message, callSite) }
    var line = "\(callSite.filePath):\(callSite.line): error: \(message)"
    if isTestProcess {
      line += " The test run fails. To make the test itself fail, link the test target with Clocks."
      failAtExit
    }
    Terminal.writeLine(line)
  }

  // `_exit` does not write what the streams of the C library still hold, such as the test library's own output.
  private static let failAtExit: Void = {
    _ = atexit {
      fflush(nil)
      _exit(EXIT_FAILURE)
    }
  }()

  private static var isTestProcess: Bool {
    CommandLine.arguments.enumerated().contains {
      TestProcess.isShown(by: $1, isExecutable: $0 == 0)
    }
  }
}

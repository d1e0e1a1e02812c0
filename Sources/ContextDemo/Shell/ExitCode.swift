/// What the process says when it ends.
enum ExitCode: Int32, Sendable {
  case success = 0
  /// A scenario failed: its timeout passed, for example.
  case failure = 1
  /// The command line makes no sense (`EX_USAGE`).
  case usage = 64
  /// The output cannot be written (`EX_IOERR`).
  case cannotWrite = 74
  /// Interrupted by Ctrl-C (128 and the number of the signal).
  case interrupted = 130
}

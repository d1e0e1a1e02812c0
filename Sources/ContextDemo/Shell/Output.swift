import ClocksSupport
import Foundation

/// Writes to standard output and standard error without a buffer.
enum Output {
  /// Writes `text` and a line break, and exits with code 74 if that fails.
  ///
  /// Each call writes immediately, so that a pipe shows an event when it occurs.
  static func write(_ text: String, to file: Int32 = STDOUT_FILENO) {
    guard writeText(text + "\n", to: file) else {
      perror("ContextDemo")
      exit(EX_IOERR)
    }
  }
}

extension String {
  /// Returns the string with trailing spaces up to a length of `width`.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}

extension Duration {
  /// The duration with milliseconds, for example `3.000 s`.
  var inSeconds: String { String(format: "%.3f s", self / .seconds(1)) }
}

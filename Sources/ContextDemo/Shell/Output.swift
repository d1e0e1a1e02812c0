import Foundation

/// Writes to standard output and standard error without a buffer.
enum Output {
  /// Writes `text` and a line break, and exits with code 74 if that fails.
  ///
  /// Each call writes immediately, so that a pipe shows an event when it occurs.
  static func write(_ text: String, to file: Int32 = STDOUT_FILENO) {
    var bytes = Array((text + "\n").utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
      guard count >= 0 || errno == EINTR else {
        perror("ContextDemo")
        exit(EX_IOERR)
      }
      bytes = bytes.dropFirst(max(count, 0))
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

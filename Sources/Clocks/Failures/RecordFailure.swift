import ClocksSupport

/// Makes the test that is running fail at the caller's line, and goes on.
///
/// This module imports no test library: it is linked into apps as well as into tests. Whoever can
/// deliver the failure is found when there is one:
///
/// 1. the test library that is running: `TestLibraries` says how that is known;
/// 2. nobody: one line, `file:line: error: message`, is written to standard error, in the form
///    that compilers use and editors understand.
///
/// Where it cannot be told whether a test is running, the failure goes to every test library that
/// is loaded and to standard error as well: twice is a blemish, never would be a lie.
///
/// - Complexity: a few look-ups by name, some microseconds. Nothing is remembered between failures,
///   because a test library may be loaded later than this module: a test bundle into its host app.
package func recordFailure(_ message: String, at callSite: CallSite) {
  let message = message.withCapabilityNote
  if TestLibraries.deliver(message, at: callSite) { return }
  writeToStandardError(
    "\(callSite.filePath):\(callSite.line): error: \(message)\n")
}

/// Writes a line to standard error about what may be wrong, in a test that nobody knows.
func warn(_ message: String, at callSite: CallSite) {
  writeToStandardError(
    "\(callSite.filePath):\(callSite.line): warning: \(message.withCapabilityNote)\n")
}

/// Makes the test that is running fail at the given line, and goes on.
func recordFailure(
  _ message: String,
  fileID: StaticString,
  filePath: StaticString,
  line: UInt,
  column: UInt
) {
  recordFailure(
    message,
    at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
}

/// Writes the text in one call where the system allows it, so that lines of other threads do not
/// come between; `print` writes to standard output only, and `stderr` is a global variable, which
/// Swift's concurrency rules forbid to touch.
func writeToStandardError(_ text: String) {
  #if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let written = write(STDERR_FILENO, rest.baseAddress, rest.count)
        if written < 0 && errno == EINTR { continue }
        // Standard error is closed or broken: there is nobody left to tell.
        guard written > 0 else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      }
    }
  #else
    print(text, terminator: "")
  #endif
}

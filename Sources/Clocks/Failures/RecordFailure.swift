import ClocksSupport

/// Makes the running test fail at the caller's line, and returns.
///
/// This module imports no test library, because apps link it as well as tests. `TestLibraries` finds
/// the library that runs; without one, a line `file:line: error: message` goes to standard error, in
/// the form that editors understand. Where no library is known to run, the failure goes to all that
/// are loaded and to standard error: a failure reported twice is better than one that is lost.
///
/// - Complexity: a few look-ups by name, some microseconds. Nothing is remembered between failures,
///   because a test library may be loaded after this module.
package func recordFailure(_ message: String, at callSite: CallSite) {
  let message = message.withCapabilityNote
  if TestLibraries.deliver(message, at: callSite) { return }
  writeToStandardError(
    "\(callSite.filePath):\(callSite.line): error: \(message)\n")
}

/// Writes a warning to standard error about what may be wrong in a test that is not known.
func warn(_ message: String, at callSite: CallSite) {
  writeToStandardError(
    "\(callSite.filePath):\(callSite.line): warning: \(message.withCapabilityNote)\n")
}

/// Makes the running test fail at the given line, and returns.
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
/// come between.
func writeToStandardError(_ text: String) {
  #if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let written = write(STDERR_FILENO, rest.baseAddress, rest.count)
        if written < 0 && errno == EINTR { continue }
        // Standard error is closed or broken.
        guard written > 0 else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      }
    }
  #else
    print(text, terminator: "")
  #endif
}

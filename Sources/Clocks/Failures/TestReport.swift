import ClocksSupport

/// How a failure reaches the test that a scheduler works for.
struct TestReport: Sendable {
  /// Where the test made its first clock, or began the scope.
  let origin: CallSite
  /// Makes the test fail; one of its tasks calls it.
  let record: @Sendable (String) -> Void
  /// Records on behalf of the test what none of its tasks can; `nil` if the test is not known.
  private let context: TestContext?

  /// - Parameters:
  ///   - isTestKnown: Whether the current task belongs to the test.
  ///   - record: Makes the test fail; by default at `origin`.
  init(
    at origin: CallSite, isTestKnown: Bool, record: (@Sendable (String) -> Void)? = nil
  ) {
    self.origin = origin
    if let record {
      self.record = { record($0.withCapabilityNote) }
    } else {
      self.record = { recordFailure($0, at: origin) }
    }
    context = isTestKnown ? TestContext() : nil
  }

  /// Runs `body` on behalf of the test, on the current thread, which belongs to the engine.
  func runInTest(_ body: @escaping @Sendable () -> Void) {
    if let context { context.run(body) } else { body() }
  }
}

/// Lets another thread record a failure on behalf of a test.
///
/// A test library knows by a task-local value which test a failure belongs to, so only a task that
/// inherited the test's values can record it. This keeps one unstarted task that has inherited them;
/// when that task starts, it first makes the next one.
final class TestContext: Sendable {
  private final class Reporter: @unchecked Sendable {
    /// Set before the task starts, or never.
    var work: (@Sendable () -> Void)?
    private var task: UnstartedTask?

    /// Fails where tasks cannot be captured.
    init?() {
      // The task keeps this until it has run, and it is always run.
      task = UnstartedTask { [self] in work?() }
      if task == nil { return nil }
    }

    /// Runs the task on the current thread. Called once.
    func run() { task?.runHere() }
  }

  private let lock = Lock(.leaf)
  /// Guarded by the lock; `nil` while a reporter starts.
  nonisolated(unsafe) private var next: Reporter?

  /// Makes the context of the current task's test.
  init() { next = Reporter() }

  deinit {
    // Without work the task ends immediately.
    next?.run()
    lock.destroy()
  }

  /// Runs `report` on the current thread, because all threads on which the test could run it may be
  /// blocked.
  func run(_ report: @escaping @Sendable () -> Void) {
    let reporter = lock.withLock {
      defer { next = nil }
      return next
    }
    guard let reporter else { return report() }
    reporter.work = {
      let next = Reporter()
      self.lock.withLock { self.next = next }
      report()
    }
    reporter.run()
  }
}

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

/// The note that each failure carries in a process in which not everything of a test can be seen.
enum CapabilityNote {
  /// The note of this process; `nil` if everything is seen, or the hooks are not installed yet.
  static var ofThisProcess: String? { RuntimeHooks.knownSelfTest.flatMap(note) }

  static func note(_ selfTest: SchedulingSelfTest) -> String? {
    guard !selfTest.missing.isEmpty else { return nil }
    return """
      Note: this process has the capability \(selfTest.capability) (hook strategy \
      \(selfTest.strategy)), so a test clock cannot see: \
      \(selfTest.missing.joined(separator: ", ")). A test that uses what is not seen may fail for \
      that reason alone.
      """
  }
}

extension String {
  /// The text of a failure, with the note of this process if it has one.
  var withCapabilityNote: String {
    guard let note = CapabilityNote.ofThisProcess else { return self }
    return self + "\n" + note
  }
}

import ClocksSupport

/// How a failure reaches the test that a scheduler works for.
struct TestReport: Sendable {
  /// Where the test made its first clock, or began the scope.
  let origin: CallSite
  /// Makes the test fail; `nil` if the failure is recorded at a place.
  private let ownRecord: (@Sendable (String) -> Void)?
  /// Records failures of the test from code that runs in none of its tasks; `nil` if the test is not known.
  private let context: TestContext?

  /// - Parameter isTestKnown: Whether the current task belongs to the test.
  init(
    at origin: CallSite, isTestKnown: Bool, record: (@Sendable (String) -> Void)? = nil
  ) {
    self.origin = origin
    ownRecord = record
    context = isTestKnown ? TestContext() : nil
  }

  /// Makes the test fail. Called in a task of the test or within `runInTest`, unless the scope is explored.
  ///
  /// - Parameter place: The place of the failure; by default `origin`.
  func record(_ failure: String, at place: CallSite? = nil) {
    if let ownRecord {
      ownRecord(failure.withCapabilityNote)
    } else {
      recordFailure(failure, at: place ?? origin)
    }
  }

  /// Runs `body` on behalf of the test, on the current thread, which runs code of this package.
  func runInTest(_ body: @escaping @Sendable () -> Void) {
    if let context { context.run(body) } else { body() }
  }
}

/// Lets another thread record a failure on behalf of a test.
///
/// A test library knows by a task-local value which test a failure belongs to. So the context keeps one task that was
/// not started, and that inherited the test's values. When that task starts, it first makes the next one.
final class TestContext: Sendable {
  private final class Reporter: @unchecked Sendable {
    /// Set before the task starts, or never.
    var work: (@Sendable () -> Void)?
    /// The first job of the task.
    private var job: UnownedJob?

    /// Returns `nil` where tasks cannot be captured.
    init?() {
      // The task retains the reporter until the task has run. Every such task is run, so no reporter leaks.
      job = ThreadContext.capturingNextJob { Task { [self] in work?() } }
      if job == nil { return nil }
    }

    func run() { job.map { RuntimeHooks.run($0, on: .pool) } }
  }

  private enum State {
    case ready(Reporter)
    /// A reporter starts, and makes the next one. The first of the waiting threads gets it.
    case starting([Waiter])
    /// Tasks cannot be captured.
    case none
  }

  /// A thread that waits for the next reporter.
  private final class Waiter: @unchecked Sendable {
    let isServed = ThreadSemaphore()
    /// The reporter for this thread; `nil` where tasks cannot be captured.
    ///
    /// Thread A, which made the reporter, writes this before it signals `isServed`. Thread B reads it after its wait.
    var reporter: Reporter?
  }

  private let lock = Lock(.leaf)
  /// Guarded by the lock, whose rank is `leaf`.
  nonisolated(unsafe) private var state: State

  init() { state = Reporter().map(State.ready) ?? .none }

  deinit {
    // Without work the task ends immediately.
    if case .ready(let reporter) = state { reporter.run() }
  }

  /// Runs `report` on the current thread, because all other threads may be blocked.
  ///
  /// Thread A takes the reporter. Thread B finds none, and waits until thread A makes the next one. Meanwhile thread A
  /// runs no code of the user, and waits for no other thread.
  func run(_ report: @escaping @Sendable () -> Void) {
    guard let reporter = takeReporter() else { return report() }
    reporter.work = {
      self.add(Reporter())
      report()
    }
    reporter.run()
  }

  private func takeReporter() -> Reporter? {
    let (reporter, waiter): (Reporter?, Waiter?) = lock.withLock {
      switch state {
      case .none: return (nil, nil)
      case .ready(let reporter):
        state = .starting([])
        return (reporter, nil)
      case .starting(let others):
        let waiter = Waiter()
        state = .starting(others + [waiter])
        return (nil, waiter)
      }
    }
    waiter?.isServed.wait()
    return reporter ?? waiter?.reporter
  }

  /// Gives the next reporter to the thread that has waited longest. Without a reporter, no thread waits any more.
  private func add(_ reporter: Reporter?) {
    let served: [Waiter] = lock.withLock {
      guard case .starting(let waiters) = state else {
        preconditionFailure("A reporter starts that was not taken.")
      }
      guard let reporter, let first = waiters.first else {
        state = reporter.map(State.ready) ?? .none
        return waiters
      }
      first.reporter = reporter
      state = .starting(Array(waiters.dropFirst()))
      return [first]
    }
    for waiter in served { waiter.isServed.signal() }
  }
}

/// Makes the running test fail at the caller's line, and returns.
///
/// This module imports no test library: it works with each of them, and in programs that run no tests. `TestLibraries`
/// finds the library that runs; without one, a line `file:line: error: message` goes to standard error. Where no
/// library is known to run, the failure goes to all loaded libraries and to standard error: better reported twice than
/// lost. If the running library cannot take the failure, the process ends with code 1, because otherwise the test would
/// pass.
package func recordFailure(_ message: String, at callSite: CallSite) {
  let message = message.withCapabilityNote
  let delivery = TestLibraries.deliver(message, at: callSite)
  if delivery == .delivered { return }
  Terminal.writeLine("\(callSite.filePath):\(callSite.line): error: \(message)")
  guard case .lost(let library) = delivery else { return }
  Terminal.writeLine(
    """
    error: This process runs tests with \(library.rawValue), but Clocks has not found its function that records \
    a failure, so the failure above cannot reach its test. The process ends with code 1, because the test \
    would pass. Use a version of Clocks that knows this version of \(library.rawValue)\
    \(library == .swiftTesting ? ", or link ClocksTestKit to the test" : "").
    """)
  fflush(nil)
  _exit(1)
}

/// Writes a warning to standard error. No test fails.
func warn(_ message: String, at callSite: CallSite) {
  Terminal.writeLine(
    "\(callSite.filePath):\(callSite.line): warning: \(message.withCapabilityNote)")
}

extension UsageFailure {
  /// Makes the clocks of `ClocksCore` record failures as this module does.
  static func reportToTests() { setReporter { recordFailure($0, at: $1) } }
}

extension SchedulingSelfTest {
  /// Writes a warning if the process runs tests, and the hooks do not see everything in them.
  ///
  /// Failures that this package records carry the same note; a failed expectation of the test does not. Unseen
  /// dispatched blocks alone cause no warning: they are seen on Linux only.
  func warnOfWhatIsMissing() {
    guard otherCopy == nil, missingForTests != Self.dispatch, TestLibraries.mayBeRunning, let note
    else { return }
    Terminal.writeLine("warning: \(note.dropFirst("Note: ".count))")
  }

  /// Descriptions of the parts that are not seen and that this process needs for its tests.
  private var missingForTests: [String] {
    Environment.everywhere == nil ? missing.filter { !hiddenFiles.contains($0) } : missing
  }

  /// The note that each failure carries in a process in which not everything of a test can be seen.
  fileprivate var note: String? {
    if let place = otherCopy {
      return """
        Note: another copy of Clocks, in \(place), sees the tasks of tests instead of this one. That alone \
        may be the cause of this failure.
        """
    }
    let missing = missingForTests
    guard !missing.isEmpty else { return nil }
    return """
      Note: this process has the capability \(capability) (hook strategy \(strategy)), so a test clock cannot \
      see: \(missing.joined(separator: ", ")). A test that uses what is not seen may fail for that reason alone.
      """
  }
}

extension String {
  /// The text of a failure, with the note of this process if it has one and the hooks are installed.
  var withCapabilityNote: String {
    (RuntimeHooks.knownSelfTest?.note).map { self + "\n" + $0 } ?? self
  }
}

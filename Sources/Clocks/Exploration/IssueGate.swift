import ClocksSupport

/// A failure in a run.
struct Finding: Sendable, Hashable {
  /// The kind and the place of the failure: equal in all runs in which the same failure comes.
  var key: String
  var text: String

  /// Whether the test library reported it.
  var isIssue: Bool { key.hasPrefix(IssueGate.keyPrefix) }

  static let xcTestPrefix = "xctest "

  /// Whether XCTest has recorded it, which cannot be prevented.
  var isXCTest: Bool { key.hasPrefix(Self.xcTestPrefix) }
}

/// The failures of the run in progress.
final class Findings: Sendable {
  private let lock = Lock()
  nonisolated(unsafe) private var findings: [Finding] = []

  deinit { lock.destroy() }

  func add(_ finding: Finding) { lock.withLock { findings.append(finding) } }

  /// Adds a report of the scope. Its key ends before the instant and the numbers of tasks, which may differ.
  func add(scopeReport text: String) {
    add(Finding(key: String(text.prefix { !$0.isNumber }), text: text))
  }

  func take() -> [Finding] {
    lock.withLock {
      defer { findings = [] }
      return findings
    }
  }
}

/// A filter between an explored test and its test library.
///
/// It withholds the issues of the search, and lets those of the last run through, with an explanation.
package final class IssueGate: Sendable {
  package enum Verdict: Sendable {
    /// The test library does not receive the issue.
    case isKept
    case passes
    /// The issue passes with a comment.
    case passesWith(String)
  }

  private enum Mode {
    case closed
    case open
    /// The first issue with this key passes with the explanation.
    case explaining(String, key: String)
  }

  /// The prefix of the keys of a test library's issues.
  package static let keyPrefix = "issue "

  private let lock = Lock()
  nonisolated(unsafe) private var mode = Mode.closed
  let findings = Findings()

  init() {}

  deinit { lock.destroy() }

  /// Notes an issue that is a failure, and returns what happens to it.
  ///
  /// - Parameter key: The kind and the place of the failure.
  package func handle(key: String, text: String) -> Verdict {
    findings.add(Finding(key: key, text: text))
    return lock.withLock {
      switch mode {
      case .closed: return .isKept
      case .open: return .passes
      case .explaining(let explanation, let wanted):
        guard key == wanted else { return .passes }
        mode = .open
        return .passesWith(explanation)
      }
    }
  }

  /// Withholds issues.
  func close() { lock.withLock { mode = .closed } }

  /// Lets issues through, the first one with the key with an explanation.
  func open(with explanation: String? = nil, key: String = "") {
    lock.withLock { mode = explanation.map { .explaining($0, key: key) } ?? .open }
  }
}

/// The hook through which a test kit passes the issues of a test library to a gate.
package enum IssueGates {
  /// Runs a body while each failure of the current test passes through the gate.
  package typealias Install =
    @Sendable (
      _ gate: IssueGate, _ body: @escaping @Sendable () async -> Void
    ) async -> Void

  /// Set once, at load.
  nonisolated(unsafe) package static var install: Install?
}

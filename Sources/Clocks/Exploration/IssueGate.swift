import ClocksSupport

/// Stands between an explored test and its test library: keeps the issues of a search from it, and lets
/// those of the last run through, with the explanation.
package final class IssueGate: Sendable {
  /// What becomes of an issue.
  package enum Verdict: Sendable {
    /// The test library does not hear of it.
    case isKept
    /// It goes on.
    case passes
    /// It goes on with a comment.
    case passesWith(String)
  }

  private enum Mode {
    case closed
    case open
    /// The explanation goes with the first issue of this key.
    case explaining(String, key: String)
  }

  private let lock = Lock(.issueGate)
  nonisolated(unsafe) private var mode = Mode.closed
  let findings = Findings()

  init() {}

  deinit { lock.destroy() }

  /// What becomes of an issue that is a failure.
  ///
  /// - Parameters:
  ///   - key: What kind of failure it is, and where.
  ///   - text: What it says.
  package func handle(key: String, text: String) -> Verdict {
    lock.withLock {
      switch mode {
      case .closed:
        findings.add(Finding(key: key, text: text))
        return .isKept
      case .open:
        findings.add(Finding(key: key, text: text))
        return .passes
      case .explaining(let explanation, let wanted):
        findings.add(Finding(key: key, text: text))
        guard key == wanted else { return .passes }
        mode = .open
        return .passesWith(explanation)
      }
    }
  }

  /// Keeps all issues from the test library from now on.
  func close() { lock.withLock { mode = .closed } }

  /// Lets all issues through from now on, the first one of the key with an explanation.
  func open(with explanation: String? = nil, key: String = "") {
    lock.withLock { mode = explanation.map { .explaining($0, key: key) } ?? .open }
  }

  /// Whether the explanation has gone with an issue, or there was none.
  var hasExplained: Bool {
    lock.withLock { if case .explaining = mode { false } else { true } }
  }
}

/// How a test library's issues come to a gate: a test kit that knows the library sets this at load.
package enum IssueGates {
  /// Runs a body while each failure of the current test goes through the gate.
  package typealias Install =
    @Sendable (
      _ gate: IssueGate, _ body: @escaping @Sendable () async -> Void
    ) async -> Void

  /// Set once, at load.
  nonisolated(unsafe) package static var install: Install?
}

import ClocksSearch
import ClocksSupport

struct RunOutcome: Sendable {
  var findings: [Finding] = []
  var error: (any Error)?

  var hasFailed: Bool { !findings.isEmpty }

  /// The error by which the operation skips its test; `nil` if the test fails or is not skipped.
  var skip: (any Error)? {
    guard !hasFailed, let error, XCTest.isSkip(error) else { return nil }
    return error
  }

  /// The key of the first finding. Two runs with equal keys failed in the same way.
  var key: String? { findings.first?.key }
}

/// Runs an operation in explored scopes, one after the other.
struct OneRun {
  typealias Operation = (VirtualTime) async throws -> Void

  let options: ScopeOptions
  let origin: CallSite
  let findings: Findings
  /// Receives the signal if a job of a run crashes.
  var crashed: (@Sendable (CInt) -> Void)?
  let explorer: Explorer
  /// The run in progress, or the last one.
  var run: ScheduleRun { explorer.run }
  /// The system clocks at the beginning of each run.
  private let start = SystemClocks()

  /// - Parameter stepLimit: The number of steps after which the first run counts as a runaway; by default, 400,000.
  init(
    options: ScopeOptions, origin: CallSite, findings: Findings, tree: TaskTree = TaskTree(),
    bounds: Bounds = Bounds(), stepLimit: Int? = nil
  ) {
    self.options = options
    self.origin = origin
    self.findings = findings
    explorer = Explorer(ScheduleRun(tree: tree, bounds: bounds))
    if let stepLimit { explorer.stepLimit = stepLimit }
  }

  /// Runs the operation by a plan, in a new task, and abandons that task if it does not end.
  func callAsFunction(
    isolation: isolated (any Actor)? = #isolation, _ plan: Plan, profile: Profile = Profile(),
    details: Bool = false, _ operation: @escaping Operation
  ) async -> RunOutcome {
    let findings = findings
    // The first use of `Hops.missing` creates tasks, which must not belong to the run.
    _ = Hops.missing
    explorer.reset(plan, profile: profile)
    let time = VirtualTime(
      options, at: origin, record: { findings.add(scopeReport: $0) }, chooser: explorer,
      start: start)
    let scheduler = time.scheduler
    let scope = scheduler.scope!
    explorer.details = details ? StepDetails(scope.virtualClock) : nil
    scope.crashed = crashed
    scope.invariantFails = { findings.add(scopeReport: $0, at: $1) }
    let error = await time.runUnlessStuck(operation)
    scheduler.change { $0.order = Order() }
    var outcome = RunOutcome(findings: findings.take(), error: error)
    if case .onTrial = options.recording, let recorder = scheduler.recorder {
      let isFailure = outcome.findings.contains { $0.kind == .xcTest }
      if isFailure { recorder.deliver() } else { recorder.drop() }
    }
    if let error, !outcome.hasFailed, outcome.skip == nil {
      outcome.findings = [Finding(thrown: error)]
    }
    return outcome
  }
}

struct Finding: Sendable {
  enum Kind {
    /// A report of the scope.
    case report
    /// An issue of a test library, which passes through the gate.
    case issue
    /// The error that the operation threw.
    case thrown
    /// A failure that XCTest has already recorded, because XCTest offers no way to withhold it.
    case xcTest
  }

  var kind = Kind.report
  /// Identifies the failure by its kind and its place: equal in all runs in which the same failure occurs.
  var key: String
  var text: String
  /// Where the test states the invariant that fails.
  var site: CallSite?

  /// Whether the run waited for a limit of real time. If so, it is not repeated: that would take as long again.
  var tookLong: Bool { kind != .issue && text.contains(" of real time") }
}

extension Finding {
  /// Creates the finding of a thrown error.
  ///
  /// The key has the error's type, code and text, without words that contain digits: numbers and addresses may
  /// differ from run to run.
  init(thrown error: any Error) {
    let words = "\(error)".split(whereSeparator: \.isWhitespace).filter {
      !$0.contains(where: \.isNumber)
    }
    kind = .thrown
    key = "\(type(of: error)) \(error._code) " + words.joined(separator: " ")
    text = "the operation threw \(type(of: error)): \(error)"
  }
}

final class Findings: Sendable {
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  nonisolated(unsafe) private var findings: [Finding] = []
  /// The number of runs that have ended.
  nonisolated(unsafe) private var endedRuns = 0

  var run: Int { lock.withLock { endedRuns } }

  func add(_ finding: Finding) { lock.withLock { findings.append(finding) } }

  /// Adds a report of the scope.
  ///
  /// The key ends before the report's first number, because numbers may differ from run to run. Numbers in quoted
  /// names do not differ, so they stay. If quotes are unpaired, it is unknown what is quoted, and no number stays.
  ///
  /// - Parameter site: Where the test states what fails; `nil` if it is the test as a whole.
  func add(scopeReport text: String, at site: CallSite? = nil) {
    let areQuotesPaired = text.prefix { $0 != "\n" }.count { $0 == "\"" }.isMultiple(of: 2)
    var isQuoted = false
    let key = text.prefix { character in
      if character == "\"", areQuotesPaired { isQuoted.toggle() }
      return isQuoted || !character.isNumber
    }
    add(Finding(key: String(key), text: text, site: site))
  }

  /// Returns the findings of the run that ends.
  func take() -> [Finding] {
    lock.withLock {
      defer { (findings, endedRuns) = ([], endedRuns + 1) }
      return findings
    }
  }
}

/// A filter that withholds the issues of a search from its test library, except those of the last run.
package final class IssueGate: Sendable {
  /// Runs a body while each failure of the current test passes through the gate.
  package typealias Install =
    @Sendable (_ gate: IssueGate, _ body: @escaping @Sendable () async -> Void) async -> Void

  /// Passes the issues of a test library to a gate; `nil` without a test kit.
  nonisolated(unsafe) package static var install: Install?

  package enum Verdict: Sendable {
    /// The test library does not receive the issue.
    case isKept
    case passes
    case passesWith(String)
  }

  /// Guards the variables below. Rank `issueGate`: that of `Findings` is taken under it.
  private let lock = Lock(.issueGate)
  nonisolated(unsafe) private var isOpen = false
  /// The explanation with which the first issue with this key passes.
  nonisolated(unsafe) private var explanation: (text: String, key: String)?
  /// How many warnings and known issues with a key have passed.
  nonisolated(unsafe) private var passed: [String: Int] = [:]
  /// How many a run has had.
  nonisolated(unsafe) private var counted: (run: Int, counts: [String: Int]) = (0, [:])
  let findings = Findings()

  init() {}

  /// Adds a failure to the findings. Returns whether the test library receives it, and with which explanation.
  package func handle(key: String, text: String) -> Verdict {
    findings.add(Finding(kind: .issue, key: key, text: text))
    return lock.withLock {
      guard isOpen else { return .isKept }
      guard let explanation, explanation.key == key else { return .passes }
      self.explanation = nil
      return .passesWith(explanation.text)
    }
  }

  /// Returns whether the test library receives a warning or a known issue with this key.
  ///
  /// The n-th one in a run is received unless an earlier run has had n of them. So the test library receives as many as
  /// the run that had the most.
  package func passes(key: String) -> Bool {
    lock.withLock {
      let run = findings.run
      if counted.run != run { counted = (run, [:]) }
      counted.counts[key, default: 0] += 1
      guard let count = counted.counts[key], count > passed[key, default: 0] else { return false }
      passed[key] = count
      return true
    }
  }

  /// Lets issues pass. The first issue with the key passes with the explanation.
  func open(with explanation: (text: String, key: String)? = nil) {
    lock.withLock { (isOpen, self.explanation) = (true, explanation) }
  }
}

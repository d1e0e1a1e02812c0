import ClocksSupport

/// How a search's findings are reported.
package struct ScheduleReport: Sendable {
  /// Makes the test fail.
  var fail: @Sendable (String) -> Void
  /// Makes the test fail because of an error, with an explanation.
  var failWithError: @Sendable (any Error, String) -> Void
  /// How the author runs the schedule of a token again.
  var replayForm: @Sendable (String) -> String

  package init(
    fail: @escaping @Sendable (String) -> Void,
    failWithError: @escaping @Sendable (any Error, String) -> Void,
    replayForm: @escaping @Sendable (String) -> String
  ) {
    self.fail = fail
    self.failWithError = failWithError
    self.replayForm = replayForm
  }
}

/// What a test kit knows about the scopes in which an explored test runs.
package struct ScheduleScope: Sendable {
  package var autoAdvance = true
  package var leftoverSleeps = VirtualTime.LeftoverSleeps.cancel
  package var freezesDate = true
  package var runningLimit = Duration.seconds(60)

  package init() {}

  fileprivate var options: ScopeOptions {
    var options = ScopeOptions()
    options.autoAdvance = autoAdvance
    options.leftoverSleepsFail = leftoverSleeps == .fail
    options.freezesDate = freezesDate
    options.runningLimit = runningLimit
    return options
  }
}

/// Runs a test case as `withSchedules` does, and returns what that returns, for a test kit that knows better where a failure belongs.
package nonisolated(nonsending) func runSchedules(
  _ count: ScheduleCount, seed: Int?, slack: Duration, testID: String, in scope: ScheduleScope,
  report: ScheduleReport, operation: @escaping @Sendable (VirtualTime) async throws -> Void
) async -> ScheduleSummary? {
  let request = ScheduleRequest(count: count, seed: seed, slack: slack, testID: testID)
  return await ScheduledTest(
    request: request, options: scope.options, origin: CallSite(), report: report
  ).run(operation)
}

/// A test that is run in many orders: from what was asked for to what is reported.
struct ScheduledTest {
  let request: ScheduleRequest
  let options: ScopeOptions
  let origin: CallSite
  let report: ScheduleReport

  /// Runs the operation, and reports a failure; returns what came of it if there is none.
  func run(
    isolation: isolated (any Actor)? = #isolation, _ operation: @escaping OneRun.Operation
  ) async -> ScheduleSummary? {
    let meaning: ScheduleRequest.Meaning
    do {
      meaning = try request.meaning()
    } catch {
      report.fail(error.description)
      return nil
    }
    if let missing = Hops.missing {
      report.fail(Self.cannotExplore(missing))
      return nil
    }
    // From now on the same in each run, as far as that can be.
    Hashing.ignoreAddresses()
    NondeterminismHooks.redirect()
    RuntimeClocks.redirectForExplored()
    var options = options
    options.isExplored = true
    options.slack = request.slack
    options.recording = .never(RefusedRecording())
    let gate = IssueGate()
    let isTested = TestLibraries.isInSwiftTesting
    guard isTested, let install = IssueGates.install else {
      if isTested {
        report.fail(Self.cannotSeeIssues)
        return nil
      }
      return await runInXCTest(meaning, options, gate, operation)
    }
    // The current task is suspended all the while, so nothing is used by both at the same time.
    nonisolated(unsafe) let operation = operation
    let result = Result()
    await install(gate) { [options] in
      result.summary = await run(isolation: isolation, meaning, options, gate, operation)
    }
    return result.summary
  }

  /// Runs the operation while each failure that XCTest records counts as one of it.
  private func runInXCTest(
    isolation: isolated (any Actor)? = #isolation, _ meaning: ScheduleRequest.Meaning,
    _ options: ScopeOptions, _ gate: IssueGate, _ operation: @escaping OneRun.Operation
  ) async -> ScheduleSummary? {
    guard TestLibraries.isXCTestRunning else {
      return await run(meaning, options, gate, operation)
    }
    let findings = gate.findings
    let token = XCTestFailures.begin { text, file, line in
      findings.add(
        Finding(key: "\(Finding.xcTestPrefix)\(file):\(line)", text: "\(file):\(line): \(text)"))
    }
    defer { XCTestFailures.end() }
    guard token else {
      report.fail(Self.cannotSeeXCTest)
      return nil
    }
    // Its failure cannot be had once more.
    var options = options
    options.recording = .onTrial
    return await run(meaning, options, gate, operation)
  }

  private final class Result: @unchecked Sendable {
    nonisolated(unsafe) var summary: ScheduleSummary?
  }

  private func run(
    isolation: isolated (any Actor)? = #isolation, _ meaning: ScheduleRequest.Meaning,
    _ options: ScopeOptions, _ gate: IssueGate, _ operation: @escaping OneRun.Operation
  ) async -> ScheduleSummary? {
    if let token = meaning.token {
      await replay(token, options, gate, operation)
      return nil
    }
    var exploration = Exploration(
      limits: meaning.limits, time: meaning.time, options: options, origin: origin, gate: gate)
    let folder = TokenFolder(request.variables.folder, testID: request.testID)
    exploration.known = folder.tokens()
    if request.variables.count != nil { exploration.progress = progressOnTerminal(request.testID) }
    let outcome = await exploration(operation)
    gate.open()
    switch outcome {
    case .passed(let summary):
      if options.wasToBeRecorded { await runRecorded(options, gate, operation) }
      return summary
    case .diverged(let divergence, let summary):
      report.fail(Explanation.notDeterministic(divergence, summary))
    case .failed(let failure, let summary):
      folder.add(failure.token)
      await show(failure, summary, meaning, options, gate, operation)
    }
    return nil
  }

  /// Runs the smallest schedule once more, with issues let through.
  private func show(
    isolation: isolated (any Actor)? = #isolation, _ failure: Exploration.Failure,
    _ summary: ScheduleSummary, _ meaning: ScheduleRequest.Meaning, _ options: ScopeOptions,
    _ gate: IssueGate, _ operation: @escaping OneRun.Operation
  ) async {
    let explanation = Explanation(
      failure: failure, limits: meaning.limits, replayForm: report.replayForm
    ).text
    // XCTest has the failure already, and would have it twice.
    guard !failure.finding.isXCTest else { return report.fail(explanation) }
    gate.open(with: explanation, key: failure.finding.key)
    let (outcome, _, _) = await runOnce(failure.constraints, options, gate, operation)
    if let error = outcome.error, failure.finding.key.hasPrefix("threw") {
      report.failWithError(error, explanation)
    } else if let finding = outcome.findings.first(where: { $0.key == failure.finding.key }) {
      // An issue has gone through the gate, with the explanation.
      if !finding.isIssue { report.fail(finding.text + "\n" + explanation) }
    } else {
      report.fail(
        """
        \(failure.finding.text)
        (When the schedule was run once more, this failure did not come.)
        \(explanation)
        """)
    }
  }

  /// Runs the test once more, first in, first out, so that there is a timeline of a test that has passed.
  private func runRecorded(
    isolation: isolated (any Actor)? = #isolation, _ options: ScopeOptions, _ gate: IssueGate,
    _ operation: @escaping OneRun.Operation
  ) async {
    let (outcome, _, _) = await runOnce([], options, gate, operation)
    // An issue has gone through the gate.
    for finding in outcome.findings where !finding.isIssue { report.fail(finding.text) }
  }

  /// Runs one schedule so that everything is told of it.
  @discardableResult
  private func runOnce(
    isolation: isolated (any Actor)? = #isolation, _ constraints: [Constraint],
    _ options: ScopeOptions, _ gate: IssueGate, tree: TaskTree = TaskTree(),
    _ operation: @escaping OneRun.Operation
  ) async -> (outcome: RunOutcome, run: ScheduleRun, details: StepDetails?) {
    var options = options
    options.recording = .asAskedFor
    let run = ScheduleRun(.constraints(constraints), tree: tree)
    let one = OneRun(
      options: options, origin: origin, findings: gate.findings, explorer: Explorer(run))
    let (outcome, details) = await one(details: true, operation)
    return (outcome, run, details)
  }

  /// Runs one schedule, as a token says it, with issues let through.
  private func replay(
    isolation: isolated (any Actor)? = #isolation, _ text: String, _ options: ScopeOptions,
    _ gate: IssueGate, _ operation: @escaping OneRun.Operation
  ) async {
    gate.open()
    var tree = TaskTree()
    let token: ScheduleToken
    do {
      token = try ScheduleToken(text, &tree)
    } catch {
      return report.fail("The schedule \"\(text)\" cannot be run: \(error.description)")
    }
    let (outcome, run, _) = await runOnce(
      token.constraints, options, gate, tree: tree, operation)
    if let error = outcome.error { report.failWithError(error, "Schedule \(text).") }
    for finding in outcome.findings
    where !finding.isIssue && !finding.isXCTest && !finding.key.hasPrefix("threw") {
      report.fail(finding.text + "\nSchedule \(text).")
    }
    guard !outcome.hasFailed else { return }
    if outcome.findings.isEmpty, let problem = Explanation.isNotWhatItWas(token, text, run) {
      report.fail(problem)
    }
  }

  private func progressOnTerminal(_ testID: String) -> ((ScheduleProgress) -> Void)? {
    guard Terminal.isStandardErrorOne else { return nil }
    return { Terminal.writeLine("\(testID): \($0.text)") }
  }

  // MARK: - What cannot be done

  static func cannotExplore(_ missing: String) -> String {
    """
    A test can be run in many orders only where every hop of its tasks to an actor and back is seen. This \
    process cannot see \(missing) (\(SchedulerCapability.selfTest.description)), so nothing was run: one order \
    alone would say nothing about the others. It takes Swift 6.3 on Linux, and no CLOCKS_DOOR \
    that keeps it from that.
    """
  }

  static let cannotSeeXCTest = """
    `withSchedules` does not hear of the failures of this XCTest, whose layout it does not know. Nothing was \
    run.
    """

  static let cannotSeeIssues = """
    `withSchedules` in a test of Swift Testing needs ClocksTestKit, which hands it the test's issues: link \
    it to the test target, and import it. Nothing was run.
    """
}

extension Finding {
  /// Whether it came from the test library.
  var isIssue: Bool { key.hasPrefix(IssueGate.keyPrefix) }

  static let xcTestPrefix = "xctest "

  /// Whether XCTest has recorded it, which cannot be kept from that.
  var isXCTest: Bool { key.hasPrefix(Self.xcTestPrefix) }
}

extension IssueGate {
  /// What the keys of a test library's issues begin with.
  public static let keyPrefix = "issue "
}

import ClocksSearch
import ClocksSupport

package struct ScheduleReport: Sendable {
  var fail: @Sendable (String) -> Void
  var failWithError: @Sendable (any Error, String) -> Void
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

/// Returns the arguments that a replay needs besides the token, for example `, slack: .milliseconds(5)`.
package func replayArguments(slack: Duration) -> String {
  slack == .zero ? "" : ", slack: \(slack.swiftCode)"
}

/// Runs a test case as `withSchedules` does, for a test kit that reports in its own way.
package nonisolated(nonsending) func runSchedules(
  _ count: ScheduleCount, seed: Int?, slack: Duration, bounds: ScheduleBounds = .init(),
  testID: String, testCase: String = "", options: ScopeOptions, origin: CallSite = .unknown,
  report: ScheduleReport, operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  var options = options
  options.isExplored = true
  options.slack = slack
  options.recording = .never(RefusedRecording())
  let request = ScheduleRequest(
    count: count, seed: seed, slack: slack, bounds: bounds, testID: testID, testCase: testCase)
  return try await ScheduledTest(request: request, options: options, origin: origin, report: report)
    .run(operation)
}

/// A test that runs in many schedules, from its request to its report.
struct ScheduledTest {
  let request: ScheduleRequest
  var options: ScopeOptions
  let origin: CallSite
  let report: ScheduleReport
  private let gate = IssueGate()
  /// How many times a constraint of a token delays its second step, at most.
  ///
  /// A token does not tell how long its steps wait. A step that waits for one that never comes must begin before the
  /// run counts as a runaway (`Explorer.stepLimit`).
  private static let patienceOfReplay = 100_000

  /// Runs the operation and reports a failure. Throws only the error by which the operation skips the test.
  ///
  /// Returns the summary of the search; `nil` if the operation failed, or one schedule was replayed.
  func run(
    isolation: isolated (any Actor)? = #isolation, _ operation: @escaping OneRun.Operation
  ) async throws -> ScheduleSummary? {
    let meaning: ScheduleRequest.Meaning
    do {
      meaning = try request.meaning()
    } catch {
      report.fail(error.description)
      return nil
    }
    if let missing = Hops.missing {
      report.fail(
        """
        A test can be run in many orders only where every hop of its tasks to an actor and back is seen. \
        This process cannot see \(missing) (\(SchedulerCapability.selfTest.description)), so nothing was run. \
        Use Swift 6.3 on Linux, and unset CLOCKS_DOOR.
        """)
      return nil
    }
    // These calls remove sources of nondeterminism, so that runs of one schedule are equal as far as possible.
    Hashing.ignoreAddresses()
    NondeterminismHooks.redirect()
    RuntimeClocks.redirectForExplored()
    guard SwiftTesting.isRunningThisTask else {
      return try await runOutsideSwiftTesting(meaning, operation)
    }
    guard let install = IssueGate.install else {
      report.fail(
        """
        `withSchedules` in a test of Swift Testing needs ClocksTestKit, which hands it the test's issues: \
        link it to the test target, and import it. Nothing was run.
        """)
      return nil
    }
    // The current task is suspended while `install` runs, so only one task at a time uses these variables.
    nonisolated(unsafe) let operation = operation
    nonisolated(unsafe) var result: Result<ScheduleSummary?, any Error> = .success(nil)
    await install(gate) {
      do {
        result = .success(try await run(isolation: isolation, meaning, operation))
      } catch {
        result = .failure(error)
      }
    }
    return try result.get()
  }

  private func runOutsideSwiftTesting(
    isolation: isolated (any Actor)? = #isolation, _ meaning: ScheduleRequest.Meaning,
    _ operation: @escaping OneRun.Operation
  ) async throws -> ScheduleSummary? {
    guard TestLibraries.isXCTestRunning else { return try await run(meaning, operation) }
    let findings = gate.findings
    let isHeard = XCTestFailures.begin { text, file, line in
      findings.add(
        Finding(kind: .xcTest, key: "\(file):\(line)", text: "\(file):\(line): \(text)"))
    }
    defer { XCTestFailures.end() }
    guard isHeard else {
      report.fail(
        """
        `withSchedules` cannot see the failures of this XCTest, whose layout it does not know. \
        Nothing was run.
        """)
      return nil
    }
    // With XCTest, a run that fails is not repeated, so it must be recorded the first time.
    var test = self
    test.options.recording = .onTrial
    return try await test.run(meaning, operation)
  }

  private func run(
    isolation: isolated (any Actor)? = #isolation, _ meaning: ScheduleRequest.Meaning,
    _ operation: @escaping OneRun.Operation
  ) async throws -> ScheduleSummary? {
    if let token = meaning.token {
      try await replay(token, operation)
      return nil
    }
    var exploration = Exploration(
      limits: meaning.limits, time: meaning.time, options: options, origin: origin, gate: gate)
    let folder = TokenFolder(request.variables.folder, testID: request.testID)
    exploration.known = folder.tokens(in: &exploration.tree)
    if request.variables.count != nil, Terminal.isStandardErrorOne {
      exploration.progress = { [testID = request.testID] in
        Terminal.writeLine("\(testID): \($0)")
      }
    }
    let note: @Sendable (SearchReports.Search) -> Void = {
      [request, shard = meaning.limits.shard] in
      guard let folder = request.variables.reportsFolder else { return }
      var search = $0
      search.testCase = request.testCase
      search.arguments = replayArguments(slack: request.slack)
      SearchReports.add(search, of: request.testID, shard, to: folder)
    }
    exploration.crashed = { [testID = request.testID, replayForm = report.replayForm] crash in
      if !crash.isKnown { folder.add(crash.token) }
      // The token that is added last is tried first next time.
      if case .failure(_, let token) = crash.found { folder.add(token) }
      note(SearchReports.Search(crash))
      Terminal.writeLine(crash.report(in: testID, replayForm: replayForm))
    }
    let start = RealTime(in: .zero)
    var search = SearchReports.Search()
    exploration.ended = { search.add($0, after: start) }
    let outcome = await exploration(operation)
    gate.open()
    if case .skipped(let error) = outcome { throw error }
    search.add(outcome)
    if case .passed = outcome, options.wasToBeRecorded { await record(&search, note, operation) }
    note(search)
    switch outcome {
    case .passed(let summary):
      if Environment.isVerbose { Terminal.writeLine("\(request.testID): \(summary)") }
      return summary
    case .diverged(let divergence):
      report.fail(Explanation.notDeterministic(divergence.description))
    case .skipped: break
    case .failed(let failure):
      folder.add(failure.token)
      await show(failure, meaning, operation)
    }
    return nil
  }

  /// Records a run first in, first out of a test that passed, because the search itself records nothing.
  ///
  /// - Parameters:
  ///   - search: The report of the search, to which a failure of the run is added.
  ///   - note: Receives that report if the run ends the process.
  private func record(
    isolation: isolated (any Actor)? = #isolation, _ search: inout SearchReports.Search,
    _ note: @escaping @Sendable (SearchReports.Search) -> Void,
    _ operation: @escaping OneRun.Operation
  ) async {
    let passed = search
    let (outcome, _) = await runOnce(
      .firstInFirstOut,
      crashed: { [testID = request.testID] signal in
        let text = """
          The search has passed. A run that was to be recorded, first in, first out, ends the process with signal \
          \(signal).
          """
        var search = passed
        search.addRecordedRun(result: "crashed", text)
        note(search)
        Terminal.writeLine("\(testID): \(text)")
      }, operation)
    if let finding = outcome.findings.first {
      search.addRecordedRun(result: "failed", finding.text)
    }
    // The test library has recorded its own failures already.
    for finding in outcome.findings where ![.issue, .xcTest].contains(finding.kind) {
      fail(finding, finding.text)
    }
  }

  /// Runs the shrunk schedule once more, and lets its issues pass to the test library.
  private func show(
    isolation: isolated (any Actor)? = #isolation, _ failure: Exploration.Failure,
    _ meaning: ScheduleRequest.Meaning, _ operation: @escaping OneRun.Operation
  ) async {
    let explanation = Explanation(
      failure: failure, limits: meaning.limits, replayForm: report.replayForm
    ).text
    // XCTest has recorded the failure already.
    guard failure.finding.kind != .xcTest else { return report.fail(explanation) }
    guard !failure.finding.tookLong else {
      return report.fail(failure.finding.text + "\n" + explanation)
    }
    gate.open(with: (explanation, failure.finding.key))
    let (outcome, _) = await runOnce(
      failure.schedule, profile: failure.profile, tree: failure.tree,
      stepLimit: max(10_000, 2 * failure.record.steps.count),
      crashed: { [testID = request.testID, text = failure.finding.text] signal in
        Terminal.writeLine(
          """
          \(testID): \(text)
          \(explanation)
          When the schedule was run once more, the process ended with signal \(signal).
          """)
      }, operation)
    if let error = outcome.error, failure.finding.kind == .thrown,
      outcome.key == failure.finding.key
    {
      report.failWithError(error, explanation)
    } else if let finding = outcome.findings.first(where: { $0.key == failure.finding.key }) {
      // An issue was already recorded with the explanation, because it has passed the gate.
      if finding.kind != .issue { fail(finding, finding.text + "\n" + explanation) }
    } else {
      report.fail(
        """
        \(failure.finding.text)
        (When the schedule was run once more, this failure did not occur.)
        \(explanation)
        """)
    }
  }

  /// Reports a failure: where the test states what fails, or at the test.
  private func fail(_ finding: Finding, _ text: String) {
    if let site = finding.site { recordFailure(text, at: site) } else { report.fail(text) }
  }

  /// Runs one schedule with a recording and details. The tree contains the tasks of the plan.
  private func runOnce(
    isolation: isolated (any Actor)? = #isolation, _ plan: Plan,
    profile: Profile = Profile(), tree: TaskTree = TaskTree(), stepLimit: Int? = nil,
    crashed: (@Sendable (CInt) -> Void)? = nil, _ operation: @escaping OneRun.Operation
  ) async -> (outcome: RunOutcome, run: ScheduleRun) {
    var options = options
    options.recording = .asAskedFor
    var one = OneRun(
      options: options, origin: origin, findings: gate.findings, tree: tree, stepLimit: stepLimit)
    one.crashed = crashed
    return (await one(plan, profile: profile, details: true, operation), one.run)
  }

  /// Runs the schedule of a token, and lets its issues pass to the test library.
  private func replay(
    isolation: isolated (any Actor)? = #isolation, _ text: String,
    _ operation: @escaping OneRun.Operation
  ) async throws {
    gate.open()
    var tree = TaskTree()
    let token: ScheduleToken
    do {
      token = try ScheduleToken(text, &tree)
    } catch {
      return report.fail("The schedule \"\(text)\" cannot be run: \(error.description)")
    }
    let (outcome, run) = await runOnce(
      token.plan, profile: Profile(patience: Self.patienceOfReplay), tree: tree, operation)
    if let skip = outcome.skip { throw skip }
    // An error that follows another failure, such as that of `try #require`, only says that this failure ended the run.
    if let error = outcome.error, outcome.findings.first?.kind == .thrown {
      report.failWithError(error, "Schedule \(text).")
    }
    for finding in outcome.findings where finding.kind == .report {
      fail(finding, finding.text + "\nSchedule \(text).")
    }
    guard !outcome.hasFailed else { return }
    if let problem = Explanation.isNotWhatItWas(token, text, run) { report.fail(problem) }
  }
}

import ClocksSearch
import ClocksSupport

/// Runs an operation in many schedules, and shrinks the schedule of the first failure.
struct Exploration {
  let limits: ScheduleSearch.Limits
  /// The limit of real time; `nil` if only the number of schedules is limited.
  let time: Duration?
  let options: ScopeOptions
  let origin: CallSite
  let gate: IssueGate
  var shrinkingTime = Duration.seconds(10)
  var known: [ScheduleToken] = []
  /// The tree that contains the tasks of the known schedules.
  var tree = TaskTree()
  /// Receives the progress of the search about once a second.
  var progress: ((String) -> Void)?
  /// Receives the search at its end, before the schedule of a failure is shrunk.
  var ended: ((ScheduleSearch) -> Void)?
  /// Receives the schedule in which the process crashes.
  var crashed: (@Sendable (Crash) -> Void)?

  struct Crash: Sendable {
    var signal: CInt
    /// The number of the schedule.
    var number: Int
    var token: String
    /// Whether the token was known before the search.
    var isKnown: Bool
    /// The failure or divergence that the search found earlier, if the process crashes in a run that examines it.
    var found: Found?
  }

  enum Found: Sendable {
    case failure(text: String, token: String)
    /// Two runs of one schedule differ.
    case divergence(String)
  }

  /// The failure that is being shrunk and replayed, or the divergence whose cause is sought, for the report of a crash.
  private final class Examined {
    var found: Found?
  }

  /// A failure, and the shrunk schedule in which it occurs.
  ///
  /// A class, because in a debug build each copy of a struct of this size takes much code.
  final class Failure {
    let finding: Finding
    /// The number of the first schedule in which the failure occurred.
    let number: Int
    let plan: Plan
    /// The profile for runs that repeat the failure.
    ///
    /// A constraint may delay its step for longer than the run that failed delayed any step (`RunRecord.patience`).
    let profile: Profile
    var constraints: [Constraint]
    var choices: [Choice]
    /// The last run with these constraints.
    var record: RunRecord
    var details: StepDetails?
    /// The run with the choices, but without the constraints, if the test passes in it.
    var passing: (record: RunRecord, details: StepDetails)?
    /// The tree of tasks by which the constraints name their steps.
    var tree: TaskTree
    /// Whether runs have shown that the failure needs each choice and each constraint.
    var isMinimal = false
    var replays = (same: 0, all: 0)
    /// The first difference of the two replays, if they differ.
    var divergence: Divergence?

    init(_ finding: Finding, number: Int, plan: Plan, in run: ScheduleRun) {
      self.finding = finding
      self.number = number
      self.plan = plan
      record = run.record
      profile = Profile(patience: run.record.patience)
      constraints = run.record.constraints
      choices = run.record.choices
      tree = run.tree
    }

    var schedule: Plan { .constraints(constraints, choices: choices) }

    var token: String {
      ScheduleToken(choices: choices, constraints: constraints, trace: record.check).text(tree)
    }
  }

  enum Outcome {
    case passed(ScheduleSummary)
    case failed(Failure)
    /// Two runs of one schedule differ.
    case diverged(Divergence)
    /// A run skipped the test by this error.
    case skipped(any Error)
  }

  func callAsFunction(
    isolation: isolated (any Actor)? = #isolation, _ operation: @escaping OneRun.Operation
  ) async -> Outcome {
    var one = OneRun(
      options: options, origin: origin, findings: gate.findings, tree: tree, bounds: limits.bounds)
    let run = one.run
    let search = ScheduleSearch(limits, known: known.map(\.plan))
    // Only this task writes it, while no run is in progress.
    nonisolated(unsafe) let examined = Examined()
    if let crashed {
      _ = CrashHandler.installed
      let known = 3..<3 + known.count
      // Only the thread that crashes writes the record, and the search waits for it, so its signal handler may read
      // both.
      nonisolated(unsafe) let (run, search) = (run, search)
      one.crashed = { signal in
        let token = ScheduleToken(
          choices: run.record.choices, constraints: run.record.constraints, trace: run.record.check)
        crashed(
          Crash(
            signal: signal, number: search.tried, token: token.text(run.tree),
            isKnown: examined.found == nil && known.contains(search.tried), found: examined.found))
      }
    }
    let deadline = time.map { RealTime(in: $0) }
    var first: RunRecord?
    var progress = ProgressMeter(report: progress)
    var isOverTime = false
    while let plan = search.next() {
      let outcome = await one(plan, profile: search.profile, operation)
      if Task.isCancelled {
        search.isCancelled = true
        break
      }
      if let skip = outcome.skip { return .skipped(skip) }
      if let finding = outcome.findings.first {
        ended?(search)
        let failure = Failure(finding, number: search.tried, plan: plan, in: run)
        examined.found = .failure(text: finding.text, token: failure.token)
        return .failed(await examine(failure, one, operation))
      }
      if search.tried == 1 {
        first = run.record
      } else if search.tried == 2, let first, first.divergence(from: run.record) != nil {
        ended?(search)
        let (second, used) = (run.record, one.explorer.used)
        examined.found = .divergence(
          Explanation.notDeterministic(
            Divergence(first, second, [], tree: run.tree, used: used).difference))
        var more: [RunRecord] = []
        for number in 1...4 { more.append(await rerun(plan, one, number, operation)) }
        return .diverged(Divergence(first, second, more, tree: run.tree, used: used))
      }
      search.note(run.record, run.tree)
      progress.ran(search)
      if let deadline, search.tried >= 2, deadline.hasPassed {
        isOverTime = true
        break
      }
    }
    ended?(search)
    return .passed(
      ScheduleSummary(
        schedules: search.tried, orders: search.coverage.orders.count,
        classes: search.coverage.classes.count, newClasses: search.newClasses,
        // The last order may have ended after the limit.
        end: isOverTime && search.end == .count ? .time : search.end, limits: limits, time: time))
  }

  /// Runs a schedule once more while other memory is in use, so that its objects get different addresses.
  private func rerun(
    isolation: isolated (any Actor)? = #isolation, _ plan: Plan, _ one: OneRun, _ number: Int,
    _ operation: @escaping OneRun.Operation
  ) async -> RunRecord {
    let ballast = (1...16).flatMap { size in
      (0..<number * size).map { _ in [UInt8](repeating: 0, count: size * 16) }
    }
    defer { withExtendedLifetime(ballast) {} }
    _ = await one(plan, operation)
    return one.run.record
  }

  /// Shrinks the failure of the last run, and replays it.
  private func examine(
    isolation: isolated (any Actor)? = #isolation, _ failure: Failure, _ one: OneRun,
    _ operation: @escaping OneRun.Operation
  ) async -> Failure {
    let run = one.run
    let (finding, profile) = (failure.finding, failure.profile)
    if finding.kind == .xcTest || finding.tookLong { return failure }
    nonisolated(unsafe) let operation = operation
    var shrinker = ScheduleShrinker(deadline: RealTime(in: shrinkingTime))
    failure.constraints = await shrinker.shrink(run.record) { plan in
      let outcome = await one(isolation: isolation, plan, profile: profile, operation)
      return outcome.key == finding.key ? run.record : nil
    }
    failure.choices = shrinker.choices
    failure.isMinimal = shrinker.isMinimal

    if !failure.constraints.isEmpty {
      let plan = Plan.constraints([], choices: failure.choices)
      let outcome = await one(plan, profile: profile, details: true, operation)
      if !outcome.hasFailed { failure.passing = one.explorer.details.map { (run.record, $0) } }
    }
    // Two replays show whether the failure is reproducible; the details of the second are kept.
    var records: [RunRecord] = []
    for _ in 0..<2 {
      let outcome = await one(failure.schedule, profile: profile, details: true, operation)
      if outcome.key == finding.key { failure.replays.same += 1 }
      failure.replays.all += 1
      records.append(run.record)
    }
    failure.details = one.explorer.details
    failure.record = records[1]
    failure.tree = run.tree
    if records[0].divergence(from: records[1]) != nil {
      failure.divergence = Divergence(
        records[0], records[1], [], tree: run.tree, used: one.explorer.used)
    }
    return failure
  }
}

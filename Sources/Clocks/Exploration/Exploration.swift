import ClocksSupport

/// Runs an operation in one order after the other, and says what came of it.
struct Exploration {
  typealias Operation = OneRun.Operation

  let limits: ScheduleSearch.Limits
  /// For how long, in real time; `nil` if the number of schedules is all that counts.
  let time: Duration?
  let options: ScopeOptions
  let origin: CallSite
  let gate: IssueGate
  /// How much real time making a failure small may take.
  var shrinkingTime = Duration.seconds(10)
  /// Schedules that have failed before.
  var known: [ScheduleToken] = []
  /// Is told how far the search has come, now and then.
  var progress: ((ScheduleProgress) -> Void)?

  /// A failure that was found, and made as small as possible.
  struct Failure {
    var finding: Finding
    /// The number of the schedule in which it came first, and how that was found.
    var number: Int
    var plan: Plan
    var constraints: [Constraint]
    /// The last run.
    var record: RunRecord
    var details: StepDetails?
    var tree: TaskTree
    /// Whether each constraint is needed.
    var isMinimal: Bool
    /// How many of the replays failed in the same way.
    var replays: (same: Int, all: Int)
    /// The runs that shrinking took.
    var shrinkRuns: Int
    /// Where the same schedule did something else, if it did.
    var divergence: Divergence?

    var token: String {
      ScheduleToken(constraints: constraints, trace: record.check).text(tree)
    }
  }

  enum Outcome {
    case passed(ScheduleSummary)
    case failed(Failure, ScheduleSummary)
    /// The test does not do the same in the same order.
    case diverged(Divergence, ScheduleSummary)
  }

  func callAsFunction(
    isolation: isolated (any Actor)? = #isolation, _ operation: @escaping Operation
  ) async -> Outcome {
    let run = ScheduleRun(.firstInFirstOut)
    let explorer = Explorer(run)
    let one = OneRun(
      options: options, origin: origin, findings: gate.findings, explorer: explorer)
    let deadline = time.map { RealTime(in: $0) }
    var search = ScheduleSearch(limits, known: known.map { .constraints($0.constraints) })
    var first: RunRecord?
    var progress = ProgressMeter(report: progress)
    var isOverTime = false
    gate.close()
    while let plan = search.next() {
      run.reset(plan, profile: search.profile)
      let (outcome, _) = await one(operation)
      if Task.isCancelled { break }
      if let finding = outcome.findings.first {
        let failure = await examine(
          finding, plan, run.record, number: search.tried, one, search.profile, operation)
        return .failed(failure, summary(search, isOverTime: false))
      }
      if search.tried == 1 {
        first = run.record
      } else if search.tried == 2, let first, first.divergence(from: run.record) != nil {
        let second = run.record
        let witnesses = explorer.witnesses
        var more: [RunRecord] = []
        for number in 1...4 { more.append(await rerun(plan, one, number, operation)) }
        let divergence = Divergence(first, second, more, tree: run.tree, witnesses)
        return .diverged(divergence, summary(search, isOverTime: false))
      }
      search.note(run.record, tasks: run.tree.count)
      progress.ran(search)
      if let deadline, search.tried >= 2, deadline.hasPassed {
        isOverTime = true
        break
      }
    }
    return .passed(summary(search, isOverTime: isOverTime))
  }

  private func summary(_ search: ScheduleSearch, isOverTime: Bool) -> ScheduleSummary {
    ScheduleSummary(
      schedules: search.tried, orders: search.orders.count,
      end: isOverTime ? .time : search.end, limits: limits, time: time)
  }

  /// Runs a schedule once more, with other addresses for what is allocated in it.
  private func rerun(
    isolation: isolated (any Actor)? = #isolation, _ plan: Plan, _ one: OneRun, _ number: Int,
    _ operation: @escaping Operation
  ) async -> RunRecord {
    let ballast = (1...16).flatMap { size in
      (0..<number * size).map { _ in [UInt8](repeating: 0, count: size * 16) }
    }
    defer { withExtendedLifetime(ballast) {} }
    one.explorer.run.reset(plan, profile: Profile())
    _ = await one(operation)
    return one.explorer.run.record
  }

  /// Makes a failure small, and replays it.
  private func examine(
    isolation: isolated (any Actor)? = #isolation, _ finding: Finding, _ plan: Plan,
    _ record: RunRecord, number: Int, _ one: OneRun, _ profile: Profile,
    _ operation: @escaping Operation
  ) async -> Failure {
    let run = one.explorer.run
    if finding.isXCTest {
      return Failure(
        finding: finding, number: number, plan: plan, constraints: record.constraints,
        record: record, details: nil, tree: run.tree, isMinimal: false, replays: (0, 0),
        shrinkRuns: 0, divergence: nil)
    }
    nonisolated(unsafe) let operation = operation
    var shrinker = ScheduleShrinker(deadline: RealTime(in: shrinkingTime))
    let test: ScheduleShrinker.Test = { plan in
      run.reset(plan, profile: Profile())
      let (outcome, _) = await one(isolation: isolation, operation)
      return outcome.key == finding.key ? run.record : nil
    }
    let constraints =
      record.decisions.allSatisfy { $0.chosen == 0 } ? [] : await shrinker.shrink(record, test)

    // Twice, so that it is known whether it comes again; the last time with all that is to be told.
    var records: [RunRecord] = []
    var same = 0
    var details: StepDetails?
    for _ in 0..<2 {
      run.reset(.constraints(constraints), profile: Profile())
      let (outcome, told) = await one(details: true, operation)
      if outcome.key == finding.key { same += 1 }
      records.append(run.record)
      details = told
    }
    let divergence =
      records[0].divergence(from: records[1]) == nil
      ? nil : Divergence(records[0], records[1], [], tree: run.tree, one.explorer.witnesses)
    return Failure(
      finding: finding, number: number, plan: plan, constraints: constraints, record: records[1],
      details: details, tree: run.tree, isMinimal: shrinker.isMinimal || constraints.isEmpty,
      replays: (same, 2), shrinkRuns: shrinker.runs, divergence: divergence)
  }
}

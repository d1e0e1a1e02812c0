import ClocksSupport
import Testing

@testable import Clocks

/// Two dozen bugs that are found, and their corrections that never fail.
///
/// `CLOCKS_SCHEDULES` tries so many orders of each correction; `CLOCKS_TABLE` prints the table of the guide.
@Suite struct KnownBugTests {
  private func exploration(_ limits: ScheduleSearch.Limits) -> Exploration {
    var options = ScopeOptions()
    options.isExplored = true
    return Exploration(
      limits: limits, time: nil, options: options, origin: CallSite(), gate: IssueGate(),
      shrinkingTime: .seconds(600))
  }

  /// The numbers of the schedules that found the bugs, so that their median can be looked at.
  private func numbers() async throws -> [Int] {
    var numbers: [Int] = []
    for bug in KnownBug.all {
      let outcome = await exploration(.init(count: 200, seed: Mixer.hash(bug.name)))(bug.buggy)
      guard case .failed(let failure, _) = outcome else {
        Issue.record("\(bug.name) is not found")
        continue
      }
      numbers.append(failure.number)
      #expect(failure.replays == (2, 2), "\(bug.name)")
      #expect(failure.divergence == nil, "\(bug.name)")
      #expect(failure.constraints.count <= 3, "\(bug.name): \(failure.token)")
      #expect(failure.shrinkRuns <= 60, "\(bug.name)")
    }
    return numbers
  }

  @Test func areFound() async throws {
    try #require(Hops.missing == nil)
    let numbers = try await numbers().sorted()
    #expect(numbers.count == 24)
    #expect(numbers[12] <= 10)
    #expect(try #require(numbers.last) <= 50)
  }

  @Test(arguments: KnownBug.all.indices) func isCorrected(_ index: Int) async throws {
    let bug = KnownBug.all[index]
    let count = Environment.schedules.flatMap { Int($0) } ?? 300
    switch await exploration(.init(count: count, seed: Mixer.hash(bug.name)))(bug.corrected) {
    case .passed(let summary): #expect(summary.orders > 0)
    case .failed(let failure, _):
      Issue.record("\(bug.name), corrected, fails: \(failure.finding.text) \(failure.token)")
    case .diverged(let divergence, _):
      Issue.record("\(bug.name), corrected, \(divergence.description)")
    }
  }

  /// The first schedule of 200 in which each kind of search finds each bug, as rows of a table.
  @Test(.enabled(if: Environment.table != nil)) func table() async throws {
    let kinds: [(String, (UInt64) -> Plan)] = [
      ("FIFO", { _ in .firstInFirstOut }), ("random", { .random(seed: $0) }),
      ("PCT2", { .priorities(seed: $0, depth: 2) }), ("PCT3", { .priorities(seed: $0, depth: 3) }),
      ("POS", { .partialOrder(seed: $0) }), ("URW", { .uniform(seed: $0) }),
    ]
    for bug in KnownBug.all {
      let found = await exploration(.init(count: 200, seed: Mixer.hash(bug.name)))(bug.buggy)
      var row = "| \(bug.name) |"
      if case .failed(let failure, _) = found {
        row += " \(failure.number) |"
      } else {
        row += " - |"
      }
      for (_, plan) in kinds {
        let first = await firstFailure(of: bug, plan)
        row += first.map { " \($0) |" } ?? " - |"
      }
      print(row)
    }
  }

  private func firstFailure(of bug: KnownBug, _ plan: (UInt64) -> Plan) async -> Int? {
    var options = ScopeOptions()
    options.isExplored = true
    let run = ScheduleRun(.firstInFirstOut)
    let one = OneRun(
      options: options, origin: CallSite(), findings: Findings(), explorer: Explorer(run))
    if await one(bug.buggy).outcome.hasFailed, plan(0) == .firstInFirstOut { return 1 }
    guard plan(0) != .firstInFirstOut else { return nil }
    let profile = run.record.profile(tasks: run.tree.count)
    for number in 1...200 {
      run.reset(plan(Mixer.mix(Mixer.hash(bug.name), UInt64(number))), profile: profile)
      if await one(bug.buggy).outcome.hasFailed { return number }
    }
    return nil
  }
}

import ClocksSupport
import Foundation
import TestTraits
import Testing

@testable import Clocks
@testable import ClocksSearch

/// Bugs that a search finds, and their corrections, which never fail.
///
/// `CLOCKS_SCHEDULES` is the number of schedules for each correction.
@Suite struct KnownBugTests {
  private func exploration(_ limits: ScheduleSearch.Limits) -> Exploration {
    var options = ScopeOptions()
    options.isExplored = true
    return Exploration(
      limits: limits, time: nil, options: options, origin: CallSite(), gate: IssueGate(),
      shrinkingTime: .seconds(600))
  }

  /// Returns the numbers of the schedules in which the bugs were found.
  private func numbers() async throws -> [Int] {
    var numbers: [Int] = []
    for bug in KnownBug.all {
      let runs = Log<Void>()
      let operation: KnownBug.Operation = { time in
        runs.add(())
        try await bug.buggy(time)
      }
      let outcome = await exploration(.init(count: 200, seed: Mixer.hash(bug.name)))(operation)
      guard case .failed(let failure) = outcome else {
        Issue.record("\(bug.name) is not found")
        continue
      }
      numbers.append(failure.number)
      #expect(failure.replays == (2, 2), "\(bug.name)")
      #expect(failure.divergence == nil, "\(bug.name)")
      #expect(failure.constraints.count <= 3, "\(bug.name): \(failure.token)")
      // One further run shows that the test passes without the constraints, and two are replays.
      #expect(runs.all.count - failure.number <= 63, "\(bug.name)")
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

  @Test(arguments: (KnownBug.all + KnownBug.hidden).indices)
  func isCorrected(_ index: Int) async throws {
    let bug = (KnownBug.all + KnownBug.hidden)[index]
    let count = Environment.search.count.flatMap { Int($0) } ?? 100
    switch await exploration(.init(count: count, seed: Mixer.hash(bug.name)))(bug.corrected) {
    case .passed(let summary): #expect(summary.orders > 0)
    case .failed(let failure):
      Issue.record("\(bug.name), corrected, fails: \(failure.finding.text) \(failure.token)")
    case .diverged(let divergence):
      Issue.record("\(bug.name), corrected, \(divergence.description)")
    case .skipped(let error): Issue.record("\(bug.name), corrected, is skipped: \(error)")
    }
  }

  #if DEBUG
    /// The table of the guide: the first of 200 schedules in which each kind of search finds each bug.
    ///
    /// An optimized build leaves hops out, and so has other orders.
    @Test(.enabled(if: Hops.missing == nil)) func theGuideHasTheNumbers() async throws {
      let kinds: [(UInt64) -> Plan] = [
        { _ in .firstInFirstOut }, { .random(seed: $0) }, { .priorities(seed: $0, depth: 2) },
        { .priorities(seed: $0, depth: 3) }, { .partialOrder(seed: $0) }, { .uniform(seed: $0) },
      ]
      let page = try guide("Schedules")
      for bug in KnownBug.all {
        let found = await exploration(.init(count: 200, seed: Mixer.hash(bug.name)))(bug.buggy)
        var numbers: [Int?] = []
        if case .failed(let failure) = found { numbers.append(failure.number) }
        for plan in kinds { numbers.append(await firstFailure(of: bug, plan)) }
        let cells = [bug.name] + numbers.map { $0.map(String.init) ?? "-" }
        #expect(page.contains("| " + cells.joined(separator: " | ") + " |"))
      }
    }
  #endif

  private func firstFailure(of bug: KnownBug, _ plan: (UInt64) -> Plan) async -> Int? {
    var options = ScopeOptions()
    options.isExplored = true
    let one = OneRun(options: options, origin: CallSite(), findings: Findings())
    let hasFailed = await one(.firstInFirstOut, bug.buggy).hasFailed
    guard plan(0) != .firstInFirstOut else { return hasFailed ? 1 : nil }
    let profile = one.run.record.profile(tasks: one.run.tree.count)
    for number in 1...200 {
      let seed = Mixer.mix(Mixer.hash(bug.name), UInt64(number))
      if await one(plan(seed), profile: profile, bug.buggy).hasFailed { return number }
    }
    return nil
  }
}

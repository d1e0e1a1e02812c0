import Testing

@_spi(TestKit) @testable import Clocks

/// Two dozen bugs that are found, and their corrections that never fail.
@Suite struct KnownBugTests {
  /// Searches in an operation, and tells what came of it.
  private func search(
    _ operation: @escaping KnownBug.Operation, count: Int, only: ((UInt64) -> Plan)? = nil
  ) async -> Exploration.Outcome {
    var options = ScopeOptions()
    options.isExplored = true
    #expect(Hops.missing == nil)
    let exploration = Exploration(
      limits: .init(count: count, seed: 7), time: nil, options: options, origin: CallSite(),
      gate: IssueGate())
    return await exploration(operation)
  }

  @Test(arguments: KnownBug.all.indices) func isFound(_ index: Int) async throws {
    let bug = KnownBug.all[index]
    print("BEGIN", bug.name)
    guard case .failed(let failure, _) = await search(bug.buggy, count: 200) else {
      Issue.record("\(bug.name) is not found")
      return
    }
    #expect(failure.replays == (2, 2), "\(bug.name)")
    #expect(failure.constraints.count <= 2, "\(bug.name): \(failure.token)")
    #expect(failure.shrinkRuns <= 60, "\(bug.name)")
    print("FOUND", bug.name, failure.number, failure.plan.name, failure.token, failure.shrinkRuns)
  }

  @Test(arguments: KnownBug.all.indices) func isCorrected(_ index: Int) async throws {
    let bug = KnownBug.all[index]
    switch await search(bug.corrected, count: 1_000) {
    case .passed(let summary): print("FINE", bug.name, summary)
    case .failed(let failure, _):
      Issue.record("\(bug.name), corrected, fails: \(failure.finding.text) \(failure.token)")
    case .diverged(let divergence, _):
      Issue.record("\(bug.name), corrected, \(divergence.description)")
    }
  }
}

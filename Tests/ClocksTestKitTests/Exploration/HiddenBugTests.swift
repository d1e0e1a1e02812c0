import ClocksSupport
import Foundation
import Testing

@testable import Clocks
@testable import ClocksSearch

/// Bugs that first in, first out hides, and how soon a search finds them.
///
/// `CLOCKS_SCHEDULES` is the number of schedules for each correction; with `CLOCKS_TESTS_BUG_TABLE=1` seven seeds are
/// tried, not three, and the table of the guide is printed. `CLOCKS_TESTS_FAILURE_TEXTS` names a folder for the texts of all failures.
@Suite struct HiddenBugTests {
  private static let isPrinted =
    ProcessInfo.processInfo.environment["CLOCKS_TESTS_BUG_TABLE"] == "1"
  private static let seeds: Range<UInt64> = 0..<(isPrinted ? 7 : 3)
  private static let hidden = KnownBug.ofChannels + KnownBug.ofLateTasks + KnownBug.ofDepth

  private func run() -> OneRun {
    var options = ScopeOptions()
    options.isExplored = true
    return OneRun(options: options, origin: CallSite(), findings: Findings())
  }

  /// Returns the number of the first schedule that fails.
  private func find(_ bug: KnownBug, seed: UInt64, count: Int = 1_000) async -> Int? {
    let one = run()
    let search = ScheduleSearch(
      .init(count: count, seed: Mixer.mix(Mixer.hash(bug.name), seed)))
    while let plan = search.next() {
      if await one(plan, profile: search.profile, bug.buggy).hasFailed { return search.tried }
      search.note(one.run.record, tasks: one.run.tree.count)
    }
    return nil
  }

  private func find(_ bug: KnownBug, seed: UInt64, _ plan: (UInt64) -> Plan) async -> Int? {
    let one = run()
    _ = await one(.firstInFirstOut, bug.buggy)
    let profile = one.run.record.profile(tasks: one.run.tree.count)
    for number in 1...1_000 {
      let seed = Mixer.mix(Mixer.mix(Mixer.hash(bug.name), seed), UInt64(number))
      if await one(plan(seed), profile: profile, bug.buggy).hasFailed { return number }
    }
    return nil
  }

  private func geometricMean(_ numbers: [Int]) -> Double {
    exp(numbers.reduce(0) { $0 + Foundation.log(Double($1)) } / Double(numbers.count))
  }

  /// A bug that a seed does not find counts as found in schedule 2,000.
  private func median(_ numbers: [Int?]) -> Int {
    numbers.map { $0 ?? 2_000 }.sorted()[numbers.count / 2]
  }

  @Test func areFoundByEverySeed() async throws {
    try #require(Hops.missing == nil)
    Hashing.ignoreAddresses()
    RuntimeClocks.redirectForExplored()
    let kinds: [(UInt64) -> Plan] = [
      { .random(seed: $0) }, { .priorities(seed: $0, depth: 3) }, { .partialOrder(seed: $0) },
      { .uniform(seed: $0) },
    ]
    var medians: [[Int]] = [[]]
    var late: [String] = []
    for bug in KnownBug.all + Self.hidden {
      guard await find(bug, seed: 0, count: 1) == nil else { continue }
      var numbers: [Int?] = []
      for seed in Self.seeds { numbers.append(await find(bug, seed: seed)) }
      if numbers.contains(nil) { late.append("\(bug.name): \(numbers)") }
      medians[0].append(median(numbers))
      guard Self.isPrinted else { continue }
      var row = [median(numbers)]
      for (index, plan) in kinds.enumerated() {
        var numbers: [Int?] = []
        for seed in Self.seeds { numbers.append(await find(bug, seed: seed, plan)) }
        row.append(median(numbers))
        if medians.count <= index + 1 { medians.append([]) }
        medians[index + 1].append(median(numbers))
      }
      let cells = row.map { $0 == 2_000 ? "-" : "\($0)" }
      print("| \(bug.name) | \(cells.joined(separator: " | ")) |")
    }
    if Self.isPrinted { print(medians.map { geometricMean($0) }) }
    // All but the deepest three.
    #expect(late.count <= 3, "\(late)")
    #expect(late.allSatisfy { text in KnownBug.ofDepth.contains { text.hasPrefix($0.name) } })
    #expect(medians[0].count >= 50)
    #expect(geometricMean(medians[0]) <= 12)
  }

  @Test(arguments: hidden.indices)
  func areCorrected(_ index: Int) async throws {
    let bug = Self.hidden[index]
    var options = ScopeOptions()
    options.isExplored = true
    let count = Environment.search.count.flatMap { Int($0) } ?? 100
    let exploration = Exploration(
      limits: .init(count: count, seed: Mixer.hash(bug.name)), time: nil, options: options,
      origin: CallSite(), gate: IssueGate())
    switch await exploration(bug.corrected) {
    case .passed(let summary): #expect(summary.orders > 0)
    case .failed(let failure):
      Issue.record("\(bug.name), corrected, fails: \(failure.finding.text) \(failure.token)")
    case .diverged(let divergence):
      Issue.record("\(bug.name), corrected, \(divergence.description)")
    case .skipped(let error): Issue.record("\(bug.name), corrected, is skipped: \(error)")
    }
  }

  private static let folder = ProcessInfo.processInfo.environment["CLOCKS_TESTS_FAILURE_TEXTS"]

  /// Writes what a user reads about each bug, with the number of its constraints in the name of the file.
  @Test(.enabled(if: folder != nil), arguments: (KnownBug.all + hidden).indices)
  func writesItsText(_ index: Int) async throws {
    let bug = (KnownBug.all + Self.hidden)[index]
    let found = try await recordedIssues {
      try await withSchedules(.upTo(2_000), seed: index) { try await bug.buggy($0) }
    }
    let text = try #require(found.first?.message, "\(bug.name) is not found")
    let count = text.firstMatch(of: /(\d) of [\d,]+ decisions? (matter|are enough)/)?.1 ?? "0"
    try text.write(
      to: URL(fileURLWithPath: Self.folder ?? "")
        .appending(path: "\(count)-\(index + 100)-\(bug.name).txt"),
      atomically: true, encoding: .utf8)
  }
}

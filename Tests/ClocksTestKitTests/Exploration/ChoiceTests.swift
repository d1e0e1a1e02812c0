import ClocksSupport
import ClocksTestKit
import Foundation
import TestTraits
import Testing

@testable import Clocks
@testable import ClocksSearch

private actor Counter {
  var value = 0
  func get() -> Int { value }
  func set(_ value: Int) { self.value = value }
}

/// Choices and faults that a search decides.
@Suite struct ChoiceTests {
  /// Explores without a test library, and returns the failure.
  private func explore(
    _ limits: ScheduleSearch.Limits, _ operation: @escaping OneRun.Operation
  ) async -> Exploration.Outcome {
    var options = ScopeOptions()
    options.isExplored = true
    return await Exploration(
      limits: limits, time: nil, options: options, origin: CallSite(), gate: IssueGate(),
      shrinkingTime: .seconds(600))(operation)
  }

  private struct Wrong: Error {}

  private func failure(
    _ limits: ScheduleSearch.Limits, _ operation: @escaping OneRun.Operation
  ) async throws -> Exploration.Failure {
    guard case .failed(let failure) = await explore(limits, operation) else { throw Wrong() }
    return failure
  }

  @Test func outsideASearchTheFirstOptionIsChosenAndNoFaultStrikes() async throws {
    try await withVirtualTime { time in
      #expect(time.choose(3...5) == 3)
      #expect(time.choose(["x", "y"]) == "x")
      #expect(!time.fault("never"))
    }
  }

  /// A choice of one option is not a decision, and must not describe the decision before it.
  @Test func theTextOfAChoiceIsItsOwn() async throws {
    let issues = try await recordedIssues {
      try await withSchedules(.upTo(20)) { time in
        let number = time.choose([1, 2])
        _ = time.choose(["only"])
        time.checkpoint("alone")
        if number == 2 { throw Wrong() }
      }
    }
    #expect(issues.count == 1)
    let text = try #require(issues.first?.message)
    #expect(text.contains("0.1 chose 2 of 1, 2"), "\(text)")
    #expect(!text.contains("only"), "\(text)")
  }

  /// All combinations of a choice of three and one of two: six, and nothing else.
  @Test func allOfThemCountsChoices() async throws {
    let log = Log<String>()
    let summary = try await withSchedules(100) { time in
      log.add("\(time.choose([1, 2, 3]))\(time.choose(["a", "b"]))")
    }
    #expect(Set(log.all) == ["1a", "1b", "2a", "2b", "3a", "3b"])
    #expect(summary?.orders == 6)
    #expect(summary?.isComplete == true)
    // First options twice, the last options, and the five others but the last ones.
    #expect(summary?.description.hasPrefix("6 orders in 6 classes: all of them, ") == true)
    let counted = try await withSchedules(.exhaustive(reversals: 1)) { time in
      log.add("\(time.choose([1, 2, 3]))\(time.choose(["a", "b"]))")
    }
    #expect(counted?.orders == 6)
  }

  /// At most two of five faults: 1 + 5 + 10 runs differ.
  @Test(arguments: [(0, 1), (1, 6), (2, 16), (5, 32)])
  func atMostSoManyFaultsStrike(_ faults: Int, _ orders: Int) async throws {
    let log = Log<Int>()
    let summary = try await withSchedules(1_000, faults: faults) { time in
      log.add((1...5).count { time.fault("number \($0)") })
    }
    #expect(log.all.max() == faults)
    #expect(summary?.orders == orders)
    #expect(summary?.isComplete == true)
  }

  @Test func isNotCompleteIfNotAllChoicesWereTried() async throws {
    let summary = try await withSchedules(100) { time in _ = time.choose(0..<1_000) }
    #expect(summary?.isComplete == false)
    #expect(summary?.schedules == 100)
  }

  /// The failure needs one fault of two tried, an option of 10 or more, and a reversal.
  private static let threefold: @Sendable (VirtualTime) async throws -> Void = { time in
    let counter = Counter()
    let first = Task(name: "first") {
      let size = time.choose(0..<16)
      let isBroken = time.fault("disk full")
      await counter.set(isBroken && size >= 10 ? 1 : 2)
    }
    let second = Task(name: "second") {
      _ = time.fault("disk slow")
      await counter.set(3)
    }
    _ = await (first.value, second.value)
    if await counter.get() == 1 { throw Wrong() }
  }

  @Test func aFailureIsShrunkToFewestFaultsAndSmallestOptions() async throws {
    var limits = ScheduleSearch.Limits(count: 2_000, seed: 1)
    limits.bounds.faults = 2
    let failure = try await failure(limits, Self.threefold)
    #expect(failure.token.hasPrefix("2:a?1=10,a!1,b.1<a.1:"), "\(failure.token)")
    #expect(failure.isMinimal)
    #expect(failure.replays == (2, 2))
    #expect(failure.divergence == nil)
  }

  @Test func sevenSeedsFindOneOfSixteenInputsWithAnOrder() async throws {
    var numbers: [Int] = []
    for seed in 1...7 as ClosedRange<UInt64> {
      let failure = try await failure(.init(count: 1_000, seed: seed)) { time in
        let counter = Counter()
        let first = Task {
          let input = time.choose(0..<16)
          await counter.set(input == 11 ? 1 : 2)
        }
        let second = Task { await counter.set(3) }
        _ = await (first.value, second.value)
        if await counter.get() == 1 { throw Wrong() }
      }
      numbers.append(failure.number)
      #expect(failure.replays == (2, 2))
      #expect(failure.token.hasPrefix("2:a?1=11,b.1<a.1:"), "\(failure.token)")
    }
    #expect(numbers.max()! <= 200, "\(numbers)")
  }

  @Test func theExplanationShowsChoicesAndTheTokenReplaysThem() async throws {
    let operation: @Sendable (VirtualTime) async throws -> Void = { time in
      await Task(name: "writer") {
        let size = time.choose(1...5)
        let isFull = time.fault("disk full")
        #expect(size < 3 || !isFull)
      }.value
    }
    let found = try await failures {
      try await withSchedules(1_000, faults: 1, operation: operation)
    }
    let failure = try #require(found.first)
    let text = failure.text
    #expect(found.count == 1)
    #expect(text.contains("a.1 chose 3 of 1…5   (a is \"writer\")"))
    #expect(text.contains("a.1 fault \"disk full\"   (a is \"writer\")"))
    try await expectReplay(of: failure, operation)
  }

  @Test func aThreadOfItsOwnGetsTheFirstOption() async throws {
    try await withSchedules(20, faults: 3) { time in
      let chosen = Log<Int>()
      let hasEnded = DispatchSemaphore(value: 0)
      Thread {
        chosen.add(time.choose([1, 2, 3]))
        chosen.add(time.fault("never") ? 1 : 0)
        hasEnded.signal()
      }.start()
      // The thread belongs to no task, so nothing in the test waits for it.
      hasEnded.wait()
      #expect(chosen.all == [1, 0])
    }
  }
}

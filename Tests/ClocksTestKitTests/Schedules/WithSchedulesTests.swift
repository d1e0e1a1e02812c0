import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import Testing

private actor Box {
  var value = 0
  func get() -> Int { value }
  func set(_ value: Int) { self.value = value }
}

/// What an explored operation reports, and where.
@Suite struct WithSchedulesTests {
  @Test func aFailureIsRecordedOnceWhereItIsWithTheOrderThatCausesIt() async throws {
    let found = try await failures {
      try await withSchedules(1_000) { _ in
        let box = Box()
        let first = Task(name: "first") { await box.set(1) }
        let second = Task(name: "second") { await box.set(2) }
        _ = await (first.value, second.value)
        #expect(await box.get() == 2)
      }
    }
    let line = #line - 3
    #expect(
      found == [
        Failure(
          text: """
            Schedule 3 of 1,000 (2 passed; last in, first out). 1 of 2 decisions matters; undo it and it \
            passes:
              b.1 before a.1   (b is "second", a is "first")
              time         test (0)  "first" (a)  "second" (b)  Box
              0.0 seconds  0.1
              0.0 seconds                         b.1                      ◀ decision 1
              0.0 seconds            a.1
              0.0 seconds                         b.1@ ──────▶  runs b, a
              0.0 seconds  0.2
              0.0 seconds  0.2@ ─────────────────────────────▶  runs 0
              0.0 seconds  0.3
              0.0 seconds  0.4
              0.0 seconds  0.5
            Replay: try await withSchedules(.schedule("1:b.1<a.1:248a")) { … } (failed in 2 of 2 replays)
            """,
          line: line)
      ])
  }

  @Test func aTokenRunsTheVeryOrderAgain() async throws {
    func operation(_ expected: Int) -> (VirtualTime) async throws -> Void {
      { _ in
        let box = Box()
        let first = Task { await box.set(1) }
        let second = Task { await box.set(2) }
        _ = await (first.value, second.value)
        #expect(await box.get() == expected)
      }
    }
    let token = "1:b.1<a.1:248a"
    for _ in 0..<100 {
      #expect(
        try await failures { try await withSchedules(.schedule(token), operation: operation(1)) }
          == [])
    }
    let found = try await failures {
      try await withSchedules(.schedule(token), operation: operation(2))
    }
    #expect(found.count == 1)
  }

  @Test func anErrorIsReportedAndNotThrown() async throws {
    struct Boom: Error {}
    let found = try await failures {
      try await withSchedules(1_000) { _ in
        let box = Box()
        let tasks = (1...2).map { number in Task { await box.set(number) } }
        for task in tasks { await task.value }
        if await box.get() == 1 { throw Boom() }
      }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.hasPrefix("the operation threw Boom: Boom()\nSchedule 3") == true)
    #expect(found.first?.line == #line - 9)
  }

  @Test func aDeadlockIsOneAtOnce() async throws {
    let found = try await failures {
      try await withSchedules(1_000) { _ in
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
      }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.hasPrefix("A deadlock at 0.0 seconds: nothing can run") == true)
    // At once: a scope that is not explored says this only when it was stuck for five seconds.
    #expect(found.first?.text.contains("of real time") == false)
  }

  @Test func leftOverSleepsCanBeAFailure() async throws {
    let found = try await failures {
      try await withSchedules(10, leftoverSleeps: .fail) { _ in
        Task { try await Task.sleep(for: .seconds(1)) }
      }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.contains("there is 1 sleep pending") == true)
  }

  @Test func anIssueOfATaskCounts() async throws {
    let found = try await failures {
      try await withSchedules(10) { _ in
        let task = Task { _ = Issue.record("wrong") }
        await task.value
      }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.hasPrefix("wrong\nSchedule 1 of 10 (first in, first out)") == true)
  }

  @Test func whatCannotBeIsAFailureAtItsLine() async throws {
    func text(_ count: ScheduleCount, seed: Int? = nil, slack: Duration = .zero) async throws
      -> [String]
    {
      try await failures {
        try await withSchedules(count, seed: seed, slack: slack) { _ in
          Issue.record("It must not run.")
        }
      }.map(\.text)
    }
    #expect(
      try await text(.upTo(0)) == [
        """
        The number of schedules is 1 or more; it is 0. To run the test once, in virtual time, use \
        `.virtualTime`.
        """
      ])
    #expect(try await text(.upTo(-7)).first?.contains("it is -7") == true)
    #expect(
      try await text(.standard, seed: -1)
        == ["`seed:` is a number from 0 to 9223372036854775807; it is -1."])
    #expect(
      try await text(.exhaustive(reversals: 0)).first?.contains("expects 1 reversal or more")
        == true)
    #expect(
      try await text(.standard, slack: .seconds(-1)).first?.contains("is not negative") == true)
    #expect(
      try await text(.schedule("3:a.1<b.1:0000")).first?.contains("it is of version 3") == true)
    #expect(
      try await text(.schedule("1:a.1<b.1")).first?.contains("is not what a token is made of")
        == true)
  }

  @Test func aTokenOfAnotherTestIsRefused() async throws {
    let missing = try await failures {
      try await withSchedules(.schedule("1:b.1<a.1:248a")) { _ in }
    }
    #expect(
      missing.map(\.text) == [
        """
        The schedule "1:b.1<a.1:248a" is no longer possible: b.1, a.1 did not come. The token is another \
        test's, or the test or its code has changed since: search again with `.schedules`.
        """
      ])
    let other = try await failures {
      try await withSchedules(.schedule("1:b.1<a.1:248a")) { _ in
        let tasks = (0..<3).map { _ in Task {} }
        for task in tasks { await task.value }
      }
    }
    #expect(other.count == 1)
    #expect(other.first?.text.contains("is not the order that was recorded") == true)
  }

  @Test func slackLetsSleepsBeLate() async throws {
    func run(_ slack: Duration) async throws -> [Failure] {
      try await failures {
        try await withSchedules(1_000, slack: slack) { _ in
          let box = Box()
          let early = Task {
            try await Task.sleep(for: .milliseconds(10))
            await box.set(1)
          }
          let late = Task {
            try await Task.sleep(for: .milliseconds(13))
            await box.set(2)
          }
          _ = try await (early.value, late.value)
          #expect(await box.get() == 2)
        }
      }
    }
    #expect(try await run(.zero) == [])
    #expect(try await run(.milliseconds(2)) == [])
    #expect(try await run(.milliseconds(5)).first?.text.contains("b~1 before a~1") == true)
  }

  @Test func theSummarySaysHowManyOrdersThereAre() async throws {
    let summary = try await withSchedules(1_000) { _ in
      let first = Task { await Task.yield() }
      let second = Task { await Task.yield() }
      _ = await (first.value, second.value)
    }
    #expect(summary?.isComplete == true)
    #expect((2...40).contains(try #require(summary?.orders)))
    #expect(summary?.description.contains("all of them") == true)
  }

  @Test func allReversalsOfASmallTestAreGoneThrough() async throws {
    let summary = try await withSchedules(.exhaustive(reversals: 2)) { _ in
      let box = Box()
      await withTaskGroup { group in
        for number in 0..<4 { group.addTask { await box.set(number) } }
      }
    }
    let text = try #require(summary?.description)
    #expect(text.contains("all with up to 2 reversals"))
  }
}

/// What people rely on, and so must not be turned round.
@Suite(.schedules(300)) struct LegalOrderTests {
  @Test @MainActor func jobsOfTheMainActorKeepTheirOrder() async {
    var order: [Int] = []
    let tasks = (0..<4).map { number in Task { @MainActor in order.append(number) } }
    for task in tasks { await task.value }
    #expect(order == [0, 1, 2, 3])
  }

  private actor Journal {
    var lines: [Int] = []
    func writeAll() async -> [Int] {
      let tasks = (0..<4).map { number in Task { lines.append(number) } }
      for task in tasks { await task.value }
      return lines
    }
  }

  @Test func tasksThatBeginOnAnActorKeepTheirOrder() async {
    #expect(await Journal().writeAll() == [0, 1, 2, 3])
  }

  @Test func deadlinesKeepTheirOrder() async throws {
    let box = Box()
    let tasks = (1...4).map { number in
      Task {
        try await Task.sleep(for: .milliseconds(number))
        await box.set(number)
      }
    }
    for task in tasks { try await task.value }
    #expect(await box.get() == 4)
  }

  @Test func aTaskIsNotOvertakenByItself() async {
    let box = Box()
    for number in 0..<5 {
      await box.set(number)
      #expect(await box.get() == number)
    }
  }

  @Test func aLoopThatYieldsDoesNotStarveOthers() async {
    let box = Box()
    let other = Task { await box.set(1) }
    while await box.get() == 0 { await Task.yield() }
    await other.value
  }

  @Test(arguments: 1...3) func casesAreExploredOnTheirOwn(_ number: Int) async {
    let box = Box()
    await Task { await box.set(number) }.value
    #expect(await box.get() == number)
  }

  @Test func confirmationsAndRequirements() async throws {
    try await confirmation(expectedCount: 2) { confirm in
      async let first: Void = { confirm() }()
      async let second: Void = { confirm() }()
      _ = await (first, second)
      _ = try #require(Optional(1))
    }
  }

  @Test func aClockThatIsMovedInside() async {
    let clock = TestClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
    await clock.advance(by: .seconds(2))
    #expect(await sleeper.result.isSuccess)
  }
}

extension Result {
  fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}

/// What a suite's instance holds is new in each run.
@Suite(.virtualTime(leftoverSleeps: .fail), .schedules(100)) struct ScheduledSuiteTests {
  private let box = Box()

  @Test func stateIsNew() async {
    #expect(await box.get() == 0)
    await box.set(1)
  }

  @Test func timeIsVirtual() async throws {
    try await Task.sleep(for: .seconds(3_600))
    #expect(VirtualTime.current?.now == .init(offset: .seconds(3_600)))
  }
}

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

private actor Adder {
  let box: Box

  init(_ box: Box) { self.box = box }

  func add() async {
    let value = await box.get()
    await box.set(value + 1)
  }
}

/// The reports of `withSchedules`, and their places.
@Suite struct WithSchedulesTests {
  @Test func recordsAFailureOnceAtItsPlaceWithItsOrder() async throws {
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
              b.1 before a.1
                b "second" runs on Box at line \(line - 2) before a "first" at line \(line - 3)
              time  test (0)     a "first"  b "second"  Box
              0 s   0.1
              0 s                           b.1                    ◀ decision 1
              0 s                a.1
              0 s                           b.1@ ────▶  b line \(line - 2)
              0 s                a ──────────────────▶  a line \(line - 3)
              0 s   0.2 line \(line - 1)
              0 s   0.2@ ────────────────────────────▶  0 line \(line - 5)
              0 s   0.3 line \(line - 5)
              0 s   0.4
              0 s   0.5
            Replay: try await withSchedules(.schedule("1:b.1<a.1:248a")) { … } (failed in 2 of 2 replays)
            """,
          line: line)
      ])
  }

  /// An actor may have the address of one that no longer exists.
  @Test func anActorHasItsOwnNameWhateverItsAddress() async throws {
    actor Early {
      var value = 0
      func get() -> Int { value }
    }
    let found = try await failures {
      try await withSchedules(1_000) { _ in
        for _ in 0..<3 { _ = await Early().get() }
        let box = Box()
        let first = Task(name: "first") { await box.set(1) }
        let second = Task(name: "second") { await box.set(2) }
        _ = await (first.value, second.value)
        #expect(await box.get() == 2)
      }
    }
    let text = try #require(found.first?.text)
    #expect(text.contains("runs on Box"), "\(text)")
  }

  @Test func aCancelledSearchDoesNotClaimAllOrders() async throws {
    let search = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await withSchedules(.exhaustive(reversals: 1)) { _ in }
    }
    search.cancel()
    let summary = try #require(try await search.value)
    #expect(
      summary.description == "0 orders in 0 classes in 1 schedule; the search was cancelled")
  }

  @Test func stepsThatAreLeftOutAreMarkedAndCounted() async throws {
    let found = try await failures {
      try await withSchedules(200) { _ in
        let log = Log<String>()
        let others = (0..<6).map { _ in Task { for _ in 0..<10 { await Task.yield() } } }
        for other in others { await other.value }
        let first = Task(name: "first") { log.add("first") }
        let second = Task(name: "second") { log.add("second") }
        _ = await (first.value, second.value)
        for _ in 0..<20 { await Task.yield() }
        #expect(log.all == ["first", "second"])
      }
    }
    let text = try #require(found.first?.text)
    let gaps = text.matches(of: /… +… (\d+) steps?\n/).compactMap { Int($0.1) }
    let all = try #require(
      text.firstMatch(
        of:
          /\n  (\d+) steps are left out of this table. The picture that CLOCKS_TRACE=FOLDER writes/),
      "\(text)")
    #expect(!gaps.isEmpty && gaps.reduce(0, +) == Int(all.1), "\(text)")
    #expect(text.contains("◀ decision 1"), "\(text)")
  }

  @Test func hopsOfATaskThatBeginsOnTheMainActorAreSeen() async throws {
    let sums = Log<String>()
    try await withSchedules(200) { _ in
      let box = Box()
      let tasks = (0..<2).map { _ in
        let adder = Adder(box)
        return Task { @MainActor in await adder.add() }
      }
      for task in tasks { await task.value }
      sums.add("\(await box.value)")
    }
    // The second task may run between the two hops of the first.
    #expect(Set(sums.all) == ["1", "2"])
  }

  @Test func aLongQueueOfAnActorLeavesRoomForTheDecisions() async throws {
    actor Arrivals {
      var all: [Int] = []
      func add(_ number: Int) { all.append(number) }
    }
    let found = try await failures {
      try await withSchedules(100) { _ in
        let arrivals = Arrivals()
        let tasks = (0..<40).map { number in Task { await arrivals.add(number) } }
        for task in tasks { await task.value }
        #expect(await arrivals.all.first == 0)
      }
    }
    let text = try #require(found.first?.text)
    #expect(text.contains(/… \d+ more/), "\(text)")
    #expect(text.contains("◀ decision"), "\(text)")
    #expect(text.split(separator: "\n").count < 50, "\(text)")
  }

  @Test func aTokenReplaysItsOrder() async throws {
    let line = #line + 7
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
    try await expectFailure(atLine: line, replaying: token, operation(2))
  }

  /// Two delays on one queue have one deadline, so either may end first.
  @Test(arguments: [false, true]) func aTokenNamesDelaysOnQueues(isThrown: Bool) async throws {
    struct Late: Error {}
    let operation: (VirtualTime) async throws -> Void = { _ in
      let (queue, log) = (DispatchQueue(label: "legacy"), Log<String>())
      let deadline = DispatchTime.now() + 0.5
      queue.asyncAfter(deadline: deadline) { log.add("first") }
      queue.asyncAfter(deadline: deadline) { log.add("second") }
      try await Task.sleep(for: .seconds(1))
      if isThrown, log.all != ["first", "second"] { throw Late() }
      #expect(log.all == ["first", "second"])
    }
    let failure = try #require(
      try await failures { try await withSchedules(100, operation: operation) }.first)
    let text = failure.text
    #expect(text.hasPrefix("the operation threw Late: Late()\nSchedule") == isThrown, "\(text)")
    #expect(text.contains("1 of 1 decisions matters; undo it and it passes:"), "\(text)")
    #expect(
      text.contains(
        """
          1~2 before 1~1
            the delays of queue "legacy" (1~2) and queue "legacy" (1~1) both end at 0.5 s; that of queue \
        "legacy" (1~2) ends first
        """), "\(text)")
    #expect(text.contains("1~2 queue \"legacy\""), "\(text)")
    #expect(text.contains("(failed in 2 of 2 replays)"), "\(text)")
    #expect(try token(in: text).contains(/^1:1~2<1~1:[0-9a-f]{4}$/), "\(text)")
    try await expectReplay(of: failure, operation)
    // First in, first out it passes.
    #expect(try await failures { try await withSchedules(1, operation: operation) } == [])
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

  @Test func aReplayRecordsAFailedRequirementOnce() async throws {
    let operation: (VirtualTime) async throws -> Void = { _ in
      let box = Box()
      let tasks = (1...2).map { number in Task { await box.set(number) } }
      for task in tasks { await task.value }
      try #require(await box.get() == 2)
    }
    let line = #line - 2
    let found = try await failures { try await withSchedules(1_000, operation: operation) }
    #expect(found.map(\.line) == [line])
    try await expectReplay(of: #require(found.first), operation)
  }

  /// In the order that fails, the inner tasks are created in another order than in the first run.
  @Test func reportsTheRunThatWasFound() async throws {
    struct Found: Error {}
    let found = try await failures {
      try await withSchedules(1_000) { _ in
        let log = Log<String>()
        let tasks = ["a", "b"].map { name in
          Task {
            log.add(name)
            await Task { log.add("inner " + name) }.value
          }
        }
        for task in tasks { await task.value }
        if log.all == ["b", "a", "inner a", "inner b"] { throw Found() }
      }
    }
    #expect(found.count == 1)
    let text = try #require(found.first?.text)
    #expect(text.hasPrefix("the operation threw Found"))
    #expect(!text.contains("this failure did not occur"), "\(text)")
    #expect(text.contains("b.1 before a.1\n  aa.1 before ba.1"), "\(text)")
    #expect(text.contains("(failed in 2 of 2 replays)"), "\(text)")
  }

  @Test func shrinkingKeepsTheFailure() async throws {
    struct One: Error {}
    struct Both: Error {}
    let found = try await failures {
      try await withSchedules(1_000) { _ in
        let boxes = [Box(), Box()]
        let tasks = (0..<4).map { number in Task { await boxes[number / 2].set(number % 2) } }
        for task in tasks { await task.value }
        let (first, second) = await (boxes[0].get() == 0, boxes[1].get() == 0)
        if first && second { throw Both() }
        if first || second { throw One() }
      }
    }
    #expect(found.count == 1)
    let text = try #require(found.first?.text)
    // One constraint alone is enough for the other failure.
    #expect(text.hasPrefix("the operation threw Both: Both()\nSchedule 3 of 1,000"), "\(text)")
    #expect(
      text.contains(/\. 2 of \d+ decisions matter; undo any and this failure does not occur:/),
      "\(text)")
  }

  @Test func aDeadlockIsReportedImmediately() async throws {
    let found = try await failures {
      try await withSchedules(1_000) { _ in
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
      }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.hasPrefix("A deadlock at 0.0 seconds: nothing can run") == true)
    // An unexplored scope reports this only after five seconds of real time.
    #expect(found.first?.text.contains("of real time") == false)
  }

  @Test func leftoverSleepsCanBeAFailure() async throws {
    // Not `failures`, which removes the dump and with it the explanation.
    let found = try await recordedIssues {
      try await withSchedules(10, leftoverSleeps: .fail) { _ in
        Task { try await Task.sleep(for: .seconds(1)) }
      }
    }
    #expect(found.count == 1)
    let text = try #require(found.first?.message)
    #expect(text.contains("there is 1 sleep pending"), "\(text)")
    #expect(text.contains(/\.schedule\("[^"]*"\), leftoverSleeps: \.fail\) \{ … \}/), "\(text)")
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

  @Test func anImpossibleRequestIsAFailureAtItsLine() async throws {
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
      try await text(.standard, slack: .seconds(-1)).first?.contains("cannot be negative") == true)
    #expect(
      try await text(.schedule("3:a.1<b.1:0000")).first?.contains("it has version 3") == true)
    #expect(
      try await text(.schedule("1:a.1<b.1")).first?.contains("is not part of a token")
        == true)
  }

  @Test func aTokenOfAnotherTestIsRefused() async throws {
    let missing = try await failures {
      try await withSchedules(.schedule("1:b.1<a.1:248a")) { _ in }
    }
    #expect(
      missing.map(\.text) == [
        """
        The schedule "1:b.1<a.1:248a" is no longer possible: b.1, a.1 did not come. The token belongs to \
        another test, or the test or its code has changed since: search again with `.schedules`.
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
    func run(_ slack: Duration, _ count: ScheduleCount = .upTo(1_000)) async throws -> [Failure] {
      try await failures {
        try await withSchedules(count, slack: slack) { _ in
          try await ExploredChildSamples.sleepsTwice()
        }
      }
    }
    #expect(try await run(.zero) == [])
    #expect(try await run(.milliseconds(2)) == [])
    let failure = try #require(try await run(.milliseconds(5)).first)
    let text = failure.text
    #expect(text.contains("b~1 before a~1"), "\(text)")
    // The printed line has the slack, without which the order is not possible.
    let line = try #require(
      text.firstMatch(
        of: /withSchedules\(\.schedule\("([^"]*)"\), slack: \.milliseconds\(5\)\) \{/), "\(text)")
    let token = ScheduleCount.schedule(String(line.1))
    #expect(
      try await run(.milliseconds(5), token) == [Failure(text: "", line: failure.line)])
    let onTime = try await run(.zero, token)
    #expect(onTime.first?.text.contains("is not the order that was recorded") == true)
  }

  @Test func theSummaryHasTheNumberOfOrders() async throws {
    let summary = try await withSchedules(1_000) { _ in
      let first = Task { await Task.yield() }
      let second = Task { await Task.yield() }
      _ = await (first.value, second.value)
    }
    #expect(summary?.isComplete == true)
    #expect((2...40).contains(try #require(summary?.orders)))
    #expect(summary?.description.contains(": all of them, if jobs take no time, in ") == true)
    // No step touches an actor: what differs is whether the test still waits for the second task.
    #expect(summary?.classes == 2)
  }

  @Test func ordersOfIndependentStepsAreOneClass() async throws {
    func summary(_ boxes: [Box]) async throws -> ScheduleSummary {
      try #require(
        await withSchedules(2_000) { _ in
          let first = Task { await boxes[0].set(1) }
          let second = Task { await boxes[1].set(2) }
          _ = await (first.value, second.value)
        })
    }
    let box = Box()
    let (apart, shared) = try await (summary([Box(), Box()]), summary([box, box]))
    #expect(apart.isComplete && shared.isComplete)
    #expect(apart.classes == 2, "\(apart)")
    #expect(shared.classes > apart.classes, "\(shared)")
    #expect(apart.orders > 4 * apart.classes, "\(apart)")
  }

  @Test func aTimeLimitsTheSearch() async throws {
    let start = ContinuousClock.now
    let summary = try await withSchedules(for: .milliseconds(200)) { _ in
      let boxes = (0..<3).map { _ in Box() }
      await withTaskGroup { group in
        for number in 0..<9 { group.addTask { await boxes[number % 3].set(number) } }
      }
    }
    #expect(ContinuousClock.now - start >= .milliseconds(200))
    let found = try #require(summary)
    #expect(!found.isComplete)
    #expect((1...found.orders).contains(found.classes))
    #expect(found.description.contains(", in 0.2 seconds of real time; "), "\(found)")
  }

  @Test func aSearchThatHasTriedAllOrdersSaysSoAfterItsTime() async throws {
    let summary = try await withSchedules(for: .nanoseconds(1)) { _ in }
    #expect(summary?.isComplete == true)
    #expect(summary?.description.hasPrefix("1 order in 1 class: all of them, ") == true)
  }

  @Test(arguments: [Duration.zero, .seconds(-3)])
  func aTimeIsMoreThanZero(_ time: Duration) async throws {
    let found = try await failures {
      try await withSchedules(for: time) { _ in Issue.record("It must not run.") }
    }
    let line = #line - 2
    #expect(
      found == [
        Failure(
          text: """
            A search lasts for more than zero seconds of real time; `for:` is \(time). Write for example \
            `.schedules(for: .seconds(30))`, or a number of schedules.
            """,
          line: line)
      ])
  }

  /// Whether the outer task suspends when an inner run ends must not depend on the threads.
  @Test(.schedules(40), arguments: 0..<1_000)
  func aSearchWithinASearchIsTheSameInEachRun(_: Int) async throws {
    _ = try await withSchedules(5) { _ in
      async let first: Void = Task.sleep(for: .seconds(1))
      async let second: Void = Task.sleep(for: .seconds(1))
      _ = try await (first, second)
    }
  }

  @Test func triesAllReversalsOfASmallTest() async throws {
    let summary = try await withSchedules(.exhaustive(reversals: 2)) { _ in
      let box = Box()
      await withTaskGroup { group in
        for number in 0..<4 { group.addTask { await box.set(number) } }
      }
    }
    let text = try #require(summary?.description)
    #expect(text.contains(" classes: all with up to 2 reversals, if jobs take no time, in "))
  }
}

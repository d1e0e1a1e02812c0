import ClocksSearch
import Testing

@testable import Clocks

/// `advance(upTo:until:)` of a `TestClock`: the instants that it visits, and where it stops.
@Suite struct AdvanceUntilTests {
  let clock = TestClock()
  let counter = Counter()

  /// Counts seconds.
  private func count(to end: Int = 10) {
    Task { [clock, counter] in
      for _ in 0..<end {
        try await clock.sleep(for: .seconds(1))
        await counter.increment()
      }
    }
  }

  // MARK: - Visited instants

  @Test func stopsAtTheInstantAtWhichItHolds() async {
    count()
    #expect(await clock.advance(upTo: .seconds(5)) { await counter.count == 3 })
    #expect(clock.now.offset == .seconds(3))
    #expect(await clock.advance(upTo: .seconds(2)) { await counter.count == 5 })
    #expect(clock.now.offset == .seconds(5))
    #expect(await !clock.advance(upTo: .milliseconds(1999)) { await counter.count == 7 })
    #expect(clock.now.offset == .milliseconds(6999))
  }

  @Test func evaluatesAtEachInstantOnce() async {
    var asked: [Duration] = []
    for deadline in [3, 1, 2, 2, 9, 3] {
      Task { try await clock.sleep(until: .init(offset: .seconds(deadline))) }
    }
    await clock.advance(upTo: .seconds(5)) {
      asked.append(clock.now.offset)
      return false
    }
    #expect(asked == [0, 1, 2, 3, 5].map(Duration.seconds))
  }

  /// Random deadlines, tasks that sleep again, and another task that also moves time.
  @Test(.repeated(1_000))
  func missesNoInstantWhenAnotherTaskMovesTime() async {
    var random = Mixer(seed: UInt64(RepeatedTrait.number))
    var instants: Set<Int> = [0, 400]
    for _ in 0..<20 {
      let first = Int.random(in: 1...300, using: &random)
      let second = Int.random(in: 1...300, using: &random)
      instants.formUnion([first, first + second].filter { $0 <= 400 })
      Task.detached { [clock] in
        try await clock.sleep(for: .seconds(first))
        try await clock.sleep(for: .seconds(second))
      }
    }
    // The advances are queued and add up. The end of each is a visited instant, too.
    var end = 0
    let others = (0..<3).map { _ in
      let pause = Int.random(in: 0...100, using: &random)
      end += pause
      instants.insert(end)
      return Task { await clock.advance(by: .seconds(pause)) }
    }
    async let alsoAsked = askedUpTo400()
    #expect(await askedUpTo400() == instants.sorted())
    #expect(await alsoAsked == instants.sorted())
    for other in others { await other.value }
  }

  private func askedUpTo400() async -> [Int] {
    var asked: [Int] = []
    await clock.advance(upTo: .seconds(400)) {
      asked.append(Int(clock.now.offset.components.seconds))
      return false
    }
    return asked
  }

  @Test func anAdvanceUnderWayIsInterruptedAndContinues() async {
    count()
    let advance = Task { await clock.advance(by: .seconds(10)) }
    #expect(await clock.advance(upTo: .seconds(5)) { await counter.count == 3 })
    #expect(clock.now.offset == .seconds(3))
    await advance.value
    #expect(clock.now.offset == .seconds(10))
    #expect(await counter.count == 10)
  }

  @Test func eventsOfAnotherAdvanceBeyondTheLimitAreTooLate() async {
    let advance = Task { await clock.advance(by: .seconds(10)) }
    Task {
      try await clock.sleep(for: .seconds(10))
      await counter.increment()
    }
    #expect(await !clock.advance(upTo: .seconds(5)) { await counter.count == 1 })
    #expect(clock.now.offset == .seconds(10))
    await advance.value
  }

  @Test func evaluatesWhenEverythingDueAtAnInstantHasHappened() async {
    for _ in 0..<3 {
      Task {
        try await clock.sleep(for: .seconds(1))
        await counter.increment()
      }
    }
    await clock.settle()
    let advance = Task { await clock.advance(by: .seconds(1)) }
    var seen: [Int] = []
    await clock.advance(upTo: .seconds(2)) {
      seen.append(await counter.count)
      return false
    }
    #expect(seen == [0, 3, 3])
    await advance.value
  }

  /// A task that has just woken evaluates the condition when its peers have woken, too.
  @Test func evaluatesFirstWhenEverythingDueHasHappened() async {
    let seen = Task {
      try await clock.sleep(for: .seconds(1))
      var seen: [Int] = []
      await clock.advance(upTo: .zero) {
        seen.append(await counter.count)
        return false
      }
      return seen
    }
    await clock.settle()
    count(to: 1)
    await clock.advance(by: .seconds(1))
    #expect(await (try? seen.value) == [1])
  }

  // MARK: - End

  @Test func zeroEvaluatesOnceAndTimeStays() async {
    count()
    var asked = 0
    #expect(
      await !clock.advance(upTo: .zero) {
        asked += 1
        return false
      })
    #expect(asked == 1)
    #expect(clock.now.offset == .zero)
  }

  @Test func aNegativeLimitIsAFailure() async throws {
    let here = #_sourceLocation
    let issues = try await recordedIssues {
      let holds = await clock.advance(upTo: .seconds(-1)) {
        Issue.record("It should not be asked.")
        return true
      }
      #expect(!holds)
    }
    #expect(
      issues.map(\.message) == [
        """
        TestClock.advance(upTo:until:) expects a limit of zero or more, but got -1.0 seconds. Time \
        stays at 0.0 seconds: a clock does not run backwards.
        """
      ])
    #expect(issues.first?.line == here.line + 2)
    #expect(clock.now.offset == .zero)
  }

  @Test func aLimitBeyondTheRangeIsTheEndOfTheRange() async {
    let clock = TestClock(now: .init(offset: .seconds(1)))
    #expect(await !clock.advance(upTo: Duration(attoseconds: .max)) { false })
    #expect(clock.now.offset == Duration(attoseconds: .max))
  }

  @Test func anErrorOfTheConditionEndsIt() async {
    struct Oops: Error {}
    count()
    await #expect(throws: Oops.self) {
      try await clock.advance(upTo: .seconds(5)) {
        if await counter.count == 2 { throw Oops() }
        return false
      }
    }
    #expect(clock.now.offset == .seconds(2))
  }

  @Test func cancellationEndsItAtTheNextEvaluation() async {
    count()
    let task = Task {
      await clock.advance(upTo: .seconds(5)) {
        if await counter.count == 2 { withUnsafeCurrentTask { $0?.cancel() } }
        return await counter.count == 3
      }
    }
    #expect(await task.value == false)
    #expect(clock.now.offset == .seconds(2))
  }

  @Test(arguments: [true, false]) func aCancelledTaskEvaluatesOnce(_ answer: Bool) async {
    count()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var asked = 0
      let holds = await clock.advance(upTo: .seconds(5)) {
        asked += 1
        return answer
      }
      #expect(asked == 1)
      return holds
    }
    #expect(await task.value == answer)
    #expect(clock.now.offset == .zero)
  }

  @Test func wakesWithoutEndAreAFailure() async throws {
    clock.scheduler.change { $0.runaway.limits = RunawayLimits(wakes: 100) }
    let beat = Task { while true { try await clock.sleep(for: .milliseconds(1)) } }
    let issues = try await recordedIssues {
      #expect(await !clock.advance(upTo: .seconds(3600)) { false })
    }
    #expect(issues.count == 1)
    #expect(
      issues.first?.message.hasPrefix(
        """
        TestClock.advance(upTo:until:) gave up at 0.101 seconds, because the test does not become idle: 101 sleeps have woken. A task that sleeps in an endless loop never ends by itself: \
        cancel it, or advance by less.
        Pending sleeps:
          - until 0.102 seconds
        """) == true)
    beat.cancel()
  }

  @Test func aTestThatNeverBecomesIdleIsAFailure() async throws {
    clock.scheduler.change { $0.runaway.limits = RunawayLimits(jobs: 1_000) }
    let spin = Task { while !Task.isCancelled { await Task.yield() } }
    let issues = try await recordedIssues {
      #expect(await !clock.advance(upTo: .seconds(3600)) { false })
    }
    #expect(issues.count == 1)
    #expect(
      issues.first?.message.hasPrefix(
        """
        TestClock.advance(upTo:until:) gave up at 0.0 seconds, because the test does not become idle: 1000 jobs have run without time moving
        """) == true)
    spin.cancel()
  }

  // MARK: - Custom durations, isolation, scopes

  @Test func acceptsCustomDurations() async {
    let clock = TestClock<Beats>()
    Task { try await clock.sleep(for: Beats(count: 3)) }
    #expect(await clock.advance(upTo: Beats(count: 5)) { clock.now.offset == Beats(count: 3) })
    #expect(await !clock.advance(upTo: Beats(count: 5)) { false })
    #expect(clock.now.offset == Beats(count: 8))
  }

  @MainActor @Test func theConditionKeepsTheCallersIsolation() async {
    final class Model { var count = 0 }
    let model = Model()
    Task {
      for _ in 0..<5 {
        try await clock.sleep(for: .seconds(1))
        model.count += 1
      }
    }
    #expect(
      await clock.advance(upTo: .seconds(5)) {
        MainActor.preconditionIsolated()
        return model.count == 3
      })
    #expect(clock.now.offset == .seconds(3))
  }

  /// In a scope, a clock that was made with a time of its own keeps that time.
  @Test func aClockOfItsOwnTimeInAScope() async throws {
    try await withVirtualTime { time in
      let clock = TestClock<Beats>()
      let task = Task { try await clock.sleep(for: Beats(count: 3)) }
      #expect(await clock.advance(upTo: Beats(count: 5)) { clock.now.offset == Beats(count: 3) })
      try await task.value
      #expect(time.now.offset == .zero)
    }
  }
}

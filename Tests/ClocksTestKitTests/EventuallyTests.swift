import Clocks
import ClocksTestKit
import Dispatch
import Testing

/// `eventually` and `never` on a clock that a test moves.
@Suite struct EventuallyTests {
  private let clock = TestClock()

  // MARK: - eventually

  @Test func holdsImmediately() async {
    #expect(await clock.eventually(within: .seconds(5)) { true } == .zero)
    #expect(clock.now.offset == .zero)
  }

  @Test func holdsAfterAWhile() async {
    let seconds = Seconds.counted(on: clock)
    #expect(await clock.eventually(within: .seconds(5)) { await seconds.count == 3 } == .seconds(3))
    #expect(clock.now.offset == .seconds(3))
    #expect(await clock.eventually(within: .seconds(5)) { await seconds.count == 5 } == .seconds(2))
  }

  @Test func holdsAtTheLimit() async {
    let seconds = Seconds.counted(on: clock)
    #expect(await clock.eventually(within: .seconds(3)) { await seconds.count == 3 } == .seconds(3))
  }

  @Test func doesNotHoldInTime() async throws {
    let seconds = Seconds.counted(on: clock)
    let line = #line + 2
    let failures = try await failures {
      let time = await clock.eventually(within: .milliseconds(2999), "Counts the seconds.") {
        await seconds.count == 3
      }
      #expect(time == nil)
    }
    #expect(
      failures == [
        Failure(
          text: """
            The condition did not hold at any time within 2.999 seconds.
            Counts the seconds.
            TestClock at 2.999 seconds, 1 pending sleep:
              - until 3.0 seconds, since 2.0 seconds, task #
            """, line: line)
      ])
    #expect(clock.now.offset == .milliseconds(2999))
  }

  @Test func nothingThatCouldChangeIt() async throws {
    let failures = try await failures {
      await clock.eventually(within: .seconds(3600)) { false }
    }
    #expect(
      failures.map(\.text) == [
        """
        The condition did not hold at any time within 3600.0 seconds.
        TestClock at 3600.0 seconds, no pending sleep
        """
      ])
    #expect(clock.now.offset == .seconds(3600))
  }

  @Test func requireStopsTheTest() async throws {
    var isReached = false
    let failures = try await failures {
      do {
        _ = try #require(await clock.eventually(within: .seconds(1)) { false })
        isReached = true
      } catch {}
    }
    #expect(failures.map { $0.text.prefix(17) } == ["The condition did", ""])
    #expect(!isReached)
  }

  @Test func aConditionThatTakesLongerThanTheLimitIsTooLate() async throws {
    let failures = try await failures {
      try await withVirtualTime { time in
        let found = try await time.eventually(within: .seconds(10)) {
          try await Task.sleep(for: .seconds(20))
          return true
        }
        #expect(found == nil)
        #expect(time.now.offset == .seconds(20))
      }
    }
    #expect(
      failures.map(\.text) == [
        """
        The condition did not hold at any time within 10.0 seconds.
        VirtualTime at 20.0 seconds, no pending sleep
        """
      ])
  }

  @Test(.virtualTime) func anAdvanceWhoseConditionTakesLongerThanTheLimitDoesNotFail() async {
    let time = VirtualTime.current
    let found = await time?.advance(upTo: .seconds(10)) {
      try? await Task.sleep(for: .seconds(20))
      return false
    }
    #expect(found == false)
  }

  // MARK: - never

  @Test func neverHolds() async {
    let seconds = Seconds.counted(on: clock)
    #expect(await clock.never(within: .milliseconds(2999)) { await seconds.count == 3 })
    #expect(clock.now.offset == .milliseconds(2999))
  }

  @Test(arguments: [3, 4, 5]) func holdsAndShouldNot(_ limit: Int) async throws {
    let seconds = Seconds.counted(on: clock)
    let line = #line + 2
    let failures = try await failures {
      let isTrue = await clock.never(within: .seconds(limit), "Counts to 3.") {
        await seconds.count == 3
      }
      #expect(!isTrue)
    }
    #expect(
      failures == [
        Failure(
          text: """
            The condition held after 3.0 seconds, but should not at any time within \(limit).0 \
            seconds.
            Counts to 3.
            TestClock at 3.0 seconds, 1 pending sleep:
              - until 4.0 seconds, since 3.0 seconds, task #
            """, line: line)
      ])
    #expect(clock.now.offset == .seconds(3))
  }

  // MARK: - Corner cases of both

  @Test func zeroChecksThePresent() async throws {
    let seconds = Seconds.counted(on: clock)
    #expect(await clock.eventually(within: .zero) { true } == .zero)
    #expect(await clock.never(within: .zero) { await seconds.count > 0 })
    let failures = try await failures {
      await clock.eventually(within: .zero) { false }
      await clock.never(within: .zero) { true }
    }
    #expect(
      failures.map { $0.text.prefix { $0 != "\n" } } == [
        "The condition did not hold at any time within 0.0 seconds.",
        "The condition held after 0.0 seconds, but should not at any time within 0.0 seconds.",
      ])
    #expect(clock.now.offset == .zero)
  }

  @Test func aNegativeLimitIsAFailure() async throws {
    let seconds = Seconds()
    let line = #line + 2
    let failures = try await failures {
      await clock.eventually(within: .seconds(-1)) { await seconds.count == 0 }
      #expect(await !clock.never(within: .seconds(-2)) { await seconds.count > 0 })
    }
    #expect(
      failures == [
        Failure(
          text: """
            TestClock.eventually(within:) expects a limit of zero or more, but got -1.0 seconds. \
            Time stays at 0.0 seconds: a clock does not run backwards.
            """, line: line),
        Failure(
          text: """
            TestClock.never(within:) expects a limit of zero or more, but got -2.0 seconds. Time \
            stays at 0.0 seconds: a clock does not run backwards.
            """, line: line + 1),
      ])
  }

  @Test func aLimitBeyondTheRangeIsTheEndOfTheRange() async {
    let clock = TestClock(now: .init(offset: .seconds(1)))
    Task { try await clock.sleep(for: .seconds(5)) }
    let long = Duration(attoseconds: .max)
    #expect(await clock.eventually(within: long) { clock.now.offset == .seconds(6) } == .seconds(5))
    #expect(await clock.never(within: long) { false })
    #expect(clock.now.offset == long)
  }

  @Test func aConditionThatThrowsEndsIt() async {
    struct Oops: Error {}
    let seconds = Seconds.counted(on: clock)
    let oops = { if await seconds.count % 2 == 0, await seconds.count > 0 { throw Oops() } }
    await #expect(throws: Oops.self) {
      try await clock.eventually(within: .seconds(5)) {
        try await oops()
        return false
      }
    }
    #expect(clock.now.offset == .seconds(2))
    await clock.advance(by: .seconds(1))
    await #expect(throws: Oops.self) {
      try await clock.never(within: .seconds(5)) {
        try await oops()
        return false
      }
    }
    #expect(clock.now.offset == .seconds(4))
  }

  @Test func isCancelled() async throws {
    let seconds = Seconds.counted(on: clock)
    let failures = try await failures {
      let eventually = Task {
        await clock.eventually(within: .seconds(5), "Counts to 3.") {
          if await seconds.count == 2 { withUnsafeCurrentTask { $0?.cancel() } }
          return await seconds.count == 3
        }
      }
      #expect(await eventually.value == nil)
      #expect(clock.now.offset == .seconds(2))
      let never = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await clock.never(within: .seconds(5)) { await seconds.count == 3 }
      }
      #expect(await never.value == false)
      #expect(clock.now.offset == .seconds(2))
    }
    let pending = """
      TestClock at 2.0 seconds, 1 pending sleep:
        - until 3.0 seconds, since 2.0 seconds, task #
      """
    #expect(
      failures.map(\.text) == [
        """
        TestClock.eventually(within:) expects the condition to hold at some time within 5.0 \
        seconds, but the task was cancelled after 2.0 seconds, and it did not hold by then.
        Counts to 3.
        \(pending)
        """,
        """
        TestClock.never(within:) expects that the condition does not hold at any time within 5.0 \
        seconds, but the task was cancelled after 0.0 seconds, and what comes later is not known.
        \(pending)
        """,
      ])
  }

  @Test(.repeated(1_000)) func isExactWhileAnotherTaskMovesTime() async {
    let seconds = Seconds.counted(on: clock)
    let advance = Task.detached { [clock] in await clock.advance(by: .seconds(10)) }
    async let five = clock.eventually(within: .seconds(8)) { await seconds.count == 5 }
    async let none = clock.never(within: .seconds(8)) { await seconds.count == 9 }
    #expect(await clock.eventually(within: .seconds(8)) { await seconds.count == 3 } == .seconds(3))
    #expect(clock.now.offset == .seconds(3))
    #expect(await five == .seconds(5))
    #expect(await none)
    await advance.value
    #expect(clock.now.offset == .seconds(10))
  }

  @MainActor @Test func theConditionKeepsTheCallersIsolation() async {
    final class Model { var count = 0 }
    let model = Model()
    Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        model.count += 1
      }
    }
    let time = await clock.eventually(within: .seconds(5)) {
      MainActor.preconditionIsolated()
      return model.count == 3
    }
    #expect(time == .seconds(3))
    #expect(await clock.never(within: .seconds(1)) { model.count > 4 })
  }

  @Test func acceptsNonSendableValues() async {
    var asked = 0
    await clock.never(within: .seconds(1)) {
      asked += 1
      return false
    }
    #expect(asked == 2)
  }

  @Test func acceptsCustomDurations() async {
    let clock = TestClock<Beats>()
    Task { try await clock.sleep(for: Beats(count: 3)) }
    let time = await clock.eventually(within: Beats(count: 5)) { clock.pendingSleeps.isEmpty }
    #expect(time == Beats(count: 3))
    #expect(await clock.never(within: Beats(count: 5)) { false })
    #expect(clock.now.offset == Beats(count: 8))
  }
}

/// `eventually` and `never` in a scope of virtual time.
@Suite(.virtualTime) struct EventuallyInAScopeTests {
  private let time = VirtualTime.current!

  @Test func unInjectedSleeps() async {
    let seconds = Seconds()
    Task {
      while true {
        try await Task.sleep(for: .seconds(1))
        await seconds.add()
      }
    }
    #expect(await time.eventually(within: .seconds(5)) { await seconds.count == 3 } == .seconds(3))
    #expect(await time.never(within: .milliseconds(1999)) { await seconds.count == 5 })
    #expect(time.now.offset == .milliseconds(4999))
  }

  @Test func awaitsOfTheTestMoveTimeToo() async throws {
    async let three = time.eventually(within: .seconds(5)) { time.now.offset == .seconds(3) }
    async let four = time.eventually(within: .seconds(5)) { time.now.offset == .seconds(4) }
    for _ in 0..<5 { try await Task.sleep(for: .seconds(1)) }
    #expect(await three == .seconds(3))
    #expect(await four == .seconds(4))
  }

  @Test func cancellationTakesEffectDuringHolding() async throws {
    let (elsewhere, continuation) = AsyncStream<Void>.makeStream()
    let work = Task { await time.holding { for await _ in elsewhere {} } }
    let failures = try await failures {
      let seconds = Seconds()
      let eventually = Task {
        await time.eventually(within: .seconds(5)) {
          await seconds.add()
          return false
        }
      }
      await time.settle()
      #expect(await seconds.count == 1)
      #expect(time.now.offset == .zero)
      eventually.cancel()
      #expect(await eventually.value == nil)
    }
    #expect(
      failures.map(\.text) == [
        """
        VirtualTime.eventually(within:) expects the condition to hold at some time within 5.0 \
        seconds, but the task was cancelled after 0.0 seconds, and it did not hold by then.
        VirtualTime at 0.0 seconds, no pending sleep
        """
      ])
    continuation.finish()
    await work.value
  }

  /// `holding` keeps only the scope's time from jumping.
  @Test func aClockWithItsOwnTimeDoesNotWaitForHolding() async {
    let clock = TestClock<Beats>()
    await time.holding {
      Task { try await clock.sleep(for: Beats(count: 3)) }
      let wait = await clock.eventually(within: Beats(count: 5)) { clock.now.offset.count == 3 }
      #expect(wait == Beats(count: 3))
    }
  }

  @Test func settlingWaitsForObserversOfThePresent() async {
    let seconds = Seconds()
    async let never = time.never(within: .seconds(1)) {
      await seconds.add()
      return false
    }
    await time.settle()
    #expect(await seconds.count == 1)
    #expect(time.now.offset == .zero)
    #expect(await never)
    #expect(await seconds.count == 2)
  }

  @Test(.virtualTime(jumpsAfter: .milliseconds(50))) func waitsForThePause() async throws {
    let time = try #require(VirtualTime.current)
    let begin = realNow()
    Task { try await Task.sleep(for: .seconds(1)) }
    #expect(
      await time.eventually(within: .seconds(5)) { time.now.offset == .seconds(1) } == .seconds(1))
    #expect(realNow() - begin >= .milliseconds(50))
  }

  @Test(.virtualTime(autoAdvance: false)) func timeThatIsMovedByHand() async throws {
    let time = try #require(VirtualTime.current)
    let task = Task { try await Task.sleep(for: .seconds(3)) }
    #expect(
      await time.eventually(within: .seconds(5)) { time.now.offset == .seconds(3) } == .seconds(3))
    try await task.value
    #expect(await time.never(within: .seconds(5)) { false })
    #expect(time.now.offset == .seconds(8))
  }
}

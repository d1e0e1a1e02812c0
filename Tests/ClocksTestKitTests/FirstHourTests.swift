import Clocks
import ClocksTestKit
import Synchronization
import Testing

/// What new users write first.
@Suite struct FirstHourTests {
  @Test(.virtualTime) func theScopeOfATestIsThere() async throws {
    let time = try VirtualTime.required
    try await Task.sleep(for: .seconds(5))
    #expect(time.now == .seconds(5))
    #expect(try await Task.detached { try VirtualTime.required }.value === time)
  }

  @Test func withoutAScopeTheErrorNamesTheTrait() async {
    let error = #expect(throws: NoVirtualTimeError.self) { try VirtualTime.required }
    #expect(error?.description.contains("@Test(.virtualTime)") == true)
    #expect(error?.description.contains("\n\nIf the test has the trait, this code runs") == true)
  }

  @Test func aScopeWhoseOperationTakesNoArgument() async throws {
    let passed = try await withVirtualTime {
      try await Task.sleep(for: .seconds(5))
      return VirtualTime.current?.now
    }
    #expect(passed == .seconds(5))
    let line = #line + 1
    let failures = try await failures {
      try await withVirtualTime(leftoverSleeps: .fail) {
        _ = Task { try await Task.sleep(for: .seconds(1)) }
      }
    }
    #expect(failures.map(\.line) == [line + 1])
  }

  @Test func aSearchWhoseOperationTakesNoArgument() async throws {
    let runs = Mutex(0)
    let three = try await withSchedules(3) {
      runs.withLock { $0 += 1 }
      try await sleepInThreeTasks()
    }
    #expect(three?.schedules == 3)
    #expect(runs.withLock { $0 } == 3)
    let two = try await withSchedules(.upTo(2)) { try await sleepInThreeTasks() }
    #expect(two?.schedules == 2)
    // The search ends after the second run, which shows whether the test is deterministic.
    let timed = try await withSchedules(for: .nanoseconds(1)) { try await sleepInThreeTasks() }
    #expect(timed?.schedules == 2)
  }

  private func sleepInThreeTasks() async throws {
    async let one: Void = Task.sleep(for: .seconds(1))
    async let two: Void = Task.sleep(for: .seconds(1))
    async let three: Void = Task.sleep(for: .seconds(1))
    _ = try await (one, two, three)
  }

  @Test func aForgottenTraitIsNamedByEachExpectation() async throws {
    let clock = TestClock()
    let task = Task { try await Task.sleep(for: .seconds(3600)) }
    let failures = try await failures {
      await clock.eventually(within: .seconds(5)) { false }
      await TimedExpectation("call").wait(within: .seconds(5), on: clock)
      await Probe(AsyncStream<Int> { _ in }, on: clock).next(within: .seconds(5))
      await expectTimeline(of: AsyncStream<Int> { _ in }, "-1", on: clock)
    }
    #expect(failures.count == 4)
    for failure in failures {
      #expect(
        failure.text.contains("asleep on one of the runtime's real clocks, which was not injected"))
      #expect(failure.text.contains("use `@Test(.virtualTime)`"))
    }
    task.cancel()
  }

  @Test func aSleepThatIsDueIsNamedByAFailure() async throws {
    let failures = try await failures {
      try await VirtualTimeTrait.virtualTime.run {
        let toast = Task(name: "toast") { try await Task.sleep(for: .seconds(5)) }
        try await Task.sleep(for: .seconds(5))
        Issue.record("before")
        await VirtualTime.current!.advance(by: .zero)
        Issue.record("after")
        try await toast.value
      }
    }
    try #require(failures.count == 2)
    #expect(failures[0].text.contains("1 sleep ends at this very instant, and has not woken yet:"))
    #expect(failures[0].text.contains(/until 5.0 seconds, since 0.0 seconds, task "toast"/))
    #expect(!failures[1].text.contains("this very instant"))
  }

  @Test func aSleepThatIsOverIsNotNamed() async throws {
    let clock = TestClock()
    let task = Task { try? await Task.sleep(for: .seconds(3600)) }
    await clock.settle()
    task.cancel()
    await task.value
    let failures = try await failures { await clock.eventually(within: .seconds(5)) { false } }
    #expect(failures.count == 1)
    #expect(failures.allSatisfy { !$0.text.contains("asleep on one of the runtime's real clocks") })
  }
}

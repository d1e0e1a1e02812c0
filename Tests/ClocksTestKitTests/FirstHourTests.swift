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
    let some = try await withSchedules(for: .milliseconds(1)) {
      try await sleepInThreeTasks()
    }
    #expect((1..<100).contains(some?.schedules ?? 0))
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
}

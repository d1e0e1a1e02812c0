import Testing

@testable import Clocks

/// Tests that never become idle.
@Suite struct RunawayTests {
  @Test func aTaskThatYieldsForEverIsAFailureThatNamesIt() async throws {
    let clock = TestClock()
    clock.scheduler.change { $0.runaway.limits = RunawayLimits(jobs: 1_000) }
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return withUnsafeCurrentTask { _ in UnownedTask.currentID! }
    }
    let line: Int = #line + 2
    let issues = try await recordedIssues {
      await clock.advance(by: .seconds(1))
    }
    #expect(issues.map(\.line) == [line])
    task.cancel()
    let id = await task.value
    #expect(
      issues.map(\.message.withoutDump) == [
        """
        TestClock.advance(by:) gave up at 0.0 seconds, because the test does not become idle: \
        1000 jobs have run without time moving, the last one of task #\(id). \
        A task that yields in an endless loop never becomes idle: let it sleep, or cancel it. In a scope, \
        time stands still while jobs run, so a loop that waits for `Date()` or `ContinuousClock.now` must sleep. \
        If it was cancelled, its sleeps throw, and `try?` hides that: write `try`, or `while !Task.isCancelled`.
        Pending sleeps: none
        """
      ])
  }

  @Test func settleStopsToo() async throws {
    let clock = TestClock()
    clock.scheduler.change { $0.runaway.limits = RunawayLimits(jobs: 1_000) }
    let task = Task { while !Task.isCancelled { await Task.yield() } }
    let issues = try await recordedIssues { await clock.settle() }
    #expect(issues.count == 1)
    #expect(
      issues.first?.message.hasPrefix(
        "TestClock.settle() gave up at 0.0 seconds, because the test does not become idle: 1000 jobs"
      ) == true)
    task.cancel()
    await clock.settle()
  }

  @Test func aTimerThatNeverEndsIsAFailureThatNamesItsSleep() async throws {
    let clock = TestClock()
    clock.scheduler.change { $0.runaway.limits = RunawayLimits(wakes: 1_000) }
    let task = Task(name: "ticker") {
      while true { try await clock.sleep(for: .nanoseconds(1)) }
    }
    let issues = try await recordedIssues { await clock.advance(by: .seconds(1)) }
    #expect(issues.count == 1)
    let text = issues.first?.message ?? ""
    #expect(text.hasPrefix("TestClock.advance(by:) gave up at 0.000001 seconds"), "\(text)")
    #expect(
      text.contains("1000 sleeps have woken") && text.contains("task \"ticker\""), "\(text)")
    task.cancel()
  }
}

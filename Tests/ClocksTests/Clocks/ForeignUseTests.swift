import Testing

@testable import Clocks

/// A clock that is used by the tasks of another test.
@Suite struct ForeignUseTests {
  @Test func aSleepByATaskOfAnotherTestIsAFailureOnce() async throws {
    // Each of these tasks stands for a test: it makes its own clock.
    let line: UInt = #line + 2
    let issues = try await recordedIssues {
      await withClockOfATask { clock in
        await inATaskWithAClock {
          for _ in 0..<2 { try? await clock.sleep(for: .seconds(-1)) }
        }
      }
    }
    #expect(issues.map(\.line) == [Int(line)])
    #expect(
      issues.map(\.message) == [
        """
        TestClock.sleep(until:) was called by a task of another test than the one that made the \
        clock, at ClocksTests/ForeignUseTests.swift:\(line). The two tests run in parallel, so \
        neither can know when the tasks of the other have run as far as they can. Make a clock in each test; \
        one in a static or global variable is shared by all of them.
        It is 0.0 seconds. Pending sleeps: none
        """
      ])
  }

  @Test func anAdvanceByATaskOfAnotherTestIsAFailure() async throws {
    let line: Int = #line + 3
    let issues = try await recordedIssues {
      await withClockOfATask { clock in
        await inATaskWithAClock { await clock.advance(by: .seconds(1)) }
        #expect(clock.now.offset == .seconds(1))
      }
    }
    #expect(issues.map(\.line) == [line])
    #expect(
      issues.first?.message.hasPrefix("TestClock.advance(by:) was called by a task of another test")
        == true)
  }

  /// The task that made the clock is over, so no other test is the cause.
  @Test func twoClocksThatWereMadeApartAreAFailureOnce() async throws {
    let line: UInt = #line + 1
    let clock = await Task { TestClock() }.value
    let own = TestClock()
    let issues = try await recordedIssues {
      for _ in 0..<2 { await clock.advance(by: .seconds(1)) }
    }
    #expect(issues.map(\.line) == [Int(line) + 3])
    withExtendedLifetime(own) {}
    #expect(
      issues.map(\.message) == [
        """
        TestClock.advance(by:) was called in a test that uses another clock already, the one made at \
        ClocksTests/ForeignUseTests.swift:\(line + 1). This one was made outside the test, in \
        another place (ClocksTests/ForeignUseTests.swift:\(line)), so the clocks have different \
        schedulers, and neither clock can wait for the tasks of the other. Make both clocks in the \
        test, or both in one expression, as in `static let clocks = (TestClock(), TestClock())`.
        It is 0.0 seconds. Pending sleeps: none
        """
      ])
  }

  @Test func aScopeMayUseTheClockOfItsTest() async throws {
    let clock = TestClock()
    let log = Log<String>()
    try await withVirtualTime { _ in
      let task = Task {
        try await clock.sleep(for: .seconds(1))
        log.add("woken at \(clock.now)")
      }
      await clock.settle()
      await clock.advance(by: .seconds(1))
      try await task.value
    }
    #expect(log.all == ["woken at 1.0 seconds"])
  }

  /// The test's own scheduler is idle meanwhile.
  @Test func aWaitForTheTestAlsoWaitsForTheScopeThatItIsCalledIn() async throws {
    let clock = TestClock()
    let log = Log<String>()
    try await withVirtualTime { _ in
      let task = Task {
        for _ in 0..<10 { await Task.yield() }
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<10 { await Task.yield() }
        log.add("woken at \(clock.now)")
      }
      await clock.settle()
      #expect(clock.pendingSleeps.count == 1)
      await clock.advance(by: .seconds(1))
      #expect(log.all == ["woken at 1.0 seconds"])
      task.cancel()
    }
  }
}

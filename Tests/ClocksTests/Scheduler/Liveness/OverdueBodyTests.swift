import Testing

@testable import Clocks

/// A body that continues although it was cancelled.
@Suite struct OverdueBodyTests {
  /// The limit of wakes cancels the body. The body awaits a task that is not cancelled, and that wakes as often again.
  @Test func aHeartbeatThatTheBodyAwaitsIsReportedAndEnded() async throws {
    let line = #line + 3
    let issues = try await recordedIssues {
      let options = ScopeOptions(limits: RunawayLimits(wakes: 1_000))
      await #expect(throws: CancellationError.self) {
        try await VirtualTime(options, at: .here()).run { time in
          let heartbeat = Task(name: "beat") {
            while true { try await Task.sleep(for: .milliseconds(1)) }
          }
          do {
            try await heartbeat.value
          } catch {
            // The first limit has passed, and then a second one, at which the heartbeat was ended.
            #expect(time.now.offset == .seconds(2))
            throw error
          }
        }
      }
    }
    #expect(issues.map(\.line) == [line])
    let report = try #require(issues.first?.message)
    #expect(
      report.withoutDump == """
        withVirtualTime gave up at 1.0 seconds, because the test does not become idle: 1000 sleeps have \
        woken. A task sleeps in an endless loop: cancel it. If that loop is meant to go on, the test waits for \
        something that never comes: look for it among the other tasks. The operation has been cancelled.
        It is still not over: it awaits something that does not react to cancellation, for example the \
        value of another task. So all its tasks have been cancelled, too.
        """)
    #expect(report.contains("\"beat\" sleeps until 1.001 seconds on ContinuousClock"), "\(report)")
  }

  /// The scope of a test of XCTest is explored, and cannot be left: the test's method holds the main thread.
  @Test(.timeLimit(.minutes(10)))
  func anExploredBodyThatCannotBeLeftEndsAfterItsReport() async throws {
    let reports = Log<String>()
    var options = ScopeOptions()
    options.isExplored = true
    let time = VirtualTime(options, at: .here(), record: { reports.add($0) })
    try await time.run { time in
      let problem = ScopeProblem.tooLong(.seconds(60), pending: { [] })
      for _ in 1...2 { _ = time.scheduler.change { $0.scope?.body.abort(problem) } }
      time.scheduler.reportOverdue(problem)
    }
    #expect(reports.all.count == 1)
  }

  /// The operation is cancelled between two of its jobs, although the scope is never idle.
  @Test func aBodyThatNeverIdlesIsCancelledWhenItHasRunForTooLong() async throws {
    let reports = Log<String>()
    let options = ScopeOptions(stuckAfter: .seconds(600), runningLimit: .seconds(2))
    let time = VirtualTime(options, at: .here(), record: { reports.add($0) })
    var checks = 0
    try await time.run { time in
      while !Task.isCancelled, checks < 100 {
        await Task.yield()
        // As the watchdog does.
        time.scheduler.ran(for: .seconds(1))
        checks += 1
      }
    }
    #expect(checks <= 3)
    #expect(reports.all.count == 1)
    #expect(reports.all.first?.contains("It is still not over") == false)
  }

  /// The body may return after its problem was found, and before the tasks were inspected.
  @Test func aBodyThatReturnsBeforeTheInspectionIsReportedWithItsTasks() async throws {
    let reports = Log<String>()
    try await VirtualTime(ScopeOptions(), at: .here(), record: reports.add).run { time in
      Task(name: "left") { try await Task.sleep(for: .seconds(1)) }
      await time.settle()
      _ = time.scheduler.change { $0.scope?.body.abort(.runaway(.wakes(2))) }
    }
    #expect(reports.all.count == 1)
    let report = try #require(reports.all.first)
    #expect(report.contains("\"left\" sleeps until 1.0 seconds on ContinuousClock"), "\(report)")
  }

  /// The same for the limit of running time. If no task sleeps at that moment, the report says so.
  @Test(arguments: [true, false])
  func aBodyThatRunsForTooLongIsReportedWithWhatSleeps(_ isAsleep: Bool) {
    let lines = isAsleep ? ["until 1.0 seconds, since 0.0 seconds, task #7"] : []
    #expect(
      ScopeProblem.tooLong(.seconds(60), pending: { lines }).description(at: "0.0 seconds") == """
        withVirtualTime gave up at 0.0 seconds, because the test has run for more than 60.0 \
        seconds of real time. A \
        loop that waits for what never comes, or a heartbeat that no task ends, goes on forever in virtual \
        time: end it, wait for less, or allow more with `runningLimit:`. In a scope, time stands still while \
        jobs run, so a loop that waits for `Date()` or `ContinuousClock.now` must sleep. The operation has \
        been cancelled. \
        Pending sleeps:\(isAsleep ? "\n  - " + lines[0] : " none")
        """)
  }
}

import Foundation
import Testing

@testable import Clocks

/// Each way in which the door can be opened, forced in a process of its own.
@Suite struct HookStrategyTests {
  #if compiler(>=6.3)
    private static let doors = HookStrategy.allCases
  #else
    private static let doors: [HookStrategy] = [.scan, .table, .hook, .none]
  #endif

  /// What each door sees is what it should see here: measured, and not only claimed.
  @Test(arguments: doors)
  func aDoorIsTriedOut(_ door: HookStrategy) async throws {
    let child = try await run("DoorReports", door)
    #expect(child.exitCode == 0, "\(child)")
    #expect(
      child.standardOutput.lines(containing: "the door:") == [
        "the door: \(expectedSelfTest(door))"
      ], "\(child)")
  }

  private func expectedSelfTest(_ door: HookStrategy) -> String {
    switch door {
    case .none:
      """
      rung patience, door none, not seen: tasks, the main actor, Task.yield, sleeps on clocks that \
      nobody injected, work on dispatch queues
      """
    case .hook:
      """
      rung enqueueHook, door hook, not seen: the main actor, Task.yield, sleeps on clocks that \
      nobody injected, work on dispatch queues
      """
    default: "rung executors, door \(door), everything is seen"
    }
  }

  /// The promise, on the pool and on the main actor, with yields and with sleeps of the runtime's.
  @Test(arguments: doors.filter { $0 != .hook && $0 != .none })
  func thePromiseHoldsThrough(_ door: HookStrategy) async throws {
    let child = try await run("SemanticsTests|VirtualTimeTests|LowerRungs|DoorReports", door)
    #expect(child.exitCode == 0, "\(child)")
    #expect(child.standardError.contains("tests in 4 suites passed after"), "\(child)")
  }

  @Test(arguments: [HookStrategy.hook, .none]) func failuresSayWhatIsMissing(_ door: HookStrategy)
    async throws
  {
    let child = try await run("RungNoteTests", door)
    #expect(child.exitCode == 0, "\(child)")
    #expect(child.standardError.contains("1 test in 1 suite passed after"), "\(child)")
  }

  @Test func anUnknownDoorIsAnErrorAtOnce() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "DoorReports", environment: ["CLOCKS_DOOR": "garage"])
    #expect(child.exitCode == 2)
    #expect(
      child.standardError == """
        error: CLOCKS_DOOR is "garage", but can only be one of: spi, create, scan, table, hook, none

        """)
    #expect(child.standardOutput == "")
  }

  private func run(_ tests: String, _ door: HookStrategy) async throws -> ChildProcess {
    try await ChildProcess.runSwiftTesting(tests, environment: ["CLOCKS_DOOR": "\(door)"])
  }
}

/// Run by `HookStrategyTests`: what the door sees in this process.
@Suite struct DoorReports {
  @Test func aSelfTestIsRepeatable() {
    print("the door: \(SchedulerCapability.selfTest)")
    let door = HookStrategy(rawValue: SchedulerCapability.selfTest.door)!
    // Also while the test has a clock, whose scheduler must not see any of it.
    let clock = TestClock()
    for _ in 0..<1000 { #expect(SchedulingSelfTest(door) == SchedulerCapability.selfTest) }
    #expect(clock.scheduler.change { $0.idleness.ready.isEmpty })
  }

  @Test func aSelfTestOnTheMainActorIsTheSame() async {
    await MainActor.run {
      let door = HookStrategy(rawValue: SchedulerCapability.selfTest.door)!
      for _ in 0..<1000 { #expect(SchedulingSelfTest(door) == SchedulerCapability.selfTest) }
    }
  }

  @Test func mainActorJobsRunOnTheMainThread() async {
    for _ in 0..<1000 {
      await Task.detached { @MainActor in
        MainActor.preconditionIsolated()
        #expect(RuntimeHooks.isOnMainQueue)
      }.value
    }
  }

  @Test func aSleepOutsideAScopeTakesRealTime() async throws {
    for delay in [Duration.milliseconds(1), .milliseconds(20), .microseconds(10)] {
      for clock in [ContinuousClock(), SuspendingClock()] as [any Clock<Duration>] {
        let start = ContinuousClock.now
        try await clock.sleep(for: delay)
        #expect(ContinuousClock.now - start >= delay)
      }
      let start = ContinuousClock.now
      try await Task.sleep(nanoseconds: UInt64(delay / .nanoseconds(1)))
      #expect(ContinuousClock.now - start >= delay)
    }
  }

  @Test func aSleepOutsideAScopeCanBeCancelled() async {
    let sleeper = Task { try await Task.sleep(for: .seconds(1_000_000_000_000)) }
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
  }
}

/// Run by `HookStrategyTests` on a lower rung: what is not seen stands in every failure.
@Suite struct RungNoteTests {
  @Test func aFailureSaysWhatIsNotSeen() async throws {
    let clock = TestClock()
    let issues = try await recordedIssues {
      recordFailure(
        "Sea is not wet.", fileID: #fileID, filePath: #filePath, line: #line, column: #column)
      await clock.advance(by: .seconds(-1))
    }
    let errors: [any Error] = [
      SuspensionError(now: "0", pendingSleeps: []),
      SleepArrivalError(expected: 1, pendingSleeps: [], timeout: .seconds(1)),
    ]
    let texts = issues.map(\.message) + errors.map { "\($0)" }
    #expect(texts.count == 4)
    #expect(texts.allSatisfy { $0.contains("Note: ") == !SchedulerCapability.missing.isEmpty })
    if SchedulerCapability.selfTest.door == "hook" {
      #expect(
        texts.allSatisfy {
          $0.hasSuffix(
            """

            Note: this process stands on the rung enqueueHook (door hook), where a test clock cannot \
            see: the main actor, Task.yield, sleeps on clocks that nobody injected, work on dispatch \
            queues. A test that uses what is not seen may fail for that reason alone.
            """)
        }, "\(texts)")
    }
  }
}

import Testing

@testable import Clocks

/// The guarantees of the lower capabilities, forced in child processes.
@Suite struct SchedulerCapabilityTests {
  @Test func thisProcessHasTheHighestCapability() {
    #expect(SchedulerCapability.current == .executors)
  }

  @Test func theDeprecatedNamesStay() {
    let selfTest: any DeprecatedNames = SchedulerCapability.selfTest
    #expect(selfTest.rung == SchedulerCapability.selfTest.capability)
    #expect(selfTest.door == SchedulerCapability.selfTest.strategy)
  }

  @Test func theEnqueueHookSeesTheDefaultExecutor() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "LowerCapabilities/enqueueHook", environment: ["CLOCKS_DOOR": "hook"])
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    #expect((child.standardOutput + child.standardError).contains("Test enqueueHook() passed"))
  }

  @Test func patienceWakesInOrder() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "LowerCapabilities/patience", environment: ["CLOCKS_DOOR": "none"])
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    #expect((child.standardOutput + child.standardError).contains("Test patience() passed"))
  }
}

#if os(Linux)
  /// Facts that no job of the self-test measures are listed if they do not hold.
  @Suite struct LostSecretTests {
    @Test func aLossIsListed() async {
      await #expect(processExitsWith: .success) {
        let selfTest = SchedulerCapability.selfTest
        let hidden = selfTest.hiddenFiles
        #expect(selfTest.missing == hidden)
        let strategy = try #require(HookStrategy(rawValue: selfTest.strategy))
        TaskCreation.isSeen = false
        TaskCreation.seesAsyncLets = false
        JobRuns.areSeen = false
        #expect(
          SchedulingSelfTest(strategy).missing == [
            "the creation of tasks", "the creation of async let tasks", "jobs of custom executors",
          ] + hidden)
      }
    }
  }
#endif

/// Why a protocol: a direct use of a deprecated name is a warning.
private protocol DeprecatedNames {
  var rung: SchedulerCapability { get }
  var door: String { get }
}

extension SchedulingSelfTest: DeprecatedNames {}

/// What holds with each of the lower capabilities, and so with all higher ones.
@Suite struct LowerCapabilities {
  let clock = TestClock()

  @Test(.repeated(20)) func enqueueHook() async {
    let length = RepeatedTrait.number
    let counter = Counter()
    let (stream, source) = AsyncStream<Int>.makeStream()
    Task.detached {
      for await _ in stream {
        await withTaskGroup { group in
          for _ in 0..<length { group.addTask { await counter.increment() } }
        }
        await Task.detached { await counter.increment() }.value
      }
    }
    let ticker = Task { [clock] in
      while true {
        try await clock.sleep(for: .seconds(1))
        source.yield(1)
      }
    }
    for tick in 1...10 {
      await clock.advance(by: .seconds(1))
      #expect(await counter.count == tick * (length + 1))
    }
    source.finish()
    ticker.cancel()
  }

  @Test(.repeated(20)) func patience() async throws {
    let log = Log<Int>()
    let tasks = (0..<5).map { second in
      Task { [clock] in
        try await clock.sleep(for: .seconds(second))
        log.add(second)
      }
    }
    // The clock does not see the tasks, so the test itself waits for their sleeps and for their ends.
    try await clock.waitForSleeps(atLeast: 4)
    for second in 0..<5 {
      await clock.advance(to: .init(offset: .seconds(second)))
      try await tasks[second].value
      #expect(log.all == Array(0...second))
    }
  }
}

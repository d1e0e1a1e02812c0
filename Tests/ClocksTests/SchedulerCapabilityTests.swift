import Testing

@testable import Clocks

/// The lower rungs, forced in a process of their own, keep what they promise.
@Suite struct SchedulerCapabilityTests {
  @Test func thisProcessStandsOnTheHighestRung() {
    #expect(SchedulerCapability.current == .executors)
  }

  @Test func theEnqueueHookSeesTheDefaultExecutor() async throws {
    let child = try await ChildProcess.runSwiftTesting("LowerRungs/enqueueHook", on: .enqueueHook)
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    #expect((child.standardOutput + child.standardError).contains("Test enqueueHook() passed"))
  }

  @Test func patienceWakesInOrder() async throws {
    let child = try await ChildProcess.runSwiftTesting("LowerRungs/patience", on: .patience)
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    #expect((child.standardOutput + child.standardError).contains("Test patience() passed"))
  }
}

/// What holds on each of the lower rungs, and so on all higher ones.
@Suite struct LowerRungs {
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
    // The test has to know by itself when the sleeps are there and when the tasks have gone on.
    try await clock.waitForSleeps(atLeast: 4)
    for second in 0..<5 {
      await clock.advance(to: .init(offset: .seconds(second)))
      try await tasks[second].value
      #expect(log.all == Array(0...second))
    }
  }
}

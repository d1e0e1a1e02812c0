import Clocks
import ClocksTestKit
import TestTraits
import Testing

private let taskThread = LoopExecutor(isSerial: false, pause: 1_000)
private let actorThread = LoopExecutor(pause: 1_000)

private actor OnThread {
  nonisolated var unownedExecutor: UnownedSerialExecutor { actorThread.asUnownedSerialExecutor() }

  func run(on clock: TestClock<Duration>, _ log: Log<String>) async {
    try? await clock.sleep(for: .seconds(1))
    log.add("w")
    await Task.yield()
    log.add("y")
  }
}

/// A task that yields on a custom executor is resumed by a job that has no task.
@Suite struct YieldOnExecutorTests {
  @Test(.repeated(20)) func advanceWaitsForATaskThatPrefersAnExecutor() async {
    let clock = TestClock()
    let log = Log<String>()
    let task = Task(executorPreference: taskThread) {
      try? await clock.sleep(for: .seconds(1))
      log.add("w")
      await Task.yield()
      log.add("y")
      for _ in 0..<3 { await Task.yield() }
      log.add("z")
    }
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["w", "y", "z"])
    await task.value
  }

  @Test(.repeated(20)) func advanceWaitsForAnActorOnAnExecutor() async {
    let clock = TestClock()
    let log = Log<String>()
    let actor = OnThread()
    let task = Task { await actor.run(on: clock, log) }
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["w", "y"])
    await task.value
  }

  @Test(.repeated(20)) func settleWaitsForATaskThatHasNotSlept() async {
    let clock = TestClock()
    let log = Log<String>()
    let task = Task(executorPreference: taskThread) {
      log.add("w")
      await Task.yield()
      log.add("y")
    }
    await clock.settle()
    #expect(log.all == ["w", "y"])
    await task.value
  }

  @Test(.repeated(20), .virtualTime) func timeDoesNotJumpWhileATaskYields() async throws {
    let log = Log<String>()
    let task = Task(executorPreference: taskThread) {
      let start = ContinuousClock.now
      log.add("w")
      await Task.yield()
      log.add("y")
      return ContinuousClock.now - start
    }
    try await Task.sleep(for: .seconds(1))
    #expect(log.all == ["w", "y"])
    #expect(await task.value == .zero)
  }
}

import Clocks
import ClocksTestKit
import Foundation
import Synchronization
import TestTraits
import Testing

private let taskThread = LoopExecutor(isSerial: false, pause: 1_000)
private let actorThread = LoopExecutor(pause: 1_000)

private final class Text: Sendable {
  private let text = Mutex("")

  func add(_ more: String) { text.withLock { $0 += more } }

  var value: String { text.withLock { $0 } }
}

private actor OnThread {
  nonisolated var unownedExecutor: UnownedSerialExecutor { actorThread.asUnownedSerialExecutor() }

  func run(on clock: TestClock<Duration>, _ text: Text) async {
    try? await clock.sleep(for: .seconds(1))
    text.add("w")
    await Task.yield()
    text.add("y")
  }
}

/// A task that yields on a custom executor is resumed by a job that has no task.
@Suite struct YieldOnExecutorTests {
  @Test(.repeated(20)) func advanceWaitsForATaskThatPrefersAnExecutor() async {
    let clock = TestClock()
    let text = Text()
    let task = Task(executorPreference: taskThread) {
      try? await clock.sleep(for: .seconds(1))
      text.add("w")
      await Task.yield()
      text.add("y")
      for _ in 0..<3 { await Task.yield() }
      text.add("z")
    }
    await clock.advance(by: .seconds(1))
    #expect(text.value == "wyz")
    await task.value
  }

  @Test(.repeated(20)) func advanceWaitsForAnActorOnAnExecutor() async {
    let clock = TestClock()
    let text = Text()
    let actor = OnThread()
    let task = Task { await actor.run(on: clock, text) }
    await clock.advance(by: .seconds(1))
    #expect(text.value == "wy")
    await task.value
  }

  @Test(.repeated(20)) func settleWaitsForATaskThatHasNotSlept() async {
    let clock = TestClock()
    let text = Text()
    let task = Task(executorPreference: taskThread) {
      text.add("w")
      await Task.yield()
      text.add("y")
    }
    await clock.settle()
    #expect(text.value == "wy")
    await task.value
  }

  @Test(.repeated(20), .virtualTime) func timeDoesNotJumpWhileATaskYields() async throws {
    let text = Text()
    let task = Task(executorPreference: taskThread) {
      let start = ContinuousClock.now
      text.add("w")
      await Task.yield()
      text.add("y")
      return ContinuousClock.now - start
    }
    try await Task.sleep(for: .seconds(1))
    #expect(text.value == "wy")
    #expect(await task.value == .zero)
  }
}

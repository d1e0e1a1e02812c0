import Clocks
import Testing

@Suite struct WakeCostExample {
  /// The cost of waking one of many sleeping tasks, with either package.
  private func wakeCost(sleepers: Int) async -> Duration {
    let clock = TestClock()
    let tasks = (1...sleepers).map { second in
      Task { try await clock.sleep(for: .seconds(second)) }
    }
    await clock.advance()
    let cost = await ContinuousClock().measure {
      await clock.advance(by: .seconds(sleepers))
    }
    for task in tasks { try? await task.value }
    return cost / sleepers
  }

  /// Asserts no time, because the machine may be busy.
  @Test func theExampleEnds() async { _ = await wakeCost(sleepers: 1_000) }
}

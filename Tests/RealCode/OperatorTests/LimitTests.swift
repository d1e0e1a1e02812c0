import AsyncAlgorithms
import Clocks
import RealCodeSupport
import Testing

/// Tests what does not work with operators.
@Suite struct OperatorLimitTests {
  /// An operator without a clock argument sleeps on the runtime's clock. Outside a scope, a
  /// `TestClock` does not move it.
  @Test func aTestClockDoesNotMoveAnOperatorWithoutAClock() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    let keys = AsyncChannel<String>()
    let task = Task {
      for await key in keys.debounce(for: .milliseconds(20)).prefix(1) { log.add(key) }
    }
    await keys.send("a")
    await clock.settle()
    #expect(clock.pendingSleeps.isEmpty)
    // The value still arrives, after 20 ms of real time.
    await task.value
    #expect(log.all == ["0 a"])
  }
}

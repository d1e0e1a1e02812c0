import AsyncAlgorithms
import Clocks
import RealCodeSupport
import Testing

/// What does not work with operators, and why.
@Suite struct OperatorLimitTests {
  /// An operator to which no clock is passed sleeps on the runtime's clock, so that outside a scope
  /// a `TestClock` does not move it.
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
    // It comes all the same, after 20 ms of real time.
    await task.value
    #expect(log.all == ["0 a"])
  }
}

import Clocks
import ClocksTestKit
import RealCodeSupport
import ServiceLifecycle
import Testing

/// Tests what does not work with services.
@Suite struct ServiceLimitTests {
  /// A group takes no clock: its timeouts are sleeps on the runtime's clock. Outside a scope, a
  /// `TestClock` does not move them.
  @Test func aTestClockDoesNotMoveTheTimeoutsOfAGroup() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    let group = ServiceGroup(
      Stubborn(obstinacy: .zero, log: log), gracefully: .milliseconds(20))
    let running = Task { try await group.run() }
    await clock.settle()
    await group.triggerGracefulShutdown()
    await clock.settle()
    #expect(clock.pendingSleeps.isEmpty)
    // It still ends, after 20 ms of real time.
    try await running.value
    #expect(log.all.last == "0 stubborn ends")
  }
}

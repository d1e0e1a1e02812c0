import Clocks
import Testing

@testable import ContextDemo

@Suite struct HeartbeatTests {
  @Test func contextAndActorBehaveTheSame() async throws {
    let clock = TestClock()
    let heartbeats: [any Heartbeat] = [
      ContextHeartbeat(context: Context(.serialSynchronous, clock: clock)),
      ContextHeartbeat(context: Context(.serialAsynchronous, clock: clock)),
      ContextHeartbeat(context: Context(.main, clock: clock)),
      ActorHeartbeat(clock: clock),
    ]
    for heartbeat in heartbeats { await heartbeat.begin() }
    await clock.advance(by: .milliseconds(999))
    for heartbeat in heartbeats { #expect(await heartbeat.beats == 0) }
    await clock.advance(by: .milliseconds(2001))
    for heartbeat in heartbeats { #expect(await heartbeat.beats == 3) }
    for heartbeat in heartbeats { await heartbeat.end() }
    try await clock.checkSuspension()
    await clock.advance(by: .seconds(7))
    for heartbeat in heartbeats { #expect(await heartbeat.beats == 3) }
  }

  @Test func scenario() async throws {
    let (events, outcome) = try await ScenarioRunTests.run(ContextsScenario.self)
    #expect(outcome.error == nil)
    #expect(!events.contains { $0.text.contains(", in ") })
    #expect(
      events.filter { $0.time == .seconds(1) }.map(\.text).map { $0.prefix { $0 != ":" } } == [
        "direct", "main", "concurrent", "serialSynchronous", "serialAsynchronous",
      ])
    #expect(
      events.suffix(5) == [
        .init(2500, "context", "serialSynchronous: timer fires"),
        .init(3500, "context", "serialSynchronous: timer fires"),
        .init(4000, "caller", "releases the timer"),
        .init(9500, "heartbeat", "3 beats (ActorHeartbeat)"),
        .init(13_000, "heartbeat", "3 beats (ContextHeartbeat)"),
      ])
  }
}

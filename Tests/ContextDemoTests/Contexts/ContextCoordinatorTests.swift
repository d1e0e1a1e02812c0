import Clocks
import Testing

@testable import ContextDemo

@Suite struct ContextCoordinatorTests {
  let coordinator = ContextCoordinator()

  actor Counter {
    private(set) var value = 0
    func count() { value += 1 }
  }

  /// Returns a counter and the timer that increments it every second.
  private func counter(in kind: Context.Kind = .serialAsynchronous) -> (Counter, Lifetime) {
    let counter = Counter()
    let timer = coordinator.context(kind).periodicTimer(interval: .seconds(1)) {
      Task { await counter.count() }
    }
    return (counter, timer)
  }

  @Test func runsUntilATime() async {
    let (counter, timer) = counter()
    await coordinator.run(until: .milliseconds(2999))
    #expect(await counter.value == 2)
    await coordinator.run(until: .seconds(3))
    #expect(await counter.value == 3)
    #expect(coordinator.now == .seconds(3))
    withExtendedLifetime(timer) {}
  }

  @Test func runsUntilACondition() async {
    let (counter, timer) = counter()
    await coordinator.run { await counter.value == 5 }
    #expect(coordinator.now == .seconds(5))
    await coordinator.run { await counter.value >= 5 }
    #expect(coordinator.now == .seconds(5))
    withExtendedLifetime(timer) {}
  }

  @Test func runsUntilNoWorkIsLeft() async {
    let timer = coordinator.context(.main).singleTimer(interval: .seconds(7)) {}
    await coordinator.run()
    #expect(coordinator.now == .seconds(7))
    withExtendedLifetime(timer) {}
  }

  @Test func stopsAndContinues() async {
    let (counter, timer) = counter()
    let stop = coordinator.context(.serialSynchronous)
      .periodicTimer(interval: .seconds(3)) { [coordinator] in coordinator.stop() }
    await coordinator.run()
    #expect(coordinator.now == .seconds(3))
    #expect(await counter.value == 3)
    await coordinator.run()
    #expect(coordinator.now == .seconds(6))
    #expect(await counter.value == 6)
    withExtendedLifetime((timer, stop)) {}
  }

  /// A clock cannot be reset: use a new coordinator instead.
  @Test func newCoordinatorStartsAtZero() async {
    let (counter, timer) = counter()
    await coordinator.run(until: .seconds(3))
    let other = ContextCoordinator()
    #expect(other.now == .zero)
    let single = other.context(.main).singleTimer(interval: .seconds(1)) {}
    await other.run()
    #expect(other.now == .seconds(1))
    #expect(coordinator.now == .seconds(3))
    #expect(await counter.value == 3)
    withExtendedLifetime((timer, single)) {}
  }

  @Test func contextAndActorBehaveTheSame() async throws {
    let heartbeats: [any Heartbeat] = [
      ContextHeartbeat(context: coordinator.context(.serialSynchronous)),
      ContextHeartbeat(context: coordinator.context(.serialAsynchronous)),
      ContextHeartbeat(context: coordinator.context(.main)),
      ActorHeartbeat(clock: coordinator.clock),
    ]
    for heartbeat in heartbeats { await heartbeat.begin() }
    await coordinator.run(until: .milliseconds(999))
    for heartbeat in heartbeats { #expect(await heartbeat.beats == 0) }
    await coordinator.run(until: .seconds(3))
    for heartbeat in heartbeats { #expect(await heartbeat.beats == 3) }
    for heartbeat in heartbeats { await heartbeat.end() }
    try await coordinator.clock.checkSuspension()
    await coordinator.run(until: .seconds(10))
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

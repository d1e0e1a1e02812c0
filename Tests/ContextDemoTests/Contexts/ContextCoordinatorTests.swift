import Clocks
import Testing

@testable import ContextDemo

@Suite struct ContextCoordinatorTests {
  let coordinator = ContextCoordinator()

  /// Counts.
  actor Counter {
    private(set) var value = 0
    func count() { value += 1 }
  }

  /// A timer that counts each second.
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

  @Test func runsUntilSomethingHasEnded() async {
    let (counter, timer) = counter()
    await coordinator.run { await counter.value == 5 }
    #expect(coordinator.now == .seconds(5))
    await coordinator.run { await counter.value >= 5 }
    #expect(coordinator.now == .seconds(5))
    withExtendedLifetime(timer) {}
  }

  @Test func runsUntilNothingIsLeft() async {
    let timer = coordinator.context(.main).singleTimer(interval: .seconds(7)) {}
    await coordinator.run()
    #expect(coordinator.now == .seconds(7))
    withExtendedLifetime(timer) {}
  }

  @Test func stopsAndGoesOn() async {
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

  /// A clock does not run backwards: to begin again, take a new coordinator.
  @Test func aNewCoordinatorBeginsAtZero() async {
    let (counter, timer) = counter()
    await coordinator.run(until: .seconds(3))
    let other = ContextCoordinator()
    #expect(other.now == .zero)
    let ring = other.context(.main).singleTimer(interval: .seconds(1)) {}
    await other.run()
    #expect(other.now == .seconds(1))
    // The times of two coordinators have nothing to do with each other.
    #expect(coordinator.now == .seconds(3))
    #expect(await counter.value == 3)
    withExtendedLifetime((timer, ring)) {}
  }

  @Test func theOldWayAndTodaysAreTheSame() async throws {
    let hearts: [any Heartbeat] = [
      ContextHeartbeat(context: coordinator.context(.serialSynchronous)),
      ContextHeartbeat(context: coordinator.context(.serialAsynchronous)),
      ContextHeartbeat(context: coordinator.context(.main)),
      ActorHeartbeat(clock: coordinator.clock),
    ]
    for heart in hearts { await heart.begin() }
    await coordinator.run(until: .milliseconds(999))
    for heart in hearts { #expect(await heart.beats == 0) }
    await coordinator.run(until: .seconds(3))
    for heart in hearts { #expect(await heart.beats == 3) }
    for heart in hearts { await heart.end() }
    try await coordinator.clock.checkSuspension()
    await coordinator.run(until: .seconds(10))
    for heart in hearts { #expect(await heart.beats == 3) }
  }

  @Test func theTimeline() async throws {
    let (entries, outcome) = try await PerformanceTests.perform(ContextsScenario.self)
    #expect(outcome.error == nil)
    #expect(!entries.contains { $0.what.contains(", in ") })
    #expect(
      entries.filter { $0.time == .seconds(1) }.map(\.what).map { $0.prefix { $0 != ":" } } == [
        "direct", "main", "concurrent", "serialSynchronous", "serialAsynchronous",
      ])
    #expect(
      entries.suffix(5) == [
        .init(2500, "context", "serialSynchronous: rings"),
        .init(3500, "context", "serialSynchronous: rings"),
        .init(4000, "caller", "lets go of it"),
        .init(9500, "heart", "has beaten 3 times (ActorHeartbeat)"),
        .init(13_000, "heart", "has beaten 3 times (ContextHeartbeat)"),
      ])
  }
}

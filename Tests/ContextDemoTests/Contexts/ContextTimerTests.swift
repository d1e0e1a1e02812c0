import Clocks
import Testing

@testable import ContextDemo

@Suite struct ContextTimerTests {
  let coordinator = ContextCoordinator()
  let timeline: Timeline

  init() {
    timeline = Timeline(clock: coordinator.clock)
  }

  private func entries() async -> [Timeline.Entry] {
    timeline.finish()
    return await timeline.entries.reduce(into: []) { $0.append($1) }
  }

  @Test(arguments: Context.Kind.allCases)
  func aSingleTimerRingsOnceInItsContext(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    let timer = context.singleTimer(interval: .milliseconds(1500)) { [timeline] in
      timeline.add(Context.current?.name ?? "none", "rings")
    }
    await coordinator.run(until: .seconds(10))
    #expect(await entries() == [.init(1500, kind == .direct ? "none" : context.name, "rings")])
    withExtendedLifetime(timer) {}
  }

  @Test(arguments: Context.Kind.allCases)
  func aPeriodicTimerRingsAgainAndAgain(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    let timer = context.periodicTimer(interval: .milliseconds(1500)) { [timeline] in
      timeline.add("timer", "\(context.timestamp)")
    }
    await coordinator.run(until: .seconds(5))
    #expect(
      await entries() == [
        .init(1500, "timer", "1.5 seconds"), .init(3000, "timer", "3.0 seconds"),
        .init(4500, "timer", "4.5 seconds"),
      ])
    withExtendedLifetime(timer) {}
  }

  @Test func aTimerCanCarryAParameter() async {
    let context = coordinator.context(.serialAsynchronous)
    let once = context.singleTimer(parameter: "a", interval: .seconds(2)) { [timeline] in
      timeline.add("once", $0)
    }
    let often = context.periodicTimer(parameter: "b", interval: .seconds(2)) { [timeline] in
      timeline.add("often", $0)
    }
    await coordinator.run(until: .seconds(4))
    #expect(
      await entries() == [
        .init(2000, "once", "a"), .init(2000, "often", "b"), .init(4000, "often", "b"),
      ])
    withExtendedLifetime((once, often)) {}
  }

  @Test(arguments: Context.Kind.allCases)
  func releasingItsLifetimeEndsATimer(_ kind: Context.Kind) async throws {
    let context = coordinator.context(kind)
    var timers = [
      context.singleTimer(interval: .seconds(5)) { [timeline] in timeline.add("once", "") },
      context.periodicTimer(interval: .seconds(1)) { [timeline] in timeline.add("often", "") },
    ]
    await coordinator.run(until: .seconds(2))
    timers = []
    // Nothing is left behind.
    try await coordinator.clock.checkSuspension()
    await coordinator.run(until: .seconds(10))
    #expect(await entries() == [.init(1000, "often", ""), .init(2000, "often", "")])
    #expect(timers.isEmpty)
  }

  /// The timer has rung, and its handler is on its way to the context, when the lifetime ends.
  @Test(arguments: [true, false])
  func releasedAtTheLastMomentATimerDoesNotRing(_ isReleased: Bool) async {
    actor Owner {
      var timer: Lifetime?
      func keep(_ timer: Lifetime?) { self.timer = timer }
    }
    let context = Context(.serialAsynchronous, clock: ImmediateClock())
    await coordinator.clock.settle()
    let owner = Owner()
    await owner.keep(
      context.singleTimer(interval: .seconds(1)) { [timeline] in timeline.add("timer", "rings") })
    // Ready after the timer's task, and before the context that it hands the handler to.
    if isReleased { Task { await owner.keep(nil) } }
    await coordinator.clock.settle()
    #expect(await entries() == (isReleased ? [] : [.init(0, "timer", "rings")]))
  }
}

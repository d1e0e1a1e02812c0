import Clocks
import Testing

@testable import ContextDemo

@Suite struct ContextTimerTests {
  let coordinator = ContextCoordinator()
  let log: EventLog

  init() {
    log = EventLog(clock: coordinator.clock)
  }

  private func events() async -> [EventLog.Event] {
    log.finish()
    return await log.events.reduce(into: []) { $0.append($1) }
  }

  @Test(arguments: Context.Kind.allCases)
  func singleTimerFiresOnceInItsContext(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    let timer = context.singleTimer(interval: .milliseconds(1500)) { [log] in
      log.add(Context.current?.name ?? "none", "fires")
    }
    await coordinator.run(until: .seconds(10))
    #expect(await events() == [.init(1500, kind == .direct ? "none" : context.name, "fires")])
    withExtendedLifetime(timer) {}
  }

  @Test(arguments: Context.Kind.allCases)
  func periodicTimerFiresRepeatedly(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    let timer = context.periodicTimer(interval: .milliseconds(1500)) { [log] in
      log.add("timer", "\(context.timestamp)")
    }
    await coordinator.run(until: .seconds(5))
    #expect(
      await events() == [
        .init(1500, "timer", "1.5 seconds"), .init(3000, "timer", "3.0 seconds"),
        .init(4500, "timer", "4.5 seconds"),
      ])
    withExtendedLifetime(timer) {}
  }

  @Test func timerPassesItsParameter() async {
    let context = coordinator.context(.serialAsynchronous)
    let once = context.singleTimer(parameter: "a", interval: .seconds(2)) { [log] in
      log.add("once", $0)
    }
    await coordinator.run(until: .seconds(4))
    #expect(await events() == [.init(2000, "once", "a")])
    withExtendedLifetime(once) {}
  }

  @Test(arguments: Context.Kind.allCases)
  func releasingTheLifetimeCancelsTheTimer(_ kind: Context.Kind) async throws {
    let context = coordinator.context(kind)
    var timers = [
      context.singleTimer(interval: .seconds(5)) { [log] in log.add("once", "") },
      context.periodicTimer(interval: .seconds(1)) { [log] in log.add("often", "") },
    ]
    await coordinator.run(until: .seconds(2))
    timers = []
    try await coordinator.clock.checkSuspension()
    await coordinator.run(until: .seconds(10))
    #expect(await events() == [.init(1000, "often", ""), .init(2000, "often", "")])
    #expect(timers.isEmpty)
  }

  /// The release happens after the timer has fired and before its handler runs in the context.
  @Test(arguments: [true, false])
  func releaseBeforeTheHandlerRunsSuppressesIt(_ isReleased: Bool) async {
    actor Owner {
      var timer: Lifetime?
      func keep(_ timer: Lifetime?) { self.timer = timer }
    }
    let context = Context(.serialAsynchronous, clock: ImmediateClock())
    await coordinator.clock.settle()
    let owner = Owner()
    await owner.keep(
      context.singleTimer(interval: .seconds(1)) { [log] in log.add("timer", "fires") })
    // This task runs after the task of the timer and before the work of the context.
    if isReleased { Task { await owner.keep(nil) } }
    await coordinator.clock.settle()
    #expect(await events() == (isReleased ? [] : [.init(0, "timer", "fires")]))
  }
}

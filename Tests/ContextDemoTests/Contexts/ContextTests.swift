import Clocks
import Testing

@testable import ContextDemo

/// What each kind of context guarantees, one by one.
@Suite struct ContextTests {
  let coordinator = ContextCoordinator()
  let log = Log()

  /// What happened, in order; added to from anywhere, by code that cannot wait.
  final class Log: Sendable {
    private let timeline: Timeline

    init() {
      timeline = Timeline(clock: ImmediateClock())
    }

    func callAsFunction(_ what: String) {
      timeline.add("", what)
    }

    /// Everything so far; for one caller, once.
    func end() async -> [String] {
      timeline.finish()
      return await timeline.entries.reduce(into: []) { $0.append($1.what) }
    }
  }

  // MARK: - When work runs

  @Test(arguments: [Context.Kind.direct, .serialSynchronous])
  func beforeTheCallReturns(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    context.invoke { [log] in log("work") }
    log("caller")
    #expect(await log.end() == ["work", "caller"])
  }

  @Test(arguments: [Context.Kind.main, .concurrent, .serialAsynchronous])
  func soon(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    context.invoke { [log] in log("work") }
    log("caller")
    await coordinator.clock.settle()
    #expect(await log.end() == ["caller", "work"])
  }

  @Test(arguments: Context.Kind.allCases)
  func inTheOrderOfTheCalls(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    for number in 0..<100 { context.invoke { [log] in log("\(number)") } }
    await coordinator.clock.settle()
    #expect(await log.end() == (0..<100).map(String.init))
  }

  @Test(arguments: Context.Kind.allCases)
  func invokeAndWaitReturnsWhatTheWorkReturns(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    #expect(await context.invokeAndWait { 42 } == 42)
  }

  @Test func workOfASynchronousContextMayHandInMore() async {
    let context = coordinator.context(.serialSynchronous)
    context.invoke { [log] in
      log("outer begins")
      context.invoke { log("inner") }
      log("outer ends")
    }
    #expect(await log.end() == ["outer begins", "inner", "outer ends"])
  }

  @Test func workOfAnAsynchronousContextThatHandsInMoreComesToItsEndFirst() async {
    let context = coordinator.context(.serialAsynchronous)
    context.invoke { [log] in
      context.invoke { log("inner") }
      log("outer")
    }
    await coordinator.clock.settle()
    #expect(await log.end() == ["outer", "inner"])
  }

  @Test func mainIsTheMainActor() async {
    let context = coordinator.context(.main)
    await context.invokeAndWait { MainActor.assertIsolated() }
  }

  // MARK: - Where work runs

  @Test(arguments: Context.Kind.allCases)
  func knowsWhichContextItIsIn(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    let other = coordinator.context(.serialSynchronous)
    #expect(Context.current == nil)
    let current = await context.invokeAndWait { Context.current }
    // Direct work is the caller's, wherever that is.
    #expect(current === (kind == .direct ? nil : context))
    other.invoke { context.invoke { [log] in log(Context.current?.name ?? "none") } }
    await coordinator.clock.settle()
    #expect(await log.end() == [kind == .direct ? other.name : context.name])
    #expect(Context.current == nil)
  }

  @Test func aTaskThatIsStartedInAContextIsElsewhere() async {
    let context = coordinator.context(.serialSynchronous)
    let isInside = await context.invokeAndWait {
      Task { Context.current != nil }
    }.value
    #expect(!isInside)
  }

  /// The question that today's Swift answers by itself.
  @Test func anActorKnowsWhereItIs() async {
    actor Place {
      func isHere(isolation: isolated (any Actor)? = #isolation) -> Bool { isolation === self }
      func ask() -> Bool { isHere() }
    }
    #expect(await Place().ask())
  }

  // MARK: - Ties

  @Test func workOfSeveralContextsRunsInTheOrderOfTheCalls() async {
    let kinds: [Context.Kind] = [.serialAsynchronous, .concurrent, .main, .serialAsynchronous]
    let contexts = kinds.enumerated().map { coordinator.context($1, name: "\($0) \($1)") }
    await coordinator.clock.settle()
    for context in contexts { context.invoke { [log] in log(context.name) } }
    for context in contexts.reversed() { context.invoke { [log] in log(context.name) } }
    await coordinator.clock.settle()
    let names = contexts.map(\.name)
    let all = await log.end()
    // The last one's inbox is handed two pieces of work before its turn, and does both at once.
    #expect(
      all == [names[0], names[0], names[1], names[2], names[3], names[3], names[2], names[1]])
  }

  @Test func timersOfSeveralContextsRingInTheOrderInWhichTheyWereStarted() async {
    let kinds: [Context.Kind] = [.main, .serialAsynchronous, .direct, .concurrent, .main]
    let timers = kinds.enumerated().map { number, kind in
      coordinator.context(kind).singleTimer(parameter: number, interval: .seconds(1)) {
        [log] in log("\($0)")
      }
    }
    await coordinator.run(until: .seconds(1))
    #expect(await log.end() == ["0", "1", "2", "3", "4"])
    withExtendedLifetime(timers) {}
  }
}

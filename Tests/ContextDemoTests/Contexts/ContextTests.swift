import Clocks
import Testing

@testable import ContextDemo

/// Tests the guarantees of each kind of context.
@Suite struct ContextTests {
  let coordinator = ContextCoordinator()
  let log = Log()

  /// Records texts in order; synchronous code on any thread can add to it.
  final class Log: Sendable {
    private let log = EventLog(clock: ImmediateClock())

    func callAsFunction(_ text: String) {
      log.add("", text)
    }

    /// Ends the log and returns its texts. To be called once.
    func end() async -> [String] {
      log.finish()
      return await log.events.reduce(into: []) { $0.append($1.text) }
    }
  }

  // MARK: - Order of work

  @Test(arguments: [Context.Kind.direct, .serialSynchronous])
  func runsBeforeTheCallReturns(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    context.invoke { [log] in log("work") }
    log("caller")
    #expect(await log.end() == ["work", "caller"])
  }

  @Test(arguments: [Context.Kind.main, .concurrent, .serialAsynchronous])
  func runsAfterTheCallReturns(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    context.invoke { [log] in log("work") }
    log("caller")
    await coordinator.clock.settle()
    #expect(await log.end() == ["caller", "work"])
  }

  @Test(arguments: Context.Kind.allCases)
  func runsInTheOrderOfTheCalls(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    for number in 0..<100 { context.invoke { [log] in log("\(number)") } }
    await coordinator.clock.settle()
    #expect(await log.end() == (0..<100).map(String.init))
  }

  @Test(arguments: Context.Kind.allCases)
  func invokeAndWaitReturnsTheResultOfTheWork(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    #expect(await context.invokeAndWait { 42 } == 42)
  }

  @Test func nestedWorkOfASynchronousContextRunsImmediately() async {
    let context = coordinator.context(.serialSynchronous)
    context.invoke { [log] in
      log("outer begins")
      context.invoke { log("inner") }
      log("outer ends")
    }
    #expect(await log.end() == ["outer begins", "inner", "outer ends"])
  }

  @Test func nestedWorkOfTwoSynchronousContextsRunsImmediately() async {
    let contexts = ["a", "b"].map { coordinator.context(.serialSynchronous, name: $0) }
    contexts[0].invoke { [log] in
      contexts[1].invoke {
        contexts[0].invoke { log(Context.current?.name ?? "none") }
        log(Context.current?.name ?? "none")
      }
    }
    #expect(await log.end() == ["a", "b"])
  }

  @Test func nestedWorkOfAnAsynchronousContextRunsAfterwards() async {
    let context = coordinator.context(.serialAsynchronous)
    context.invoke { [log] in
      context.invoke { log("inner") }
      log("outer")
    }
    await coordinator.clock.settle()
    #expect(await log.end() == ["outer", "inner"])
  }

  @Test func mainContextRunsOnTheMainActor() async {
    let context = coordinator.context(.main)
    await context.invokeAndWait { MainActor.preconditionIsolated() }
  }

  // MARK: - Current context

  @Test(arguments: Context.Kind.allCases)
  func currentContext(_ kind: Context.Kind) async {
    let context = coordinator.context(kind)
    let other = coordinator.context(.serialSynchronous)
    #expect(Context.current == nil)
    let current = await context.invokeAndWait { Context.current }
    // A direct context runs work in the context of the caller.
    #expect(current === (kind == .direct ? nil : context))
    other.invoke { context.invoke { [log] in log(Context.current?.name ?? "none") } }
    await coordinator.clock.settle()
    #expect(await log.end() == [kind == .direct ? other.name : context.name])
    #expect(Context.current == nil)
  }

  @Test func taskStartedInAContextDoesNotRunInIt() async {
    let context = coordinator.context(.serialSynchronous)
    let isInside = await context.invokeAndWait {
      Task { Context.current != nil }
    }.value
    #expect(!isInside)
  }

  // MARK: - Ties

  @Test func workOfSeveralContextsRunsInTheOrderOfSubmission() async {
    let kinds: [Context.Kind] = [.serialAsynchronous, .concurrent, .main, .serialAsynchronous]
    let contexts = kinds.enumerated().map { coordinator.context($1, name: "\($0) \($1)") }
    await coordinator.clock.settle()
    for context in contexts { context.invoke { [log] in log(context.name) } }
    for context in contexts.reversed() { context.invoke { [log] in log(context.name) } }
    await coordinator.clock.settle()
    let names = contexts.map(\.name)
    let all = await log.end()
    // A serial context has two pieces of work in its queue, and runs both in one turn.
    #expect(
      all == [names[0], names[0], names[1], names[2], names[3], names[3], names[2], names[1]])
  }

  @Test func simultaneousTimersFireInTheOrderOfTheirStart() async {
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

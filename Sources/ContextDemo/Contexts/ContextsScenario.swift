/// Shows the order in which five contexts run their work and their timers.
struct ContextsScenario: Scenario {
  static let name = "contexts"
  static let summary = "direct, main, concurrent and serial contexts, and their timers"

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in demo: DemoEnvironment) async throws {
    let contexts = Context.Kind.allCases.map { Context($0, clock: demo.clock) }

    demo.log("caller", "submits work to each context")
    for context in contexts {
      context.invoke { Self.log(demo, context, "runs the work") }
    }
    demo.log("caller", "has submitted all work")
    for context in contexts { await context.invokeAndWait {} }

    demo.log("caller", "starts a timer of one second in each context")
    var timers = contexts.map { context in
      context.singleTimer(parameter: context.kind, interval: .seconds(1)) { kind in
        Self.log(demo, context, "timer fires with the parameter '\(kind)'")
      }
    }
    try await demo.clock.sleep(for: .milliseconds(1500))
    // The timers are never read, so the optimizer could release them before the sleep.
    withExtendedLifetime(timers) {}
    timers = []

    demo.log("caller", "starts a periodic timer of one second")
    timers = [
      contexts[3].periodicTimer(interval: .seconds(1)) {
        Self.log(demo, contexts[3], "timer fires")
      }
    ]
    try await demo.clock.sleep(for: .milliseconds(2500))
    demo.log("caller", "releases the timer")
    withExtendedLifetime(timers) {}
    timers = []
    try await demo.clock.sleep(for: .seconds(2))

    let actor = ActorHeartbeat(clock: demo.clock)
    let context = ContextHeartbeat(context: contexts[4])
    for heartbeat in [actor, context] as [any Heartbeat] {
      await heartbeat.begin()
      try await demo.clock.sleep(for: .milliseconds(3500))
      await heartbeat.end()
      demo.log("heartbeat", "\(await heartbeat.beats) beats (\(type(of: heartbeat)))")
    }
  }

  /// Logs an event of `context`, and the current context if it is a different one.
  private static func log(_ demo: DemoEnvironment, _ context: Context, _ text: String) {
    let place = Context.current.map { $0 === context ? "" : ", in \($0.name)" } ?? ", in none"
    demo.log("context", "\(context.name): \(text)\(context.kind == .direct ? "" : place)")
  }
}

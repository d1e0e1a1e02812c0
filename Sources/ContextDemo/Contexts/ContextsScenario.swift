/// Five contexts, their timers, and the order in which they run.
struct ContextsScenario: Scenario {
  static let name = "contexts"
  static let summary = "direct, main, concurrent and serial contexts, and their timers"

  init(_ arguments: Arguments) throws(UsageError) {}

  func play(on stage: Stage) async throws {
    let contexts = Context.Kind.allCases.map { Context($0, clock: stage.clock) }

    stage.log("caller", "hands each context some work")
    for context in contexts {
      context.invoke { Self.log(stage, context, "runs it") }
    }
    stage.log("caller", "is done with that")
    for context in contexts { await context.invokeAndWait {} }

    stage.log("caller", "starts a timer in each, due in a second")
    var timers = contexts.map { context in
      context.singleTimer(parameter: context.kind, interval: .seconds(1)) { kind in
        Self.log(stage, context, "its timer rings (it was given '\(kind)')")
      }
    }
    try await stage.clock.sleep(for: .milliseconds(1500))
    // Without this the optimizer would release them as early as above: nobody reads them.
    withExtendedLifetime(timers) {}
    timers = []

    stage.log("caller", "starts a timer that rings each second")
    timers = [
      contexts[3].periodicTimer(interval: .seconds(1)) { Self.log(stage, contexts[3], "rings") }
    ]
    try await stage.clock.sleep(for: .milliseconds(2500))
    stage.log("caller", "lets go of it")
    withExtendedLifetime(timers) {}
    timers = []
    try await stage.clock.sleep(for: .seconds(2))

    let actor = ActorHeartbeat(clock: stage.clock)
    let context = ContextHeartbeat(context: contexts[4])
    for heart in [actor, context] as [any Heartbeat] {
      await heart.begin()
      try await stage.clock.sleep(for: .milliseconds(3500))
      await heart.end()
      stage.log("heart", "has beaten \(await heart.beats) times (\(type(of: heart)))")
    }
  }

  /// Logs under the name of the context that was meant, and says so if it is not the one.
  private static func log(_ stage: Stage, _ context: Context, _ what: String) {
    let place = Context.current.map { $0 === context ? "" : ", in \($0.name)" } ?? ", in none"
    stage.log("context", "\(context.name): \(what)\(context.kind == .direct ? "" : place)")
  }
}

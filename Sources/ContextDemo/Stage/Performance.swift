import Clocks

/// One run of a scenario: on which clock, and what came of it.
enum Performance {
  /// How a run ended.
  struct Outcome: Sendable {
    /// How much time passed on the scenario's clock.
    let elapsed: Duration
    /// How much real time it took.
    let real: Duration
    /// What the scenario threw, if it did.
    let error: (any Error)?
  }

  /// Runs `scenario` on a new clock, and shows the timeline's entries as they come.
  static func run(
    _ scenario: any Scenario, on choice: ClockChoice,
    show: @escaping @Sendable (Timeline.Entry) -> Void
  ) async -> Outcome {
    switch choice {
    case .test:
      // The operation throws nothing of its own, and so does the scope.
      try! await withVirtualTime { await run(scenario, on: $0.clock, show: show) }
    case .continuous:
      await run(scenario, on: ContinuousClock(), show: show)
    case .immediate:
      await run(scenario, on: ImmediateClock(), show: show)
    }
  }

  private static func run<C: Clock<Duration>>(
    _ scenario: any Scenario, on clock: C, show: @escaping @Sendable (Timeline.Entry) -> Void
  ) async -> Outcome {
    let begin = RealTime.now
    let timeline = Timeline(clock: clock)
    async let shown: Void = { for await entry in timeline.entries { show(entry) } }()
    var failure: (any Error)?
    do {
      try await scenario.play(on: Stage(clock: clock, timeline: timeline))
    } catch {
      failure = error
    }
    let elapsed = timeline.elapsed()
    timeline.finish()
    await shown
    return Outcome(elapsed: elapsed, real: RealTime.now - begin, error: failure)
  }
}

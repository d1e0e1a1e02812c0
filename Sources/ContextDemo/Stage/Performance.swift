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
    /// What happened, if that was asked for.
    var recorded: RecordedTimeline?
  }

  /// Runs `scenario` on a new clock, and shows the timeline's entries as they come.
  ///
  /// - Parameter isRecorded: Whether what happens is recorded, on virtual time.
  static func run(
    _ scenario: any Scenario, on choice: ClockChoice, isRecorded: Bool = false,
    show: @escaping @Sendable (Timeline.Entry) -> Void
  ) async -> Outcome {
    switch choice {
    case .test:
      // The operation throws nothing of its own, and so does the scope.
      try! await withVirtualTime { time in
        if isRecorded { time.recordTimeline() }
        var outcome = await run(scenario, on: time.clock, show: show)
        outcome.recorded = time.recordedTimeline
        outcome.recorded?.title = "ContextDemo \(type(of: scenario).name)"
        return outcome
      }
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
    let printer = Task(name: "printer") { for await entry in timeline.entries { show(entry) } }
    var failure: (any Error)?
    do {
      try await scenario.play(on: Stage(clock: clock, timeline: timeline))
    } catch {
      failure = error
    }
    let elapsed = timeline.elapsed()
    timeline.finish()
    await printer.value
    return Outcome(elapsed: elapsed, real: RealTime.now - begin, error: failure)
  }
}

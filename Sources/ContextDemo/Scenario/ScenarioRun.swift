import Clocks

/// Runs a scenario on a clock.
enum ScenarioRun {
  struct Outcome: Sendable {
    /// The time that passed on the scenario's clock.
    let elapsed: Duration
    /// The real time of the run.
    let real: Duration
    let error: (any Error)?
    /// The recorded timeline, if one was requested.
    let recorded: RecordedTimeline?
    fileprivate let clock: ClockChoice

    var summary: String {
      switch clock {
      case .test: "\(elapsed.inSeconds) of virtual time in \(real.inSeconds) of real time"
      case .continuous: "\(elapsed.inSeconds) of real time"
      case .immediate: "\(elapsed.inSeconds) of sleep skipped in \(real.inSeconds)"
      }
    }
  }

  /// Runs `scenario` on a new clock and calls `show` with each event as it occurs.
  ///
  /// - Parameter isRecorded: Whether to record a timeline. Requires virtual time.
  static func run(
    _ scenario: any Scenario, on choice: ClockChoice, isRecorded: Bool = false,
    show: @escaping @Sendable (EventLog.Event) -> Void
  ) async -> Outcome {
    // The clock is read outside the scope of virtual time, so that `ContinuousClock` reads real time.
    let begin = ContinuousClock.now
    var recorded: RecordedTimeline?
    let (elapsed, error): (Duration, (any Error)?)
    switch choice {
    case .test:
      // Neither the operation nor the scope throws.
      (elapsed, error, recorded) = try! await withVirtualTime { time in
        if isRecorded { time.recordTimeline() }
        let (elapsed, error) = await run(scenario, on: time.clock, show: show)
        var recorded = time.recordedTimeline
        recorded?.title = "ContextDemo \(type(of: scenario).name)"
        return (elapsed, error, recorded)
      }
    case .continuous:
      (elapsed, error) = await run(scenario, on: ContinuousClock(), show: show)
    case .immediate:
      (elapsed, error) = await run(scenario, on: ImmediateClock(), show: show)
    }
    return Outcome(
      elapsed: elapsed, real: begin.duration(to: .now), error: error, recorded: recorded,
      clock: choice)
  }

  private static func run<C: Clock<Duration>>(
    _ scenario: any Scenario, on clock: C, show: @escaping @Sendable (EventLog.Event) -> Void
  ) async -> (elapsed: Duration, error: (any Error)?) {
    let log = EventLog(clock: clock)
    let printer = Task(name: "printer") { for await event in log.events { show(event) } }
    var failure: (any Error)?
    do {
      try await scenario.run(in: DemoEnvironment(clock: clock, events: log))
    } catch {
      failure = error
    }
    let elapsed = log.elapsed()
    log.finish()
    await printer.value
    return (elapsed, failure)
  }
}

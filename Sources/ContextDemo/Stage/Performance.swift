import Clocks

/// One run of a scenario: who moves time, and what came of it.
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
      let clock = TestClock()
      // In a program that is not a test, tasks are the clock's from the first suspension onwards.
      await clock.settle()
      return await run(on: clock, show: show) { stage in
        try await play(scenario, on: stage, moving: clock)
      }
    case .continuous:
      return await run(on: ContinuousClock(), show: show, play: scenario.play)
    }
  }

  private static func run<C: Clock<Duration>>(
    on clock: C, show: @escaping @Sendable (Timeline.Entry) -> Void,
    play: @escaping @Sendable (Stage) async throws -> Void
  ) async -> Outcome {
    let begin = ContinuousClock.now
    let timeline = Timeline(clock: clock)
    async let shown: Void = { for await entry in timeline.entries { show(entry) } }()
    var failure: (any Error)?
    do {
      try await play(Stage(clock: clock, timeline: timeline))
    } catch {
      failure = error
    }
    let elapsed = timeline.elapsed()
    timeline.finish()
    await shown
    return Outcome(elapsed: elapsed, real: begin.duration(to: .now), error: failure)
  }

  /// Runs `scenario`, and moves `clock` from deadline to deadline until the scenario has ended.
  private static func play(
    _ scenario: any Scenario, on stage: Stage, moving clock: TestClock<Duration>
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await scenario.play(on: stage) }
      group.addTask { try await move(clock, whileWaitingFor: stage.outside) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Moves `clock` from deadline to deadline until it is cancelled.
  ///
  /// - Throws: ``StuckError`` if nothing can happen any more.
  private static func move(
    _ clock: TestClock<Duration>, whileWaitingFor outside: OutsideWork
  ) async throws {
    while true {
      // When this returns the scenario has done what it could; if that was all, we are cancelled.
      await clock.settle()
      if Task.isCancelled { return }
      if await outside.isUnderWay {
        await outside.finished()
      } else if await clock.advanceToNextSleep() == nil {
        throw StuckError()
      }
    }
  }
}

/// Says that a scenario waits for something that cannot come: nothing can run, nothing sleeps, and
/// nothing is being done elsewhere.
struct StuckError: Error, CustomStringConvertible {
  var description: String { "the scenario waits for something that never comes" }
}

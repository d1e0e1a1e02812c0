/// What a scenario gets to play with.
struct Stage: Sendable {
  /// The clock on which all of the scenario's time passes.
  let clock: any Clock<Duration>
  /// Where the scenario says what happens.
  let timeline: Timeline
  /// Work that is done where a test clock cannot see it.
  let outside = OutsideWork()

  /// Adds an entry to the timeline.
  func log(_ who: String, _ what: String) {
    timeline.add(who, what)
  }

  /// How much of the clock's time has passed since the scenario began.
  var elapsed: Duration { timeline.elapsed() }
}

import Clocks

/// What a scenario gets to play with.
struct Stage: Sendable {
  /// The clock on which all of the scenario's time passes.
  let clock: any Clock<Duration>
  /// Where the scenario says what happens.
  let timeline: Timeline

  /// Adds an entry to the timeline, and a mark to the picture, if one is drawn.
  func log(_ who: String, _ what: String) {
    timeline.add(who, what)
    VirtualTime.current?.mark("\(who): \(what)")
  }
}

/// Waits for something that is done elsewhere, by a thread or another process, and keeps virtual
/// time from moving meanwhile.
///
/// A scope of virtual time knows when its tasks can do no more. It does not know that a server is
/// about to answer one of them: it would take the wait for idleness, and move on to the next
/// deadline. Outside a scope this does nothing but wait.
func outside<Value>(
  _ work: nonisolated(nonsending) () async throws -> Value
) async rethrows -> Value {
  guard let time = VirtualTime.current else { return try await work() }
  return try await time.holding(work)
}

import Clocks

/// The clock and the event log of a running scenario.
struct DemoEnvironment: Sendable {
  let clock: any Clock<Duration>
  let events: EventLog

  /// Logs an event, and marks it in the recorded timeline if there is one.
  func log(_ source: String, _ text: String) {
    events.add(source, text)
    VirtualTime.current?.mark("\(source): \(text)")
  }
}

/// Waits for work on another thread or in another process while virtual time stands still.
///
/// Virtual time advances when all tasks of its scope are idle. The scope cannot see a thread that
/// is about to resume one of them. Without this function, the scope would advance to the next
/// deadline too early. Outside a scope this function only waits.
func holdingVirtualTime<Value>(
  during work: nonisolated(nonsending) () async throws -> Value
) async rethrows -> Value {
  guard let time = VirtualTime.current else { return try await work() }
  return try await time.holding(work)
}

/// A log to which synchronous code on any thread can add events. One reader receives them as a stream.
struct EventLog: Sendable {
  struct Event: Hashable, Sendable, CustomStringConvertible {
    /// The time since the start of the log.
    let time: Duration
    let source: String
    let text: String

    var description: String {
      let time = time.inSeconds
      let margin = String(repeating: " ", count: max(0, 11 - time.count))
      return "\(margin)\(time)  \(source.padded(to: 10))  \(text)"
    }
  }

  /// The events, for one reader. The stream ends with ``finish()``.
  let events: AsyncStream<Event>
  /// Returns the time since the start of the log.
  let elapsed: @Sendable () -> Duration

  private let continuation: AsyncStream<Event>.Continuation

  /// Creates a log that starts now.
  init<C: Clock<Duration>>(clock: C) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    (events, continuation) = AsyncStream.makeStream()
  }

  /// Adds an event with the current time.
  func add(_ source: String, _ text: String) {
    continuation.yield(Event(time: elapsed(), source: source, text: text))
  }

  func finish() { continuation.finish() }
}

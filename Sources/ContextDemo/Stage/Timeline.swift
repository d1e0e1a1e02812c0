/// What happens, when, and to whom; to be written from anywhere and read in one place.
///
/// It is a stream: an entry can be added by code that cannot wait, and entries come out in the
/// order in which they went in.
struct Timeline: Sendable {
  /// One thing that happened.
  struct Entry: Hashable, Sendable {
    /// When, counted from the beginning of the timeline.
    let time: Duration
    /// To whom.
    let who: String
    /// What.
    let what: String
  }

  /// The entries, as they come; for one reader. It ends with ``finish()``.
  let entries: AsyncStream<Entry>
  /// How much time has passed since the beginning of the timeline.
  let elapsed: @Sendable () -> Duration

  private let continuation: AsyncStream<Entry>.Continuation

  /// Makes a timeline that begins now.
  init<C: Clock<Duration>>(clock: C) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    (entries, continuation) = AsyncStream.makeStream()
  }

  /// Adds an entry with the current time.
  func add(_ who: String, _ what: String) {
    continuation.yield(Entry(time: elapsed(), who: who, what: what))
  }

  /// Ends the stream of entries.
  func finish() {
    continuation.finish()
  }
}

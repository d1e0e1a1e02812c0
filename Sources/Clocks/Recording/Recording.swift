/// What was recorded of a test.
struct Recording: Sendable {
  var events: EventStore
  var start: Duration
  /// The task that runs the test itself; 0 if it is not known.
  var root: UInt64
  var names: [UInt64: String]
  var marks: [UInt64: String]
  /// The names of the actors; the place of each is its number less one.
  var actors: [String]
}

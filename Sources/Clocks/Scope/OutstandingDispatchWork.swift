/// The work of a test that is on queues of Dispatch's, or runs there: the test is not idle until it has
/// run. And the work that is to begin later, in a scope.
struct OutstandingDispatchWork {
  /// The labels of the queues, by the numbers of the work.
  private var labels: [UInt64: String] = [:]
  private var newest: UInt64 = 0
  /// Counts what began and ended: while it stays the same, nothing happens there.
  private(set) var changes: UInt64 = 0
  /// The places of delayed work in the scope's time.
  private var delays: [ObjectIdentifier: SleepQueue<Duration>.Token] = [:]

  var isEmpty: Bool { labels.isEmpty }

  /// Notes that work is on a queue; returns its number.
  mutating func begin(on label: String) -> UInt64 {
    newest += 1
    changes += 1
    labels[newest] = label
    return newest
  }

  /// Notes that it has run, and says whether somebody still waited for that.
  mutating func end(_ number: UInt64) -> Bool {
    changes += 1
    return labels.removeValue(forKey: number) != nil
  }

  /// Gives up all that is on queues, so that nobody waits for it any more; returns the queues' labels in
  /// the order in which the work came.
  mutating func abort() -> [String] {
    defer { labels = [:] }
    return labels.sorted { $0.key < $1.key }.map(\.value)
  }

  // MARK: - Work that begins later

  mutating func delay(_ work: TimedCallback, _ token: SleepQueue<Duration>.Token) {
    delays[ObjectIdentifier(work)] = token
  }

  /// Takes out the place of work that begins, or never will.
  mutating func endDelay(_ work: TimedCallback) -> SleepQueue<Duration>.Token? {
    delays.removeValue(forKey: ObjectIdentifier(work))
  }

  /// Takes out the places of all.
  mutating func endDelays() -> [SleepQueue<Duration>.Token] {
    defer { delays = [:] }
    return Array(delays.values)
  }
}

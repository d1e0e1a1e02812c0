import ClocksSupport

/// How often a thread read a clock during one job or block.
struct ClockReadings {
  /// The number of readings after which a job counts as a loop that polls. The number is a guess.
  private static let limit = 2_000

  /// Identifies the job or block.
  private var reader: UInt64 = 0
  private var count = 0
  /// When time passes although other tasks can run: they may wait for this loop. `nil` while time passes.
  private var patience: RealTime?

  /// Counts a reading. Returns whether the job polls.
  mutating func add(by reader: UInt64) -> Bool {
    if reader != self.reader { self = Self(reader: reader) }
    count += 1
    return count > Self.limit
  }

  /// Returns whether time waits for other tasks.
  mutating func waits(forOthers canOthersRun: Bool) -> Bool {
    guard canOthersRun else {
      patience = nil
      return false
    }
    let limit = patience ?? RealTime(in: .seconds(5))
    patience = limit
    return !limit.hasPassed
  }

  /// Notes that the current thread waits. A loop that waits between its readings does not poll.
  static func threadWaits() {
    ThreadState.existing?.pointee.clockReadings = ClockReadings()
  }

  init() {}

  private init(reader: UInt64) { self.reader = reader }
}

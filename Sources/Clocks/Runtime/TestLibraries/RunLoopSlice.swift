import ClocksSupport

/// A run of a run loop that ends in real time, while the clock that the run loop reads is virtual.
///
/// A run loop reads the clock, adds the time for which it may run, and ends when a later reading is greater than the
/// sum. So the first reading is earlier than the present by nearly that time. All others are the present until the
/// slice ends, and then very little more.
struct RunLoopSlice {
  let end: RealTime
  let nanoseconds: UInt64
  private var hasBegun = false

  init(seconds: Double) {
    end = RealTime(in: .seconds(seconds))
    nanoseconds = UInt64(seconds * 1e9)
  }

  /// Returns the clock's reading for the run loop while the virtual clock is at `present`. Both are in nanoseconds.
  mutating func reading(at present: UInt64) -> UInt64 {
    guard nanoseconds > 0 else { return present }
    guard hasBegun else {
      hasBegun = true
      return present - min(present, nanoseconds) + Self.margin
    }
    return end.hasPassed ? present + 2 * Self.margin : present
  }

  /// How far virtual time may move before a slice ends early, in nanoseconds.
  ///
  /// Each reading of other code moves time a little, and the run loop notices when it wakes. Timers that are due within
  /// twice the margin may fire at the end of a slice.
  private static let margin: UInt64 = 10_000
}

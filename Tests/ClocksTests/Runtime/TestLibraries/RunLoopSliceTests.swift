import ClocksSupport
import Testing

@testable import Clocks

@Suite struct RunLoopSliceTests {
  /// A run loop adds its limit to its first reading, and ends once a reading is greater.
  private static let limit: UInt64 = 10_000_000

  @Test func aRunLastsUntilTheSliceEnds() {
    var slice = RunLoopSlice(seconds: 3600)
    let end = slice.reading(at: 5_000_000_000_000_000) + 3_600_000_000_000
    #expect(slice.reading(at: 5_000_000_000_000_000) == 5_000_000_000_000_000)
    #expect(slice.reading(at: 5_000_000_000_000_000) < end)
    // Virtual time has moved.
    #expect(slice.reading(at: 5_001_000_000_000_000) > end)
  }

  /// The thread has lost its processor before the run loop has read the clock for the first time.
  @Test func aRunThatBeginsLateEnds() {
    var slice = RunLoopSlice(seconds: 0.01)
    while !slice.end.hasPassed {}
    let end = slice.reading(at: 5_000_000_000_000_000) + Self.limit
    #expect(slice.reading(at: 5_000_000_000_000_000) > end)
  }

  /// A timer that is due later must not fire at the end of a slice.
  @Test func readingsAreNearThePresent() {
    var slice = RunLoopSlice(seconds: 0.01)
    _ = slice.reading(at: 5_000_000_000_000_000)
    while !slice.end.hasPassed {}
    #expect(slice.reading(at: 5_000_000_000_000_000) - 5_000_000_000_000_000 == 20_000)
  }

  @Test func aRunForOneEventReadsThePresent() {
    var slice = RunLoopSlice(seconds: 0)
    #expect((0..<3).map { _ in slice.reading(at: 7) } == [7, 7, 7])
  }
}

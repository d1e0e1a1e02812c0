#if os(Linux) && canImport(Glibc)
  import Testing

  @testable import Clocks

  @Suite struct RunLoopTimersTests {
    /// Virtual time can be centuries ahead, up to the last instant that a clock can show.
    @Test func theTimeToAnInstantIsRightAtTheEndOfTheRange() {
      let last = UInt64(Int64.max)
      #expect(RunLoopTimers.nanoseconds(from: 3, to: 5) == 2)
      #expect(RunLoopTimers.nanoseconds(from: 5, to: 3) == 0)
      #expect(RunLoopTimers.nanoseconds(from: last, to: Int64(bitPattern: last + 5)) == 5)
      #expect(RunLoopTimers.nanoseconds(from: last + 7, to: .max) == 0)
    }
  }
#endif

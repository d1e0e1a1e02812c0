import Testing

@testable import Clocks

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#endif

/// The readings of the system's clocks in a scope.
@Suite struct SystemClocksTests {
  #if os(Linux)
    private static let all = [
      CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE,
      CLOCK_REALTIME_COARSE, CLOCK_TAI,
    ]
  #else
    private static let all = [CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW]
  #endif

  private func reading(_ clocks: SystemClocks, _ clock: clockid_t, _ duration: Duration)
    -> Duration?
  {
    clocks.reading(of: clock, after: duration).map {
      .seconds($0.tv_sec) + .nanoseconds($0.tv_nsec)
    }
  }

  @Test(arguments: Self.all) func eachClockAdvances(_ clock: clockid_t) throws {
    let clocks = SystemClocks()
    let start = try #require(reading(clocks, clock, .zero))
    #expect(
      reading(clocks, clock, .nanoseconds(3_999_999_999)) == start + .nanoseconds(3_999_999_999))
    let later = clocks.advanced(by: .seconds(5))
    #expect(reading(later, clock, .zero) == start + .seconds(5))
    #expect(reading(later, clock, .seconds(2)) == start + .seconds(7))
  }

  @Test func aClockStopsAtTheEndOfItsRange() {
    let reading = SystemClocks().reading(of: CLOCK_REALTIME, after: .seconds(Int64.max))
    #expect(reading?.tv_sec == .max / 2)
    // The sum is beyond the end, and the duration is not.
    let almost = SystemClocks().reading(of: CLOCK_REALTIME, after: .seconds(Int64.max / 2 - 1))
    #expect(almost?.tv_sec == .max / 2)
    let before = SystemClocks().advanced(by: .zero, andDateBy: .seconds(Int64.min))
    #expect(before.sinceEpoch == .seconds(-Int64.max / 2))
  }

  @Test func nanosecondsStayBelowASecond() throws {
    let clocks = SystemClocks()
    let start = try #require(clocks.reading(of: CLOCK_REALTIME, after: .zero))
    for nanoseconds in [1_000_000_000 - start.tv_nsec, -start.tv_nsec, -start.tv_nsec - 1, -1] {
      let duration = Duration.nanoseconds(nanoseconds)
      let date = try #require(clocks.reading(of: CLOCK_REALTIME, after: duration))
      #expect((0..<1_000_000_000).contains(date.tv_nsec))
      #expect(
        reading(clocks, CLOCK_REALTIME, duration)
          == .seconds(start.tv_sec) + .nanoseconds(start.tv_nsec) + duration)
    }
  }

  /// Only the clocks that show the date change when it is set. Only they are real in a scope that does not freeze it.
  @Test(arguments: Self.all) func clocksOfTheDateFollowIt(_ clock: clockid_t) async throws {
    #if os(Linux)
      let dates = [CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_TAI]
    #else
      let dates = [CLOCK_REALTIME]
    #endif
    let isDate = dates.contains(clock)
    let (before, after) = try await withVirtualTime { (time: VirtualTime) in
      let before = time.scheduler.reading(of: clock)
      time.sinceEpoch += .seconds(3_600)
      return (before, time.scheduler.reading(of: clock))
    }
    let move = try #require(after).tv_sec - #require(before).tv_sec
    #expect(move == (isDate ? 3_600 : 0))
    let isReal = try await withVirtualTime(freezesDate: false) { (time: VirtualTime) in
      time.scheduler.reading(of: clock) == nil
    }
    #expect(isReal == isDate)
  }

  @Test func anUnknownClockIsReal() {
    #expect(SystemClocks().reading(of: 99, after: .zero) == nil)
  }
}

import Testing

@testable import Clocks

@Suite struct ClockReadingsTests {
  /// Reads a clock so many times. Returns after which readings the job polls.
  private func polls(
    _ readings: inout ClockReadings, by reader: UInt64, _ count: Int
  ) -> [Int] {
    (1...count).filter { _ in readings.add(by: reader) }
  }

  @Test func aJobThatReadsAClockAgainAndAgainPolls() {
    var readings = ClockReadings()
    for job: UInt64 in 1...2 {
      #expect(polls(&readings, by: job, 2_002) == [2_001, 2_002])
    }
  }

  @Test func timeWaitsOnlyForOthersThatCanRun() {
    var readings = ClockReadings()
    let waits = [false, true, false, true].map { readings.waits(forOthers: $0) }
    #expect(waits == [false, true, false, true])
  }

  #if os(Linux) && canImport(Glibc)
    @Test func aJobThatWaitsBetweenItsReadingsDoesNotPoll() {
      let owner = CountingOwner(isVirtual: true)
      owner.jobBegins()
      let (waits, thread) = (ThreadWaits(owner, .method), ThreadState.ofThread)
      #expect(polls(&thread.pointee.clockReadings, by: .max, 2_000) == [])
      waits.paused { #expect(owner.runningJobs == 0) }
      #expect(polls(&thread.pointee.clockReadings, by: .max, 2_001) == [2_001])
    }
  #endif
}

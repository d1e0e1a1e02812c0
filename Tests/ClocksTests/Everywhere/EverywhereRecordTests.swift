import Testing

@testable import Clocks

@Suite struct EverywhereRecordTests {
  /// A test that sleeps nearly forever in several scopes.
  @Test func theSumOfTimesStaysWithinTheRange() async throws {
    let record = EverywhereRecord("test")
    for _ in 1...2 {
      try await withVirtualTime { time in
        try await Task.sleep(for: .seconds(1))
        time.scheduler.change { $0.scope?.virtualClock.move(to: Duration(attoseconds: .max)) }
        record.note(time)
      }
    }
    #expect(record.virtualTime == Duration(attoseconds: .max))
    record.end()
  }
}

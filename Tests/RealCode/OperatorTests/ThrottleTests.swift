import AsyncAlgorithms
import Clocks
import ClocksTestKit
import RealCodeSupport
import Testing

/// Tests `_throttle`, which emits the latest or the earliest value of each interval.
@Suite struct ThrottleTests {
  private static let positions = [
    (at: 0, value: "a"), (100, "b"), (200, "c"), (300, "d"), (400, "e"), (450, "f"),
  ]

  /// If the source ends within an interval, the last value is emitted at the end of the interval.
  private static func expected(latest: Bool) -> [String] {
    latest
      ? ["0 a", "300 d", "600 f", "600 end"]
      : ["0 a", "300 b", "600 e", "600 end"]
  }

  private static func move(
    latest: Bool, on clock: some Clock<Duration>, _ log: EventLog
  ) async {
    let positions = AsyncChannel.sending(positions, on: clock)
    let fewer = positions._throttle(for: .milliseconds(300), clock: clock, latest: latest)
    for await position in fewer { log.add(position) }
    log.add("end")
  }

  @Test(arguments: [true, false]) func byHand(latest: Bool) async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    Task { await Self.move(latest: latest, on: clock, log) }
    await clock.settle()
    #expect(log.all == ["0 a"])
    await clock.advance(by: .milliseconds(299))
    #expect(log.all == ["0 a"])
    await clock.advance(by: .milliseconds(1))
    #expect(log.all == Array(Self.expected(latest: latest).prefix(2)))
    await clock.advance(by: .milliseconds(299))
    #expect(log.all == Array(Self.expected(latest: latest).prefix(2)))
    await clock.advance(by: .milliseconds(1))
    #expect(log.all == Self.expected(latest: latest))
    try await clock.checkSuspension()
  }

  @Test(.virtualTime(leftoverSleeps: .fail), arguments: [true, false])
  func uninjected(latest: Bool) async {
    let log = EventLog(on: .continuous)
    let positions = AsyncChannel.sending(Self.positions, on: .continuous)
    for await position in positions._throttle(for: .milliseconds(300), latest: latest) {
      log.add(position)
    }
    log.add("end")
    #expect(log.all == Self.expected(latest: latest))
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func reducing() async {
    let log = EventLog(on: .continuous)
    let positions = AsyncChannel.sending(Self.positions, on: .continuous)
    let all = positions._throttle(for: .milliseconds(300)) { ($0 ?? "") + $1 }
    for await position in all { log.add(position) }
    #expect(log.all == ["0 a", "300 bcd", "600 ef"])
  }
}

import AsyncAlgorithms
import Clocks
import ClocksTestKit
import RealCodeSupport
import Testing

/// Tests `debounce`, which emits a value after a pause without values.
@Suite struct DebounceTests {
  private static let keys = [
    (at: 0, value: "a"), (100, "b"), (200, "c"), (900, "d"), (2000, "e"),
  ]

  /// The last value is emitted immediately when the source ends.
  private static let expected = ["500 c", "1200 d", "2000 e", "2000 end"]

  private static func type(on clock: some Clock<Duration>, _ log: EventLog) async {
    let keys = AsyncChannel.sending(keys, on: clock)
    for await key in keys.debounce(for: .milliseconds(300), clock: clock) { log.add(key) }
    log.add("end")
  }

  @Test func byHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    Task { await Self.type(on: clock, log) }
    await clock.advance(by: .milliseconds(499))
    #expect(log.all == [])
    await clock.advance(by: .milliseconds(1))
    #expect(log.all == ["500 c"])
    await clock.advance(by: .milliseconds(699))
    #expect(log.all == ["500 c"])
    await clock.advance(by: .milliseconds(1))
    #expect(log.all == ["500 c", "1200 d"])
    await clock.advance(by: .seconds(10))
    #expect(log.all == Self.expected)
    try await clock.checkSuspension()
  }

  @Test func inOneAdvance() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    Task { await Self.type(on: clock, log) }
    await clock.advance(by: .seconds(10))
    #expect(log.all == Self.expected)
    try await clock.checkSuspension()
  }

  @Test func onAnErasedClock() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    Task { await Self.type(on: AnyClock(clock), log) }
    await clock.run()
    #expect(log.all == Self.expected)
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func uninjected() async {
    let log = EventLog(on: .continuous)
    let keys = AsyncChannel.sending(Self.keys, on: .continuous)
    for await key in keys.debounce(for: .milliseconds(300)) { log.add(key) }
    log.add("end")
    #expect(log.all == Self.expected)
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func onTheSuspendingClock() async {
    let log = EventLog(on: .suspending)
    await Self.type(on: .suspending, log)
    #expect(log.all == Self.expected)
  }

  @Test(.virtualTime(autoAdvance: false)) func uninjectedByHand() async throws {
    let time = try #require(VirtualTime.current)
    let log = EventLog(on: .continuous)
    Task { await Self.type(on: .continuous, log) }
    await time.advance(by: .milliseconds(499))
    #expect(log.all == [])
    await time.advance(by: .milliseconds(1))
    #expect(log.all == ["500 c"])
    await time.advance(by: .seconds(10))
    #expect(log.all == Self.expected)
  }

  @Test func leavesNothingBehindWhenItIsCancelled() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    let keys = AsyncChannel<String>()
    let task = Task {
      for await key in keys.debounce(for: .milliseconds(300), clock: clock) { log.add(key) }
      log.add("end")
    }
    await keys.send("a")
    await clock.advance(by: .milliseconds(299))
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.milliseconds(300)])
    task.cancel()
    await clock.settle()
    #expect(log.all == ["299 end"])
    try await clock.checkSuspension()
  }
}

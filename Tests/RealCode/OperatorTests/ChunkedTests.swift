import AsyncAlgorithms
import Clocks
import ClocksTestKit
import RealCodeSupport
import Testing

/// Tests `chunked(by:)`, which collects the elements between two ticks of a timer.
@Suite struct ChunkedTests {
  private static let records = [
    (at: 100, value: "a"), (200, "b"), (999, "c"), (1500, "d"), (3200, "e"), (3300, "f"),
  ]

  /// No element arrives between 2 s and 3 s. Empty chunks are not emitted.
  private static let expected = ["1000 abc", "2000 d", "3300 ef", "3300 end"]

  private static func upload(on clock: some Clock<Duration>, _ log: EventLog) async {
    let records = AsyncChannel.sending(records, on: clock)
    for await chunk in records.chunked(by: .repeating(every: .seconds(1), clock: clock)) {
      log.add(chunk.joined())
    }
    log.add("end")
  }

  @Test func byHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    Task { await Self.upload(on: clock, log) }
    await clock.advance(by: .milliseconds(999))
    #expect(log.all == [])
    await clock.advance(by: .milliseconds(1))
    #expect(log.all == ["1000 abc"])
    await clock.advance(to: .init(offset: .milliseconds(3299)))
    #expect(log.all == ["1000 abc", "2000 d"])
    await clock.advance(by: .milliseconds(1))
    #expect(log.all == Self.expected)
    try await clock.checkSuspension()
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func uninjected() async {
    let log = EventLog(on: .suspending)
    let records = AsyncChannel.sending(Self.records, on: .suspending)
    for await chunk in records.chunked(by: .repeating(every: .seconds(1))) {
      log.add(chunk.joined())
    }
    log.add("end")
    #expect(log.all == Self.expected)
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func byTimeOrCount() async {
    let log = EventLog(on: .continuous)
    let records = AsyncChannel.sending(Self.records, on: .continuous)
    let timer = AsyncTimerSequence.repeating(every: .seconds(1), clock: .continuous)
    for await chunk in records.chunks(ofCount: 2, or: timer) { log.add(chunk.joined()) }
    log.add("end")
    #expect(log.all == ["200 ab", "1000 c", "2000 d", "3300 ef", "3300 end"])
  }

  @Test func leavesNothingBehindWhenItIsCancelled() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    let records = AsyncChannel<String>()
    let task = Task {
      for await chunk in records.chunked(by: .repeating(every: .seconds(1), clock: clock)) {
        log.add(chunk.joined())
      }
      log.add("end")
    }
    await records.send("a")
    await clock.advance(by: .milliseconds(1500))
    task.cancel()
    await clock.settle()
    #expect(log.all == ["1000 a", "1500 end"])
    try await clock.checkSuspension()
  }
}

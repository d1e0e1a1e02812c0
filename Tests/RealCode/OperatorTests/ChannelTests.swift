import AsyncAlgorithms
import Clocks
import ClocksTestKit
import RealCodeSupport
import Testing

/// Tests channels and buffers between slow producers and consumers.
@Suite struct ChannelTests {
  // MARK: - AsyncChannel

  /// A send returns when the consumer takes its value, so the producer is as slow as the consumer.
  ///
  /// Only the first send finds the consumer waiting, so the producer continues before the consumer.
  private static let taken = [
    "0 sent a", "0 got a", "300 got b", "300 sent b", "600 got c", "600 sent c", "900 end",
  ]

  private static func produceAndConsume(
    on clock: some Clock<Duration>, _ log: EventLog
  ) async throws {
    let channel = AsyncChannel<String>()
    async let producer: Void = {
      for value in ["a", "b", "c"] {
        await channel.send(value)
        log.add("sent \(value)")
      }
      channel.finish()
    }()
    for await value in channel {
      log.add("got \(value)")
      try await clock.sleep(for: .milliseconds(300))
    }
    await producer
    log.add("end")
  }

  @Test func byHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    Task { try await Self.produceAndConsume(on: clock, log) }
    await clock.advance(by: .milliseconds(299))
    #expect(log.all == Array(Self.taken.prefix(2)))
    await clock.advance(by: .milliseconds(301))
    #expect(log.all == Array(Self.taken.prefix(6)))
    await clock.advance(by: .milliseconds(300))
    #expect(log.all == Self.taken)
    try await clock.checkSuspension()
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func uninjected() async throws {
    let log = EventLog(on: .continuous)
    try await Self.produceAndConsume(on: .continuous, log)
    #expect(log.all == Self.taken)
  }

  /// Two producers with different intervals, one consumer.
  @Test(.virtualTime(leftoverSleeps: .fail)) func severalProducers() async throws {
    let log = EventLog(on: .continuous)
    let channel = AsyncChannel<String>()
    try await withThrowingTaskGroup { group in
      for (name, interval) in [("a", 20), ("b", 30)] {
        group.addTask {
          for number in 1...3 {
            try await Task.sleep(for: .milliseconds(interval))
            await channel.send("\(name)\(number)")
          }
        }
      }
      group.addTask {
        for await value in channel { log.add(value) }
        log.add("end")
      }
      try await group.next()
      try await group.next()
      channel.finish()
      try await group.next()
    }
    #expect(log.all == ["20 a1", "30 b1", "40 a2", "60 b2", "60 a3", "90 b3", "90 end"])
  }

  // MARK: - buffer

  /// A slow consumer finds the latest value in the buffer. At 600 ms the consumer wakes first, because
  /// its sleep was registered first.
  @Test(.virtualTime(leftoverSleeps: .fail)) func buffer() async throws {
    let log = EventLog(on: .continuous)
    let script = (1...8).map { (at: $0 * 100, value: "\($0)") }
    let buffered = AsyncChannel.sending(script, on: .continuous).buffer(policy: .bufferingLatest(1))
    for await value in buffered {
      log.add(value)
      try await Task.sleep(for: .milliseconds(250))
    }
    #expect(log.all == ["100 1", "350 3", "600 5", "850 8"])
  }

  // MARK: - share

  /// Two consumers of one source get every value at the same time.
  ///
  /// Their order varies between processes: the operator keeps them in a `Dictionary`.
  @Test(.virtualTime(leftoverSleeps: .fail)) func share() async throws {
    let log = EventLog(on: .continuous)
    let script = (1...3).map { (at: $0 * 100, value: "\($0)") }
    let shared = AsyncChannel.sending(script, on: .continuous).share()
    await withTaskGroup { group in
      for name in ["a", "b"] {
        group.addTask {
          for await value in shared { log.add("\(name)\(value)") }
        }
      }
    }
    #expect(log.all.sorted() == ["100 a1", "100 b1", "200 a2", "200 b2", "300 a3", "300 b3"])
  }

  // MARK: - flatMapLatest

  /// Each word starts a search, which is cancelled by the next word.
  @Test(.virtualTime(leftoverSleeps: .fail)) func flatMapLatest() async throws {
    let log = EventLog(on: .continuous)
    let words = AsyncChannel.sending(
      [(at: 0, value: "a"), (at: 250, value: "ab"), (at: 1000, value: "abc")], on: .continuous)
    let found = words.flatMapLatest { word in
      AsyncTimerSequence(interval: .milliseconds(100), clock: .continuous).prefix(3)
        .map { _ in word }
    }
    for await word in found { log.add(word) }
    log.add("end")
    #expect(
      log.all == [
        "100 a", "200 a", "350 ab", "450 ab", "550 ab", "1100 abc", "1200 abc", "1300 abc",
        "1300 end",
      ])
  }
}

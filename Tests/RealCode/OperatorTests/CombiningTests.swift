import AsyncAlgorithms
import Clocks
import ClocksTestKit
import RealCodeSupport
import Testing

/// Tests operators that await several sequences, each in a separate task.
@Suite struct CombiningTests {
  /// Returns a timer whose ticks are numbered: `"f1"`, `"f2"`.
  private static func ticks<C: Clock<Duration>>(
    _ name: String, every milliseconds: Int, on clock: C
  ) -> some AsyncSequence<String, Never> & Sendable {
    let interval = Duration.milliseconds(milliseconds)
    let start = clock.now
    return AsyncTimerSequence(interval: interval, clock: clock)
      .map { "\(name)\(Int(start.duration(to: $0) / interval))" }
  }

  // MARK: - merge

  /// At one instant, the timer whose sleep was registered first ticks first: the slow one.
  private static let merged = ["200 f1", "400 f2", "500 s1", "600 f3", "800 f4", "1000 s2"]

  private static func merge(on clock: some Clock<Duration>, _ log: EventLog) async {
    let fast = ticks("f", every: 200, on: clock)
    let slow = ticks("s", every: 500, on: clock)
    for await tick in AsyncAlgorithms.merge(fast, slow) { log.add(tick) }
  }

  @Test func mergeByHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    let task = Task { await Self.merge(on: clock, log) }
    await clock.advance(by: .milliseconds(999))
    #expect(log.all == Array(Self.merged.prefix(5)))
    await clock.advance(by: .milliseconds(1))
    #expect(log.all == Self.merged + ["1000 f5"])
    task.cancel()
    try await clock.checkSuspension()
  }

  @Test(.virtualTime) func mergeUninjected() async throws {
    let log = EventLog(on: .continuous)
    let task = Task { await Self.merge(on: .continuous, log) }
    try await Task.sleep(for: .milliseconds(1001))
    #expect(log.all == Self.merged + ["1000 f5"])
    task.cancel()
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func mergeOfAChannelAndATimer() async throws {
    let log = EventLog(on: .continuous)
    let words = AsyncChannel.sending(
      [(at: 150, value: "a"), (at: 450, value: "b")], on: .continuous)
    let beats = Self.ticks("beat", every: 200, on: .continuous)
    for await event in AsyncAlgorithms.merge(words, beats).prefix(5) { log.add(event) }
    #expect(log.all == ["150 a", "200 beat1", "400 beat2", "450 b", "600 beat3"])
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func mergeOfThreeTimers() async throws {
    let log = EventLog(on: .continuous)
    let all = AsyncAlgorithms.merge(
      Self.ticks("a", every: 20, on: .continuous), Self.ticks("b", every: 30, on: .continuous),
      Self.ticks("c", every: 50, on: .continuous))
    for await tick in all.prefix(9) { log.add(tick) }
    #expect(
      log.all == [
        "20 a1", "30 b1", "40 a2", "50 c1", "60 b2", "60 a3", "80 a4", "90 b3", "100 c2",
      ])
  }

  // MARK: - combineLatest, zip

  private static let combined = [
    "500 f2 s1", "600 f3 s1", "800 f4 s1", "1000 f4 s2", "1000 f5 s2", "1200 f6 s2",
  ]

  private static func combineLatest(on clock: some Clock<Duration>, _ log: EventLog) async {
    let fast = ticks("f", every: 200, on: clock)
    let slow = ticks("s", every: 500, on: clock)
    for await (fast, slow) in AsyncAlgorithms.combineLatest(fast, slow).prefix(6) {
      log.add("\(fast) \(slow)")
    }
  }

  @Test func combineLatestByHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    Task { await Self.combineLatest(on: clock, log) }
    await clock.advance(by: .milliseconds(499))
    #expect(log.all == [])
    await clock.advance(by: .milliseconds(501))
    #expect(log.all == Array(Self.combined.prefix(5)))
    await clock.advance(by: .milliseconds(200))
    #expect(log.all == Self.combined)
    try await clock.checkSuspension()
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func combineLatestUninjected() async throws {
    let log = EventLog(on: .continuous)
    await Self.combineLatest(on: .continuous, log)
    #expect(log.all == Self.combined)
  }

  /// When both values were taken, the fast timer ticks immediately, because its next tick is late.
  private static let zipped = ["500 f1 s1", "1000 f2 s2", "1500 f5 s3"]

  private static func zip(on clock: some Clock<Duration>, _ log: EventLog) async {
    let fast = ticks("f", every: 200, on: clock)
    let slow = ticks("s", every: 500, on: clock)
    for await (fast, slow) in AsyncAlgorithms.zip(fast, slow).prefix(3) {
      log.add("\(fast) \(slow)")
    }
  }

  @Test func zipByHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    Task { await Self.zip(on: clock, log) }
    await clock.advance(by: .milliseconds(1000))
    #expect(log.all == Array(Self.zipped.prefix(2)))
    await clock.advance(by: .milliseconds(500))
    #expect(log.all == Self.zipped)
    try await clock.checkSuspension()
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func zipUninjected() async throws {
    let log = EventLog(on: .continuous)
    await Self.zip(on: .continuous, log)
    #expect(log.all == Self.zipped)
  }
}

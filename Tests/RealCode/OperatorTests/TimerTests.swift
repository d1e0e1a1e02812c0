import AsyncAlgorithms
import Clocks
import ClocksTestKit
import RealCodeSupport
import Testing

/// Tests `AsyncTimerSequence`, which ticks at start + k × interval.
@Suite struct TimerTests {
  @Test func byHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    let task = Task {
      for await instant in AsyncTimerSequence(interval: .milliseconds(250), clock: clock) {
        log.add("\(instant.offset)")
      }
      log.add("end")
    }
    await clock.advance(by: .milliseconds(749))
    #expect(log.all == ["250 0.25 seconds", "500 0.5 seconds"])
    await clock.advance(by: .milliseconds(1))
    #expect(log.all.last == "750 0.75 seconds")
    task.cancel()
    await clock.settle()
    #expect(log.all.last == "750 end")
    try await clock.checkSuspension()
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func uninjected() async throws {
    let start = SuspendingClock.now
    var ticks: [Duration] = []
    for await instant in AsyncTimerSequence.repeating(every: .seconds(3600)).prefix(1000) {
      ticks.append(start.duration(to: instant))
    }
    #expect(ticks == (1...1000).map { .seconds(3600 * $0) })
    #expect(VirtualTime.current?.now.offset == .seconds(3_600_000))
  }

  /// A consumer that is slower than the timer gets late ticks immediately, until it has caught up.
  @Test(.virtualTime(leftoverSleeps: .fail)) func catchesUp() async throws {
    let log = EventLog(on: .continuous)
    var pauses = [600, 0, 100].makeIterator()
    let timer = AsyncTimerSequence(interval: .milliseconds(250), clock: .continuous)
    for await _ in timer.prefix(6) {
      log.add("tick")
      try await Task.sleep(for: .milliseconds(pauses.next() ?? 0))
    }
    #expect(
      log.all == ["250 tick", "850 tick", "850 tick", "1000 tick", "1250 tick", "1500 tick"])
  }

  /// A debounced timer emits nothing if its interval is shorter than the quiet time. If the interval
  /// is longer, it emits every tick.
  @Test(.virtualTime(leftoverSleeps: .fail)) func debounced() async throws {
    let log = EventLog(on: .continuous)
    let slow = AsyncTimerSequence(interval: .milliseconds(500), clock: .continuous)
    for await _ in slow.debounce(for: .milliseconds(200)).prefix(3) { log.add("slow") }
    #expect(log.all == ["700 slow", "1200 slow", "1700 slow"])

    let fast = AsyncTimerSequence(interval: .milliseconds(100), clock: .continuous)
    let task = Task {
      for await _ in fast.debounce(for: .milliseconds(200)) { log.add("fast") }
    }
    try await Task.sleep(for: .seconds(60))
    task.cancel()
    await task.value
    #expect(log.all.count == 3)
  }
}

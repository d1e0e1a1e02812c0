import Clocks
import ClocksTestKit
import Testing
import TimeoutTask

/// What the clocks promise with every capability, and so without any hook, too.
@Suite struct ClockTests {
  /// Printed for Scripts/configurations.
  private static let report: Void = print("clocks: \(SchedulerCapability.selfTest)")

  init() { _ = Self.report }

  @Test func sleepsWakeInOrder() async throws {
    let clock = TestClock()
    let (wakes, source) = AsyncStream<Int>.makeStream()
    let tasks = [3, 1, 2].map { second in
      Task {
        try await clock.sleep(until: .init(offset: .seconds(second)))
        source.yield(second)
      }
    }
    try await clock.waitForSleeps(atLeast: 3)
    var iterator = wakes.makeAsyncIterator()
    for second in 1...3 {
      await clock.advance(to: .init(offset: .seconds(second)))
      #expect(await iterator.next() == second)
      #expect(clock.now == .init(offset: .seconds(second)))
    }
    for task in tasks { try await task.value }
    #expect(clock.pendingSleeps.isEmpty)
  }

  @Test func aSleepIsCancelled() async throws {
    let clock = TestClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    try await clock.waitForSleeps()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.pendingSleeps.isEmpty)
  }

  @Test func immediateSleeps() async throws {
    let clock = ImmediateClock()
    for _ in 1...1000 { try await clock.sleep(for: .seconds(60)) }
    #expect(clock.now == .init(offset: .seconds(60_000)))
  }

  @Test func anUnimplementedClockFails() async {
    await withKnownIssue {
      try? await UnimplementedClock<Duration>(name: "parcels").sleep(for: .seconds(1))
    } matching: {
      $0.comments.contains { $0.rawValue.contains("parcels") }
    }
  }

  @Test func anErasedClock() async throws {
    let base = TestClock()
    let clock = AnyClock(base)
    let task = Task { try await clock.sleep(until: clock.now.advanced(by: .seconds(2))) }
    try await base.waitForSleeps()
    await base.advance(by: .seconds(2))
    try await task.value
    #expect(AnyClock(ImmediateClock()).minimumResolution == ImmediateClock().minimumResolution)
  }

  @Test func aTimer() async throws {
    let clock = TestClock()
    let ticks = Task {
      var ticks: [TestClock<Duration>.Instant] = []
      for await tick in clock.timer(interval: .seconds(10)).prefix(3) { ticks.append(tick) }
      return ticks
    }
    for _ in 1...3 {
      try await clock.waitForSleeps()
      await clock.advance(by: .seconds(10))
    }
    #expect(await ticks.value == [10, 20, 30].map { .init(offset: .seconds($0)) })
  }

  @Test func aTimeoutPasses() async throws {
    let clock = TestClock()
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) {
      try await clock.sleep(for: .seconds(9))
    }
    try await clock.waitForSleeps(atLeast: 2)
    await clock.advance(by: .seconds(5))
    await #expect(throws: TimeoutError.self) { try await task.value }
  }

  @Test func aTimeoutOfTheSystemsClock() async throws {
    await #expect(throws: TimeoutError.self) {
      try await withTimeout(.milliseconds(20)) { try await Task.sleep(for: .seconds(3600)) }
    }
    #expect(try await withTimeout(.seconds(3600)) { 1 } == 1)
  }
}

import Clocks
import ClocksTestKit
import Testing

@testable import ContextDemo

/// The examples in Docs/Cookbook/coming-from.md.
@Suite struct ComingFromTests {
  /// Searches for the last word after 300 ms without input.
  private actor SearchField {
    private let clock: any Clock<Duration>
    private var pending: Task<Void, any Error>?
    private(set) var searched: [String] = []

    init(clock: any Clock<Duration> = ContinuousClock()) {
      self.clock = clock
    }

    func type(_ word: String) {
      pending?.cancel()
      pending = Task {
        try await clock.sleep(for: .milliseconds(300))
        searched.append(word)
      }
    }
  }

  // MARK: - Polling and sleeping

  @Test(.virtualTime) func sleeping() async throws {
    let field = SearchField()
    await field.type("sun")
    try await Task.sleep(for: .milliseconds(299))
    #expect(await field.searched == [])
    try await Task.sleep(for: .milliseconds(2))
    #expect(await field.searched == ["sun"])
  }

  @Test func polling() async {
    let clock = TestClock()
    let field = SearchField(clock: clock)
    await field.type("sun")
    let time = await clock.eventually(within: .seconds(5)) { await field.searched == ["sun"] }
    #expect(time == .milliseconds(300))
  }

  @Test func sleepRegistrations() async {
    let clock = TestClock()
    var sleeps = clock.sleepRegistrations().makeAsyncIterator()
    let field = SearchField(clock: clock)
    await field.type("sun")
    #expect(await sleeps.next()?.deadline.offset == .milliseconds(300))
  }

  // MARK: - XCTestExpectation

  @Test func expectations() async throws {
    let clock = TestClock()
    let service = TimeoutService(clock: clock) { try await clock.sleep(for: .seconds(60)) }
    let (results, continuation) = AsyncStream<Bool>.makeStream()
    service.start(timeout: .seconds(5)) { result in
      continuation.yield((try? result.get()) == nil)
    }
    await clock.advance(by: .seconds(5))
    continuation.finish()
    #expect(await results.first(2) == [true])
  }

  @Test func expectationsInVirtualTime() async {
    let clock = TestClock()
    let service = TimeoutService(clock: clock) { try await clock.sleep(for: .seconds(60)) }
    let called = TimedExpectation("called", expectedCount: 1)
    service.start(timeout: .seconds(5)) { result in
      if (try? result.get()) == nil { called.fulfill() }
    }
    await called.wait(within: .seconds(10), on: clock)
  }

  // MARK: - swift-clocks

  @Test func testClocks() async throws {
    let clock = TestClock()
    let field = SearchField(clock: clock)
    await field.type("sun")
    await clock.advance(by: .milliseconds(200))
    await field.type("moon")
    await clock.advance(by: .milliseconds(299))
    #expect(await field.searched == [])
    await clock.advance(by: .milliseconds(1))
    #expect(await field.searched == ["moon"])
    try await clock.checkSuspension()
  }

  // MARK: - combine-schedulers

  @Test func timers() async throws {
    let clock = TestClock()
    let (ticks, continuation) = AsyncStream<Duration>.makeStream()
    let timer = Task {
      for await tick in clock.timer(interval: .seconds(1)) { continuation.yield(tick.offset) }
      continuation.finish()
    }
    await clock.advance(by: .seconds(3))
    timer.cancel()
    #expect(await ticks.first(4) == [.seconds(1), .seconds(2), .seconds(3)])
  }

  // MARK: - Rx test schedulers

  @Test func recordedEvents() async throws {
    let clock = TestClock()
    let log = EventLog(clock: clock)
    let field = SearchField(clock: clock)

    let typing = Task {
      for (pause, word) in [(0, "s"), (100, "su"), (200, "sun"), (900, "moon")] {
        try await clock.sleep(for: .milliseconds(pause))
        log.add("types", word)
        await field.type(word)
      }
    }
    let watching = Task {
      var count = 0
      for await _ in clock.timer(interval: .milliseconds(100)) {
        let searched = await field.searched
        for word in searched.dropFirst(count) { log.add("searches", word) }
        count = searched.count
      }
    }

    await clock.advance(by: .seconds(2))
    watching.cancel()
    try await typing.value
    log.finish()
    #expect(
      await log.events.first(10) == [
        .init(0, "types", "s"), .init(100, "types", "su"), .init(300, "types", "sun"),
        .init(600, "searches", "sun"), .init(1200, "types", "moon"),
        .init(1500, "searches", "moon"),
      ])
  }

  // MARK: - Main serial executors

  @Test func settling() async throws {
    let clock = TestClock()
    let field = SearchField(clock: clock)
    Task { await field.type("sun") }
    await clock.settle()
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.milliseconds(300)])
  }
}

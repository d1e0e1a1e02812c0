import Clocks
import Testing

@testable import ContextDemo

@Suite struct CountdownModelTests {
  let clock = TestClock()
  let record: Record
  let model: CountdownModel

  init() {
    let clock = clock
    let record = Record(clock)
    var model = CountdownModel { await record.add("chat", $0) }
    model.sleep = clock.sleep(nanoseconds:)
    self.record = record
    self.model = model
  }

  @Test func saysOneLineASecond() async throws {
    let countdown = Task { [model] in try await model.countdown(to: "Hello") }

    await clock.settle()
    #expect(await record.events == [.init(0, "chat", "3...")])

    await clock.advance(by: .nanoseconds(999_999_999))
    #expect(await record.events == [.init(0, "chat", "3...")])

    await clock.advance(by: .nanoseconds(1))
    #expect(await record.events == [.init(0, "chat", "3..."), .init(1000, "chat", "2...")])

    await clock.advance(by: .seconds(2))
    #expect(
      await record.events == [
        .init(0, "chat", "3..."), .init(1000, "chat", "2..."), .init(2000, "chat", "1..."),
        .init(3000, "chat", "Hello"),
      ])
    try await clock.checkSuspension()
    try await countdown.value
  }

  @Test(arguments: [0, -1, Int.min]) func saysOnlyTheMessageWithoutNumbers(from start: Int)
    async throws
  {
    let countdown = Task { [model] in try await model.countdown(to: "Hello", from: start) }
    await clock.settle()
    try await clock.checkSuspension()
    try await countdown.value
    #expect(await record.events == [.init(0, "chat", "Hello")])
  }

  @Test func throwsForAnEmptyMessage() async throws {
    let countdown = Task { [model] in try await model.countdown(to: "") }
    await clock.run()
    await #expect(throws: CountdownError.emptyMessage) { try await countdown.value }
    #expect(clock.now.offset == .zero)
    #expect(await record.events == [])
  }

  @Test func cancellationEndsItImmediately() async throws {
    let countdown = Task { [model] in try await model.countdown(to: "Hello") }
    await clock.advance(by: .milliseconds(1500))
    countdown.cancel()
    await #expect(throws: CancellationError.self) { try await countdown.value }
    #expect(clock.now.offset == .milliseconds(1500))
    #expect(clock.pendingSleeps.isEmpty)

    await clock.advance(by: .seconds(10))
    #expect(await record.events == [.init(0, "chat", "3..."), .init(1000, "chat", "2...")])
  }

  @Test func failureOfSayEndsIt() async throws {
    struct Offline: Error {}
    var model = model
    model.say = { [record] line in
      if line == "2..." { throw Offline() }
      await record.add("chat", line)
    }
    let countdown = Task { [model] in try await model.countdown(to: "Hello") }
    await clock.advance(by: .seconds(10))
    await #expect(throws: Offline.self) { try await countdown.value }
    #expect(await record.events == [.init(0, "chat", "3...")])
  }

  @Test func countsFromAnHour() async throws {
    let countdown = Task { [model] in try await model.countdown(to: "Hello", from: 3600) }
    await clock.run()
    try await countdown.value
    #expect(clock.now.offset == .seconds(3600))
    #expect(await record.events.count == 3601)
    #expect(await record.events.last == .init(3_600_000, "chat", "Hello"))
  }

  @Test func sleepsInRealTimeByDefault() async throws {
    let (lines, continuation) = AsyncStream<(String, ContinuousClock.Instant)>.makeStream()
    let model = CountdownModel { continuation.yield(($0, .now)) }
    try await model.countdown(to: "Hello", from: 1)
    continuation.finish()
    let said = await lines.reduce(into: []) { $0.append($1) }
    try #require(said.map(\.0) == ["1...", "Hello"])
    #expect(said[0].1.duration(to: said[1].1) >= .seconds(1))
  }
}

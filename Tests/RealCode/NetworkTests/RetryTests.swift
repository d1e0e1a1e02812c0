import Clocks
import ClocksTestKit
import NIOHTTP1
import NIOPosix
import RealCodeSupport
import Testing

/// Tests a client that retries: its requests are real, and its pauses are virtual.
@Suite struct RetryTests {
  private let group = MultiThreadedEventLoopGroup.singleton

  private static let expected = ["0 503", "1000 503", "3000 503", "7000 200"]

  @Test(.virtualTime(leftoverSleeps: .fail)) func uninjected() async throws {
    let time = try #require(VirtualTime.current)
    let log = EventLog(on: .continuous)
    let server = try await LocalServer(on: group) { $0 < 4 ? .serviceUnavailable : .ok }
    let client = Client(port: server.port, group: group, clock: .continuous) { request in
      try await time.holding { try await request() }
    }
    try await client.ask(attempts: 5) { log.add("\($0.code)") }
    #expect(log.all == Self.expected)
    #expect(time.now == .init(offset: .seconds(7)))
    try await server.close()
  }

  /// A concurrent heartbeat beats at its own times, but not while a request is under way.
  @Test(.virtualTime(leftoverSleeps: .fail)) func besideAHeartbeat() async throws {
    let time = try #require(VirtualTime.current)
    let log = EventLog(on: .continuous)
    let server = try await LocalServer(on: group) { $0 < 3 ? .serviceUnavailable : .ok }
    let heartbeat = Task {
      while true {
        try await Task.sleep(for: .milliseconds(800))
        log.add("beat")
      }
    }
    let client = Client(port: server.port, group: group, clock: .continuous) { request in
      try await time.holding {
        log.add("asks")
        return try await request()
      }
    }
    try await client.ask(attempts: 3) { log.add("\($0.code)") }
    heartbeat.cancel()
    #expect(
      log.all == [
        "0 asks", "0 503", "800 beat", "1000 asks", "1000 503", "1600 beat", "2400 beat",
        "3000 asks", "3000 200",
      ])
    try await server.close()
  }

  /// Without a scope, the test waits for the sleep after each answer, and then advances the clock.
  @Test func byHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    let server = try await LocalServer(on: group) { $0 < 4 ? .serviceUnavailable : .ok }
    let client = Client(port: server.port, group: group, clock: clock)
    let task = Task { try await client.ask(attempts: 5) { log.add("\($0.code)") } }
    for pause in [1, 2, 4] {
      try await clock.waitForSleeps()
      await clock.advance(by: .seconds(pause))
    }
    try await task.value
    #expect(log.all == Self.expected)
    try await clock.checkSuspension()
    try await server.close()
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func givesUp() async throws {
    let time = try #require(VirtualTime.current)
    let log = EventLog(on: .continuous)
    let server = try await LocalServer(on: group) { _ in .serviceUnavailable }
    let client = Client(port: server.port, group: group, clock: .continuous) { request in
      try await time.holding { try await request() }
    }
    await #expect(throws: Client<ContinuousClock>.Busy.self) {
      try await client.ask(attempts: 10) { log.add("\($0.code)") }
    }
    #expect(log.all == (0..<10).map { "\(((1 << $0) - 1) * 1000) 503" })
    try await server.close()
  }

  /// Several concurrent clients hold time together. Their answers arrive in any order, at one instant.
  @Test(.virtualTime(leftoverSleeps: .fail)) func severalClients() async throws {
    let time = try #require(VirtualTime.current)
    let server = try await LocalServer(on: group) { $0 <= 16 ? .serviceUnavailable : .ok }
    let log = EventLog(on: .continuous)
    let client = Client(port: server.port, group: group, clock: .continuous) { request in
      try await time.holding { try await request() }
    }
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { try await client.ask(attempts: 3) { log.add("\($0.code)") } }
      }
      try await group.waitForAll()
    }
    let each = ["0 503", "1000 503", "3000 200"]
    #expect(log.all == each.flatMap { repeatElement($0, count: 8) })
    try await server.close()
  }
}

import Clocks
import ClocksTestKit
import NIOPosix
import RealCodeSupport
import Testing
import TimeoutTask

/// Tests virtual deadlines around real requests.
@Suite struct TimeoutTests {
  private let group = MultiThreadedEventLoopGroup.singleton

  /// No `holding`: time jumps to the deadline as soon as the test is idle.
  @Test(.virtualTime(leftoverSleeps: .fail)) func aServerThatNeverAnswers() async throws {
    let time = try #require(VirtualTime.current)
    let server = try await LocalServer(on: group) { _ in nil }
    let client = Client(port: server.port, group: group, clock: .continuous)
    await #expect(throws: TimeoutError.self) {
      try await withTimeout(.seconds(5)) { try await client.request() }
    }
    #expect(time.now == .init(offset: .seconds(5)))
    try await server.close()
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func aServerThatAnswers() async throws {
    let time = try #require(VirtualTime.current)
    let server = try await LocalServer(on: group) { _ in .ok }
    let client = Client(port: server.port, group: group, clock: .continuous)
    let status = try await withTimeout(.milliseconds(1)) {
      try await time.holding { try await client.request() }
    }
    #expect(status == .ok)
    #expect(time.now == .init())
    try await server.close()
  }

  @Test func byHand() async throws {
    let clock = TestClock()
    let server = try await LocalServer(on: group) { _ in nil }
    let client = Client(port: server.port, group: group, clock: clock)
    let log = EventLog(on: clock)
    let task = Task {
      do {
        _ = try await withTimeout(.seconds(5), clock: clock) { try await client.request() }
      } catch is TimeoutError {
        log.add("timed out")
      }
    }
    try await clock.waitForSleeps()
    await clock.advance(by: .milliseconds(4999))
    #expect(log.all == [])
    await clock.advance(by: .milliseconds(1))
    // The request is cancelled, and ends when its connection is closed, which is real work.
    try await task.value
    #expect(log.all == ["5000 timed out"])
    try await server.close()
  }
}

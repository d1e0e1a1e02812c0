import Clocks
import ClocksTestKit
import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import RealCodeSupport
import Testing
import TimeoutTask

/// Tests what does not work with event loops.
@Suite struct NetworkLimitTests {
  private let group = MultiThreadedEventLoopGroup.singleton

  /// An event loop reads real time: neither its deadlines nor its `now` follow the scope.
  @Test(.virtualTime) func anEventLoopLivesInRealTime() async throws {
    let time = try #require(VirtualTime.current)
    let before = NIODeadline.now()
    try await Task.sleep(for: .seconds(1_000_000))
    #expect(NIODeadline.now() - before < .hours(24))

    let held = NIODeadline.now()
    try await time.holding {
      try await group.next().scheduleTask(in: .milliseconds(20)) {}.futureResult.get()
    }
    #expect(time.now == .init(offset: .seconds(1_000_000)))
    #expect(NIODeadline.now() >= held + .milliseconds(20))
  }

  /// So a request times out in real time, while the time of the test stands still.
  @Test(.virtualTime(leftoverSleeps: .fail)) func theTimeoutOfARequestIsReal() async throws {
    let time = try #require(VirtualTime.current)
    let server = try await LocalServer(on: group) { _ in nil }
    let client = Client(
      port: server.port, group: group, clock: .continuous, timeout: .milliseconds(20))
    let before = NIODeadline.now()
    await #expect(throws: Client<ContinuousClock>.TimedOut.self) {
      try await time.holding { try await client.request() }
    }
    #expect(NIODeadline.now() >= before + .milliseconds(20))
    #expect(time.now == .init())
    try await server.close()
  }

  /// A deadline of `withTimeout` does not pass while a request within it is held. The real timeout of
  /// the request ends it.
  @Test(.virtualTime(leftoverSleeps: .fail)) func aDeadlineDoesNotComeWhileTimeIsHeld() async throws
  {
    let time = try #require(VirtualTime.current)
    let server = try await LocalServer(on: group) { _ in nil }
    let client = Client(
      port: server.port, group: group, clock: .continuous, timeout: .milliseconds(20))
    await #expect(throws: Client<ContinuousClock>.TimedOut.self) {
      try await withTimeout(.milliseconds(1)) {
        try await time.holding { try await client.request() }
      }
    }
    #expect(time.now == .init())
    try await server.close()
  }

  /// Without `holding`, time jumps while a request is under way: this server answers only after an
  /// hour of virtual time, and the test ends.
  @Test(.virtualTime(leftoverSleeps: .fail)) func timeJumpsWhileARequestIsNotHeld() async throws {
    let time = try #require(VirtualTime.current)
    let hour = DispatchSemaphore(value: 0)
    let serverThread = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let server = try await LocalServer(on: serverThread) { _ in
      hour.wait()
      return .ok
    }
    let client = Client(port: server.port, group: group, clock: .continuous)
    async let status = client.request()
    try await Task.sleep(for: .seconds(3600))
    hour.signal()
    #expect(try await status == .ok)
    #expect(time.now == .init(offset: .seconds(3600)))
    try await server.close()
    try await serverThread.shutdownGracefully()
  }

  /// This works: the scope waits for an actor whose executor is an event loop, and the loop's thread
  /// reads the scope's time.
  @Test(.virtualTime) func anActorOnAnEventLoopIsSeen() async throws {
    let time = try #require(VirtualTime.current)
    let thread = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let actor = LoopActor(thread.next())
    let virtual = EventLog(on: time.clock)
    let start = ContinuousClock.now
    let task = Task { await actor.sleepForASecond(virtual) }
    try await time.waitForSleeps()
    try await Task.sleep(for: .seconds(1_000_000))
    let woken = await task.value
    #expect(virtual.all == ["1000 woke"])
    #expect(start.duration(to: woken) == .seconds(1))
    try await thread.shutdownGracefully()
  }
}

private actor LoopActor {
  private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ loop: any EventLoop) {
    executor = loop.executor
  }

  /// Returns the clock's time as read on the loop's thread.
  func sleepForASecond(_ log: EventLog) async -> ContinuousClock.Instant {
    try? await Task.sleep(for: .seconds(1))
    log.add("woke")
    return ContinuousClock.now
  }
}

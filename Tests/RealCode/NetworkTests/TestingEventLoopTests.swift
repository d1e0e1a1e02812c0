import Clocks
import ClocksTestKit
import NIOEmbedded
import RealCodeSupport
import Testing

/// Tests timers of event loops on a testing loop, where they can be virtual.
///
/// A task advances the loop together with the scope's time.
@Suite struct TestingEventLoopTests {
  @Test(.virtualTime(leftoverSleeps: .fail)) func aLoopThatFollowsTheScope() async throws {
    let time = try #require(VirtualTime.current)
    let log = EventLog(on: time.clock)
    let loop = NIOAsyncTestingEventLoop()
    loop.scheduleTask(in: .seconds(5)) { log.add("once") }
    loop.scheduleRepeatedTask(initialDelay: .seconds(2), delay: .seconds(2)) { _ in
      log.add("again")
    }
    let follower = Task {
      while true {
        try await Task.sleep(for: .seconds(1))
        // The loop runs on its own thread.
        await time.holding { await loop.advanceTime(by: .seconds(1)) }
      }
    }
    try await Task.sleep(for: .milliseconds(6500))
    follower.cancel()
    await time.holding { await loop.shutdownGracefully() }
    #expect(log.all == ["2000 again", "4000 again", "5000 once", "6000 again"])
  }
}

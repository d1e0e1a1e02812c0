import Clocks
import ClocksTestKit
import Foundation
import Logging
import RealCodeSupport
import ServiceLifecycle
import Testing
import UnixSignals

/// Tests signals. Dispatch delivers them unseen by the scope, so time is held meanwhile.
@Suite struct SignalTests {
  @Test(.virtualTime(leftoverSleeps: .fail)) func shutsDownOnASignal() async throws {
    let time = try #require(VirtualTime.current)
    let log = EventLog(on: .continuous)
    let (events, continuation) = AsyncStream.makeStream(of: Void.self)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [
          .init(
            service: Poller(name: "a", interval: .seconds(4), farewell: .seconds(2), log: log)),
          .init(service: Announcer(announce: { continuation.yield() })),
        ],
        gracefulShutdownSignals: [.sigusr1], logger: .silent))
    let running = Task {
      try await group.run()
      log.add("over")
    }

    // The services start when the signal handler is installed.
    await time.holding { await events.first { true } }
    try await Task.sleep(for: .seconds(9))
    kill(getpid(), SIGUSR1)
    // Time stands still until the shutdown has reached the last service, which ends first.
    await time.holding { await events.first { true } }
    try await running.value
    #expect(
      log.all == [
        "0 a begins", "4000 a polls", "8000 a polls", "11000 a ends", "11000 over",
      ])
  }
}

/// A service that reports when it starts and when the shutdown reaches it.
private struct Announcer: Service {
  let announce: @Sendable () -> Void

  func run() async throws {
    announce()
    try await gracefulShutdown()
    announce()
  }
}

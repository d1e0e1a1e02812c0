import Clocks
import ClocksTestKit
import RealCodeSupport
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

/// Tests groups of services that shut down gracefully, or are cancelled.
@Suite struct GracefulShutdownTests {
  /// The services end in reverse order, each after the previous one has ended.
  ///
  /// At the instant of the shutdown, service b is due to poll, too. The test's sleep was registered
  /// first, so b does not poll.
  @Test(.virtualTime(leftoverSleeps: .fail)) func endsOneAfterTheOther() async throws {
    let log = EventLog(on: .continuous)
    let group = ServiceGroup(
      Poller(name: "a", interval: .seconds(4), farewell: .seconds(2), log: log),
      Poller(name: "b", interval: .seconds(5), farewell: .seconds(3), log: log))
    async let running: Void = group.run()
    try await Task.sleep(for: .seconds(10))
    log.add("shutdown")
    await group.triggerGracefulShutdown()
    try await running
    log.add("over")
    #expect(
      log.all == [
        "0 a begins", "0 b begins", "4000 a polls", "5000 b polls", "8000 a polls",
        "10000 shutdown", "12000 a polls", "13000 b ends", "15000 a ends",
        "15000 over",
      ])
  }

  @Test func byHand() async throws {
    let clock = TestClock()
    let log = EventLog(on: clock)
    let group = ServiceGroup(
      Poller(name: "a", interval: .seconds(4), farewell: .seconds(2), clock: clock, log: log),
      Poller(name: "b", interval: .seconds(5), farewell: .seconds(3), clock: clock, log: log))
    let running = Task {
      try await group.run()
      log.add("over")
    }
    await clock.advance(by: .seconds(9))
    #expect(
      log.all == ["0 a begins", "0 b begins", "4000 a polls", "5000 b polls", "8000 a polls"])
    await group.triggerGracefulShutdown()
    await clock.settle()
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(12), .seconds(12)])
    await clock.advance(by: .seconds(3))
    #expect(Array(log.all.dropFirst(5)) == ["12000 a polls", "12000 b ends"])
    await clock.advance(by: .seconds(2))
    #expect(Array(log.all.dropFirst(7)) == ["14000 a ends", "14000 over"])
    try await running.value
    try await clock.checkSuspension()
  }

  @Test(.virtualTime(autoAdvance: false)) func uninjectedByHand() async throws {
    let time = try #require(VirtualTime.current)
    let log = EventLog(on: .continuous)
    let group = ServiceGroup(
      Poller(name: "a", interval: .seconds(4), farewell: .seconds(2), log: log))
    let running = Task {
      try await group.run()
      log.add("over")
    }
    await time.advance(by: .milliseconds(3999))
    #expect(log.all == ["0 a begins"])
    await time.advance(by: .milliseconds(1))
    #expect(log.all == ["0 a begins", "4000 a polls"])
    await group.triggerGracefulShutdown()
    await time.advance(by: .milliseconds(1999))
    #expect(log.all.count == 2)
    await time.advance(by: .milliseconds(1))
    #expect(Array(log.all.dropFirst(2)) == ["6000 a ends", "6000 over"])
    try await running.value
  }

  /// A service that ignores the shutdown is cancelled at the timeout.
  @Test(.virtualTime(leftoverSleeps: .fail)) func isCancelledWhenItTakesTooLong() async throws {
    let log = EventLog(on: .continuous)
    let group = ServiceGroup(
      Stubborn(obstinacy: .zero, log: log), gracefully: .seconds(30), cancelling: .seconds(10))
    async let running: Void = group.run()
    try await Task.sleep(for: .seconds(5))
    await group.triggerGracefulShutdown()
    try await running
    log.add("over")
    #expect(
      log.all == [
        "0 stubborn begins", "5000 stubborn does not listen", "35000 stubborn is cancelled",
        "35000 stubborn ends", "35000 over",
      ])
  }

  /// If a service ends soon enough after the cancellation, the group does not kill the process.
  @Test(.virtualTime(leftoverSleeps: .fail)) func endsWithinTheTimeForCancellation() async throws {
    let log = EventLog(on: .continuous)
    let group = ServiceGroup(
      Stubborn(obstinacy: .milliseconds(9999), log: log), gracefully: .seconds(30),
      cancelling: .seconds(10))
    async let running: Void = group.run()
    await group.triggerGracefulShutdown()
    try await running
    log.add("over")
    #expect(
      log.all.suffix(3) == [
        "30000 stubborn is cancelled", "39999 stubborn ends", "39999 over",
      ])
  }

  /// The group kills the process if its services have not ended by the deadline for cancellation.
  @Test func killsTheProcessWhenCancellationTakesTooLong() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent, \.standardOutputContent]
    ) {
      try await withVirtualTime { time in
        let log = EventLog(on: .continuous)
        let group = ServiceGroup(
          Stubborn(obstinacy: .milliseconds(10_001), log: log), gracefully: .seconds(30),
          cancelling: .seconds(10))
        async let running: Void = group.run()
        await group.triggerGracefulShutdown()
        try await Task.sleep(for: .milliseconds(39_999))
        print("alive after \(time.now)")
        try await Task.sleep(for: .milliseconds(2))
        print("still alive after \(time.now)")
        try await running
      }
    }
    let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    let error = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(output.contains("alive after 39.999 seconds"))
    #expect(!output.contains("still alive"))
    #expect(error.contains("Cancellation took longer than allowed by the configuration."))
  }

  /// The other services shut down at the instant at which one service fails.
  @Test(.virtualTime(leftoverSleeps: .fail)) func aFailureEndsTheGroup() async throws {
    let log = EventLog(on: .continuous)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [
          .init(
            service: Poller(name: "a", interval: .seconds(4), farewell: .seconds(1), log: log)),
          .init(
            service: Fragile(lifetime: .seconds(9)),
            failureTerminationBehavior: .gracefullyShutdownGroup),
        ],
        logger: .silent))
    await #expect(throws: Fragile.Failure.self) { try await group.run() }
    log.add("over")
    #expect(
      log.all == [
        "0 a begins", "4000 a polls", "8000 a polls", "10000 a ends", "10000 over",
      ])
  }

  /// A group is a service, too. A service can be added to a running group.
  @Test(.virtualTime(leftoverSleeps: .fail)) func groupsInGroups() async throws {
    let log = EventLog(on: .continuous)
    let inner = ServiceGroup(Poller(name: "a", interval: .seconds(4), log: log))
    let outer = ServiceGroup(inner)
    async let running: Void = outer.run()
    try await Task.sleep(for: .seconds(3))
    await inner.addServiceUnlessShutdown(
      Poller(name: "b", interval: .seconds(4), farewell: .seconds(1), log: log))
    try await Task.sleep(for: .seconds(5))
    await outer.triggerGracefulShutdown()
    try await running
    log.add("over")
    #expect(
      log.all == [
        "0 a begins", "3000 b begins", "4000 a polls", "7000 b polls", "8000 a polls",
        "9000 b ends", "9000 a ends", "9000 over",
      ])
  }

  /// A sequence ends with the shutdown: here, a timer of swift-async-algorithms.
  @Test(.virtualTime(leftoverSleeps: .fail)) func sequencesEndWithTheShutdown() async throws {
    let log = EventLog(on: .continuous)
    let group = ServiceGroup(Ticker(log: log))
    async let running: Void = group.run()
    try await Task.sleep(for: .milliseconds(3500))
    await group.triggerGracefulShutdown()
    try await running
    #expect(log.all == ["1000 tick", "2000 tick", "3000 tick", "3500 end"])
  }

  /// The test kit of swift-service-lifecycle tests a service without a group.
  @Test(.virtualTime(leftoverSleeps: .fail)) func withTheTestKitOfThePackage() async throws {
    let log = EventLog(on: .continuous)
    try await testGracefulShutdown { trigger in
      async let running: Void = Poller(name: "a", interval: .seconds(4), log: log).run()
      try await Task.sleep(for: .seconds(5))
      trigger.triggerGracefulShutdown()
      try await running
    }
    #expect(log.all == ["0 a begins", "4000 a polls", "5000 a ends"])
  }
}

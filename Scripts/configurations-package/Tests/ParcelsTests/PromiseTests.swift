import Clocks
import ClocksTestKit
import Foundation
import OtherLibrary
import Parcels
import Testing
import TimeoutTask

/// What the package promises, in a user's tests.
@Suite struct PromiseTests {
  let clock: TestClock<Duration>

  init() {
    _ = SchedulerCapability.current
    OtherHook.installAfter()
    clock = TestClock()
    _ = Self.report
  }

  /// Printed for Scripts/configurations.
  private static let report: Void = {
    print("clocks: \(SchedulerCapability.selfTest)")
    if OtherHook.isSet { print("a hook is set") }
  }()

  @Test func tasksOnThePool() async {
    let depot = Depot()
    let deliveries = Task { [clock] in try await deliver(every: .seconds(60), to: depot, on: clock) }
    for minute in 1...20 {
      await clock.advance(by: .seconds(60))
      #expect(await depot.parcels == 10 * minute)
    }
    deliveries.cancel()
  }

  @Test @MainActor func tasksOnTheMainActor() async {
    var ticks = 0
    let ticker = Task { @MainActor [clock] in
      while true {
        try await clock.sleep(for: .seconds(1))
        await Task.detached {}.value
        ticks += 1
      }
    }
    for second in 1...20 {
      await clock.advance(by: .seconds(1))
      #expect(ticks == second)
    }
    ticker.cancel()
  }

  @Test func yields() async {
    let depot = Depot()
    Task { [clock] in
      try await clock.sleep(for: .seconds(1))
      for _ in 0..<1000 { await Task.yield() }
      await depot.store()
    }
    await clock.advance(by: .seconds(1))
    #expect(await depot.parcels == 1)
  }

  @Test func anEventLoop() async {
    let channel = Channel()
    for second in 1...10 {
      Task { [clock] in
        try await clock.sleep(for: .seconds(second))
        await channel.send()
      }
    }
    for second in 1...10 {
      await clock.advance(by: .seconds(1))
      #expect(await channel.messages == second)
    }
  }

  @Test func aTimeout() async throws {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(9))
    }
    await clock.advance(by: .seconds(5))
    await #expect(throws: TimeoutError.self) { try await task.value }
  }

  @Test func aFailureIsRecorded() async {
    await withKnownIssue {
      await clock.advance(by: .seconds(-1))
    } matching: {
      $0.comments.contains { $0.rawValue.contains("-1") }
    }
  }

  @Test func aTestInAProcessOfItsOwn() async {
    await #expect(processExitsWith: .success) {
      let clock = TestClock()
      let depot = Depot()
      Task {
        try await clock.sleep(for: .seconds(1))
        await depot.store()
      }
      await clock.advance(by: .seconds(1))
      #expect(await depot.parcels == 1)
    }
  }

  @Test func manyOrders() async throws {
    let summary = try await withSchedules(50) { _ in
      let depot = Depot()
      async let first: Void = depot.store()
      async let second: Void = depot.store()
      _ = await (first, second)
      #expect(await depot.parcels == 2)
    }
    #expect(summary?.description.contains("orders in") == true)
  }
}

/// Nothing is injected.
@Suite(.virtualTime(stuckAfter: .seconds(2))) struct ScopeTests {
  @Test func sleepsOfTheRuntime() async throws {
    for seconds in [1, 2, 3] {
      try await Task.sleep(for: .seconds(seconds))
      try await ContinuousClock().sleep(for: .seconds(seconds))
      try await Task.sleep(nanoseconds: UInt64(seconds) * 1_000_000_000)
    }
    #expect(try #require(VirtualTime.current).now == .init(offset: .seconds(18)))
  }

  @Test func queues() async {
    await withCheckedContinuation { continuation in
      afterAnHour { continuation.resume() }
    }
    #expect(VirtualTime.current?.now == .init(offset: .seconds(3600)))
  }

  @Test func dates() async throws {
    let start = Date()
    try await VirtualTime.current?.clock.sleep(for: .seconds(3600))
    #expect(Date().timeIntervalSince(start) == 3600)
  }
}

/// Tests that use no clock stay as they are.
@Suite struct RealTimeTests {
  @Test func sleepsAreReal() async throws {
    let start = ContinuousClock.now
    try await Task.sleep(for: .milliseconds(20))
    #expect(ContinuousClock.now - start >= .milliseconds(20))
  }
}

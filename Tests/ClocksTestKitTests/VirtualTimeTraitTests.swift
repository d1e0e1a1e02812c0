import ClocksTestKit
import Foundation
import Testing

@testable import Clocks

@Suite(.virtualTime) struct VirtualTimeTraitTests {
  @Test(arguments: 1...50) func parameterizedTests(_ number: Int) async throws {
    #expect(VirtualTime.current?.now == .init())
    try await Task.sleep(for: .seconds(number))
    #expect(VirtualTime.current?.now == .init(offset: .seconds(number)))
  }

  /// The scope begins in a task that is cancelled already.
  @Test func theBodyOfACancelledTestIsCancelled() async throws {
    let runs = Tally()
    try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await VirtualTimeTrait.virtualTime.run {
        runs.add()
        #expect(Task.isCancelled)
        await #expect(throws: CancellationError.self) { try await Task.sleep(for: .seconds(1)) }
      }
    }.value
    #expect(runs.value == 1)
  }

  @Test func aDumpNamesTheLineOfTheTest() throws {
    let place = "made at ClocksTestKitTests/VirtualTimeTraitTests.swift:\(#line - 1)\n"
    let dump = Scheduler.dumpText(of: [try VirtualTime.required.scheduler])
    #expect(dump.contains(place), "\(dump)")
  }

  @MainActor @Test func testsOnTheMainActor() async throws {
    MainActor.preconditionIsolated()
    try await Task.sleep(for: .seconds(1))
    MainActor.preconditionIsolated()
    #expect(VirtualTime.current?.now == .init(offset: .seconds(1)))
  }

  @Suite struct InnerSuite {
    @Test func inheritsTheTrait() async throws {
      try await Task.sleep(for: .seconds(3))
      #expect(VirtualTime.current?.now == .init(offset: .seconds(3)))
    }
  }
}

@Suite struct FrozenClocksTests {
  @Test(.virtualTime) func sleepsAreExactHoweverLateTheyAreRegistered() async throws {
    for _ in 0..<20 {
      let clock = ContinuousClock()
      let before = clock.now
      let virtual = VirtualTime.current!.now
      let deadline = before.advanced(by: .seconds(1))
      // As if the machine were busy between the two moments.
      usleep(3_000)
      try await Task.sleep(until: deadline, clock: clock)
      #expect(virtual.duration(to: VirtualTime.current!.now) == .seconds(1))
      #expect(before.duration(to: clock.now) == .seconds(1))
    }
  }

  @Test(.virtualTime) func equalDeadlinesAreEqual() async throws {
    let order = AsyncStream<Int>.makeStream()
    for number in 0..<100 {
      Task {
        if number % 10 == 0 { usleep(200) }
        try await Task.sleep(for: .nanoseconds(123_456_789))
        order.continuation.yield(number)
      }
    }
    try await Task.sleep(for: .nanoseconds(123_456_790))
    #expect(VirtualTime.current?.now == .init(offset: .nanoseconds(123_456_790)))
    order.continuation.finish()
    var all: [Int] = []
    for await number in order.stream { all.append(number) }
    #expect(all == Array(0..<100))
  }

  @Test(.virtualTime) func everyClockFollowsVirtualTime() async throws {
    let continuous = ContinuousClock.now
    let suspending = SuspendingClock.now
    let date = Date()
    try await Task.sleep(for: .seconds(86_400))
    #expect(continuous.duration(to: .now) == .seconds(86_400))
    #expect(suspending.duration(to: .now) == .seconds(86_400))
    #expect(abs(Date().timeIntervalSince(date) - 86_400) < 0.000_01)
    let measured = try await ContinuousClock().measure { try await Task.sleep(for: .seconds(5)) }
    #expect(measured == .seconds(5))
  }

  @Test(.virtualTime(freezesDate: false)) func theDateMayStayReal() async throws {
    let date = Date()
    try await Task.sleep(for: .seconds(86_400))
    #expect(Date().timeIntervalSince(date) < 3_600)
  }

  @Test func outsideAScopeEveryClockReadsAsBefore() async throws {
    let start = ContinuousClock.now
    let date = Date()
    usleep(2_000)
    #expect(start.duration(to: .now) >= .milliseconds(2))
    #expect(Date().timeIntervalSince(date) >= 0.001_9)
    try await withVirtualTime { _ in try await Task.sleep(for: .seconds(86_400)) }
    #expect(start.duration(to: .now) < .seconds(3_600))
    #expect(Date().timeIntervalSince(date) < 3_600)
  }
}

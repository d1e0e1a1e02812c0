import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import Testing

/// An actor that all tests of the process share.
@globalActor private actor Shared {
  static let shared = Shared()

  func nap() async throws {
    usleep(200)
    try await Task.sleep(for: .seconds(1))
  }

  func startNap() -> Task<Void, any Error> {
    Task { try await Task.sleep(for: .seconds(1)) }
  }
}

/// Tests that share an actor: its drain runs their tasks on one thread, but each test has its own time.
@Suite struct SharedActorTests {
  @Test(.repeated(60), .virtualTime)
  func eachTestSleepsOnItsOwnTime() async throws {
    let time = try #require(VirtualTime.current)
    for second in 1...5 {
      try await Shared.shared.nap()
      #expect(time.now.offset == .seconds(second))
    }
  }

  @Test(.repeated(60), .virtualTime)
  func whatIsStartedInTheActorIsTheTests() async throws {
    let time = try #require(VirtualTime.current)
    for second in 1...5 {
      try await Shared.shared.startNap().value
      #expect(time.now.offset == .seconds(second))
    }
  }

  @Shared @Test(.repeated(30)) func aScopeInTheActor() async throws {
    let number = RepeatedTrait.number
    try await withVirtualTime { time in
      try await Task.sleep(for: .seconds(number))
      #expect(time.now.offset == .seconds(number))
    }
  }

  @Test func threadsThatCancelLeaveNoSleepBehind() async throws {
    let clocks = Log<TestClock<Duration>>()
    for _ in 0..<50 {
      let task = Task {
        try await withVirtualTime { time in
          clocks.add(time.clock)
          while true { try await Task.sleep(for: .seconds(1)) }
        }
      }
      DispatchQueue.global().async { task.cancel() }
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    // A task that is cancelled early has no scope.
    #expect(!clocks.all.isEmpty)
    #expect(clocks.all.allSatisfy { $0.pendingSleeps.isEmpty })
  }
}

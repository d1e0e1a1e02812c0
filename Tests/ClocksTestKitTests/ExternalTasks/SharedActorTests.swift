import ClocksTestKit
import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

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
      // The actor drain may have run for a scope of another test.
      #expect(time.scheduler.parent == nil)
      try await Task.sleep(for: .seconds(number))
      #expect(time.now.offset == .seconds(number))
    }
  }

  /// The check of an invariant runs neither the jobs that others enqueue on the actor meanwhile, nor their sleeps.
  @Test func aCheckOnTheActorLeavesTheJobsOfOthersAlone() async throws {
    actor Account {
      var balance = 10
      func deposit(_ amount: Int) { balance += amount }
    }
    let account = Account()
    let (deposits, isOver) = (Tally(), Tally())
    let loop = await withCheckedContinuation { made in
      Thread.detachNewThread {
        made.resume(
          returning: Task {
            while isOver.value == 0 {
              await account.deposit(0)
              deposits.add()
              try await Task.sleep(for: .milliseconds(1))
            }
          })
      }
    }
    try await withVirtualTime { time in
      time.always("solvent", on: account) {
        usleep(200)
        return $0.balance == 10
      }
      while deposits.value < 10 { await Task.yield() }
    }
    isOver.add()
    try await loop.value
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

import ClocksSupport
import TestTraits
import Testing

@testable import Clocks

/// Advances that move time without suspending the test, because nothing can run or wake before.
@Suite struct AdvanceInJobTests {
  /// Returns how many jobs of the test have begun.
  private func jobs(_ clock: TestClock<Duration>) -> UInt64 {
    clock.scheduler.change { $0.activity.count }
  }

  @Test(.enabled(if: Environment.usesFastWay)) func takeNoJob() async {
    let clock = TestClock()
    await clock.settle()
    let before = jobs(clock)
    for second in 1...64 {
      await clock.advance(by: .seconds(1))
      #expect(clock.now.offset == .seconds(second))
    }
    #expect(jobs(clock) == before)
    // Then the test's thread lets other tests run.
    await clock.advance(by: .seconds(1))
    #expect(clock.now.offset == .seconds(65))
    #expect(jobs(clock) == before + 1)
    await clock.advance(by: .seconds(1))
    #expect(jobs(clock) == before + 1)
  }

  @Test func wakeWhatIsDueAtTheTarget() async throws {
    let clock = TestClock()
    let woken = Tally()
    let task = Task {
      try await clock.sleep(for: .seconds(2))
      woken.add()
    }
    await clock.settle()
    await clock.advance(by: .seconds(1))
    #expect(woken.value == 0)
    await clock.advance(by: .seconds(1))
    #expect(woken.value == 1)
    try await task.value
  }

  @Test func runJobsThatAreReady() async {
    let clock = TestClock()
    await clock.settle()
    let run = Tally()
    let task = Task { run.add() }
    await clock.advance(by: .seconds(1))
    #expect(run.value == 1)
    await task.value
  }

  /// What waits for the test's actor runs when the test is suspended. No job of it reaches the scheduler before.
  private actor Place {
    private(set) var visits = 0

    private func visit() { visits += 1 }

    /// Starts a task that begins immediately, and then waits for this actor.
    private nonisolated func visitSoon() {
      if #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) {
        Task.immediate { await self.visit() }
      }
    }

    func visitsAfterAnAdvance(of clock: TestClock<Duration>) async -> Int {
      await clock.settle()
      visitSoon()
      await clock.advance(by: .seconds(1))
      return visits
    }
  }

  @Test func runWhatWaitsForTheCallersActor() async {
    #expect(await Place().visitsAfterAnAdvance(of: TestClock()) == 1)
  }
}

import Clocks
import ClocksTestKit
import Testing

/// A cache that all tests of the process use at the same time.
private actor Cache {
  static let shared = Cache()
  private var values: [Int: Int] = [:]

  func value(_ key: Int) -> Int {
    values[key, default: 0] += 1
    return values[key]!
  }

  /// Returns a task that is made in a job of the actor, and begins on the actor.
  func taskInActor(_ key: Int) -> Task<Int, Never> { Task { value(key) } }

  /// Sleeps in the actor.
  func nap(on clock: TestClock<Duration>) async throws {
    for _ in 0..<10 { try await clock.sleep(for: .seconds(1)) }
  }
}

private actor Seen {
  var count = 0
  func add() { count += 1 }
}

/// The promises hold while tasks wait for an actor that runs jobs of another test.
@Suite struct SharedActorInParallelTests {
  @Test(.repeated(24)) func onATestClock() async throws {
    let number = RepeatedTrait.number
    let clock = TestClock()
    let seen = Seen()
    let task = Task {
      for _ in 0..<10 {
        try await clock.sleep(for: .seconds(1))
        _ = await Cache.shared.value(number)
        await seen.add()
      }
    }
    for second in 1...10 {
      await clock.advance(by: .seconds(1))
      #expect(await seen.count == second)
    }
    task.cancel()
  }

  @Test(.repeated(24), .virtualTime) func inAScope() async throws {
    let number = RepeatedTrait.number
    for _ in 0..<10 {
      await #expect(throws: Never.self) {
        try await withThrowingTaskGroup { group in
          group.addTask { _ = await Cache.shared.value(number) }
          group.addTask {
            try await Task.sleep(for: .seconds(30))
            throw CancellationError()
          }
          try await group.next()
          group.cancelAll()
        }
      }
    }
    #expect(VirtualTime.current?.now == .init())
  }

  @Test(.repeated(24)) func aTaskThatIsMadeInTheActor() async throws {
    let number = RepeatedTrait.number
    let clock = TestClock()
    let seen = Seen()
    Task {
      for _ in 0..<10 {
        try await clock.sleep(for: .seconds(1))
        // Not awaited: a task that settles must wait for it nevertheless.
        let task = await Cache.shared.taskInActor(number)
        Task {
          _ = await task.value
          await seen.add()
        }
      }
    }
    for second in 1...10 {
      await clock.advance(by: .seconds(1))
      #expect(await seen.count == second)
    }
  }

  @Test(.repeated(24)) func aSleepInTheActor() async throws {
    let clock = TestClock()
    let task = Task { try await Cache.shared.nap(on: clock) }
    for second in 1...9 {
      await clock.advance(by: .seconds(1))
      #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(second + 1)])
    }
    await clock.advance(by: .seconds(1))
    #expect(clock.pendingSleeps.isEmpty)
    try await task.value
  }

  @Test(.repeated(24)) func aCancelledSleepInTheActor() async throws {
    let clock = TestClock()
    let isOver = Tally()
    for round in 1...10 {
      let task = Task {
        try? await Cache.shared.nap(on: clock)
        isOver.add()
      }
      await clock.settle()
      task.cancel()
      await clock.settle()
      #expect(isOver.value == round)
    }
  }

  @Test(.repeated(24), .virtualTime) func anAsyncLet() async throws {
    let number = RepeatedTrait.number
    for _ in 0..<10 {
      let isLate = Tally()
      let timeout = Task {
        try await Task.sleep(for: .seconds(30))
        isLate.add()
      }
      async let value = Cache.shared.value(number)
      _ = await value
      #expect(isLate.value == 0)
      timeout.cancel()
    }
  }
}

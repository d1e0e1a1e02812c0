import Testing

@testable import Clocks

/// A scheduler knows the tasks of its test, and keeps none that is over.
@Suite struct LiveTasksTests {
  @Test func tasksThatWaitForAnythingAreKnown() async throws {
    let clock = TestClock()
    let (stream, end) = AsyncStream<Void>.makeStream()
    let ids = Log<UInt64>()
    let tasks = [
      Task {
        ids.add(UnownedTask.currentID ?? 0)
        try? await clock.sleep(for: .seconds(1))
      },
      Task {
        ids.add(UnownedTask.currentID ?? 0)
        for await _ in stream {}
      },
    ]
    await clock.settle()
    #expect(ids.all.count == 2)
    let known = Set(clock.scheduler.tasks.map(\.id))
    #expect(known.isSuperset(of: ids.all))
    #expect(known.contains(UnownedTask.currentID ?? 0))
    end.finish()
    await clock.advance(by: .seconds(1))
    for task in tasks { await task.value }
    #expect(Set(clock.scheduler.tasks.map(\.id)).isDisjoint(with: ids.all))
  }

  @Test func ofTenThousandThatCameAndWentNoneIsLeft() async {
    let clock = TestClock()
    for _ in 0..<10 {
      await withTaskGroup { group in
        for _ in 0..<1_000 { group.addTask { await Task.yield() } }
      }
    }
    let left = clock.scheduler.change { $0.liveTasks.all.count }
    #expect(left <= 256)
    #expect(clock.scheduler.tasks.count <= 2)
  }

  /// Such a task ends in the job of its creator, so no job of its own shows its end.
  @Test func ofImmediateTasksThatHaveEndedFewAreLeft() async {
    let clock = TestClock()
    for _ in 0..<1_000 { Task.immediate {} }
    let left = clock.scheduler.change { $0.liveTasks.all.count }
    #expect(left <= 256)
    #expect(clock.scheduler.tasks.map(\.id) == [UnownedTask.currentID])
  }

  @Test func clocksThatAreFreedLeaveNoTask() async throws {
    var scheduler: Scheduler?
    for _ in 0..<100 {
      let clock = TestClock()
      let task = Task { try await clock.sleep(for: .seconds(1)) }
      await clock.advance(by: .seconds(1))
      try await task.value
      #expect(scheduler == nil || scheduler === clock.scheduler)
      scheduler = clock.scheduler
    }
    let left = scheduler?.change { $0.liveTasks.all.count }
    #expect(left == 1)
  }

  @Test func theResultOfATaskIsFreedWithTheTask() async throws {
    let clock = TestClock()
    weak var result: AnyObject?
    do {
      let task = Task { Tally() }
      result = await task.value
    }
    await clock.settle()
    #expect(result == nil)
  }
}

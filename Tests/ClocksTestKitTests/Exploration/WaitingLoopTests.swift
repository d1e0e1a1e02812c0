import ClocksTestKit
import Testing

@testable import Clocks

private actor Counter {
  private(set) var value = 0
  func add() { value += 1 }
}

/// Loops that wait for other tasks end in every order, and a task can wait for a long loop.
@Suite struct WaitingLoopTests {
  @Test(.schedules(300), arguments: [1, 8]) func aLoopThatYields(_ count: Int) async {
    let counter = Counter()
    let tasks = (0..<count).map { _ in Task { await counter.add() } }
    while await counter.value < count { await Task.yield() }
    for task in tasks { await task.value }
  }

  @Test(.schedules(300), arguments: [1, 8]) func aLoopThatDoesNotYield(_ count: Int) async {
    let counter = Counter()
    let tasks = (0..<count).map { _ in Task { await counter.add() } }
    while await counter.value < count { log("not yet") }
    for task in tasks { await task.value }
  }

  @Test(.schedules(300), arguments: [true, false])
  func loopsThatWaitForEachOther(_ yields: Bool) async {
    let counter = Counter()
    let tasks = (0..<4).map { number in
      Task {
        while await counter.value < number {
          log("not yet")
          if yields { await Task.yield() }
        }
        await counter.add()
      }
    }
    for task in tasks { await task.value }
    #expect(await counter.value == 4)
  }

  @Test func aTaskThatWaitsForMoreThan1000DecisionsIsReplayed() async throws {
    let operation: (VirtualTime) async throws -> Void = { _ in
      let counter = Counter()
      let reader = Task { await counter.value }
      let writer = Task { for _ in 0..<600 { await counter.add() } }
      await writer.value
      #expect(await reader.value < 600)
    }
    let found = try await failures { try await withSchedules(100, operation: operation) }
    let failure = try #require(found.first)
    #expect(found.count == 1)
    #expect(failure.text.contains("(failed in 2 of 2 replays)"), "\(failure.text)")
    try await expectReplay(of: failure, operation)
  }
}

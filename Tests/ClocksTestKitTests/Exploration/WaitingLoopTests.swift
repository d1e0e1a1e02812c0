import ClocksTestKit
import Testing

@testable import Clocks

private actor Counter {
  private(set) var value = 0
  func add() { value += 1 }
}

/// Loops that wait for other tasks: they end in every order.
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
}

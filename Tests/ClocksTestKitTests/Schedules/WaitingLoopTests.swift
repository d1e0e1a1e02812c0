import ClocksTestKit
import Testing

@testable import Clocks

private actor Counter {
  private(set) var value = 0
  func add() { value += 1 }
}

/// Loops that wait for what others do: no order has them wait for ever, nor do the schedules of a long search
/// become longer and longer.
@Suite struct WaitingLoopTests {
  /// How many are waited for, of how many tasks.
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

  // MARK: - Played

  private struct Sizes {
    var first = 0
    /// The number of steps of each schedule.
    var all: [Int] = []
    /// Which of them have come by chance.
    var byChance: [Int] = []
    var search: ScheduleSearch
  }

  private func search(_ program: Simulation, count: Int) -> Sizes {
    var sizes = Sizes(search: ScheduleSearch(.init(count: count, seed: 1)))
    let run = ScheduleRun(.firstInFirstOut)
    // One that does not end is enough.
    while sizes.all.last ?? 0 < Simulation.mostSteps, let plan = sizes.search.next() {
      switch plan {
      case .uniform, .priorities, .partialOrder, .random: sizes.byChance.append(sizes.all.count)
      default: break
      }
      run.reset(plan, profile: sizes.search.profile)
      _ = program.play(run)
      sizes.all.append(run.record.steps.count)
      sizes.search.note(run.record, tasks: run.tree.count)
    }
    sizes.first = sizes.all[0]
    return sizes
  }

  /// The longest run goes on first in, first out after twice the steps of the first, and a hundred.
  @Test(arguments: [(true, 0), (true, 12), (false, 0), (false, 12)])
  func noScheduleIsMuchLongerThanTheFirst(_ yields: Bool, _ others: Int) {
    let sizes = search(.waitingLoop(yields: yields, beside: others), count: 3_000)
    #expect(sizes.all.allSatisfy { $0 <= 3 * sizes.first + 100 })
    // A loop that never lets others go first goes round until then in some of them.
    if !yields { #expect(sizes.all.contains { $0 >= 2 * sizes.first + 100 }) }
  }

  @Test func aLoopThatYieldsHasFewOrders() {
    let sizes = search(.waitingLoop(yields: true), count: 3_000)
    #expect(sizes.search.end == .allOrders)
    #expect(sizes.all.count < 60)
  }

  /// Whoever does not yield may go first any number of times: nobody can say that all orders were tried.
  @Test func aLoopThatDoesNotYieldIsNeverGoneThroughWhole() {
    let sizes = search(.waitingLoop(yields: false), count: 7_000)
    #expect(sizes.search.isComplete)
    #expect(sizes.search.end == .count)
    #expect(sizes.all.count == 7_000)
  }

  @Test func whereNotAllOrdersCanBeTriedSomeComeByChance() {
    let sizes = search(.waitingLoop(yields: false, beside: 2), count: 2_000)
    #expect(sizes.search.isComplete)
    #expect(sizes.byChance.contains { $0 > 1_500 })
  }

  @Test func aReplayIsAsLongAsItIs() {
    let run = ScheduleRun(
      .constraints([
        Constraint(first: ScheduleStep(.job, of: 2, 300), second: ScheduleStep(.job, of: 3, 1))
      ]))
    _ = Simulation.waitingLoop(yields: false).play(run)
    #expect(run.record.steps.count > 300)
  }
}

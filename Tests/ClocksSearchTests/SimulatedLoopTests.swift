import Testing

@testable import ClocksSearch

/// Searches in simulated programs with loops: runs stay short, and no search is called complete that is not.
@Suite struct SimulatedLoopTests {
  private struct Sizes {
    var first = 0
    /// The number of steps of each schedule.
    var all: [Int] = []
    /// The indices of the random ones.
    var random: [Int] = []
    var search: ScheduleSearch
  }

  private func search(_ program: Simulation, count: Int) -> Sizes {
    var sizes = Sizes(search: ScheduleSearch(.init(count: count, seed: 1)))
    sizes.search.playAll { run, plan in
      switch plan {
      case .uniform, .priorities, .partialOrder, .random: sizes.random.append(sizes.all.count)
      default: break
      }
      _ = program.play(run)
      sizes.all.append(run.record.steps.count)
      // One run that does not end is enough to fail.
      return run.record.steps.count < Simulation.mostSteps
    }
    sizes.first = sizes.all[0]
    return sizes
  }

  /// A run falls back to first in, first out after twice the steps of the first run, plus 100.
  @Test(arguments: [(true, 0), (true, 12), (false, 0), (false, 12)])
  func noRunIsMuchLongerThanTheFirst(_ yields: Bool, _ others: Int) {
    let sizes = search(.waitingLoop(yields: yields, beside: others), count: 3_000)
    #expect(sizes.all.allSatisfy { $0 <= 3 * sizes.first + 100 })
    // In some runs a loop that does not yield reaches that limit.
    if !yields { #expect(sizes.all.contains { $0 >= 2 * sizes.first + 100 }) }
  }

  @Test func aLoopThatYieldsHasFewOrders() {
    let sizes = search(.waitingLoop(yields: true), count: 3_000)
    #expect(sizes.search.end == .allOrders)
    #expect(sizes.all.count < 60)
  }

  /// A loop that does not yield can repeat any number of times, so a search never covers all its orders.
  @Test func aLoopThatDoesNotYieldIsNeverComplete() {
    let sizes = search(.waitingLoop(yields: false), count: 7_000)
    #expect(sizes.search.isComplete)
    #expect(sizes.search.end == .count)
    #expect(sizes.all.count == 7_000)
  }

  @Test func anIncompleteSearchTriesRandomOrders() {
    let sizes = search(.waitingLoop(yields: false, beside: 2), count: 2_000)
    #expect(sizes.search.isComplete)
    #expect(sizes.random.contains { $0 > 1_500 })
  }

  @Test func aReplayHasNoStepLimit() {
    let run = ScheduleRun(
      .constraints([
        Constraint(first: ScheduleStep(.job, of: 2, 300), second: ScheduleStep(.job, of: 3, 1))
      ]))
    _ = Simulation.waitingLoop(yields: false).play(run)
    #expect(run.record.steps.count > 300)
  }
}

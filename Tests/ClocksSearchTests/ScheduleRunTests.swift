import ClocksSupport
import Testing

@testable import ClocksSearch

/// The decisions of one run.
@Suite struct ScheduleRunTests {
  /// The end of a sleep that is due after the stall comes between the stall and the step.
  @Test func aStepStallsOnceAlthoughASleepEndsBeforeIt() {
    var tree = TaskTree()
    let step = ScheduleStep(.job, of: tree.child(0, of: TaskTree.test), 1)
    let plan = Plan.constraints([], choices: [Choice(step, 1_000_000_000)])
    let run = ScheduleRun(plan, tree: tree)
    // The second run shows that the first has left nothing.
    for _ in 1...2 {
      run.reset(plan)
      run.enqueue(step)
      #expect(run.stall(before: 0) == .seconds(1))
      run.wake(ScheduleStep(.wake, of: TaskTree.test, 1))
      #expect(run.stall(before: 0) == nil)
      run.begin(at: 0)
      #expect(run.record.choices == [Choice(step, 1_000_000_000)])
    }
  }

  /// At most one stall comes before a step. So with a bound of two, the second comes before the second step.
  @Test func twoStallsComeBeforeTwoSteps() {
    var tree = TaskTree()
    let steps = (0..<2).map { ScheduleStep(.job, of: tree.child($0, of: TaskTree.test), 1) }
    var bounds = Bounds()
    bounds.stalls = 2
    bounds.stallTime = .seconds(1)
    let run = ScheduleRun(.prefix([1, 1, 1]), tree: tree, bounds: bounds)
    for step in steps { run.enqueue(step) }
    #expect(run.stall(before: 0) == .seconds(1))
    run.wake(ScheduleStep(.wake, of: TaskTree.test, 1))
    #expect(run.stall(before: 0) == nil)
    #expect(run.stall(before: 1) == .seconds(1))
    #expect(run.record.choices == steps.map { Choice($0, 1_000_000_000) })
  }

  /// Between a stall and its step, another job may come, or the end of a sleep that is due then.
  @Test func theStepsAfterAStallAreRepeated() {
    var tree = TaskTree()
    let steps = (0..<3).map { ScheduleStep(.job, of: tree.child($0, of: TaskTree.test), 1) }
    let wake = ScheduleStep(.wake, of: TaskTree.test, 1)
    /// Runs the steps; the sleep is due only after a stall.
    func play(_ run: ScheduleRun) -> RunRecord {
      for step in steps { run.enqueue(step) }
      var isDue = false
      while !run.ready.isEmpty {
        let candidates = run.ready + (isDue ? [wake] : [])
        let chosen = candidates.count > 1 ? run.choose(ScratchBuffer(candidates)) : 0
        if chosen == run.ready.count {
          isDue = false
          run.wake(wake)
        } else if run.stall(before: chosen) != nil {
          isDue = true
        } else {
          run.begin(at: chosen)
        }
      }
      return run.record
    }
    func stalls(_ record: RunRecord) -> [Int] {
      record.decisions.filter { $0.mayDelayStep && $0.chosen != 0 }.map(\.step)
    }
    var bounds = Bounds()
    bounds.stalls = 1
    bounds.stallTime = .seconds(1)
    var orders: Set<[ScheduleStep]> = []
    for seed in 1...1_000 as ClosedRange<UInt64> {
      let record = play(ScheduleRun(.random(seed: seed), tree: tree, bounds: bounds))
      let plan = Plan.constraints(record.constraints, choices: record.choices)
      let repeated = play(ScheduleRun(plan, tree: tree))
      #expect(repeated.steps == record.steps)
      #expect(stalls(repeated) == stalls(record))
      if !stalls(record).isEmpty { orders.insert(record.steps) }
    }
    // The steps in any order, and the end of the sleep before any of them, or after all.
    #expect(orders.count == 24)
  }
}

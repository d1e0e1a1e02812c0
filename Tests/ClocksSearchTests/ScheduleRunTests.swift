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

  /// With a bound of two stalls, each comes before another step.
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
}

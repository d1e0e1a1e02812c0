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

  /// Three jobs, and a sleep that is due after a number of seconds, which pass only in stalls.
  private struct Jobs {
    var tree = TaskTree()
    let steps: [ScheduleStep]
    let wake = ScheduleStep(.wake, of: TaskTree.test, 1)

    init() {
      var tree = TaskTree()
      steps = (0..<3).map { ScheduleStep(.job, of: tree.child($0, of: TaskTree.test), 1) }
      self.tree = tree
    }

    /// Returns the steps, and for each step that comes after a stall the time that passes before it.
    ///
    /// - Parameter isOffered: Whether the sleep may wake early.
    func play(
      _ plan: Plan, due: Int, _ bounds: Bounds = Bounds(), isOffered: Bool = false
    ) -> (record: RunRecord, stalls: [Int: Duration]) {
      let run = ScheduleRun(plan, tree: tree, bounds: bounds)
      for step in steps { run.enqueue(step) }
      var (time, sleeps, stalls) = (Duration.zero, true, [Int: Duration]())
      while !run.ready.isEmpty {
        let isDue = time >= .seconds(due)
        let isEarly = isOffered && !isDue && run.stallLimit(of: wake) != nil
        let candidates = run.ready + (sleeps && (isDue || isEarly) ? [wake] : [])
        let chosen =
          candidates.count > 1
          ? run.choose(ScratchBuffer(candidates), offersStall: sleeps && isEarly) : 0
        if chosen == run.ready.count {
          sleeps = false
          run.wake(wake)
        } else if let length = run.stall(before: chosen) {
          time += length
          stalls[run.stepCount, default: .zero] += length
        } else {
          run.begin(at: chosen)
        }
      }
      return (run.record, stalls)
    }
  }

  /// Between a stall and its step, another stall or another job may come, or the end of a sleep that is due then.
  @Test(arguments: 1...3) func theStepsAfterStallsAreRepeated(_ count: Int) {
    let jobs = Jobs()
    var bounds = Bounds()
    bounds.stalls = count
    bounds.stallTime = .seconds(1)
    var orders: Set<[ScheduleStep]> = []
    for seed in 1...1_000 as ClosedRange<UInt64> {
      let (record, stalls) = jobs.play(.random(seed: seed), due: count, bounds)
      let plan = Plan.constraints(record.constraints, choices: record.choices)
      let repeated = jobs.play(plan, due: count)
      #expect(repeated.record.steps == record.steps)
      #expect(repeated.stalls == stalls)
      if !stalls.isEmpty { orders.insert(record.steps) }
    }
    // The steps in any order, and the end of the sleep before any of them, or after all.
    if count == 1 { #expect(orders.count == 24) }
  }

  /// Each step waits for another one or for the sleep, so a stall comes: the one that is listed first.
  @Test func stallsComeInTheOrderInWhichTheyAreListed() throws {
    var jobs = Jobs()
    let token = try ScheduleToken("2:c.1^1s,a.1^1s,b.1<a.1,c.1<b.1,0~1<c.1:0000", &jobs.tree)
    let (record, stalls) = jobs.play(token.plan, due: 1)
    #expect(record.steps == [jobs.wake] + jobs.steps.reversed())
    #expect(stalls == [0: .seconds(1), 3: .seconds(1)])
  }

  /// A step waits for a sleep that wakes early. Its stall is listed first, and comes before that.
  @Test func aStallComesBeforeASleepWakesEarly() throws {
    var jobs = Jobs()
    let token = try ScheduleToken("2:a.1^1s,0~1^,0~1<a.1,0~1<b.1,0~1<c.1:0000", &jobs.tree)
    let (record, stalls) = jobs.play(token.plan, due: 2, isOffered: true)
    #expect(record.steps == [jobs.wake] + jobs.steps)
    #expect(stalls == [0: .seconds(1)])
    // If it is listed last, it comes last.
    let other = try ScheduleToken("2:0~1^,a.1^1s,0~1<a.1,0~1<b.1,0~1<c.1:0000", &jobs.tree)
    #expect(jobs.play(other.plan, due: 2, isOffered: true).stalls == [1: .seconds(1)])
  }
}

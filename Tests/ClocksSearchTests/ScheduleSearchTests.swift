import ClocksSupport
import Testing

@testable import ClocksSearch

/// Searches in simulated programs.
@Suite struct ScheduleSearchTests {
  private let kinds: [(String, (UInt64) -> Plan)] = [
    ("random", { .random(seed: $0) }), ("PCT2", { .priorities(seed: $0, depth: 2) }),
    ("PCT3", { .priorities(seed: $0, depth: 3) }), ("POS", { .partialOrder(seed: $0) }),
    ("URW", { .uniform(seed: $0) }),
  ]

  @Test func everyKindFindsALostUpdate() {
    for (name, plan) in kinds {
      let hits = Simulation.lostUpdate().hits(1_000, plan)
      #expect((150...900).contains(hits), "\(name): \(hits)")
    }
    #expect(Simulation.lostUpdate().hits(1) { _ in .firstInFirstOut } == 1)
  }

  @Test func randomOrdersSeldomRunOneJobLast() {
    let counts = kinds.map { Simulation.lateJob.hits(1_000, $0.1) }
    // Random almost never; priorities and the uniform walk in one of twenty runs.
    #expect(counts[0] <= 5)
    #expect((25...90).contains(counts[1]))
    #expect((20...100).contains(counts[4]))
    #expect(Simulation.lateJob.hits(1) { _ in .delay(ScheduleStep(.job, of: 2, 1)) } == 1)
  }

  @Test func constraintsReproduceARun() {
    let run = ScheduleRun(.firstInFirstOut)
    let programs = [Simulation.lostUpdate(beside: 20), .lateJob, .compareAndSet(beside: 9)]
    for program in programs {
      for seed in 0..<40 {
        for (name, plan) in kinds {
          run.reset(plan(UInt64(seed)), profile: Profile())
          _ = program.play(run)
          let (hash, constraints) = (run.record.hash, run.record.constraints)
          run.reset(.constraints(constraints), profile: Profile())
          _ = program.play(run)
          #expect(run.record.hash == hash, "\(name), \(seed)")
        }
      }
    }
  }

  /// Returns the number of the first schedule that shows the bug, and its run.
  private func find(_ program: Simulation, count: Int) -> (number: Int, run: ScheduleRun)? {
    let search = ScheduleSearch(.init(count: count, seed: 1))
    let run = ScheduleRun(.firstInFirstOut)
    var isFound = false
    search.playAll(run) { run, _ in
      isFound = program.play(run)
      return !isFound
    }
    return isFound ? (search.tried, run) : nil
  }

  @Test func findsKnownShapesSoon() throws {
    #expect(try #require(find(.lostUpdate(), count: 200)).number == 1)
    #expect(try #require(find(.lostUpdate(beside: 48), count: 200)).number == 1)
    #expect(try #require(find(.lateJob, count: 200)).number <= 5)
    #expect(try #require(find(.lastOfMany, count: 200)).number <= 5)
    #expect(try #require(find(.compareAndSet(), count: 200)).number <= 20)
    #expect(try #require(find(.compareAndSet(beside: 40), count: 500)).number <= 200)
  }

  @Test func shrinksToTheOnlyConstraintThatMatters() async throws {
    // First in, first out avoids each bug, and one constraint is enough for it.
    for program in [Simulation.lateJob, .lastOfMany, .compareAndSet(beside: 40)] {
      let found = try #require(find(program, count: 1_000))
      var shrinker = ScheduleShrinker(deadline: RealTime(in: .seconds(60)))
      let constraints = await shrinker.shrink(found.run.record) { plan in
        let run = found.run
        run.reset(plan, profile: Profile())
        return program.play(run) ? run.record : nil
      }
      #expect(constraints.count == 1)
      #expect(shrinker.runs <= 60)
      found.run.reset(.constraints(constraints), profile: Profile())
      #expect(program.play(found.run))
    }
  }

  /// A run of five jobs, last in, first out.
  private func runBackwards() -> ScheduleRun {
    let run = ScheduleRun(.newestFirst)
    for _ in 0..<5 { run.enqueue(run.nextJob(of: run.create(by: TaskTree.test))) }
    while !run.ready.isEmpty {
      run.begin(at: run.ready.count > 1 ? run.choose(ScratchBuffer(run.ready)) : 0)
    }
    return run
  }

  /// A run in which a step is delayed may fail because of a stall.
  @Test func theConstraintsOfARunWithAChoiceAreNotTakenAlone() async {
    let run = runBackwards()
    let waiting = run.record.constraints.map(\.second)
    let stalled = ScheduleRun(
      .constraints([], choices: [Choice(ScheduleStep(.choice, of: TaskTree.test, 1), 1)]))
    _ = stalled.choose(2, for: TaskTree.test)
    #expect(stalled.record.choices.count == 1)
    #expect(stalled.record.constraints == [])
    var shrinker = ScheduleShrinker(deadline: RealTime(in: .seconds(60)))
    let found = await shrinker.shrink(run.record) { plan in
      guard case .constraints(let tried, _) = plan else { return stalled.record }
      return tried.map(\.second).contains(waiting[1]) ? run.record : nil
    }
    #expect(found.map(\.second) == [waiting[1]])
    #expect(shrinker.choices == [])
  }

  /// Either is enough for the failure, and a fault is the rarer cause.
  @Test func aFaultIsRemovedBeforeAnotherChoice() async {
    let choices = [ScheduleStep.Kind.fault, .choice].map {
      Choice(ScheduleStep($0, of: TaskTree.test, 1), 1)
    }
    let run = ScheduleRun(.constraints([], choices: choices))
    #expect(run.faultStrikes(for: TaskTree.test))
    #expect(run.choose(2, for: TaskTree.test) == 1)
    #expect(run.record.choices == choices)
    var shrinker = ScheduleShrinker(deadline: RealTime(in: .seconds(60)))
    _ = await shrinker.shrink(run.record) { plan in
      guard case .constraints(_, let tried) = plan else { return nil }
      return tried.isEmpty ? nil : run.record
    }
    #expect(shrinker.choices == [choices[1]])
    #expect(shrinker.isMinimal)
  }

  @Test func removesAnUnnecessaryConstraint() async {
    let run = runBackwards()
    let waiting = run.record.constraints.map(\.second)
    #expect(waiting.count == 4)
    var shrinker = ScheduleShrinker(deadline: RealTime(in: .seconds(60)))
    let found = await shrinker.shrink(run.record) { plan in
      guard case .constraints(let tried, _) = plan else { return nil }
      let kept = tried.map(\.second)
      // The first constraint hides the failure unless the last one is kept: bisection ends with two.
      let fails =
        kept.contains(waiting[1]) && (!kept.contains(waiting[0]) || kept.contains(waiting[3]))
      return fails ? run.record : nil
    }
    #expect(found.map(\.second) == [waiting[1]])
    #expect(shrinker.isMinimal)
  }

  /// Random programs whose bugs depend on several orders together; a claim is checked by running without each
  /// constraint.
  @Test func aMinimalFailureNeedsEachConstraint() async {
    var (failures, minimal, several) = (0, 0, 0)
    for seed in 0..<UInt64(400) {
      guard let found = find(.random(seed: seed), count: 60), found.number > 1 else { continue }
      failures += 1
      let (program, run) = (Simulation.random(seed: seed), found.run)
      func fails(_ plan: Plan) -> RunRecord? {
        run.reset(plan, profile: Profile())
        return program.play(run) ? run.record : nil
      }
      var shrinker = ScheduleShrinker(deadline: RealTime(in: .seconds(60)))
      let constraints = await shrinker.shrink(run.record) { fails($0) }
      #expect(fails(.constraints(constraints)) != nil, "seed \(seed)")
      guard shrinker.isMinimal else { continue }
      minimal += 1
      if constraints.count > 1 { several += 1 }
      for index in constraints.indices {
        var fewer = constraints
        fewer.remove(at: index)
        #expect(fails(.constraints(fewer)) == nil, "seed \(seed), without constraint \(index)")
      }
    }
    #expect(failures > 200)
    #expect(minimal > failures * 9 / 10)
    #expect(several > 50)
  }

  /// Searches to the end; returns the plans after the three with which each search begins.
  private func searchAll(
    _ program: Simulation, _ limits: ScheduleSearch.Limits
  ) -> (search: ScheduleSearch, plans: [Plan]) {
    let search = ScheduleSearch(limits)
    var plans: [Plan] = []
    search.playAll { run, plan in
      if search.tried > 3 { plans.append(plan) }
      _ = program.play(run)
      return true
    }
    return (search, plans)
  }

  /// Tasks with empty steps.
  private func idleTasks(_ count: Int, steps: Int) -> Simulation {
    let task: [@Sendable (inout [Int: Int]) -> Void] = Array(repeating: { _ in }, count: steps)
    return Simulation(tasks: Array(repeating: task, count: count)) { _ in false }
  }

  @Test(arguments: [
    // (a b)! / a!^b orders of b tasks of a steps each.
    (tasks: 2, steps: 2, orders: 6), (tasks: 2, steps: 3, orders: 20),
    (tasks: 3, steps: 2, orders: 90),
    (tasks: 4, steps: 1, orders: 24), (tasks: 5, steps: 1, orders: 120),
    (tasks: 2, steps: 5, orders: 252),
  ])
  func randomPlansHideNoOrder(tasks: Int, steps: Int, orders: Int) {
    for seed in 0..<20 {
      let (search, _) = searchAll(
        idleTasks(tasks, steps: steps), .init(count: 2_000, seed: UInt64(seed)))
      #expect(search.end == .allOrders)
      #expect(search.coverage.orders.count == orders, "seed \(seed)")
    }
  }

  @Test(arguments: [2, 3, 16]) func shardsTogetherAreTheWholeSearch(_ count: Int) {
    let program = idleTasks(3, steps: 2)
    var orders: Set<UInt64> = []
    var plans: [Plan] = []
    for index in 0..<count {
      let (search, own) = searchAll(
        program, .init(count: 2_000, seed: 1, shard: .init(index: index, count: count)))
      #expect(search.end == .allOrders)
      orders.formUnion(search.coverage.orders)
      plans += own
    }
    #expect(orders.count == 90)
    // No plan is tried twice.
    #expect(Set(plans).count == plans.count)
  }

  /// A kept token gives tasks other numbers, and each machine may have kept other tokens.
  @Test func shardsTogetherAreTheWholeSearchAlthoughTheyNumberTasksDifferently() {
    func orders(_ index: Int, of count: Int, _ tree: TaskTree) -> Set<UInt64> {
      let search = ScheduleSearch(
        .init(count: .max, seed: 1, reversals: 1, shard: .init(index: index, count: count)))
      search.playAll(ScheduleRun(tree: tree)) { run, _ in
        _ = Simulation.lostUpdate(beside: 6).play(run)
        return true
      }
      return search.coverage.orders
    }
    var tree = TaskTree()
    let task = tree.child(0, of: TaskTree.test)
    _ = tree.child(0, of: task)
    let parts = orders(0, of: 2, TaskTree()).union(orders(1, of: 2, tree))
    #expect(parts == orders(0, of: 1, TaskTree()))
  }

  @Test func shardsOfALongSearchCoverTheWholeSearch() {
    let program = Simulation.compareAndSet(beside: 12)
    let (_, whole) = searchAll(program, .init(count: 300, seed: 1))
    var plans: [Plan] = []
    for index in 0..<4 {
      plans +=
        searchAll(program, .init(count: 300, seed: 1, shard: .init(index: index, count: 4))).plans
    }
    #expect(Set(plans).count == plans.count)
    #expect(Set(whole).subtracting(plans) == [])
  }

  @Test func aLongSearchHasABoundedQueue() {
    let (search, plans) = searchAll(
      Simulation.lostUpdate(beside: 30), .init(count: 5_000, seed: 1))
    #expect(plans.count == 4_997)
    #expect((5_000...10_100).contains(search.waiting), "\(search.waiting)")
  }

  /// A loop has any number of orders, so a search by time would queue more and more of them.
  ///
  /// `waiting` counts the orders, and up to six steps that wait to be delayed.
  @Test(arguments: [(0, 6), (10, 16), (50, 51), (1_000_000, 426)])
  func aSearchWithoutACountHasABoundedQueue(_ most: Int, _ waiting: Int) {
    var limits = ScheduleSearch.Limits(count: .max, seed: 1)
    limits.mostQueued = most
    let search = ScheduleSearch(limits)
    let run = ScheduleRun(.firstInFirstOut)
    var longest = 0
    while search.tried < 500, let plan = search.next() {
      run.reset(plan, profile: search.profile)
      _ = Simulation.waitingLoop(yields: false, beside: 2).play(run)
      search.note(run.record, run.tree)
      if search.tried > 3 { longest = max(longest, search.waiting) }
    }
    #expect(search.isComplete)
    #expect(search.tried == 500)
    #expect(search.end == .count)
    #expect(longest == waiting)
  }

  @Test(arguments: [(10, [1, 2, 3, 4, 5, 6, 7, 9]), (9, Array(1...8)), (3, [1, 2])])
  func optionsAreSpreadEvenly(_ count: Int, _ options: [Int]) {
    let run = ScheduleRun()
    _ = run.choose(count, for: TaskTree.test)
    #expect(run.record.otherChoices(than: [], most: 8).map(\.index) == options)
  }

  @Test func aChoiceMayHaveAnyNumberOfOptions() {
    let run = ScheduleRun()
    _ = run.choose(.max, for: TaskTree.test)
    let others = run.record.otherChoices(than: [], most: 8)
    #expect(others.count == 8)
    #expect(others.last?.index == .max - 1)
  }

  @Test func aStepIsNotReversedWithItsCause() {
    let run = ScheduleRun(.firstInFirstOut)
    let tasks = (0..<3).map { _ in run.create(by: TaskTree.test) }
    func step() {
      run.begin(at: 0)
      run.touch(ScheduleRun.Touched.firstActor)
    }
    run.enqueue(run.nextJob(of: tasks[0]))
    run.enqueue(run.nextJob(of: tasks[1]))
    step()
    // The first step is the cause of the third.
    run.enqueue(run.nextJob(of: tasks[2]))
    step()
    step()
    let first = tasks.map { ScheduleStep(.job, of: $0, 1) }
    #expect(
      run.record.reversals(limit: 10) == [
        Constraint(first: first[1], second: first[0]),
        Constraint(first: first[2], second: first[1]),
      ])
  }

  @Test func theReversalOfStepsFarApartNeedsAHighLimit() {
    let run = ScheduleRun()
    let tasks = (0..<3).map { _ in run.create(by: TaskTree.test) }
    let order = [0] + Array(repeating: 1, count: 98) + [2]
    for task in order { run.enqueue(run.nextJob(of: tasks[task])) }
    for task in order {
      run.begin(at: 0)
      run.touch(ScheduleRun.Touched.firstActor + (task == 1 ? 1 : 0))
    }
    let first = tasks.map { ScheduleStep(.job, of: $0, 1) }
    // Of 100 steps, 5,000 pairs are those with a distance of at most 50.
    #expect(run.record.reversals(limit: 1) == [])
    let reversal = Constraint(first: first[2], second: first[0])
    #expect(run.record.reversals(limit: 2) == [reversal])
    #expect(run.record.reversals(limit: .max / 8) == [reversal])
  }

  @Test func reversalsEndByThemselves() {
    // Each of the ten pairs of steps has an order of its own.
    for (reversals, orders) in [(1, 11), (2, 46)] {
      let (search, _) = searchAll(
        idleTasks(5, steps: 1), .init(count: .max, seed: 1, reversals: reversals))
      #expect(search.end == .allReversals)
      #expect(search.coverage.orders.count == orders)
    }
  }

  @Test func aScheduleThatHasFailedBeforeHidesNoReversal() {
    let steps = (2...5).map { ScheduleStep(.job, of: $0, 1) }
    // The second constraint changes nothing: the first alone leads to the same order.
    let known = Plan.constraints([
      Constraint(first: steps[1], second: steps[0]), Constraint(first: steps[2], second: steps[3]),
    ])
    func plans(_ known: [Plan]) -> Set<Plan> {
      let search = ScheduleSearch(.init(count: .max, seed: 1, reversals: 2), known: known)
      var plans: Set<Plan> = []
      search.playAll { run, plan in
        plans.insert(plan)
        _ = idleTasks(5, steps: 1).play(run)
        return true
      }
      #expect(search.end == .allReversals)
      return plans
    }
    let all = plans([])
    #expect(plans([known]) == all.union([known]))
  }

  @Test func aYieldGivesWayToOtherSteps() {
    for (name, plan) in kinds {
      var strategy = Strategy(plan(3), profile: Profile())
      let candidates = [
        ScheduleStep(.other, of: 2, 1), ScheduleStep(.job, of: 3, 1),
        ScheduleStep(.other, of: 4, 1),
      ]
      for _ in 0..<20 { #expect(strategy.choose(ScratchBuffer(candidates)) == 1, "\(name)") }
      #expect(strategy.choose(ScratchBuffer([candidates[0], candidates[2]])) == 0, "\(name)")
    }
  }

  @Test(arguments: [(Profile(), 1_000), (Profile(patience: 3_000), 3_000)])
  func aConstraintDelaysAStepUpToALimit(_ profile: Profile, _ limit: Int) {
    let constraint = Constraint(
      first: ScheduleStep(.job, of: 9, 9), second: ScheduleStep(.job, of: 2, 1))
    var strategy = Strategy(.constraints([constraint]), profile: profile)
    let candidates = [ScheduleStep(.job, of: 2, 1), ScheduleStep(.other, of: 3, 1)]
    let choices = (0..<limit + 1).map { _ in strategy.choose(ScratchBuffer(candidates)) }
    #expect(choices == Array(repeating: 1, count: limit) + [0])
  }

  /// A task waits for 1,500 steps of another one.
  @Test func theOrderOfALongWaitIsRepeated() {
    let run = ScheduleRun(.newestFirst)
    let program = Simulation(
      tasks: [
        [{ $0[1] = $0[0, default: 0] }],
        Array(repeating: { $0[0, default: 0] += 1 }, count: 1_500),
      ]
    ) { $0[1] == 1_500 }
    #expect(program.play(run))
    #expect(run.record.constraints.count == 1)
    let (plan, patience) = (Plan.constraints(run.record.constraints), run.record.patience)
    #expect(patience == 3_000)
    run.reset(plan, profile: Profile(patience: patience))
    #expect(program.play(run))
    run.reset(plan)
    #expect(!program.play(run))
  }

  @Test func progressIsReportedEvery16Schedules() {
    var reports: [String] = []
    var meter = ProgressMeter(every: .zero) { reports.append($0) }
    let running = ScheduleSearch(.init(count: 64, seed: 1))
    while running.next() != nil { meter.ran(running) }
    #expect(reports.map { $0.prefix { $0 != " " } } == ["16", "32", "48", "64"])
    #expect(
      reports[0].wholeMatch(of: /16 schedules, 0 orders in 0 classes, [0-9,]+ a second/) != nil)
    var silent = ProgressMeter(every: .seconds(3_600)) { _ in Issue.record("It is too early.") }
    silent.ran(running)
  }
}

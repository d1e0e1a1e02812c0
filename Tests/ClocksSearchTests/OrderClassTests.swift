import ClocksSupport
import Testing

@testable import ClocksSearch

/// The happens-before classes of the orders of simulated programs.
@Suite struct OrderClassTests {
  /// Runs a program in which each task has the steps of a row, and each step touches the actors of its cell.
  private func play(_ tasks: [[[Int]]], _ run: ScheduleRun) {
    let indices = tasks.map { _ in run.create(by: TaskTree.test) }
    for index in indices { run.enqueue(run.nextJob(of: index)) }
    while !run.ready.isEmpty {
      let position = run.ready.count > 1 ? run.choose(ScratchBuffer(run.ready)) : 0
      let step = run.ready[position]
      run.begin(at: position)
      guard let task = indices.firstIndex(of: step.task) else { return }
      for actor in tasks[task][step.number - 1] {
        run.touch(ScheduleRun.Touched.firstActor + actor)
      }
      if step.number < tasks[task].count { run.enqueue(run.nextJob(of: step.task)) }
    }
  }

  private func search(
    _ tasks: [[[Int]]], _ limits: ScheduleSearch.Limits = .init(count: 5_000, seed: 1)
  ) -> ScheduleSearch {
    let search = ScheduleSearch(limits)
    search.playAll { run, _ in
      play(tasks, run)
      return true
    }
    return search
  }

  @Test(arguments: [
    // Independent tasks: one class.
    (tasks: [[[], []], [[], []]], orders: 6, classes: 1),
    (tasks: [[[0], [0]], [[1], [1]], [[], []]], orders: 90, classes: 1),
    // Every step touches one actor: each order is a class.
    (tasks: [[[0], [0]], [[0], [0]]], orders: 6, classes: 6),
    // Only the second steps touch it: one of them is first.
    (tasks: [[[], [0]], [[], [0]]], orders: 6, classes: 2),
    // If two actors are touched by the same steps, there are no more classes than with one.
    (tasks: [[[], [0, 1]], [[], [1, 0]]], orders: 6, classes: 2),
    // Two actors in opposite orders: it is impossible that each task is first at the actor that it touches second.
    (tasks: [[[0], [1]], [[1], [0]]], orders: 6, classes: 3),
    // Three tasks at one actor: 3! orders of the steps that touch it.
    (tasks: [[[], [0]], [[], [0]], [[], [0]]], orders: 90, classes: 6),
  ])
  func countsThePartialOrders(tasks: [[[Int]]], orders: Int, classes: Int) {
    let search = search(tasks)
    #expect(search.end == .allOrders)
    #expect(search.coverage.orders.count == orders)
    #expect(search.coverage.classes.count == classes)
  }

  /// The numbers of actors depend on which is seen first; a class does not.
  @Test func theNumbersOfActorsAreNotPartOfAClass() {
    func hash(_ one: Int, _ other: Int) -> UInt64 {
      let run = ScheduleRun()
      play([[[one], [other]], [[other], [one]]], run)
      return run.record.classHash
    }
    #expect(hash(0, 1) == hash(1, 0))
    #expect(hash(0, 1) == hash(70, 3))
    #expect(hash(0, 1) != hash(0, 0))
  }

  @Test func endsWhenNoClassIsNewForLong() {
    // 21 independent tasks and two that share an actor: more orders than can be tried, and two classes.
    let tasks = Array(repeating: [[Int]()], count: 21) + [[[0]], [[0]]]
    var limits = ScheduleSearch.Limits(count: 100_000, seed: 1)
    limits.endsWithClasses = true
    let search = search(tasks, limits)
    #expect(search.end == .noNewClass)
    #expect(search.coverage.classes.count == 2)
    #expect(search.tried == 1_000 + search.coverage.lastDiscovery)
    #expect(search.coverage.classes(after: 0) == 2)
    #expect(search.coverage.classes(after: 1) == 1)
    #expect(search.coverage.classes(after: search.tried * 9 / 10) == 0)
  }

  /// Steps that use a lock in common touch no actor.
  @Test func anExhaustiveSearchReversesStepsThatTouchNothing() {
    let search = search([[[]], [[]], [[]]], .init(count: .max, seed: 1, reversals: 1))
    #expect(search.end == .allReversals)
    // First in, first out, and 1 before 0, 2 before 0, 2 before 1.
    #expect(search.coverage.orders.count == 4)
    let both = self.search([[[]], [[]], [[]]], .init(count: .max, seed: 1, reversals: 2))
    #expect(both.coverage.orders.count == 6)
    #expect(both.coverage.classes.count == 1)
  }
}

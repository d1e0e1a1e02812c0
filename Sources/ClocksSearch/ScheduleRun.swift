import ClocksSupport

/// One run of a test: names the steps, makes the decisions and keeps a record.
///
/// It does not know the engine. Its caller, which runs or simulates a test, reports each event. One thread
/// at a time uses a run, so exclusivity is not checked.
///
/// The code for each step calls few generic functions: a debug build, in which tests run, takes a hundred
/// times as long for one of the standard library.
package final class ScheduleRun {
  @exclusivity(unchecked) package private(set) var tree: TaskTree
  @exclusivity(unchecked) package private(set) var record = RunRecord()
  @exclusivity(unchecked) private var strategy: Strategy
  /// The step limit of `Profile.longest`.
  @exclusivity(unchecked) private var longest: Int
  /// The ready steps, in the order in which they became ready.
  @exclusivity(unchecked) package private(set) var ready: [ScheduleStep] = []
  @exclusivity(unchecked) private var readyCauses: [Int32] = []
  /// The latest decision, until its step begins: the same question has the same answer.
  @exclusivity(unchecked) private var decided: ScheduleStep?

  private struct Counts {
    var children: Int32 = 0
    var jobs: Int32 = 0
    var drains: Int32 = 0
    var wakes: Int32 = 0
    var others: Int32 = 0
    /// The number of the last step in which the task was seen.
    var lastStep: Int32 = -1
  }
  @exclusivity(unchecked) private var counts: [Counts] = []
  @exclusivity(unchecked) private var mixers: [Int: Mixer] = [:]

  /// What a step can touch; the actors of the test follow.
  package enum Touched {
    package static let mainActor = 0
    package static let time = 1
    package static let firstActor = 2
  }

  /// - Parameter tree: The tree in which the steps of the plan have their tasks.
  package init(
    _ plan: Plan = .firstInFirstOut, tree: TaskTree = TaskTree(), profile: Profile = Profile()
  ) {
    self.tree = tree
    strategy = Strategy(plan, profile: profile)
    longest = profile.longest
    counts = Array(repeating: Counts(), count: tree.count)
  }

  package func reset(_ plan: Plan, profile: Profile = Profile()) {
    strategy = Strategy(plan, profile: profile)
    longest = profile.longest
    record.removeAll()
    ready.removeAll(keepingCapacity: true)
    readyCauses.removeAll(keepingCapacity: true)
    decided = nil
    mixers.removeAll(keepingCapacity: true)
    counts.removeAll(keepingCapacity: true)
    for _ in 0..<tree.count { counts.append(Counts()) }
  }

  /// The number of the latest step; -1 before the first.
  package var currentStep: Int { record.steps.count - 1 }

  package func create(by parent: Int) -> Int {
    let ordinal = Int(counts[parent].children)
    counts[parent].children += 1
    let task = tree.child(ordinal, of: parent)
    while counts.count < tree.count { counts.append(Counts()) }
    record.created.append((Int32(task), Int32(parent)))
    strategy.created(task, by: parent)
    return task
  }

  package func nextJob(of task: Int) -> ScheduleStep {
    counts[task].jobs += 1
    counts[task].drains = 0
    counts[task].others = 0
    return ScheduleStep(.job, of: task, Int(counts[task].jobs))
  }

  package func nextDrain(of task: Int) -> ScheduleStep {
    counts[task].drains += 1
    return ScheduleStep(.drain, of: task, Int(counts[task].jobs), part: Int(counts[task].drains))
  }

  package func nextWake(of task: Int) -> ScheduleStep {
    counts[task].wakes += 1
    return ScheduleStep(.wake, of: task, Int(counts[task].wakes))
  }

  package func nextOther(of task: Int) -> ScheduleStep {
    counts[task].others += 1
    return ScheduleStep(.other, of: task, Int(counts[task].jobs), part: Int(counts[task].others))
  }

  /// Distinguishes the random numbers of tests that run in parallel; 0 if they are to be equal everywhere.
  package var salt: UInt64 = 0

  /// Returns the next random number of a task, which does not depend on other tasks.
  package func draw(for task: Int) -> UInt64 {
    let seed = tree.hash(of: ScheduleStep(.job, of: task, 0))
    return mixers[task, default: Mixer(seed: seed ^ salt)].next()
  }

  package func enqueue(_ step: ScheduleStep, isOnMain: Bool = false, isFromOutside: Bool = false) {
    ready.append(step)
    readyCauses.append(Int32(currentStep))
    if isOnMain { touch(Touched.mainActor) }
    if isFromOutside { record.arrivals.append((Int32(currentStep), step)) }
  }

  /// Notes that the current step touches an actor: it adds to the actor's queue, or drains it.
  package func touch(_ actor: Int) { record.touches.append((Int32(currentStep), Int32(actor))) }

  /// Notes that the last step of the task has put it in the queue of an actor.
  package func isInQueue(_ task: Int, of actor: Int) {
    let step = counts[task].lastStep
    if step >= 0 { record.touches.append((step, Int32(actor))) }
  }

  /// Notes that the current step, a drain of the actor, runs the task.
  package func runsInQueue(_ task: Int, of actor: Int) {
    isInQueue(task, of: actor)
    counts[task].lastStep = Int32(currentStep)
  }

  package func begin(at position: Int) {
    let step = ready.remove(at: position)
    begin(step, cause: readyCauses.remove(at: position))
  }

  /// Begins the end of a sleep.
  package func wake(_ step: ScheduleStep) {
    begin(step, cause: -1)
    touch(Touched.time)
  }

  private func begin(_ step: ScheduleStep, cause: Int32) {
    decided = nil
    let number = record.steps.count
    record.steps.append(step)
    record.causes.append(cause)
    record.previous.append(counts[step.task].lastStep)
    record.hash = Mixer.mix(record.hash, tree.hash(of: step))
    counts[step.task].lastStep = Int32(number)
    strategy.begins(step, number: number, others: ready)
  }

  /// Returns the index of the candidate that comes first.
  ///
  /// - Parameter candidates: Two or more steps, in the order first in, first out.
  package func choose(_ candidates: borrowing ScratchBuffer<ScheduleStep>) -> Int {
    if let decided {
      for index in 0..<candidates.count where candidates[index].bits == decided.bits {
        return index
      }
    }
    let chosen = record.steps.count < longest ? strategy.choose(candidates) : 0
    let start = record.candidates.count
    for index in 0..<candidates.count { record.candidates.append(candidates[index]) }
    record.decisions.append(
      .init(candidates: start..<record.candidates.count, chosen: chosen, step: record.steps.count))
    decided = candidates[chosen]
    return chosen
  }
}

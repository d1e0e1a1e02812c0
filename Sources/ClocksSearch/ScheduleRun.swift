import ClocksSupport

/// One run of a test: names the steps, makes the decisions and keeps a record.
///
/// A run does not know the scheduler: its caller, which runs or simulates a test, reports each event. Only one thread
/// at a time uses a run.
///
/// The code for each step calls few generic functions: in a debug build, in which tests run, a generic function of
/// the standard library takes a hundred times as long.
package final class ScheduleRun {
  package private(set) var tree: TaskTree
  package private(set) var record = RunRecord()
  private var strategy: Strategy
  /// From this number of steps on, the run is first in, first out.
  private var longest = Int.max
  /// The ready steps, in the order in which they became ready.
  private(set) var readySteps = ScratchBuffer<ScheduleStep>()
  private var readyCauses = ScratchBuffer<Int32>()
  /// The latest decision, until its step begins. Until then `choose` returns the same step again.
  private var decided: ScheduleStep?

  private struct Counts {
    var children: Int32 = 0
    var jobs: Int32 = 0
    var drains: Int32 = 0
    var wakes: Int32 = 0
    var others: Int32 = 0
    var choices: Int32 = 0
    var faults: Int32 = 0
    var numbers: Int32 = 0
    /// The number of the last step in which the task was seen.
    var lastStep: Int32 = -1
  }
  private var counts: [Counts] = []
  private var mixers: [Int: Mixer] = [:]
  private let bounds: Bounds
  /// The number of faults that have struck.
  private var faults = 0
  private var stallsArePossible = false
  /// The number of stalls, and whether the latest decision wakes a sleep early.
  private var stalls = 0
  private var wakesEarly = false
  /// The step that comes next, if it was decided whether a stall comes before it.
  private var asked: ScheduleStep?
  /// The steps before which a stall came. A sleep may end between the stall and the step, but no second stall comes.
  private var stalled = ScratchBuffer<ScheduleStep>()

  /// The numbers of all that a step can touch. Actors of the test have the numbers from `firstActor` on.
  package enum Touched {
    package static let mainActor = 0
    package static let time = 1
    package static let firstActor = 2
  }

  /// - Parameter tree: The tree that contains the tasks of the plan.
  package init(
    _ plan: Plan = .firstInFirstOut, tree: TaskTree = TaskTree(), bounds: Bounds = Bounds()
  ) {
    self.tree = tree
    self.bounds = bounds
    strategy = Strategy(plan, profile: Profile(), bounds: bounds)
    reset(plan)
  }

  package func reset(_ plan: Plan, profile: Profile = Profile()) {
    strategy = Strategy(plan, profile: profile, bounds: bounds)
    faults = 0
    stalls = 0
    stallsArePossible = bounds.stalls > 0 || strategy.options.listsStalls
    wakesEarly = false
    asked = nil
    stalled.removeAll()
    longest = profile.longest
    record.removeAll()
    readySteps.removeAll()
    readyCauses.removeAll()
    decided = nil
    mixers.removeAll(keepingCapacity: true)
    counts.removeAll(keepingCapacity: true)
    for _ in 0..<tree.count { counts.append(Counts()) }
  }

  // MARK: - What the module Clocks reads

  package var stepCount: Int { record.steps.count }

  package func readyStep(at position: Int) -> ScheduleStep { readySteps[position] }

  /// Whether `stallLimit` or `stall` may return a duration. If not, they need not be called.
  package var mayStall: Bool { stallsArePossible }

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

  /// Distinguishes the random numbers of parallel tests; 0 if all tests get equal numbers.
  package var salt: UInt64 = 0

  /// Returns the next random number of a task, which does not depend on other tasks.
  package func draw(for task: Int) -> UInt64 {
    let seed = tree.hash(of: ScheduleStep(.job, of: task, 0))
    return mixers[task, default: Mixer(seed: seed ^ salt)].next()
  }

  package func enqueue(_ step: ScheduleStep, isOnMain: Bool = false, isFromOutside: Bool = false) {
    readySteps.append(step)
    readyCauses.append(Int32(currentStep))
    if isOnMain { touch(Touched.mainActor) }
    if isFromOutside { record.arrivals.append((Int32(currentStep), step)) }
  }

  /// Notes that the current step touches an actor: it adds to the actor's queue, or drains it.
  package func touch(_ actor: Int) { record.touches.append((Int32(currentStep), Int32(actor))) }

  /// Notes that the last step of the task put the task in the queue of an actor.
  package func entersQueue(_ task: Int, of actor: Int) {
    let step = counts[task].lastStep
    if step >= 0 { record.touches.append((step, Int32(actor))) }
  }

  /// Notes that the current step, a drain of the actor, runs the task.
  package func runsInQueue(_ task: Int, of actor: Int) {
    entersQueue(task, of: actor)
    counts[task].lastStep = Int32(currentStep)
  }

  package func begin(at position: Int) {
    let step = readySteps.remove(at: position)
    begin(step, cause: readyCauses.remove(at: position))
  }

  /// Begins a step that is the end of a sleep.
  package func wake(_ step: ScheduleStep) {
    begin(step, cause: -1)
    touch(Touched.time)
  }

  private func begin(_ step: ScheduleStep, cause: Int32) {
    decided = nil
    asked = nil
    if wakesEarly {
      stalls += 1
      wakesEarly = false
    }
    let number = record.steps.count
    record.steps.append(step)
    record.causes.append(cause)
    record.previous.append(counts[step.task].lastStep)
    let hash = tree.hash(of: step)
    record.stepHashes.append(hash)
    record.hash = Mixer.mix(record.hash, hash)
    counts[step.task].lastStep = Int32(number)
    strategy.begins(step, number: number, others: readySteps)
  }

  /// Returns the index of the candidate that comes first.
  ///
  /// - Parameters:
  ///   - candidates: Two or more steps, in the order first in, first out.
  ///   - offersStall: Whether the last candidate is a sleep that is not due.
  package func choose(
    _ candidates: borrowing ScratchBuffer<ScheduleStep>, offersStall: Bool = false
  ) -> Int {
    if let decided {
      for index in 0..<candidates.count where candidates[index].bits == decided.bits {
        return index
      }
    }
    let chosen = record.steps.count < longest ? strategy.choose(candidates, offersStall) : 0
    let start = record.candidates.count
    for index in 0..<candidates.count { record.candidates.append(candidates[index]) }
    record.decisions.append(
      .init(
        candidates: start..<record.candidates.count, chosen: chosen, step: record.steps.count,
        count: candidates.count, offersStall: offersStall))
    decided = candidates[chosen]
    wakesEarly = offersStall && chosen == candidates.count - 1
    return chosen
  }

  // MARK: - Decisions within a step

  /// Returns which of `count` options, from 0, the current step of the task gets.
  package func choose(_ count: Int, for task: Int) -> Int {
    counts[task].choices += 1
    return decide(ScheduleStep(.choice, of: task, Int(counts[task].choices)), count)
  }

  /// Returns whether a fault strikes in the current step of the task.
  package func faultStrikes(for task: Int) -> Bool {
    counts[task].faults += 1
    let name = ScheduleStep(.fault, of: task, Int(counts[task].faults))
    // A replay lists its faults, and does not know the bounds.
    let isPossible = faults < bounds.faults || strategy.options.listed(name) != nil
    guard decide(name, isPossible ? 2 : 1) == 1 else { return false }
    faults += 1
    return true
  }

  /// Returns how early a sleep may wake while jobs are ready; `nil` if it may not wake early.
  package func stallLimit(of step: ScheduleStep) -> Duration? {
    // A replay lists its stalls, and does not know the bounds.
    if strategy.options.listed(step) != nil { return .seconds(Int64.max) }
    return stalls < bounds.stalls ? bounds.stallTime : nil
  }

  /// Returns for how long time passes before the ready step at `position` begins, though it could begin now; `nil` if
  /// it begins now.
  ///
  /// After a stall, `choose` decides again: sleeps may be due. A step stalls at most once.
  package func stall(before position: Int) -> Duration? {
    let step = readySteps[position]
    guard asked != step else { return nil }
    for index in 0..<stalled.count where stalled[index].bits == step.bits { return nil }
    asked = step
    let listed = strategy.options.listed(step)
    let length = listed ?? (stalls < bounds.stalls ? bounds.wholeNanoseconds : 0)
    guard length > 0, decide(step, 2, unit: length) == 1 else { return nil }
    stalls += 1
    stalled.append(step)
    decided = nil
    return .nanoseconds(Int64(length))
  }

  /// Returns the next random number of a task. The number is a choice if the search explores randomness.
  package func drawNumber(for task: Int) -> UInt64 {
    let drawn = draw(for: task)
    counts[task].numbers += 1
    let name = ScheduleStep(.random, of: task, Int(counts[task].numbers))
    guard bounds.exploresRandomness || strategy.options.listed(name) != nil else { return drawn }
    return ExploredRandomness.number(decide(name, ExploredRandomness.options), drawn: drawn)
  }

  private func decide(_ name: ScheduleStep, _ count: Int, unit: Int = 1) -> Int {
    var chosen = 0
    if count > 1 {
      if currentStep < longest { chosen = strategy.choose(count, for: name) }
      record.decisions.append(
        .init(
          candidates: 0..<0, chosen: chosen, step: currentStep, count: count, choice: name,
          unit: unit))
    }
    // A replay does not know whether the search explored randomness or stalls. So a number that is as drawn, and a step
    // that begins without a stall, must not change the hash.
    if chosen == 0, name.kind == .random || name.isStep { return 0 }
    let hash = tree.hash(of: name) &+ UInt64(chosen)
    record.hash = Mixer.mix(record.hash, hash)
    if record.stepHashes.indices.contains(currentStep) {
      record.stepHashes[currentStep] = Mixer.mix(record.stepHashes[currentStep], hash)
    }
    return chosen
  }
}

import ClocksSupport

/// One run of a test, while it goes on: names what happens, decides, and keeps a record.
///
/// It knows nothing of the engine: who runs the test, or plays it, tells what happens.
///
/// What is done for each step calls as few generic functions as it can: a debug build, in which tests are
/// run, takes a hundred times as long for one of the standard library's.
final class ScheduleRun {
  // One at a time uses it, so that accesses are not checked a second time.

  /// The tasks, as far as they are known from all runs.
  @exclusivity(unchecked) var tree: TaskTree
  @exclusivity(unchecked) private(set) var record = RunRecord()
  @exclusivity(unchecked) private(set) var strategy: Strategy
  /// After how many steps it goes on first in, first out.
  @exclusivity(unchecked) private var longest: Int
  /// The ready steps, in the order in which they became ready.
  @exclusivity(unchecked) private(set) var ready: [ScheduleStep] = []
  @exclusivity(unchecked) private var readyCauses: [Int32] = []
  /// What was decided, until it begins: asked again, the answer is the same.
  @exclusivity(unchecked) private var decided: ScheduleStep?

  /// For each task, what of it has been counted in this run.
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

  init(_ plan: Plan, tree: TaskTree = TaskTree(), profile: Profile = Profile()) {
    self.tree = tree
    strategy = Strategy(plan, profile: profile)
    longest = profile.longest
    counts = Array(repeating: Counts(), count: tree.count)
  }

  /// Begins anew, with the same tree.
  func reset(_ plan: Plan, profile: Profile) {
    strategy = Strategy(plan, profile: profile)
    longest = profile.longest
    record.removeAll()
    ready.removeAll(keepingCapacity: true)
    readyCauses.removeAll(keepingCapacity: true)
    decided = nil
    counts.removeAll(keepingCapacity: true)
    for _ in 0..<tree.count { counts.append(Counts()) }
  }

  /// The number of the step that runs, or has run last; -1 before the first.
  var currentStep: Int { record.steps.count - 1 }

  // MARK: - Naming

  /// A task has been made; returns its index.
  func create(by parent: Int) -> Int {
    let ordinal = Int(counts[parent].children)
    counts[parent].children += 1
    let task = tree.child(ordinal, of: parent)
    while counts.count < tree.count { counts.append(Counts()) }
    record.created.append((Int32(task), Int32(parent)))
    strategy.created(task, by: parent)
    return task
  }

  func nextJob(of task: Int) -> ScheduleStep {
    counts[task].jobs += 1
    counts[task].drains = 0
    counts[task].others = 0
    return ScheduleStep(.job, of: task, Int(counts[task].jobs))
  }

  func nextDrain(of task: Int) -> ScheduleStep {
    counts[task].drains += 1
    return ScheduleStep(.drain, of: task, Int(counts[task].jobs), part: Int(counts[task].drains))
  }

  func nextWake(of task: Int) -> ScheduleStep {
    counts[task].wakes += 1
    return ScheduleStep(.wake, of: task, Int(counts[task].wakes))
  }

  func nextOther(of task: Int) -> ScheduleStep {
    counts[task].others += 1
    return ScheduleStep(.other, of: task, Int(counts[task].jobs), part: Int(counts[task].others))
  }

  // MARK: - What happens

  /// A step has become ready.
  func enqueue(_ step: ScheduleStep) {
    ready.append(step)
    readyCauses.append(Int32(currentStep))
  }

  /// A step touches an actor: it puts something into its queue, or runs it.
  func touch(_ actor: Int, by step: Int) {
    record.touches.append((Int32(step), Int32(actor)))
  }

  /// A task is in the queue of an actor: its last step has put it there.
  func isInQueue(_ task: Int, of actor: Int) {
    if counts[task].lastStep >= 0 { touch(actor, by: Int(counts[task].lastStep)) }
  }

  /// A task is seen in the step that runs.
  func isSeen(_ task: Int) { counts[task].lastStep = Int32(currentStep) }

  /// A job has come from outside the test.
  func cameFromOutside(_ step: ScheduleStep) { record.arrivals.append((Int32(currentStep), step)) }

  // MARK: - Deciding

  /// The index of the candidate that comes first.
  ///
  /// - Parameter candidates: What could come, in the order in which it would come by itself; there are
  ///   two or more.
  func choose(_ candidates: borrowing ScratchBuffer<ScheduleStep>) -> Int {
    if let decided {
      for index in 0..<candidates.count where candidates[index].bits == decided.bits {
        return index
      }
    }
    let chosen = record.steps.count < longest ? strategy.choose(candidates) : 0
    let start = record.candidates.count
    for index in 0..<candidates.count { record.candidates.append(candidates[index]) }
    record.decisions.append(
      .init(
        candidates: start..<record.candidates.count, chosen: chosen, step: record.steps.count))
    decided = candidates[chosen]
    return chosen
  }

  /// The ready step at this place begins.
  func begin(at position: Int) {
    let step = ready.remove(at: position)
    begin(step, cause: readyCauses.remove(at: position))
  }

  /// A sleep wakes.
  func wake(_ step: ScheduleStep) { begin(step, cause: -1) }

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
}

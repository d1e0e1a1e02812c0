import ClocksSearch
import ClocksSupport

/// The chooser of an explored scope, which translates the events of the scheduler for a `ScheduleRun`.
///
/// An explorer belongs to the scheduler of the scope, whose lock guards it.
final class Explorer: Chooser, @unchecked Sendable {
  let run: ScheduleRun
  /// The index of each task in the tree, by the id of the task.
  private let tasks = WordTable()
  /// The bits of the step that ends the latest sleep of each task, by the id of the task.
  ///
  /// Registration numbers do not identify a sleep: sleeps on two clocks may have the same number.
  private let wakes = WordTable()
  /// The step that begins each timed callback, by registration number. All timed callbacks wait on the scope's clock.
  private var callbacks: [UInt64: ScheduleStep] = [:]
  /// The candidates of the latest decision, kept so that the next decision reuses their memory.
  private var steps = ScratchBuffer<ScheduleStep>()
  /// The number of each actor, by its address.
  private let actors = WordTable()
  /// The task whose job runs; `nil` during an actor drain.
  private var running: Int?
  /// The actor drain that runs, or that goes on after a checkpoint; `nil` during other steps.
  private var drain: ActorDrain?
  /// The actor drains that are parked, by the id of the task that reached the checkpoint.
  private var parkedDrains: [UInt64: ActorDrain] = [:]
  /// Details of the steps, if a report needs them.
  var details: StepDetails?
  /// The sources of nondeterminism that the run used.
  private(set) var used: Set<Divergence.Suspect> = []
  /// The number of steps of the longest run that was no runaway; `nil` if there was none.
  private var mostSteps: Int?
  /// The number of steps after which the run counts as a runaway: far more than any earlier run had.
  var stepLimit = 400_000 {
    didSet { nextRunaway = stepLimit }
  }
  /// The number of steps at which `newRunaway` next returns a reason.
  private var nextRunaway = 400_000

  init(_ run: ScheduleRun) { self.run = run }

  func reset(_ plan: Plan, profile: Profile) {
    let steps = run.stepCount
    if steps > 0 {
      if steps < stepLimit { mostSteps = max(mostSteps ?? 0, steps) }
      stepLimit = max(10_000, 100 * (mostSteps ?? 0))
    }
    run.reset(plan, profile: profile)
    tasks.removeAll()
    wakes.removeAll()
    callbacks.removeAll(keepingCapacity: true)
    actors.removeAll()
    running = nil
    drain = nil
    parkedDrains.removeAll()
    used = []
  }

  func taskWasCreated(_ task: UInt64) {
    guard tasks[task] == nil else { return }
    // The first task is the one that runs the test.
    let isTest = tasks.count == 0
    let index = isTest ? TaskTree.test : run.create(by: index(of: UnownedTask.currentID ?? 0))
    tasks.set(task, to: UInt64(index))
  }

  private func known(_ task: UInt64) -> Int? {
    guard let index = tasks[task] else { return nil }
    return Int(index)
  }

  private func index(of task: UInt64) -> Int { known(task) ?? TaskTree.outside }

  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool) {
    if job.isParked, let drain { parkedDrains[job.taskID] = drain }
    run.enqueue(name(job), isOnMain: job.executor == .main, isFromOutside: isFromOutside)
  }

  private func name(_ job: ReadyJob) -> ScheduleStep {
    if job.taskID != 0 {
      if let task = known(job.taskID) { return run.nextJob(of: task) }
      taskWasCreated(job.taskID)
      return run.nextJob(of: index(of: job.taskID))
    }
    if let drain = ActorDrain(job.job) {
      let task = index(of: drain.firstTask)
      run.entersQueue(task, of: number(of: drain))
      return run.nextDrain(of: task)
    }
    let task = UnownedTask.currentID.flatMap(known) ?? running ?? TaskTree.outside
    return run.nextOther(of: task)
  }

  func jobBegins(_ job: ReadyJob, at position: Int) {
    run.begin(at: position)
    running = job.taskID == 0 ? nil : known(job.taskID)
    details?.begins(job, of: running, index: known)
    if job.isParked {
      drain = parkedDrains.removeValue(forKey: job.taskID)
    } else {
      drain = job.taskID == 0 ? ActorDrain(job.job) : nil
    }
    guard let drain else { return }
    // After a checkpoint, the queue has the tasks that have entered it meanwhile.
    let actor = number(of: drain)
    var next = drain.latest
    while let job = next {
      next = ActorDrain.job(before: job)
      if let task = known(taskID(of: job)) { run.runsInQueue(task, of: actor) }
    }
    run.touch(actor)
  }

  var isRunaway: Bool { run.stepCount >= nextRunaway }

  func newRunaway() -> Runaway? {
    guard isRunaway else { return nil }
    // A runaway test is cancelled, and may need more steps to end.
    nextRunaway += max(1_000, stepLimit / 10)
    return .steps(stepLimit, most: mostSteps)
  }

  func sleepBegins(_ number: UInt64, of task: UInt64) {
    wakes.set(task, to: run.nextWake(of: index(of: task)).bits)
  }

  /// Names the step that begins a timed callback like the end of a sleep outside the test: `1~n`.
  ///
  /// The step needs a name before it can be a candidate.
  func timedCallbackWaits(_ number: UInt64, _ name: String) {
    let step = run.nextWake(of: TaskTree.outside)
    callbacks[number] = step
    details?.names(step, name)
  }

  func sleepWakes(_ number: UInt64, of task: UInt64) {
    run.wake(wake(of: number, task) ?? run.nextWake(of: TaskTree.outside))
    if task == 0 { callbacks[number] = nil }
    running = nil
    details?.wakes()
  }

  private func number(of drain: ActorDrain) -> Int {
    let address = UInt64(UInt(bitPattern: drain.actor))
    if let number = actors[address] { return Int(number) }
    let number = actors.count + ScheduleRun.Touched.firstActor
    actors.set(address, to: UInt64(number))
    return number
  }

  func asked(_ question: TaskOwner.NondeterminismSource) {
    switch question {
    case .clock: used.insert(.realTime)
    case .number: used.insert(.randomness)
    case .outsideWork: used.insert(.outside(nil))
    }
  }

  func draw(for task: UInt64, isNumber: Bool) -> UInt64? {
    isNumber ? run.drawNumber(for: index(of: task)) : run.draw(for: index(of: task))
  }

  var mayStall: Bool { run.mayStall }

  func stallLimit(of sleep: UInt64, task: UInt64) -> Duration? {
    run.stallLimit(of: candidate(sleep, task))
  }

  func stall(before position: Int) -> Duration? { run.stall(before: position) }

  /// Returns the step that ends a pending sleep of a task, or that begins a timed callback, whose task is 0.
  private func wake(of sleep: UInt64, _ task: UInt64) -> ScheduleStep? {
    if task == 0 { return callbacks[sleep] }
    guard let bits = wakes[task] else { return nil }
    return ScheduleStep(bits: bits)
  }

  private func candidate(_ sleep: UInt64, _ task: UInt64) -> ScheduleStep {
    wake(of: sleep, task) ?? ScheduleStep(.wake, of: index(of: task), 0)
  }

  func choose(_ count: Int, for task: UInt64) -> Int {
    run.choose(count, for: index(of: task))
  }

  func faultStrikes(for task: UInt64) -> Bool {
    run.faultStrikes(for: index(of: task))
  }

  var latestStep: String? { run.record.steps.last.map(run.tree.name) }

  func stepFails() { details?.noteFailure() }

  var wantsDescriptions: Bool { details != nil }

  func describe(_ text: String) {
    details?.describe(text, run.record.decisions.last?.choice)
  }

  /// Returns the name of the task's lane; `nil` if the lanes of this run are not shown, or the task is not known.
  func label(of task: UInt64, name: String?) -> String? {
    guard details != nil, let index = known(task) else { return nil }
    return run.tree.label(of: index, name: name)
  }

  func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int {
    steps.removeAll()
    var offersStall = false
    for index in 0..<candidates.count {
      switch candidates[index] {
      case .job(let position, _, _): steps.append(run.readyStep(at: position))
      case .sleep(let number, let task): steps.append(candidate(number, task))
      case .early(let number, let task):
        steps.append(candidate(number, task))
        offersStall = true
      }
    }
    return run.choose(steps, offersStall: offersStall)
  }
}

import ClocksSupport

/// Decides what comes first in a scope that is explored: tells a `ScheduleRun` what happens there, in
/// words that mean the same in every run.
///
/// It belongs to the scope's scheduler, whose lock guards it.
final class Explorer: Chooser, @unchecked Sendable {
  @exclusivity(unchecked) nonisolated(unsafe) let run: ScheduleRun
  /// The index of each task in the tree, by its number.
  @exclusivity(unchecked) nonisolated(unsafe) private var tasks: [UInt64: Int] = [:]
  /// The wake of each sleep.
  @exclusivity(unchecked) nonisolated(unsafe) private var wakes: [UInt64: ScheduleStep] = [:]
  /// The number of each actor.
  @exclusivity(unchecked) nonisolated(unsafe) private var actors: [ObjectIdentifier: Int] = [:]
  /// The task whose job runs; `nil` if it is no task's.
  @exclusivity(unchecked) nonisolated(unsafe) private var running: Int?
  /// What the steps do, for a report; `nil` unless one is wanted.
  @exclusivity(unchecked) nonisolated(unsafe) var details: StepDetails?

  /// What the run has shown of causes that nobody can decide about.
  @exclusivity(unchecked) nonisolated(unsafe) private(set) var witnesses = Divergence.Witnesses()
  /// What each task draws.
  @exclusivity(unchecked) nonisolated(unsafe) private var mixers: [Int: Mixer] = [:]

  /// The numbers of what every test shares.
  private enum Shared {
    static let main = 0
    static let time = 1
    static let count = 2
  }

  init(_ run: ScheduleRun) {
    self.run = run
    tasks.reserveCapacity(64)
  }

  /// Begins a new run.
  func reset() {
    tasks.removeAll(keepingCapacity: true)
    wakes.removeAll(keepingCapacity: true)
    actors.removeAll(keepingCapacity: true)
    running = nil
    mixers.removeAll(keepingCapacity: true)
    witnesses = .init()
  }

  // MARK: - What happens

  func taskWasCreated(_ task: UInt64) {
    guard tasks[task] == nil else { return }
    // The first task of all is the one that runs the test.
    guard !tasks.isEmpty else {
      tasks[task] = TaskTree.test
      return
    }
    let parent = UnownedTask.currentID.flatMap { tasks[$0] } ?? TaskTree.outside
    tasks[task] = run.create(by: parent)
  }

  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool) {
    let step = name(job)
    run.enqueue(step)
    if job.executor == .main { run.touch(Shared.main, by: run.currentStep) }
    if isFromOutside { run.cameFromOutside(step) }
  }

  private func name(_ job: ReadyJob) -> ScheduleStep {
    if job.taskID != 0 {
      if tasks[job.taskID] == nil { taskWasCreated(job.taskID) }
      let task = tasks[job.taskID] ?? TaskTree.outside
      // Whoever resumes another task touches what that one waits for.
      return run.nextJob(of: task)
    }
    if let drain = ActorDrain(job.job) {
      let task = tasks[drain.firstTask] ?? TaskTree.outside
      run.isInQueue(task, of: number(of: drain))
      return run.nextDrain(of: task)
    }
    let task = UnownedTask.currentID.flatMap { tasks[$0] } ?? running ?? TaskTree.outside
    return run.nextOther(of: task)
  }

  func jobBegins(_ job: ReadyJob, at position: Int) {
    run.begin(at: position)
    running = job.taskID == 0 ? nil : tasks[job.taskID]
    details?.begins(job, of: running, tasks: tasks)
    guard job.taskID == 0, let drain = ActorDrain(job.job) else { return }
    let actor = number(of: drain)
    var next = drain.latest
    while let job = next {
      next = ActorDrain.job(before: job)
      guard let task = tasks[taskID(of: job)] else { continue }
      run.isInQueue(task, of: actor)
      run.isSeen(task)
    }
    run.touch(actor, by: run.currentStep)
  }

  func sleepBegins(_ number: UInt64, of task: UInt64) {
    wakes[number] = run.nextWake(of: tasks[task] ?? TaskTree.outside)
  }

  func sleepWakes(_ number: UInt64, of task: UInt64) {
    run.wake(wakes.removeValue(forKey: number) ?? run.nextWake(of: TaskTree.outside))
    running = nil
    run.touch(Shared.time, by: run.currentStep)
    details?.wakes()
  }

  private func number(of drain: ActorDrain) -> Int {
    if let number = actors[drain.actor] { return number }
    let number = actors.count + Shared.count
    actors[drain.actor] = number
    return number
  }

  func asked(_ question: TaskOwner.NondeterminismSource) {
    switch question {
    case .clock: witnesses.clockReadings += 1
    case .number: witnesses.randomReadings += 1
    case .outsideWork: witnesses.outsideWork += 1
    }
  }

  /// A task draws the same numbers in every run, whatever others do.
  func draw(for task: UInt64) -> UInt64? {
    let task = tasks[task] ?? TaskTree.outside
    let seed = run.tree.hash(of: ScheduleStep(.job, of: task, 0))
    return mixers[task, default: Mixer(seed: seed)].next()
  }

  // MARK: - Deciding

  func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int {
    var steps = ScratchBuffer<ScheduleStep>()
    let ready = run.ready
    for index in 0..<candidates.count {
      switch candidates[index] {
      case .job(let position, _, _): steps.append(ready[position])
      case .sleep(let number, let task):
        steps.append(wakes[number] ?? ScheduleStep(.wake, of: tasks[task] ?? TaskTree.outside, 0))
      }
    }
    return run.choose(steps)
  }
}

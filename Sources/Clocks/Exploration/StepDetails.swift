import ClocksSearch
import ClocksSupport

/// Details of each step of a run, for a report.
///
/// The details belong to the scheduler of the scope, whose lock guards them during the run.
final class StepDetails: @unchecked Sendable {
  struct Detail {
    var time: Duration
    /// The drained actor, as an index in `StepDetails.actors`.
    var actor: Int?
    /// The tasks in the queue of that actor, and the functions with which they continue.
    var queue: [(task: Int, functions: [UInt])] = []
    var isOnMain = false
    /// The functions with which the task continues, the innermost first.
    var functions: [UInt] = []
    /// The choices that were made in the step.
    var choices: [String] = []
  }

  private let virtualClock: VirtualClock
  private(set) var steps: [Detail] = []
  private(set) var names: [Int: String] = [:]
  /// The names of timed callbacks, by the steps that begin them, for example `queue "legacy"`.
  private(set) var callbacks: [ScheduleStep: String] = [:]
  /// The descriptions of choices, by the names of the choices.
  private(set) var choices: [ScheduleStep: String] = [:]
  /// The types of the actors that took part, in the order in which they were first drained.
  private(set) var actors: [String] = []
  private var numbers: [ObjectIdentifier: Int] = [:]
  /// The number of the step after which the first invariant fails.
  private(set) var failingStep: Int?
  let reader: TaskReader

  init(_ virtualClock: VirtualClock) {
    self.virtualClock = virtualClock
    reader = TaskReader(CodeImages())
  }

  /// Notes a job that is about to run. `index` returns the index of a task, by the id of the task.
  func begins(_ job: ReadyJob, of task: Int?, index: (UInt64) -> Int?) {
    var detail = Detail(time: virtualClock.now)
    // The task of a parked job is running, so it cannot be read.
    if job.taskID != 0, !job.isParked {
      if let task, names[task] == nil { names[task] = UnownedTask(job: job.job).name }
      detail.functions = reader.functions(of: job.job)
    } else if let drain = ActorDrain(job.job) {
      detail.actor = number(of: drain)
      detail.queue = drain.jobs.reversed().compactMap { job in
        index(taskID(of: job)).map { ($0, reader.functions(of: job)) }
      }
    }
    detail.isOnMain = job.executor == .main
    steps.append(detail)
  }

  /// Notes that an invariant fails after the latest step.
  func noteFailure() {
    if failingStep == nil, !steps.isEmpty { failingStep = steps.count - 1 }
  }

  private func number(of drain: ActorDrain) -> Int {
    let type = drain.typeName
    // An actor that no longer exists may have had the same address.
    if let number = numbers[drain.actor], actors[number] == type { return number }
    numbers[drain.actor] = actors.count
    actors.append(type)
    return actors.count - 1
  }

  /// Returns for example `Raft #2`, or the type alone if only one actor of that type took part.
  func name(ofActor number: Int) -> String {
    let type = actors[number]
    guard actors.count(where: { $0 == type }) > 1 else { return type }
    return "\(type) #\(actors[...number].count { $0 == type })"
  }

  /// The symbols of the functions with which tasks continue. Places name files if there are several.
  ///
  /// O(steps). A run records only addresses, because symbols are slow to look up.
  func symbols() -> Symbols {
    let stacks = Set(steps.flatMap { [$0.functions] + $0.queue.map(\.functions) })
    var symbols = Symbols(of: stacks.joined(), in: reader.images)
    symbols.nameFiles(ifSeveral: stacks)
    return symbols
  }

  /// Adds a text to the current step.
  ///
  /// - Parameter decision: The latest decision. Each choice and each fault that strikes is described immediately, so a
  ///   later text, such as that of a checkpoint, describes no decision.
  func describe(_ text: String, _ decision: ScheduleStep?) {
    if let decision, decision.kind == .choice || decision.kind == .fault, choices[decision] == nil {
      choices[decision] = text
    }
    if !steps.isEmpty { steps[steps.count - 1].choices.append(text) }
  }

  func names(_ step: ScheduleStep, _ callback: String) { callbacks[step] = callback }

  func wakes() { steps.append(Detail(time: virtualClock.now)) }
}

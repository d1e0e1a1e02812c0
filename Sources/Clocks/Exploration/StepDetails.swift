/// What each step of a run does, for a report.
///
/// It belongs to the scope's scheduler, whose lock guards it, as long as the run goes on.
final class StepDetails: @unchecked Sendable {
  /// A task that stands in the queue of an actor.
  struct Visitor {
    var task: Int
    /// The functions that go on when it has its turn, the innermost first.
    var functions: [UInt]
  }

  struct Detail {
    /// The scope's time when it begins.
    var time: Duration
    /// The actor whose queue is run, by the name of its type.
    var actor: String?
    /// The tasks that stand in that queue, the first one first.
    var externallyStartedJobs: [Visitor] = []
    var isOnMain = false
    /// The functions that go on in it, the innermost first.
    var functions: [UInt] = []
  }

  private let virtualClock: VirtualClock<Duration>
  nonisolated(unsafe) private(set) var steps: [Detail] = []
  /// The names that tasks were given.
  nonisolated(unsafe) private(set) var names: [Int: String] = [:]
  /// Where code is.
  let images = CodeImages()
  private let reading = TaskLayoutProbe.here
  /// `nil` if nothing can be read of a task.
  nonisolated(unsafe) private var reader: TaskReader?

  init(_ virtualClock: VirtualClock<Duration>) {
    self.virtualClock = virtualClock
    reader = reading.reader(images)
  }

  /// A job is about to run.
  ///
  /// - Parameter tasks: The index of each task, by its number.
  func begins(_ job: ReadyJob, of task: Int?, tasks: [UInt64: Int]) {
    var detail = Detail(time: virtualClock.now)
    if job.taskID != 0 {
      if let task, names[task] == nil { names[task] = UnownedTask(job: job.job).name }
      detail.functions = functions(of: job.job)
    } else if let drain = ActorDrain(job.job) {
      detail.actor = drain.typeName
      detail.externallyStartedJobs = drain.jobs.reversed().compactMap { job in
        tasks[taskID(of: job)].map { Visitor(task: $0, functions: functions(of: job)) }
      }
    }
    detail.isOnMain = job.executor == .main
    steps.append(detail)
  }

  func wakes() { steps.append(Detail(time: virtualClock.now)) }

  /// The functions that go on when a task that is ready does.
  private func functions(of task: UnownedJob) -> [UInt] {
    reader?.read(unsafeBitCast(task, to: UInt.self)).map { reading.cut($0).functions } ?? []
  }
}

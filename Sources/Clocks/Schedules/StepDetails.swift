/// What each step of a run does, for a report.
///
/// It belongs to the scope's scheduler, whose lock guards it, as long as the run goes on.
final class StepDetails: @unchecked Sendable {
  struct Detail {
    /// The scope's time when it begins.
    var time: Duration
    /// The actor whose queue is run, by the name of its type.
    var actor: String?
    /// The tasks that stand in that queue, the first one first.
    var visitors: [Int] = []
    var isOnMain = false
    /// The function in which the task goes on.
    var function: String?
  }

  private let timeline: Timeline<Duration>
  nonisolated(unsafe) private(set) var steps: [Detail] = []
  /// The names that tasks were given.
  nonisolated(unsafe) private(set) var names: [Int: String] = [:]

  init(_ timeline: Timeline<Duration>) {
    self.timeline = timeline
    // It is found out by making a task, which must not happen under the scheduler's lock.
    _ = TaskName.isReadable
  }

  /// A job is about to run.
  ///
  /// - Parameter tasks: The index of each task, by its number.
  func begins(_ job: ReadyJob, of task: Int?, tasks: [UInt64: Int]) {
    var detail = Detail(time: timeline.now)
    if job.taskID != 0 {
      if let task, names[task] == nil { names[task] = TaskName.of(job.job) }
    } else if let drain = ActorDrain(job.job) {
      detail.actor = drain.typeName
      detail.visitors = drain.tasks.reversed().compactMap { tasks[$0] }
    }
    detail.isOnMain = job.lane == .main
    steps.append(detail)
  }

  func wakes() { steps.append(Detail(time: timeline.now)) }
}

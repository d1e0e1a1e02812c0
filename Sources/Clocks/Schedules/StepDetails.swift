/// What each step of a run does, for a report.
final class StepDetails {
  struct Detail {
    /// The scope's time when it begins.
    var time: Duration
    /// The actor whose queue is run, by the name of its type.
    var actor: String?
    /// The tasks that stand in that queue, the first one first.
    var isOnMain = false
  }

  private let timeline: Timeline<Duration>
  private(set) var steps: [Detail] = []
  /// The names that tasks were given.
  private(set) var names: [Int: String] = [:]

  init(_ timeline: Timeline<Duration>) { self.timeline = timeline }

  func taskWasCreated(_ task: Int) {}

  func begins(_ job: ReadyJob, in run: ScheduleRun) {
    var detail = Detail(time: timeline.now)
    if job.taskID == 0 { detail.actor = ActorDrain(job.job)?.typeName }
    detail.isOnMain = job.lane == .main
    steps.append(detail)
  }

  func wakes(in run: ScheduleRun) { steps.append(Detail(time: timeline.now)) }
}

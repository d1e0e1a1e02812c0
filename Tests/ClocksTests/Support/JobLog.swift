@testable import Clocks

/// A log of the jobs that a scheduler runs.
///
/// An entry has the number of the job's task in the order of appearance, and the executor kind. So runs can be
/// compared although their tasks have different ids.
final class JobLog: EventListener {
  private let jobs = Log<(task: UInt64, executor: ExecutorKind)>()

  func hear(_ event: SchedulerEvent) {
    if case .jobBegan(let task, let executor) = event { jobs.add((task, executor)) }
  }

  var all: [String] {
    var numbers: [UInt64: Int] = [0: 0]
    return jobs.all.map { job in
      let number = numbers[job.task] ?? numbers.count
      numbers[job.task] = number
      return "\(number) \(job.executor)"
    }
  }
}

extension ReadyJob {
  /// A job of a task, for queues that do not run it.
  init(of taskID: UInt64, executor: ExecutorKind = .pool) {
    self.init(job: unsafeBitCast(8, to: UnownedJob.self), taskID: taskID, executor: executor)
  }

  static var none: ReadyJob { ReadyJob(of: 0) }
}

@testable import Clocks

/// Notes the jobs that a scheduler runs.
///
/// Each is noted as the number that its task has in the order of appearance, and its lane; so runs
/// can be compared although tasks have other ids in each.
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

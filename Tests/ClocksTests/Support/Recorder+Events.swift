import ClocksDrawing

@testable import Clocks

extension Recorder {
  var events: [RecordedEvent] {
    var all: [RecordedEvent] = []
    timeline.events.forEachEvent { all.append($0) }
    return all
  }

  /// The jobs that have begun.
  ///
  /// An entry has the number of the job's task in the order of appearance, and the executor kind. So runs can be
  /// compared although their tasks have different ids.
  var jobs: [String] {
    var numbers: [UInt64: Int] = [0: 0]
    return events.filter { $0.kind == .began }.map { job in
      let number = numbers[job.task] ?? numbers.count
      numbers[job.task] = number
      return "\(number) \(job.actor == 1 ? ExecutorKind.main : .pool)"
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

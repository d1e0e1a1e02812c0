import Foundation

/// A serial executor over a dispatch queue.
package final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "serial")

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}

/// A task executor over a dispatch queue: its jobs run on threads that no scheduler sees.
package final class QueueTaskExecutor: TaskExecutor {
  private let queue: DispatchQueue

  package init(isSerial: Bool = false) {
    queue = DispatchQueue(label: "pool", attributes: isSerial ? [] : .concurrent)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}

/// An event loop: one thread that runs the jobs of its queue, and never ends.
package final class LoopExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {
  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []

  /// - Parameters:
  ///   - isSerial: Whether actors use the executor; otherwise tasks prefer it.
  ///   - pause: How many microseconds pass before each job runs.
  package init(isSerial: Bool = true, pause: UInt32 = 0) {
    Thread.detachNewThread { [self] in
      while true {
        condition.lock()
        while jobs.isEmpty { condition.wait() }
        let job = jobs.removeFirst()
        condition.unlock()
        if pause > 0 { usleep(pause) }
        if isSerial {
          job.runSynchronously(on: asUnownedSerialExecutor())
        } else {
          job.runSynchronously(on: asUnownedTaskExecutor())
        }
      }
    }
  }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  package func asUnownedTaskExecutor() -> UnownedTaskExecutor {
    UnownedTaskExecutor(ordinary: self)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.withLock {
      jobs.append(job)
      condition.signal()
    }
  }
}

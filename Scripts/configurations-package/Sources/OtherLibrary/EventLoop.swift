import Foundation

/// A thread that runs jobs, in the manner of an event loop of SwiftNIO.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
  public static let shared = EventLoop()

  /// Guards the jobs.
  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []

  public init() {
    Thread.detachNewThread { [self] in
      while true {
        condition.lock()
        while jobs.isEmpty { condition.wait() }
        let job = jobs.removeFirst()
        condition.unlock()
        job.runSynchronously(on: asUnownedSerialExecutor())
      }
    }
  }

  public func enqueue(_ job: UnownedJob) {
    condition.lock()
    jobs.append(job)
    condition.signal()
    condition.unlock()
  }

  public func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job)) }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  public func asUnownedTaskExecutor() -> UnownedTaskExecutor {
    UnownedTaskExecutor(ordinary: self)
  }
}

/// An actor whose jobs run on an event loop.
public actor Channel {
  private let loop = EventLoop()
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  public private(set) var messages = 0

  public init() {}

  public func send() { messages += 1 }
}

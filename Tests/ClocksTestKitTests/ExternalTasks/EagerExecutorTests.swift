import Clocks
import ClocksTestKit
import Foundation
import Testing

/// A task executor that runs each job on another thread, and to its end, before it returns from `enqueue`.
///
/// So the first job of a task runs before the creation of the task has returned.
private final class EagerExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    let hasRun = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      job.runSynchronously(on: executor)
      hasRun.signal()
    }
    hasRun.wait()
  }
}

/// Tasks whose first job runs before they are known to the scheduler.
@Suite(.virtualTime, .timeLimit(.minutes(10))) struct EagerExecutorTests {
  @Test func aTaskSleepsInVirtualTime() async throws {
    let time = try #require(VirtualTime.current)
    let task = Task(executorPreference: EagerExecutor()) {
      for _ in 0..<5 { try await Task.sleep(for: .seconds(3600)) }
      return time.now.offset
    }
    #expect(try await task.value == .seconds(5 * 3600))
  }

  @Test func tasksOfAGroupSleepInVirtualTime() async throws {
    let time = try #require(VirtualTime.current)
    try await withThrowingTaskGroup(of: Duration.self) { group in
      for number in 1...5 {
        group.addTask(executorPreference: EagerExecutor()) {
          try await Task.sleep(for: .seconds(3600 * number))
          return time.now.offset
        }
      }
      var ends: [Duration] = []
      for try await end in group { ends.append(end) }
      #expect(ends == (1...5).map { .seconds(3600 * $0) })
    }
  }

  @Test func aChildInheritsTheExecutorAndSleepsInVirtualTime() async throws {
    let time = try #require(VirtualTime.current)
    let task = Task(executorPreference: EagerExecutor()) {
      async let first: Void = Task.sleep(for: .seconds(3600))
      try await first
      try await withThrowingTaskGroup { group in
        group.addTask { try await Task.sleep(for: .seconds(3600)) }
        try await group.waitForAll()
      }
      return time.now.offset
    }
    #expect(try await task.value == .seconds(2 * 3600))
  }
}

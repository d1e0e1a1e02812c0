import Clocks
import Dispatch
import Testing
import TimeoutTask

/// Work and operations start on their actor and stay there: no hop to another executor and back.
///
/// Each hop costs time, and lets others in between that came later.
@Suite struct ExecutorTests {
  /// Counts the jobs that an actor is given.
  private final class CountingExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "counting")
    let jobs = Log<Void>()

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.add(())
      queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  private actor Counted {
    private let executor = CountingExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The number of jobs that it takes to do something, that of coming here included.
    static func jobs(_ body: (isolated Counted) async throws -> Void) async rethrows -> Int {
      let actor = Counted()
      try await body(actor)
      return actor.executor.jobs.all.count
    }
  }

  @Test func aTimeoutTaskTakesAsManyJobsAsATask() async throws {
    let plain = try await Counted.jobs { actor in
      let task = Task<Int, any Error> {
        actor.assertIsolated()
        return 1
      }
      _ = try await task.value
    }
    for _ in 0..<100 {
      let ours = try await Counted.jobs { actor in
        let task = TimeoutTask(seconds: 60) {
          actor.assertIsolated()
          return 1
        }
        _ = try await task.value
      }
      #expect(ours == plain)
    }
    let inherited = try await Counted.jobs { actor in
      let task = Task<Int, any Error>.inheritingDeadline {
        actor.assertIsolated()
        return 1
      }
      _ = try await task.value
    }
    #expect(inherited == plain)
  }

  @Test func anOperationUnderADeadlineTakesAsManyJobsAsAChildTask() async throws {
    for _ in 0..<100 {
      let jobs = try await Counted.jobs { actor in
        try await withTimeout(.seconds(60)) { actor.assertIsolated() }
      }
      // To come here, to begin the operation, and to go on after it.
      #expect(jobs == 3)
    }
  }
}

import Clocks
import Dispatch
import TestTraits
import Testing
import TimeoutTask

/// Work and operations start on their actor, without a hop to another executor and back.
///
/// A hop costs time, and lets later jobs run first.
@Suite struct ExecutorTests {
  /// Counts the jobs of an actor.
  private final class CountingExecutor: SerialExecutor {
    private static let isCounting = DispatchSpecificKey<Bool>()
    private let queue = DispatchQueue(label: "counting")
    let jobs = Log<Void>()

    init() { queue.setSpecific(key: Self.isCounting, value: true) }

    /// Whether the current thread runs a job of such an executor.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: isCounting) == true }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.add(())
      queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  private actor Counted {
    private let executor = CountingExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Runs `body` after the current job, which ends at its first suspension.
    func afterThisJob(_ body: @Sendable @escaping () -> Void) {
      Task {
        preconditionIsolated()
        body()
      }
    }

    /// Returns the number of jobs that `body` takes, the first job on the actor included.
    static func jobs(_ body: (isolated Counted) async throws -> Void) async rethrows -> Int {
      let actor = Counted()
      try await body(actor)
      return actor.executor.jobs.all.count
    }
  }

  @Test func aTimeoutTaskTakesAsManyJobsAsATask() async throws {
    let plain = try await Counted.jobs { actor in
      let task = Task<Int, any Error> {
        actor.preconditionIsolated()
        return 1
      }
      _ = try await task.value
    }
    for _ in 0..<100 {
      let ours = try await Counted.jobs { actor in
        let task = TimeoutTask(seconds: 60) {
          actor.preconditionIsolated()
          return 1
        }
        _ = try await task.value
      }
      #expect(ours == plain)
    }
    let inherited = try await Counted.jobs { actor in
      let task = Task<Int, any Error>.inheritingDeadline {
        actor.preconditionIsolated()
        return 1
      }
      _ = try await task.value
    }
    #expect(inherited == plain)
  }

  /// Counts the jobs that run on no actor.
  private final class CountingPool: TaskExecutor {
    private let queue = DispatchQueue(label: "pool")
    let jobs = Log<Void>()

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.add(())
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  @Test func aValueIsAwaitedWithNoMoreHopsThanThatOfATask() async throws {
    /// Returns the number of jobs on the pool, while an actor waits for a value that comes later.
    func jobsOnThePool(_ waits: @Sendable @escaping (isolated Counted) async throws -> Void)
      async throws -> Int
    {
      let pool = CountingPool()
      _ = try await Task(executorPreference: pool) { try await Counted.jobs(waits) }.value
      return pool.jobs.all.count
    }
    let (plainValues, plainMore) = AsyncStream.makeStream(of: Void.self)
    let plain = try await jobsOnThePool { actor in
      let task = Task.detached { for await _ in plainValues { break } }
      actor.afterThisJob { plainMore.yield() }
      await task.value
    }
    let (values, more) = AsyncStream.makeStream(of: Void.self)
    let jobs = try await jobsOnThePool { actor in
      let task = TimeoutTask(seconds: 60) { for await _ in values { break } }
      actor.afterThisJob { more.yield() }
      try await task.value
    }
    #expect(jobs <= plain)
  }

  @Test(.unless(.callersIsolationTakesAJob))
  func anOperationUnderADeadlineTakesAsManyJobsAsAChildTask() async throws {
    for _ in 0..<100 {
      let jobs = try await Counted.jobs { actor in
        try await withTimeout(.seconds(60)) { actor.preconditionIsolated() }
      }
      // One each for the call, the operation, and the rest of the call.
      #expect(jobs == 3)
    }
  }

  /// A closure that uses nothing of its actor is not isolated to the actor by itself: it runs where the function that
  /// calls it runs.
  @Test func anOperationThatDoesNotUseItsActorRunsOnItsExecutor() async throws {
    typealias Places = [String: Bool]
    let places = Log<Places>()
    _ = try await Counted.jobs { _ in
      var runs: Places = [:]
      runs["withTimeout"] = try await withTimeout(.seconds(60)) { CountingExecutor.isCurrent }
      runs["withDeadline"] = try await withDeadline(.now + .seconds(60)) {
        CountingExecutor.isCurrent
      }
      runs["withTimeoutOrNil"] = await withTimeoutOrNil(.seconds(60)) { CountingExecutor.isCurrent }
      runs["withMovableTimeout"] = try await withMovableTimeout(.seconds(60)) { _ in
        CountingExecutor.isCurrent
      }
      runs["on a TestClock"] = try await withTimeout(.seconds(60), clock: TestClock()) {
        CountingExecutor.isCurrent
      }
      runs["withRetry"] = await withRetry { CountingExecutor.isCurrent }
      runs["after a hop"] = try await withTimeout(.seconds(60)) {
        await Task {}.value
        return CountingExecutor.isCurrent
      }
      places.add(runs)
    }
    #expect(places.all.first?.filter { !$0.value } == [:])
    #expect(places.all.first?.count == 7)
  }
}

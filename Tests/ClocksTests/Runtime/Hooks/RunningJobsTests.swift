import Foundation
import Testing

@testable import Clocks

/// The records of running jobs, which threads use without a lock.
@Suite struct RunningJobsTests {
  /// Returns the result of `body`, which runs on a thread that ends then.
  private func onNewThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async
    -> Result
  {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }

  private func isRunning(_ task: RetainedTask) -> Bool {
    RunningJobs.lock.withLock { RunningJobs.job(thatMayRun: task.job, before: .max) != nil }
  }

  @Test func aJobRunsUntilItHasEnded() async {
    let task = RetainedTask.any()
    let results = await onNewThread {
      let outer = ExternalTaskRegistry.beginJob(of: task.id)
      let inner = ExternalTaskRegistry.beginJob(of: task.id)
      let other = ExternalTaskRegistry.beginJob(of: .max)
      #expect(outer != inner && inner != other)
      let during = RunningJobs.lock.withLock {
        RunningJobs.job(thatMayRun: task.job, before: .max)
      }
      ExternalTaskRegistry.endJob(other)
      ExternalTaskRegistry.endJob(inner)
      let after = ExternalTaskRegistry.beginJob(of: task.id)
      ExternalTaskRegistry.endJob(after)
      ExternalTaskRegistry.endJob(outer)
      return (after == inner, during != nil)
    }
    #expect(results == (true, true))
    // Actor drains of other tests may run the task, as far as can be seen.
    #expect(await becomesTrue { !isRunning(task) })
  }

  /// A job belongs to the epoch in which it began, so later ones are not waited for.
  @Test func aJobHasTheEpochInWhichItBegan() async {
    let isOrdered = await onNewThread {
      let jobs = [ExternalTaskRegistry.beginJob(of: .max), ExternalTaskRegistry.beginJob(of: .max)]
      func epochs() -> [UInt64] { jobs.map { $0.pointee.epoch.load(ordering: .relaxed) } }
      ExternalTaskRegistry.endJob(jobs[1])
      let epoch = RunningJobs.beginEpoch()
      #expect(ExternalTaskRegistry.beginJob(of: .max) == jobs[1])
      let (first, second) = (epochs()[0], epochs()[1])
      ExternalTaskRegistry.endJob(jobs[1])
      let isFirstRunning = RunningJobs.lock.withLock { RunningJobs.isAny(before: epoch) }
      ExternalTaskRegistry.endJob(jobs[0])
      return 0 < first && first < epoch && epoch <= second && isFirstRunning && epochs() == [0, 0]
    }
    #expect(isOrdered)
  }

  @Test func aJobThatEndsItsThreadIsOver() async {
    let task = RetainedTask.any()
    await onNewThread { _ = ExternalTaskRegistry.beginJob(of: task.id) }
    #expect(await becomesTrue { !isRunning(task) })
  }

  /// Records are never freed, so a process with many short threads would need more and more memory.
  @Test func threadsUseTheRecordsOfThreadsThatHaveEnded() async {
    var records = Set<RunningJob>()
    for _ in 0..<200 {
      records.insert(
        await onNewThread {
          let job = ExternalTaskRegistry.beginJob(of: .max)
          ExternalTaskRegistry.endJob(job)
          return UInt(bitPattern: job)
        }.record)
    }
    // A thread may end after the next one has begun. Other tests have threads, too.
    #expect(records.count < 100)
  }

  /// The job that ends a yield has no task, like an actor drain.
  ///
  /// If members of test cases were checked after each yield, 50,000 tasks that yield would take nine times as long.
  @Test(.enabled(if: TaskStatus.yieldFunction != 0)) func noTaskSeemsToEndWhereAYieldEnds() async {
    let noted = await onNewThread {
      [
        Self.notesEnd { await Task.yield() },
        Self.notesEnd {
          await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            Task.detached { continuation.resume() }
          }
        },
      ]
    }
    #expect(noted == [false, true])
  }

  /// Whether a task seems to end in an actor drain that resumes a task, which is suspended in `body`.
  private static func notesEnd(_ body: @escaping @Sendable () async -> Void) -> Bool? {
    let task = ThreadContext.capturingNextJob { Task.detached(operation: body) }
    guard let task,
      let end = ThreadContext.capturingNextJob({ RuntimeHooks.run(task, on: .pool) })
    else { return nil }
    let thread = ThreadState.ofThread
    let outer = thread.pointee
    let drain = RunningJobs.begin(of: 0, on: thread)
    var place: UInt8 = 0
    thread.pointee.beginUnownedJob(drain, &place)
    RuntimeHooks.noteEndOfTask(on: thread, resuming: task)
    let isNoted = thread.pointee.mayHaveEndedTask
    thread.pointee.mayHaveEndedTask = false
    thread.pointee.endUnownedJob(within: outer)
    RunningJobs.end(drain)
    ThreadContext.runToEnd(end)
    return isNoted
  }
}

extension UInt {
  fileprivate var record: RunningJob { RunningJob(bitPattern: self)! }
}

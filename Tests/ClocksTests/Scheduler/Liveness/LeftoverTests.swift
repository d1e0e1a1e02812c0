import Dispatch
import Foundation
import Synchronization
import Testing

@testable import Clocks

/// Leftovers of scopes, and scopes within scopes.
@Suite struct LeftoverTests {
  /// Tasks that end, and are freed, while others are being cancelled.
  @Test func tasksThatEndElsewhereAreCancelledWhileTheyAreThere() async throws {
    let executor = QueueTaskExecutor()
    let cancelled = Tally()
    for _ in 0..<20 {
      try await withVirtualTime { time in
        let clock = time.clock
        Task {
          await withDiscardingTaskGroup { group in
            for _ in 0..<200 {
              group.addTask(executorPreference: executor) {
                do { try await clock.sleep(for: .seconds(20)) } catch { cancelled.add() }
              }
            }
            do { try await clock.sleep(for: .seconds(10)) } catch { cancelled.add() }
          }
        }
        try await time.waitForSleeps(atLeast: 201, timeout: .seconds(600))
      }
    }
    #expect(await becomesTrue { cancelled.value == 20 * 201 })
  }

  /// The runtime's job that was to end a sleep runs, although another task at first keeps the scope from being idle.
  @Test func theJobOfACancelledSleepRunsBesideALeftoverThatNeverIdles() async throws {
    let time = try await withVirtualTime { time in
      let scheduler = time.scheduler
      // Cancels the task after its sleep was registered, and before it is suspended.
      _ = scheduler.change { _ in
        scheduler.scope!.virtualClock.add { _ in withUnsafeCurrentTask { $0?.cancel() } }
      }
      _ = await Task { try await Task.sleep(for: .seconds(1)) }.result
      scheduler.change { $0.runaway.limits.jobs = 1_000 }
      Task { while !Task.isCancelled { await Task.yield() } }
      return time
    }
    let jobs = time.scheduler.change { $0.scope?.runtimeSleeps.takeCancelledEarly().count }
    #expect(jobs == 0)
  }

  /// The cancellation resumes the task on its executor. No scheduler sees there that a job becomes ready.
  @Test(.repeated(20)) func aSleepOnAnExecutorLeavesNothingWhenItIsCancelled() async throws {
    try await withVirtualTime { time in
      let task = Task(executorPreference: QueueTaskExecutor()) {
        try await Task.sleep(for: .seconds(3600))
      }
      await time.settle()
      #expect(time.clock.pendingSleeps.count == 1)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(time.clock.pendingSleeps.isEmpty)
      try await Task.sleep(for: .seconds(7200))
      #expect(time.now.offset == .seconds(7200))
    }
  }

  /// Thread B has found that the time of its task is virtual. Then thread A closes the scope, before or after thread B
  /// registers the sleep.
  @Test(arguments: [true, false])
  func aSleepThatBeginsWhileTheScopeClosesIsReal(isBefore: Bool) async throws {
    let scheduler = Scheduler(Scope(ScopeOptions()), origin: .here())
    var task: Task<Void, Never>?
    let job = ThreadContext.capturingNextJob { task = Task.detached {} }
    let delayed = DelayedJob(
      job: try #require(job), task: try #require(job), delay: .milliseconds(1), clock: .continuous)
    if isBefore { scheduler.closeScope() }
    ThreadContext.withoutContext { scheduler.sleepVirtually(delayed) }
    if !isBefore { scheduler.closeScope() }
    let woken = try #require(task)
    #expect(await unlessItHangs(seconds: 100) { await woken.value } != nil)
  }

  /// A sleep that a thread registers when nothing of the scope runs.
  @Test(.repeated(20)) func aSleepFromElsewhereMovesTime() async throws {
    try await withVirtualTime { time in
      let clock = TestClock()
      try await withTaskExecutorPreference(QueueTaskExecutor()) {
        for _ in 0..<5 {
          usleep(UInt32.random(in: 0..<300))
          try await clock.sleep(for: .seconds(1))
        }
      }
      #expect(time.now.offset == .seconds(5))
    }
  }

  @Test(.enabled(if: RuntimeClocks.isForAll.load(ordering: .relaxed)))
  func clocksDoNotGoBackInAScopeWithinAScope() async throws {
    try await withVirtualTime { _ in
      try await Task.sleep(for: .seconds(3600))
      let outer = (ContinuousClock.now, SuspendingClock.now, Date())
      try await withVirtualTime { _ in
        #expect(ContinuousClock.now == outer.0)
        #expect(SuspendingClock.now == outer.1)
        #expect(Date() == outer.2)
        try await Task.sleep(for: .seconds(60))
        #expect(ContinuousClock.now == outer.0 + .seconds(60))
      }
      #expect(ContinuousClock.now == outer.0)
    }
  }

  @Test(arguments: ["thread", "queue"])
  func aTaskThatWaitedForSleepsDoesNotKeepTheClock(_ elsewhere: String) async throws {
    weak var weakClock: TestClock<Duration>?
    do {
      let clock = TestClock()
      weakClock = clock
      let task = Task { try? await clock.sleep(for: .seconds(1)) }
      let sleepThere = { @Sendable in _ = Task { try? await clock.sleep(for: .seconds(1)) } }
      if elsewhere == "thread" {
        onAThread(sleepThere)
      } else {
        DispatchQueue(label: "legacy").async(execute: sleepThere)
      }
      try await clock.waitForSleeps(atLeast: 2, timeout: .seconds(600))
      await clock.advance(by: .seconds(1))
      await task.value
    }
    // The other task may still be on its way out.
    #expect(await becomesTrue { weakClock == nil })
  }
}

#if os(Linux) && compiler(>=6.3)
  import Foundation
  import XCTest

  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

  @testable import Clocks

  /// Tests that `RuntimeHooksTests` runs where the first clock installs the hooks. Otherwise they are skipped.
  final class LateHooksXCTests: XCTestCase {
    static let variable = "CLOCKS_TESTS_LATE_HOOKS"

    private var isAsked: Bool { ProcessInfo.processInfo.environment[Self.variable] != nil }

    @MainActor func testAClockMadeInAJobOfTheMainActor() async throws {
      try XCTSkipUnless(isAsked)
      if ThreadContext.current == nil { print("the hooks were not installed") }
      let clock = TestClock()
      let log = Log<Int>()
      Task.detached {
        for _ in 0..<100 { await Task.yield() }
        try await clock.sleep(for: .seconds(1))
        log.add(1)
      }
      // The scheduler waits for the end of this job, which it did not start.
      XCTAssertEqual(clock.scheduler.change { $0.idleness.externallyStartedJobs }, 1)
      XCTAssertEqual(clock.scheduler.change { $0.idleness.thread }, .none)
      await clock.settle()
      XCTAssertEqual(clock.scheduler.change { $0.idleness.externallyStartedJobs }, 0)
      XCTAssertEqual(clock.pendingSleeps.count, 1)
      XCTAssertEqual(log.all, [])
      await clock.advance(by: .seconds(1))
      XCTAssertEqual(log.all, [1])
    }

    func testPriorCustomExecutorsReceiveUnownedJobs() async throws {
      try XCTSkipUnless(isAsked)
      if ThreadContext.current == nil { print("the hooks were not installed") }
      let custom = CustomExecutors.shared
      _createExecutors(factory: CustomExecutors.self)
      guard SchedulerCapability.selfTest.seesMainActor else {
        // With `table` custom executors keep their methods, so jobs on the main actor are not seen.
        XCTAssertEqual(SchedulerCapability.missing.first, "the main actor")
        XCTAssertEqual(SchedulerCapability.current, .enqueueHook)
        return
      }
      XCTAssertEqual(SchedulerCapability.current, .executors)

      // Unowned tasks. They are not awaited, because that would raise their priorities.
      let (ids, found) = AsyncStream<UInt64>.makeStream()
      Task.detached(priority: .background) { found.yield(UnownedTask.currentID ?? 0) }
      let pooled = await ids.first { _ in true }
      XCTAssertEqual(pooled.map(custom.jobs), ["pool 9"])
      Task.detached(priority: .utility) { @MainActor @Sendable in
        found.yield(UnownedTask.currentID ?? 0)
      }
      let main = await ids.first { _ in true }
      XCTAssertEqual(main.map(custom.jobs), ["main 17"])

      // Owned tasks.
      let clock = TestClock()
      let log = Log<Int>()
      let task = Task { @MainActor in
        for tick in 1...3 {
          try await clock.sleep(for: .seconds(1))
          await Task.yield()
          log.add(tick)
        }
        return UnownedTask.currentID ?? 0
      }
      for tick in 1...3 {
        await clock.advance(by: .seconds(1))
        XCTAssertEqual(log.all.last, tick)
      }
      let own = try? await task.value
      XCTAssertEqual(own.map(custom.jobs), [])

      // The replaced main executor passes other calls on.
      await MainActor.run {
        MainActor.executor.checkIsolated()
        MainActor.executor.stop()
      }
      var expected = ["checkIsolated", "stop"]
      switch SchedulerCapability.selfTest.strategy {
      case "spi":
        _ = await DelayedActor(by: .milliseconds(5), .afterAWhile).visit()
        _ = await DelayedActor(by: .milliseconds(5), .atAnInstant).visit()
        expected += [
          "0.005 seconds on ContinuousClock", "at an instant of ContinuousClock",
          "at an instant of ContinuousClock",
        ]
      default: break
      }
      try? await Task.sleep(for: .milliseconds(5))
      XCTAssertEqual(custom.calls.all, expected)
    }
  }

  /// Executors that record the jobs that they receive, and pass them to the prior executors.
  private final class CustomExecutors: ExecutorFactory, Sendable {
    static let shared = CustomExecutors()
    static let mainExecutor: any MainExecutor = Main()
    static let defaultExecutor: any TaskExecutor = Pool()

    let calls = Log<String>()
    private let log = Log<(task: UInt64, what: String)>()
    private let priorMain = MainActor.executor
    private let priorPool = Task<Never, Never>.defaultExecutor

    private var prior: any SchedulingExecutor {
      guard let executor = priorPool as? any SchedulingExecutor else { fatalError("\(priorPool)") }
      return executor
    }

    func jobs(of task: UInt64) -> [String] {
      log.all.filter { $0.task == task }.map(\.what)
    }

    private final class Main: MainExecutor {
      func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        shared.log.add((taskID(of: job), "main \(job.priority.rawValue)"))
        shared.priorMain.enqueue(ExecutorJob(job))
      }

      func run() throws { try shared.priorMain.run() }

      func stop() { shared.calls.add("stop") }

      func checkIsolated() { shared.calls.add("checkIsolated") }
    }

    private final class Pool: TaskExecutor, SchedulingExecutor {
      func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        shared.log.add((taskID(of: job), "pool \(job.priority.rawValue)"))
        shared.priorPool.enqueue(job)
      }

      func enqueue<C: Clock>(
        _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
      ) {
        shared.calls.add("\(delay) on \(C.self)")
        shared.prior.enqueue(job, after: delay, tolerance: tolerance, clock: clock)
      }

      func enqueue<C: Clock>(
        _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
      ) {
        shared.calls.add("at an instant of \(C.self)")
        shared.prior.enqueue(job, at: instant, tolerance: tolerance, clock: clock)
      }
    }
  }
#endif

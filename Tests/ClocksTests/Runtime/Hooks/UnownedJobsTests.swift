import ClocksSupport
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import Clocks

/// The threads of jobs that belong to no test.
@Suite(.serialized) struct UnownedJobsTests {
  /// Lives as long as the process, as its queue needs it.
  private static func newJobs(priority: Int) -> UnownedJobs.Reference {
    let jobs = UnownedJobs.Reference.allocate(capacity: 1)
    jobs.initialize(to: UnownedJobs(priority: priority))
    return jobs
  }

  nonisolated(unsafe) private static let jobs = newJobs(priority: 21)

  /// As in the runtime, which has as many threads for the jobs of one priority as there are cores.
  @Test(.timeLimit(.minutes(10))) func asManyRunTogetherAsThereAreCores() async throws {
    let cores = ProcessInfo.processInfo.processorCount
    let begun = Tally()
    let mayEnd = DispatchSemaphore(value: 0)
    for _ in 0..<(cores * 2) {
      let body: @Sendable () -> Void = {
        begun.add()
        mayEnd.wait()
      }
      let job = ThreadContext.capturingNextJob { Task { body() } }
      UnownedJobs.submit(try ready(job), to: Self.jobs)
    }
    // Other tests use threads of Dispatch, too.
    while begun.value < cores { try await Task.sleep(for: .milliseconds(1)) }
    try await Task.sleep(for: .milliseconds(50))
    #expect(begun.value == cores)
    // As after the report of a blockage: now the jobs that wait begin, too.
    UnownedJobs.useMoreThreads(for: Self.jobs)
    while begun.value < cores * 2 { try await Task.sleep(for: .milliseconds(1)) }
    for _ in 0..<(cores * 2) { mayEnd.signal() }
  }

  /// Waits for a block of a serial queue, which needs a thread of Dispatch.
  private static func useSerialQueue() {
    let queue = DispatchQueue(label: "serial")
    let mayRun = DispatchSemaphore(value: 0)
    queue.async { mayRun.wait() }
    mayRun.signal()
    queue.sync {}
  }

  /// Runs an operation in more tasks than Dispatch has threads. If not all end, the process ends with code 3.
  private static func runInTasks(_ operation: @escaping @Sendable () async -> Void) async {
    Scheduler.jobBlocksThread()
    Thread.detachNewThread {
      sleep(300)
      exit(3)
    }
    await withTaskGroup { group in
      for _ in 0..<600 { group.addTask { await operation() } }
    }
  }

  /// Jobs never take a thread from serial queues, not even after a blockage was reported.
  @Test func jobsLeaveSerialQueuesTheirThreads() async {
    await #expect(processExitsWith: .success) {
      await Self.runInTasks { Self.useSerialQueue() }
    }
  }

  @Test func jobsOfScopesLeaveSerialQueuesTheirThreads() async {
    await #expect(processExitsWith: .success) {
      await Self.runInTasks { try? await withVirtualTime { _ in Self.useSerialQueue() } }
    }
  }

  /// Jobs that each run until `end` is called.
  private final class HeldJobs: Sendable {
    nonisolated(unsafe) static let jobs = newJobs(priority: 17)

    private let mayEnd = (0..<3).map { _ in DispatchSemaphore(value: 0) }
    private let begun = Tally()

    /// Submits a job, and returns when it has begun.
    func begin(_ number: Int) async throws {
      let body: @Sendable () -> Void = { [self] in
        begun.add()
        mayEnd[number].wait()
      }
      let job = ThreadContext.capturingNextJob { Task { body() } }
      let count = begun.value
      UnownedJobs.submit(try ready(job), to: Self.jobs)
      while begun.value == count { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// Waits for the jobs that are present.
    func wait() -> Wait { Wait(present: UnownedJobs.Present(in: [Self.jobs])) }

    /// Lets a job end. Its thread notes that after an unknown time.
    func end(_ number: Int) { mayEnd[number].signal() }
  }

  private final class Wait: Sendable {
    private let hasEnded = Atomic(false)

    init(present: UnownedJobs.Present) {
      ExternalTaskRegistry.wait(for: present, until: RealTime(in: .seconds(600))) {
        self.hasEnded.store(true, ordering: .relaxed)
      }
    }

    var isOver: Bool { hasEnded.load(ordering: .relaxed) }
  }

  /// A wait ends with the last of the jobs that were present when it began, in whatever order they end.
  ///
  /// Two of the jobs run together, so there have to be two cores. The test runs in a process of its own, because a wait
  /// is also for the running jobs of other tests.
  @Test(.enabled(if: ProcessInfo.processInfo.processorCount > 1), .timeLimit(.minutes(10)))
  func aWaitEndsWithTheJobsThatWerePresent() async {
    await #expect(processExitsWith: .success) {
      let held = HeldJobs()
      let ofNone = held.wait()
      #expect(await becomesTrue { ofNone.isOver })
      try await held.begin(0)
      let ofFirst = held.wait()
      try await held.begin(1)
      let ofBoth = held.wait()
      held.end(1)
      try await Task.sleep(for: .milliseconds(50))
      #expect(!ofFirst.isOver)
      #expect(!ofBoth.isOver)
      // Younger than both waits, so they do not wait for its end.
      try await held.begin(2)
      held.end(0)
      #expect(await becomesTrue { ofFirst.isOver && ofBoth.isOver })
      held.end(2)
    }
  }

  /// A task outside the test that waits, and then notes that it has run.
  private final class Outside: Sendable {
    let continuation = Mutex<UnsafeContinuation<Void, Never>?>(nil)
    let hasRun = Atomic(false)
    let isInTime = Atomic(false)

    func run() async {
      await withUnsafeContinuation { continuation in
        self.continuation.withLock { $0 = continuation }
      }
      hasRun.store(true, ordering: .releasing)
    }
  }

  /// A thread keeps a job only until its test has another job: that job may wait for the kept one.
  @Test(arguments: 0..<5) func aKeptJobDoesNotWaitForAnotherJob(_: Int) async throws {
    let outside = Outside()
    let task = Task.detached { await outside.run() }
    while outside.continuation.withLock({ $0 == nil }) {
      try await Task.sleep(for: .milliseconds(1))
    }
    try await withVirtualTime { _ in
      let last = Task {
        ThreadContext.keepingNextJob { outside.continuation.withLock(\.self)?.resume() }
      }
      let next = Task {
        // The job waits for a thread, which may be a long time, or is running.
        let limit = RealTime(in: .seconds(60))
        while !outside.hasRun.load(ordering: .acquiring), !UnownedJobs.isAnyWaiting {
          guard !limit.hasPassed else { return }
          sched_yield()
        }
        outside.isInTime.store(true, ordering: .relaxed)
      }
      await last.value
      await next.value
    }
    let wasInTime = outside.isInTime.load(ordering: .relaxed)
    #expect(wasInTime)
    await task.value
  }
}

private func ready(_ job: UnownedJob?) throws -> ReadyJob {
  let job = try #require(job)
  return ReadyJob(job: job, taskID: taskID(of: job), executor: .pool)
}

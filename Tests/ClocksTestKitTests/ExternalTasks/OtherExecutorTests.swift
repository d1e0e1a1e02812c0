import Clocks
import ClocksTestKit
import Foundation
import TestTraits
import Testing

/// A task executor that runs each job on a thread of its own.
private final class ThreadForEach: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    Thread.detachNewThread { job.runSynchronously(on: executor) }
  }
}

private actor Counter {
  private let executor: any SerialExecutor
  private(set) var count = 0

  init(_ executor: any SerialExecutor) { self.executor = executor }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func add() {
    work()
    count += 1
  }

  func tick(on clock: TestClock<Duration>) async throws {
    while true {
      try await clock.sleep(for: .seconds(1))
      add()
    }
  }

  func tickUninjected() async throws {
    while true {
      try await Task.sleep(for: .seconds(1))
      add()
    }
  }

  func takeAll(_ stream: AsyncStream<Int>) async {
    for await _ in stream { add() }
  }
}

private func work() {
  var number = 0
  for summand in 0..<20_000 { number &+= summand }
  withExtendedLifetime(number) {}
}

private let loop = LoopExecutor()
private let loopOfTheSearch = LoopExecutor()

private func executors() -> [any SerialExecutor] { [QueueExecutor(), loop] }

/// The promises hold while tasks run on other executors.
@Suite struct OtherExecutorTests {
  @Test(.repeated(20)) func anActorOnAnExecutorOfItsOwn() async throws {
    for executor in executors() {
      let clock = TestClock()
      let counter = Counter(executor)
      let task = Task { try await counter.tick(on: clock) }
      for second in 1...10 {
        await clock.advance(by: .seconds(1))
        #expect(await counter.count == second)
      }
      await clock.advance(by: .seconds(10))
      #expect(await counter.count == 20)
      task.cancel()
    }
  }

  @Test(.repeated(20)) func aStreamThatAnActorOnAnExecutorReads() async throws {
    for executor in executors() {
      let clock = TestClock()
      let seen = Tally()
      let counter = Counter(executor)
      let (stream, source) = AsyncStream<Int>.makeStream()
      let reader = Task { await counter.takeAll(stream) }
      Task {
        for second in 1...5 {
          try await clock.sleep(for: .seconds(1))
          source.yield(second)
          Task {
            await counter.add()
            seen.add()
          }
        }
      }
      for second in 1...5 {
        await clock.advance(by: .seconds(1))
        #expect(seen.value == second)
        #expect(await counter.count == 2 * second)
      }
      source.finish()
      await reader.value
    }
  }

  @Test(.repeated(20), .virtualTime) func aScopeAndAnActorOnAnExecutor() async throws {
    let time = try #require(VirtualTime.current)
    for executor in executors() {
      let start = time.now.offset
      let counter = Counter(executor)
      let task = Task { try await counter.tickUninjected() }
      try await Task.sleep(for: .seconds(10.5))
      #expect(await counter.count == 10)
      task.cancel()
      #expect(time.now.offset == start + .seconds(10.5))
    }
  }

  // MARK: - Tasks with an executor

  @Test(.repeated(20), .virtualTime(stuckAfter: .seconds(5)))
  func sleepsOnATestClock() async throws {
    let clock = TestClock()
    try await withTaskExecutorPreference(QueueTaskExecutor()) {
      for _ in 0..<5 {
        work()
        try await clock.sleep(for: .seconds(1))
      }
    }
    #expect(clock.now.offset == .seconds(5))
  }

  @Test(.repeated(20), .virtualTime(stuckAfter: .seconds(5)))
  func sleepsOnTheContinuousClock() async throws {
    let time = try #require(VirtualTime.current)
    try await withTaskExecutorPreference(QueueTaskExecutor()) {
      for _ in 0..<5 {
        work()
        try await Task.sleep(for: .seconds(1))
      }
    }
    #expect(time.now.offset == .seconds(5))
  }

  @Test(.repeated(20)) func aTaskThatPrefersAnExecutor() async throws {
    let clock = TestClock()
    let ticks = Tally()
    let task = Task(executorPreference: QueueTaskExecutor()) {
      while true {
        try await clock.sleep(for: .seconds(1))
        work()
        ticks.add()
        Task(executorPreference: QueueTaskExecutor()) {
          work()
          ticks.add()
        }
      }
    }
    for second in 1...10 {
      await clock.advance(by: .seconds(1))
      #expect(ticks.value == 2 * second)
    }
    task.cancel()
  }

  /// On a dispatch queue, whose blocks the scheduler sees, and on threads.
  private static let taskExecutors: [@Sendable () -> any TaskExecutor] = [
    { QueueTaskExecutor(isSerial: true) }, { ThreadForEach() },
  ]

  @Test(.virtualTime, arguments: taskExecutors.indices)
  func aDeadlineIsValidOnATaskExecutor(_ executor: Int) async throws {
    let time = try #require(VirtualTime.current)
    try await Task.sleep(for: .seconds(3600))
    let deadline = ContinuousClock.now + .seconds(10)
    try await withTaskExecutorPreference(Self.taskExecutors[executor]()) {
      #expect(ContinuousClock.now + .seconds(10) == deadline)
      try await Task.sleep(until: deadline, clock: .continuous)
    }
    #expect(time.now.offset == .seconds(3610))
  }

  @Test(.virtualTime, arguments: taskExecutors.indices)
  func aSleepOnATaskExecutorIsExact(_ executor: Int) async throws {
    let time = try #require(VirtualTime.current)
    try await withTaskExecutorPreference(Self.taskExecutors[executor]()) {
      try await Task.sleep(for: .seconds(1))
    }
    #expect(time.now.offset == .seconds(1))
  }

  /// Each sleep is registered by a thread when nothing else of the scope runs.
  @Test(.repeated(20), .virtualTime(stuckAfter: .seconds(5)))
  func sleepsOnThreads() async throws {
    let clock = TestClock()
    try await withTaskExecutorPreference(ThreadForEach()) {
      for _ in 0..<5 {
        work()
        try await clock.sleep(for: .seconds(1))
        try await Task.sleep(for: .seconds(1))
      }
    }
    #expect(clock.now.offset == .seconds(10))
  }

  /// The last job of each run is on a thread of the executor, which runs no other job for the search.
  @Test(.timeLimit(.minutes(10))) func aSearchOnAnExecutorEnds() async throws {
    for executor in [QueueExecutor(), loopOfTheSearch] as [any SerialExecutor] {
      let summary = try await Searcher(executor).search()
      #expect(summary?.isComplete == true)
    }
  }
}

private actor Searcher {
  private let executor: any SerialExecutor

  init(_ executor: any SerialExecutor) { self.executor = executor }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func search() async throws -> ScheduleSummary? {
    try await withSchedules(10) { _ in
      self.preconditionIsolated()
      // Nothing else runs meanwhile: a search cannot choose when an executor of the user runs a job.
      try await Task.sleep(for: .seconds(1))
    }
  }
}

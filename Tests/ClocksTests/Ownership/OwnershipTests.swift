import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

#if os(Linux)
  import CDispatch
#endif

@globalActor private actor Quiet { static let shared = Quiet() }

/// Which tasks belong to a test, and what becomes of all others.
@Suite struct OwnershipTests {
  @Test func everyKindOfTaskIsTheTests() async {
    let clock = TestClock()
    let log = Log<String>()
    @Sendable func work(_ name: String) async {
      try? await clock.sleep(for: .seconds(1))
      await Task.yield()
      log.add(name)
    }
    let parent = Task(name: "parent") {
      async let child: Void = work("async let")
      await withTaskGroup { group in
        group.addTask { await work("group") }
      }
      await withDiscardingTaskGroup { group in
        group.addTask { await work("discarding group") }
      }
      await child
    }
    Task { await work("Task") }
    Task.detached { await work("detached") }
    Task.detached(priority: .background) { await work("background") }
    Task.immediate { await work("immediate") }
    Task { @MainActor in await work("main actor") }
    await clock.advance(by: .seconds(1))
    #expect(
      log.all.sorted() == [
        "Task", "async let", "background", "detached", "group", "immediate", "main actor",
      ])
    await clock.advance(by: .seconds(1))
    #expect(log.all.last == "discarding group")
    await parent.value
  }

  /// An actor drain of one test may run a task of another test that has no clock yet.
  @Test func anUnknownOlderTaskIsNotTheOwnersWhoseThreadRunsIt() {
    let older = UnownedTask.newestID()
    let clock = TestClock()
    let scheduler = clock.scheduler
    #expect(TaskOwnership.shared.owner(of: older, on: scheduler) !== scheduler)
    #expect(
      TaskOwnership.shared.owner(of: UnownedTask.newestID() + 1_000_000_000, on: scheduler)
        === scheduler)
  }

  @Test func aTaskThatOtherCodeMakesOnAnActorIsNotTheOwnersWhoseThreadRunsIt() async {
    let clock = TestClock()
    let resume = AsyncStream.makeStream(of: Void.self)
    let (id, task) = await withCheckedContinuation { made in
      onAThread {
        let task = Task { @Quiet in for await _ in resume.stream {} }
        made.resume(returning: (RetainedTask.retaining(task).id, task))
      }
    }
    #expect(TaskOwnership.shared.owner(of: id, on: clock.scheduler) !== clock.scheduler)
    resume.continuation.finish()
    await task.value
  }

  @Test func tasksOfActorsAreTheTests() async {
    actor Model {
      let clock: TestClock<Swift.Duration>
      var ticks = 0
      init(_ clock: TestClock<Swift.Duration>) { self.clock = clock }
      func start() {
        Task {
          while true {
            try await clock.sleep(for: .seconds(1))
            for _ in 0..<50 { await Task.yield() }
            ticks += 1
          }
        }
      }
    }
    let clock = TestClock()
    let model = Model(clock)
    await model.start()
    for tick in 1...10 {
      await clock.advance(by: .seconds(1))
      #expect(await model.ticks == tick)
    }
  }

  @Test func anImmediateTaskAndWhatItStartsAreTheTests() async {
    let clock = TestClock()
    let log = Log<String>()
    let (stream, source) = AsyncStream<Int>.makeStream()
    Task.immediate {
      log.add("begun")
      Task { log.add("child") }
      for await value in stream { log.add("\(value)") }
    }
    #expect(log.all == ["begun"])
    await clock.settle()
    #expect(log.all == ["begun", "child"])
    source.yield(1)
    await clock.settle()
    #expect(log.all == ["begun", "child", "1"])
    source.finish()
  }

  #if os(Linux)
    /// Memory that was freed usually still holds what it held. In the child process it is overwritten.
    ///
    /// The first clock of a test reads the number of a task that is over. With a wrong number, the test's tasks would
    /// not be its own.
    @Test func noTaskIsReadAfterItWasFreed() async throws {
      let child = try await ChildProcess.runTests(
        "OwnershipTests/(everyKindOfTaskIsTheTests|tasksOfActorsAreTheTests)",
        environment: ["GLIBC_TUNABLES": "glibc.malloc.perturb=190:glibc.malloc.tcache_count=0"])
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      #expect(child.standardOutput.contains("with 2 tests in 1 suite passed"))
    }
  #endif

  @Test func anUnownedTaskJoinsWhenItSleepsOnTheClock() async throws {
    let log = Log<String>()
    let (clocks, giveClock) = AsyncStream<TestClock<Swift.Duration>>.makeStream()
    // Started before there is a clock, so it is unowned.
    let early = Task {
      for await clock in clocks {
        for tick in 1...3 {
          try await clock.sleep(for: .seconds(1))
          for _ in 0..<100 { await Task.yield() }
          log.add("\(tick)")
        }
        return
      }
    }
    let clock = TestClock()
    giveClock.yield(clock)
    try await clock.waitForSleeps(timeout: .seconds(600))
    for tick in 1...3 {
      await clock.advance(by: .seconds(1))
      #expect(log.all.count == tick)
    }
    try await early.value
  }

  @Test func anUnownedTestJoinsWhenItAdvancesTheClock() async {
    // The clock is made by a child, so the parent is unowned at first.
    let clock = await Task.detached { TestClock() }.value
    let log = Log<Int>()
    await clock.settle()
    Task {
      for tick in 1...3 {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<100 { await Task.yield() }
        log.add(tick)
      }
    }
    for tick in 1...3 {
      await clock.advance(by: .seconds(1))
      #expect(log.all.last == tick)
    }
  }

  @Test func aTaskResumedByAThreadStaysTheTests() async throws {
    let clock = TestClock()
    let log = Log<Int>()
    for number in 0..<20 {
      Task {
        await withCheckedContinuation { continuation in
          onAThread { continuation.resume() }
        }
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<50 { await Task.yield() }
        log.add(number)
      }
    }
    try await clock.waitForSleeps(atLeast: 20, timeout: .seconds(600))
    await clock.advance(by: .seconds(1))
    #expect(log.all.sorted() == Array(0..<20))
  }

  @Test func aTaskStartedInAJobThatBeganBeforeTheHooksWereInstalledIsTheTests() async {
    let clock = TestClock()
    let log = Log<String>()
    ThreadContext.withoutContext {
      Task {
        for _ in 0..<100 { await Task.yield() }
        try await clock.sleep(for: .seconds(1))
        log.add("woken")
      }
    }
    await clock.settle()
    #expect(clock.pendingSleeps.count == 1)
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["woken"])
  }

  // MARK: - One at a time

  @Test(.repeated(20)) func aTestsTasksNeverRunAtTheSameTime() async {
    let clock = TestClock()
    let running = Log<Int>()
    nonisolated(unsafe) var jobs = 0
    nonisolated(unsafe) var depth = 0
    for number in 0..<50 {
      Task.detached { @Sendable in
        for _ in 0..<20 {
          // Unprotected on purpose: it is only right if nothing else of this test runs.
          depth += 1
          if depth != 1 { running.add(number) }
          jobs += 1
          depth -= 1
          await Task.yield()
        }
        try await clock.sleep(for: .seconds(1))
        jobs += 1
      }
    }
    await clock.advance(by: .seconds(1))
    #expect(running.all == [])
    #expect(jobs == 50 * 21)
  }

  @Test func nothingRunsBeforeTheTestFirstAwaits() async {
    _ = TestClock()
    let clock = TestClock()
    let log = Log<Int>()
    let tasks = (0..<100).map { number in Task.detached { log.add(number) } }
    var sum = 0
    for number in 0..<1_000_000 { sum &+= number }
    #expect(sum > 0 && log.all == [])
    // Awaits that the clock does not see by itself.
    for task in tasks { await task.value }
    #expect(log.all == Array(0..<100))
    withExtendedLifetime(clock) {}
  }

  // MARK: - Unowned tasks

  @Test func unrelatedWorkIsUnharmed() async throws {
    // This task makes no clock. Other tests do at the same time, and so do some of the tasks below.
    let start = ContinuousClock.now
    let counter = Counter()
    await withTaskGroup { group in
      for number in 0..<4_000 {
        group.addTask(priority: [.background, .utility, .medium, .high][number % 4]) {
          if number % 100 == 0 {
            await Task.detached {
              let clock = TestClock()
              let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
              await clock.advance(by: .seconds(1))
              try? await sleeper.value
            }.value
          }
          await Task.yield()
          if number % 10 == 0 { try? await Task.sleep(for: .milliseconds(5)) }
          if number % 3 == 0 { await MainActor.run { MainActor.preconditionIsolated() } }
          await counter.increment()
        }
      }
    }
    #expect(await counter.count == 4_000)
    #expect(ContinuousClock.now - start >= .milliseconds(5))
  }

  #if os(Linux)
    /// The queues are those that the runtime uses without this package.
    ///
    /// In a process of its own: while another test occupies a thread for long, unowned tasks go to other queues.
    @Test(.unless(.otherQueues)) func anUnownedTaskIsOnTheQueueOfItsPriority() async {
      await #expect(processExitsWith: .success) {
        let queues: [(TaskPriority, DispatchQoS.QoSClass)] = [
          (TaskPriority(rawValue: 33), .userInteractive), (.high, .userInitiated),
          (.medium, .default), (.low, .utility), (.background, .background),
          (TaskPriority(rawValue: 0), .default),
        ]
        for (priority, quality) in queues {
          // Not awaited: that would raise its priority.
          let label = await withCheckedContinuation { continuation in
            _ = Task.detached(priority: priority) {
              dispatchPrecondition(condition: .onQueue(.global(qos: quality)))
              continuation.resume(returning: String(cString: dispatch_queue_get_label(nil)))
            }
          }
          #expect(label == "Swift global concurrent queue")
        }
      }
    }
  #endif

  @Test func unownedMainActorWorkIsOnTheMainThread() async {
    _ = TestClock()
    await Task.detached {
      await MainActor.run {
        MainActor.preconditionIsolated()
        dispatchPrecondition(condition: .onQueue(.main))
        MainActor.assumeIsolated {}
      }
    }.value
  }

  @Test func mainActorWorkOfATestIsOnTheMainThread() async {
    let clock = TestClock()
    let task = Task { @MainActor in
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(1))
        MainActor.preconditionIsolated()
        dispatchPrecondition(condition: .onQueue(.main))
      }
    }
    await clock.advance(by: .seconds(3))
    await #expect(throws: Never.self) { try await task.value }
  }

  @Test func realSleepsOfATestGoOn() async throws {
    let clock = TestClock()
    let start = ContinuousClock.now
    try await Task.sleep(for: .milliseconds(5))
    try await Task { @MainActor in try await Task.sleep(for: .milliseconds(5)) }.value
    #expect(ContinuousClock.now - start >= .milliseconds(10))
    #expect(clock.now.offset == .zero)
  }
}

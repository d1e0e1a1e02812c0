import Foundation
import TestTraits
import Testing

@testable import Clocks

@globalActor private actor Elsewhere { static let shared = Elsewhere() }

/// Tasks that a test starts before it has a clock: all of them belong to the test.
@Suite struct EarlyTaskTests {
  /// The first test that runs makes the clock, or one of its tasks does.
  @Suite(.serialized) struct OfASuite {
    private static let clock = TestClock()

    @Test(arguments: 0..<20) func sleepsASecond(_: Int) async {
      let woken = Tally()
      let task = Task {
        try? await Self.clock.sleep(for: .seconds(1))
        woken.add()
      }
      await Self.clock.advance(by: .seconds(1))
      #expect(woken.value == 1)
      await task.value
    }
  }

  @Test(arguments: 0..<50) func begunBeforeTheClockIsMade(_: Int) async {
    let (clocks, give) = AsyncStream.makeStream(of: TestClock<Duration>.self)
    let log = Log<String>()
    let early = Task {
      for await clock in clocks {
        for _ in 0..<10 { await Task.yield() }
        try? await clock.sleep(for: .seconds(1))
        log.add("early")
      }
    }
    let detached = Task.detached {
      await Task {
        await early.value
        log.add("detached")
      }.value
    }
    for _ in 0..<3 { await Task.yield() }
    let clock = TestClock()
    give.yield(clock)
    give.finish()
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["early", "detached"])
    await detached.value
  }

  /// A task that outlives the test's first clock. Nothing in the test resumes it.
  @Test(arguments: 0..<10, [false, true])
  func aTaskThatRunsOnWithoutAClockBelongsToTheNextOneOfItsTest(_: Int, suspends: Bool) async {
    let log = Log<Int>()
    func start() -> Task<Void, Never> {
      withExtendedLifetime(TestClock()) {
        Task {
          for _ in 0..<10_000 { await Task.yield() }
          log.add(1)
        }
      }
    }
    let task = start()
    if suspends { await Task.detached {}.value }
    let clock = TestClock()
    await clock.settle()
    #expect(log.all == [1])
    await task.value
    withExtendedLifetime(clock) {}
  }

  @Test(arguments: 0..<20) func aTestCaseIsKnown(_: Int) throws {
    #expect(TestCaseMembership.isTestCase(try #require(UnownedTask.currentID)))
  }

  #if os(Linux) && canImport(Glibc)
    /// A task is known as soon as its job reaches the hooks. Its creator may continue only after the task's first job
    /// has begun.
    @Test(arguments: [false, true]) func aTestCaseIsKnownBeforeItsFirstJob(hasOwner: Bool) {
      let clock = hasOwner ? TestClock() : nil
      var tasks: [RetainedTask] = []
      let made = TaskCreation.makeTestCase {
        tasks.append(.any())
        #expect(TestCaseMembership.isTestCase(tasks[0].id))
        return .init(task: tasks[0].job, context: nil)
      }
      #expect(TestCaseMembership.isTestCase(taskID(of: made.task)))
      // A task that is made after that is not a test case.
      #expect(!TestCaseMembership.isTestCase(RetainedTask.any().id))
      withExtendedLifetime((clock, tasks)) {}
    }
  #endif

  #if os(Linux) && canImport(Glibc)
    /// Two test cases without a clock share an object. A task of the older one resumes a task of the younger one.
    @Test func aTaskStaysInItsTestCaseWhenAnotherOneResumesIt() async throws {
      let (end, give) = AsyncStream.makeStream(of: Void.self)
      let (tasks, note) = AsyncStream.makeStream(of: RetainedTask.self)
      var other: Task<Void, Never>?
      _ = TaskCreation.makeTestCase {
        let task = Task {
          let waiting = Task { for await _ in end {} }
          note.yield(.retaining(waiting))
          await waiting.value
        }
        other = task
        return .init(task: RetainedTask.retaining(task).job, context: nil)
      }
      let waiting = try #require(await tasks.first { _ in true })
      #expect(TestCaseMembership.isMember(waiting.id))
      // What the hooks do when the current task resumes one that no owner has seen yet.
      #expect(TestCaseMembership.hasMade(waiting.job, isCertain: false) == nil)
      let clock = TestClock()
      #expect(TaskOwnership.shared.owner(of: waiting.id) !== clock.scheduler)
      give.finish()
      await other?.value
    }
  #endif

  @Test func nothingKeepsATaskOfATestCaseThatIsOver() async {
    final class Result: Sendable {}
    weak var result: Result?
    do {
      let made = await Task { Result() }.value
      result = made
      #expect(result != nil)
    }
    // The thread of the task may not have released it yet.
    #expect(await becomesTrue { result == nil })
  }

  /// The executor pauses, so that the task is noted before it ends.
  @Test func nothingKeepsATaskThatHasEndedOnAnExecutor() async {
    final class Result: Sendable {}
    weak var result: Result?
    do {
      let executor = LoopExecutor(isSerial: false, pause: 20_000)
      let made = await Task(executorPreference: executor) { Result() }.value
      result = made
      #expect(result != nil)
    }
    // The thread of the task may not have released it yet.
    #expect(await becomesTrue { result == nil })
  }

  /// In a process without clocks. Where there are many tests, or an actor works for a test with a clock, the result is
  /// released later.
  @Test func nothingKeepsATaskThatHasEndedOnAnActor() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "EndOnActorSample", environment: [ChildVariable.endOnActor: "1"])
    #expect(child.exitCode == 0, "\(child)")
    #expect(child.standardError.contains("Test run with 1 test"), "\(child)")
  }

  /// In a process without clocks.
  @Test func aTaskIsNotedAlthoughItsExecutorResumesAnother() async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "ResumingExecutorSample", environment: [ChildVariable.resumingExecutor: "1"])
    #expect(child.exitCode == 0, "\(child)")
    #expect(child.standardError.contains("Test run with 1 test"), "\(child)")
  }

  #if os(Linux) && canImport(Glibc)
    /// An owner may adopt the task while the job runs. Its status alone does not show that.
    @Test(arguments: [false, true])
    func aJobOnAnExecutorHasARecordWhileItsTaskIsUnowned(isAnyOwner: Bool) async {
      // Another task makes the clock, so the test does not own it.
      let clock = isAnyOwner ? await Task.detached { TestClock() }.value : nil
      let (hasOwner, hasRecord) = await Task(executorPreference: LoopExecutor(isSerial: false)) {
        guard let task = UnownedTask.current else { return (true, false) }
        let job = RunningJobs.lock.withLock {
          RunningJobs.job(thatMayRun: task.job, before: .max)
        }
        return (TaskOwnership.shared.owner(of: task.id) != nil, job != nil)
      }.value
      #expect(!hasOwner)
      #expect(hasRecord)
      withExtendedLifetime(clock) {}
    }
  #endif

  /// Another thread may run a task to its end before the task is noted.
  @Test func aTaskThatIsOverWhenItIsNotedIsNotKept() async {
    final class Result: Sendable {}
    weak var result: Result?
    do {
      // A task that is made on a thread, outside tasks and blocks, is not noted.
      let task = await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: Task { Result() }) }
      }
      result = await task.value
      #expect(result != nil)
      #expect(TestCaseMembership.hasMade(unsafeBitCast(task, to: UnownedJob.self)) == nil)
      withExtendedLifetime(task) {}
    }
    // The other threads may not have released it yet.
    #expect(await becomesTrue { result == nil })
  }

  #if os(Linux) && canImport(Glibc)
    /// In a process of its own, where the job on the executor begins while there is no clock.
    @Test func noTaskRunsBesideAJobOnAnExecutorThatMakesTheFirstClock() async {
      await #expect(processExitsWith: .success) {
        await Task(executorPreference: LoopExecutor(isSerial: false)) {
          let clock = TestClock()
          let log = Log<Int>()
          let task = Task.detached { log.add(1) }
          usleep(100_000)
          #expect(log.all.isEmpty)
          await clock.settle()
          #expect(log.all == [1])
          await task.value
        }.value
      }
    }
  #endif
}

@Suite(.onlyInChild(ChildVariable.endOnActor)) struct EndOnActorSample {
  /// The job pauses, so that the task is noted before it ends.
  @Test func nothingKeepsTheTask() async {
    final class Result: Sendable {}
    weak var result: Result?
    do {
      let made = await Task { @Elsewhere in
        usleep(20_000)
        return Result()
      }.value
      result = made
      #expect(result != nil)
    }
    // The thread of the task may not have released it yet.
    #expect(await becomesTrue { result == nil })
  }
}

@Suite(.onlyInChild(ChildVariable.resumingExecutor)) struct ResumingExecutorSample {
  private final class Executor: TaskExecutor {
    let willEnqueue: @Sendable () -> Void

    init(_ willEnqueue: @escaping @Sendable () -> Void) { self.willEnqueue = willEnqueue }

    func enqueue(_ job: consuming ExecutorJob) {
      willEnqueue()
      let job = UnownedJob(job)
      DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  /// The executor resumes an older task before it takes the job of the new one.
  @Test func theTaskIsNoted() async {
    let (resumptions, resume) = AsyncStream.makeStream(of: Void.self)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let older = Task { for await _ in resumptions {} }
    // The older task waits for a resumption.
    usleep(100_000)
    let executor = Executor { resume.yield() }
    let task = Task(executorPreference: executor) { for await _ in ends {} }
    #expect(TestCaseMembership.isMember(RetainedTask.retaining(task).id))
    #expect(TestCaseMembership.isMember(RetainedTask.retaining(older).id))
    end.finish()
    await task.value
    resume.finish()
    await older.value
  }
}

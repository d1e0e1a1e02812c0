import Foundation
import Synchronization
import Testing

@testable import Clocks

/// When an external task counts as returned.
@Suite struct ExternalTaskRegistryTests {
  private final class Owner: TaskOwner, @unchecked Sendable {
    let back = AsyncStream.makeStream(of: UInt64.self)
    let log = Log<UInt64>()
    let absences = Log<UInt64>()
    let rechecks = Log<UInt64>()

    override func recheckExternalTasks() {
      recheckBegins()
      rechecks.add(0)
    }

    override func externalTaskReturned(_ task: UInt64, _ absence: UInt64, wasOver: Bool) {
      log.add(task)
      absences.add(absence)
      back.continuation.yield(task)
    }
  }

  /// Returns a task that sleeps for a second.
  private func sleepingTask(
    on clock: TestClock<Duration>
  ) async throws -> (task: Task<Void, any Error>, handle: RetainedTask) {
    let handles = AsyncStream.makeStream(of: RetainedTask.self)
    let task = Task {
      handles.continuation.yield(try #require(UnownedTask.current?.retainedIfReadable))
      try await clock.sleep(for: .seconds(1))
    }
    await clock.settle()
    return (task, try #require(await handles.stream.first { _ in true }))
  }

  /// The status of a task says "suspended" a moment before the task is suspended. If the task is resumed in that
  /// moment, it continues.
  @Test func aTaskIsNotBackBeforeItsOwnJobHasEnded() async throws {
    let clock = TestClock()
    let owner = Owner(isVirtual: false)
    let (task, handle) = try await sleepingTask(on: clock)
    #expect(!TaskStatus(of: handle.job).isActive)

    let job = ExternalTaskRegistry.beginJob(of: handle.id)
    try #require(ExternalTaskRegistry.add(handle, of: owner, onlyOwnerCanTell: false) != nil)
    ExternalTaskRegistry.checkTasks()
    #expect(owner.log.all == [])
    ExternalTaskRegistry.endJob(job)
    // The task is back immediately, or when the actor drains that other tests ran at that moment have ended.
    #expect(await owner.back.stream.first { _ in true } == handle.id)

    await clock.advance(by: .seconds(1))
    try await task.value
  }

  /// A job of a task that begins and ends once in each round, on a thread of its own.
  private final class JobInRounds: Sendable {
    private let mayBegin = Atomic(0)
    private let begun = Atomic(0)
    private let mayEnd = Atomic(0)
    private let ended = Atomic(0)

    init(of task: UInt64, rounds: Int) {
      Thread.detachNewThread { [self] in
        for round in 1...rounds {
          wait { mayBegin.load(ordering: .acquiring) == round }
          let job = ExternalTaskRegistry.beginJob(of: task)
          begun.store(round, ordering: .releasing)
          wait { mayEnd.load(ordering: .acquiring) == round }
          ExternalTaskRegistry.endJob(job)
          ended.store(round, ordering: .releasing)
        }
      }
    }

    /// Runs `body` while the job ends.
    func run<Result>(_ round: Int, _ body: () -> Result) -> Result {
      mayBegin.store(round, ordering: .releasing)
      wait { begun.load(ordering: .acquiring) == round }
      mayEnd.store(round, ordering: .releasing)
      let result = body()
      wait { ended.load(ordering: .acquiring) == round }
      return result
    }

    private func wait(until condition: () -> Bool) {
      var looks = 0
      while !condition() {
        looks += 1
        if looks > 1_000 { sched_yield() }
      }
    }
  }

  /// Thread A ends a job without a lock, while thread B notes that the job's task may be external.
  ///
  /// In a process of its own, because each job of another test makes the same check, and would find what thread A has
  /// lost.
  @Test func noReturnIsLostWhileATaskIsAdded() async {
    await #expect(processExitsWith: .success) {
      let owner = Owner(isVirtual: false)
      let (_, handle) = try await ExternalTaskRegistryTests().sleepingTask(on: TestClock())
      let rounds = 30_000
      let job = JobInRounds(of: handle.id, rounds: rounds)
      var added = 0
      for round in 1...rounds {
        let number = job.run(round) {
          for _ in 0..<round % 50 { _ = handle.id }
          return ExternalTaskRegistry.add(handle, of: owner, onlyOwnerCanTell: false)
        }
        guard let number else { continue }
        added += 1
        // The watchdog's thread may be about to check, so that thread A does not.
        for _ in 0..<200 where owner.absences.all.last != number { usleep(1_000) }
        try #require(owner.absences.all.last == number, "lost in round \(round)")
      }
      #expect(added > 0)
    }
  }

  /// In a process of its own, because a job of another test may keep some of the tasks from being back.
  @Test func tasksReturnInTheOrderInWhichTheyWereAdded() async {
    await #expect(processExitsWith: .success) {
      let owner = Owner(isVirtual: false)
      let (_, handle) = try await ExternalTaskRegistryTests().sleepingTask(on: TestClock())
      let job = ExternalTaskRegistry.beginJob(of: handle.id)
      var numbers: [UInt64] = []
      for _ in 0..<9 {
        let number = ExternalTaskRegistry.add(handle, of: owner, onlyOwnerCanTell: false)
        numbers.append(try #require(number))
      }
      for place in [8, 4, 0] { ExternalTaskRegistry.remove(numbers.remove(at: place)) }
      // A number that is not known.
      ExternalTaskRegistry.remove(numbers[0] - 1)
      ExternalTaskRegistry.endJob(job)
      #expect(await becomesTrue { owner.absences.all.count == numbers.count })
      #expect(owner.absences.all == numbers)
    }
  }

  /// Hundreds of threads may check together. While thread A rechecks and thread B is about to, thread C leaves it to
  /// thread B.
  @Test func anOwnerIsNotRecheckedWhileAnotherThreadIsAboutTo() async throws {
    let clock = TestClock()
    let owner = Owner(isVirtual: false)
    let (task, handle) = try await sleepingTask(on: clock)
    #expect(owner.mustRecheck())
    let number = try #require(
      ExternalTaskRegistry.add(handle, of: owner, onlyOwnerCanTell: true))
    ExternalTaskRegistry.checkTasks()
    #expect(owner.rechecks.all == [])
    owner.recheckBegins()
    ExternalTaskRegistry.checkTasks()
    // By this thread, or by one of another test.
    #expect(await becomesTrue { !owner.rechecks.all.isEmpty })
    ExternalTaskRegistry.remove(number)

    await clock.advance(by: .seconds(1))
    try await task.value
  }

  /// The thread that ran a task may not have left it yet, so the test waits for it. But the task does nothing more.
  @Test func aSuspendedTaskIsWaitedForAndNotRecorded() async throws {
    let clock = TestClock()
    let (task, handle) = try await sleepingTask(on: clock)

    let owner = Owner(isVirtual: false)
    var tasks = ExternalTasks()
    tasks.noteMayRunExternally(handle, mayHaveRun: true, hasAsyncLets: false)
    let job = ExternalTaskRegistry.beginJob(of: handle.id)
    let seen = tasks.verify(for: owner) { _ in false }.external
    #expect(seen == [])
    #expect(tasks.external == 1)
    ExternalTaskRegistry.endJob(job)
    #expect(await owner.back.stream.first { _ in true } == handle.id)

    await clock.advance(by: .seconds(1))
    try await task.value
  }

  /// How often a suspended task is waited for depends on other tests, so a recording has no trace of it.
  @Test func theReturnOfASuspendedTaskIsNotRecorded() async throws {
    let clock = TestClock()
    let (task, handle) = try await sleepingTask(on: clock)
    let recorder = Recorder()
    clock.scheduler.change { $0.recorder = recorder }

    let job = ExternalTaskRegistry.beginJob(of: handle.id)
    clock.scheduler.taskMayRunExternally(handle.job)
    clock.scheduler.verifyExternalTasks()
    #expect(clock.scheduler.change { $0.idleness.externalTasks.external } >= 1)
    ExternalTaskRegistry.endJob(job)
    await clock.settle()
    #expect(clock.scheduler.change { $0.idleness.externalTasks.external } == 0)
    let changes = recorder.events.filter { $0.kind == .becameExternal || $0.kind == .returned }
    #expect(changes == [])

    await clock.advance(by: .seconds(1))
    try await task.value
  }

  private final class Result: Sendable {
    let isFreed: @Sendable () -> Void
    init(isFreed: @escaping @Sendable () -> Void) { self.isFreed = isFreed }
    deinit { isFreed() }
  }

  /// Lets a task that is over count as external, because a job of it seems to run. Returns the job.
  private func jobOfEndedTask(
    on clock: TestClock<Duration>, isFreed: @escaping @Sendable () -> Void
  ) async throws -> RunningJob {
    let handles = AsyncStream.makeStream(of: RetainedTask.self)
    Task {
      handles.continuation.yield(try #require(UnownedTask.current?.retainedIfReadable))
      return Result(isFreed: isFreed)
    }
    await clock.settle()
    let handle = try #require(await handles.stream.first { _ in true })
    try #require(handle.isOver)
    let job = ExternalTaskRegistry.beginJob(of: handle.id)
    clock.scheduler.taskMayRunExternally(handle.job)
    clock.scheduler.verifyExternalTasks()
    return job
  }

  /// A `deinit` of its result may resume a task.
  @Test func aTaskThatIsOverIsFreedBeforeTheTestMayBeIdle() async throws {
    let clock = TestClock()
    let external = Log<Int>()
    let scheduler = clock.scheduler
    let job = try await jobOfEndedTask(on: clock) {
      external.add(scheduler.change { $0.idleness.externalTasks.external })
    }
    #expect(external.all == [])
    ExternalTaskRegistry.endJob(job)
    await clock.settle()
    #expect(external.all.count == 1 && external.all.allSatisfy { $0 > 0 })
  }

  /// When the owner is notified of the task's return, a drain may have run the task again, to its end.
  ///
  /// The drain belongs to another test. Its thread may still resume a task that waits for the ended one.
  @Test func aTaskThatHasEndedSinceItsReturnIsCheckedAgain() async throws {
    let clock = TestClock()
    let scheduler = clock.scheduler
    let job = try await jobOfEndedTask(on: clock) {}
    let id = RunningJobs.task(of: job)
    func absence() throws -> UInt64 {
      let state = scheduler.change { $0.idleness.externalTasks.state(of: id) }
      guard case .external(let absence) = state else { throw CancellationError() }
      return absence
    }
    let first = try absence()
    ExternalTaskRegistry.remove(first)
    scheduler.externalTaskReturned(id, first, wasOver: false)
    scheduler.verifyExternalTasks()
    #expect(try absence() > first)
    ExternalTaskRegistry.endJob(job)
    await clock.settle()
    #expect(scheduler.change { $0.idleness.externalTasks.state(of: id) } == .none)
  }
}

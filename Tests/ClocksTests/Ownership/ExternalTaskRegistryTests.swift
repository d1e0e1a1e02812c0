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

    override func externalTaskReturned(_ task: UInt64, _ absence: UInt64) {
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
    ExternalTaskRegistry.look()
    #expect(owner.log.all == [])
    ExternalTaskRegistry.endJob(job)
    // Immediately, or when the actor drains of other tests have ended that ran at that moment.
    #expect(await owner.back.stream.first { _ in true } == handle.id)

    await clock.advance(by: .seconds(1))
    try await task.value
  }

  /// Thread A ends a job without a lock, while thread B notes that the job's task may be external.
  @Test func noReturnIsLostWhileATaskIsAdded() async throws {
    let clock = TestClock()
    let owner = Owner(isVirtual: false)
    let (task, handle) = try await sleepingTask(on: clock)
    for round in 0..<3_000 {
      let number = addWhileAJobEnds(handle, owner, delay: round % 40)
      guard let number else { continue }
      // By thread A, or by a thread of another test.
      let isBack = await becomesTrue { owner.absences.all.last == number }
      try #require(isBack, "round \(round)")
    }

    await clock.advance(by: .seconds(1))
    try await task.value
  }

  private func addWhileAJobEnds(_ handle: RetainedTask, _ owner: Owner, delay: Int) -> UInt64? {
    let hasBegun = Atomic(false)
    let mayEnd = Atomic(false)
    nonisolated(unsafe) var number: UInt64?
    DispatchQueue.concurrentPerform(iterations: 2) { index in
      if index == 0 {
        let job = ExternalTaskRegistry.beginJob(of: handle.id)
        hasBegun.store(true, ordering: .releasing)
        // With one thread, the other call begins when this one has ended.
        for _ in 0..<1_000 where !mayEnd.load(ordering: .acquiring) {}
        ExternalTaskRegistry.endJob(job)
      } else {
        for _ in 0..<1_000 where !hasBegun.load(ordering: .acquiring) {}
        mayEnd.store(true, ordering: .releasing)
        for _ in 0..<delay { _ = hasBegun.load(ordering: .acquiring) }
        number = ExternalTaskRegistry.add(handle, of: owner, onlyOwnerCanTell: false)
      }
    }
    return number
  }

  /// Hundreds of threads may look together. A third one would find what the second one finds.
  @Test func anOwnerIsNotRecheckedWhileAnotherThreadIsAboutTo() async throws {
    let clock = TestClock()
    let owner = Owner(isVirtual: false)
    let (task, handle) = try await sleepingTask(on: clock)
    #expect(owner.mustRecheck())
    let number = try #require(
      ExternalTaskRegistry.add(handle, of: owner, onlyOwnerCanTell: true))
    ExternalTaskRegistry.look()
    #expect(owner.rechecks.all == [])
    owner.recheckBegins()
    ExternalTaskRegistry.look()
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
}

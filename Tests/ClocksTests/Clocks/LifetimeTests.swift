import Testing

@testable import Clocks

@globalActor private actor Elsewhere { static let shared = Elsewhere() }

/// The scheduler of a test, and what is stored about its tasks, ends with its clocks.
@Suite struct LifetimeTests {
  /// Runs a small test: a clock, tasks that sleep, an advance.
  private static func smallTest() async -> WeakScheduler {
    await Task.detached {
      let clock = TestClock()
      let tasks = (0..<3).map { number in
        Task {
          try await clock.sleep(for: .seconds(number))
          await MainActor.run {}
        }
      }
      await clock.advance(by: .seconds(3))
      for task in tasks { try? await task.value }
      return WeakScheduler(clock.scheduler)
    }.value
  }

  private struct WeakScheduler: @unchecked Sendable {
    weak var scheduler: Scheduler?
    init(_ scheduler: Scheduler) { self.scheduler = scheduler }
  }

  @Test func aSchedulerEndsWithTheLastOfItsClocks() async {
    var remaining: [WeakScheduler] = []
    for _ in 0..<1_000 { remaining.append(await Self.smallTest()) }
    // The thread of a small test may not have ended yet. On a busy machine that takes long.
    #expect(await becomesTrue { remaining.allSatisfy { $0.scheduler == nil } })
  }

  private static let loop = LoopExecutor(isSerial: false)

  /// The job in which a task ends may be that of an actor, or may not pass through the hooks.
  @Test(arguments: [false, true])
  func aTaskThatHasEndedElsewhereIsFreedWhileTheTestRuns(isOnActor: Bool) async {
    final class Result: Sendable {}
    let clock = TestClock()
    weak var result: Result?
    do {
      let task =
        isOnActor
        ? Task { @Elsewhere in Result() } : Task(executorPreference: Self.loop) { Result() }
      result = await task.value
    }
    await clock.settle()
    // If another test's job seemed to run the task, that job's thread may not have released it yet.
    #expect(await becomesTrue { result == nil })
    withExtendedLifetime(clock) {}
  }

  @Test func tasksAreForgottenWithTheirScheduler() async {
    let ownership = TaskOwnership()
    let scheduler = Scheduler(origin: .here())
    ownership.retain(scheduler, newestTask: { 10 })
    for id in 11...1_000 as ClosedRange<UInt64> {
      #expect(ownership.owner(ofReadyJob: id, on: scheduler).owner === scheduler)
    }
    #expect(ownership.census == (1, 990))
    ownership.release(scheduler)
    #expect(ownership.census == (0, 0))
    #expect(ownership.isEmpty)
  }

  /// A newer scheduler makes no difference to what the older one has to know.
  @Test func anUnownedTaskIsRememberedWhileASchedulerIsOlder() {
    let ownership = TaskOwnership()
    let (older, newer) = (Scheduler(origin: .here()), Scheduler(origin: .here()))
    ownership.retain(older, newestTask: { 0 })
    #expect(ownership.owner(ofReadyJob: 1, on: nil).owner == nil)
    ownership.retain(newer, newestTask: { 10_000 })
    for id in stride(from: UInt64(10_001), to: 100_000, by: 1_000) {
      #expect(ownership.owner(ofReadyJob: id, on: nil).owner == nil)
    }
    #expect(ownership.owner(ofReadyJob: 1, on: older).owner == nil)
    ownership.release(older)
    ownership.release(newer)
    ownership.checkInvariants()
  }

  @Test func unownedTasksAreRememberedWhileAnOwnerIsBeingRegistered() {
    let ownership = TaskOwnership()
    let (older, newer) = (Scheduler(origin: .here()), Scheduler(origin: .here()))
    ownership.retain(older) {
      // Another thread registers an owner, and runs tasks, before this one stores the older watermark.
      ownership.retain(newer, newestTask: { 1_000_000 })
      for id in stride(from: UInt64(100), to: 1_000_000, by: 10_000) {
        #expect(ownership.owner(ofReadyJob: id, on: nil).owner == nil)
      }
      return 0
    }
    #expect(ownership.owner(ofReadyJob: 100, on: older).owner == nil)
    ownership.release(older)
    ownership.release(newer)
    ownership.checkInvariants()
  }

  @Test func unownedTasksAreForgottenWhenNoSchedulerIsOlder() {
    let ownership = TaskOwnership()
    var id: UInt64 = 0
    var previous: Scheduler?
    for _ in 0..<100 {
      // There is always a scheduler, but none of them is old.
      let scheduler = Scheduler(origin: .here())
      ownership.retain(scheduler, newestTask: { id })
      if let previous { ownership.release(previous) }
      previous = scheduler
      for _ in 0..<1_000 {
        id += 1
        #expect(ownership.owner(ofReadyJob: id, on: nil).owner == nil)
      }
    }
    #expect(ownership.unownedBytes <= 16 * 512)
    ownership.checkInvariants()
    // The younger ones are remembered: a test that resumes one does not own it.
    #expect(ownership.owner(ofReadyJob: id, on: previous).owner == nil)
    if let previous { ownership.release(previous) }
  }

  @Test func manyUnownedTasksYoungerThanASchedulerAreRemembered() {
    let ownership = TaskOwnership()
    let scheduler = Scheduler(origin: .here())
    ownership.retain(scheduler, newestTask: { 100 })
    let strangers = 1...5_000 as ClosedRange<UInt64>
    for id in strangers { #expect(ownership.owner(ofReadyJob: id, on: nil).owner == nil) }
    for id in strangers { #expect(ownership.owner(ofReadyJob: id, on: scheduler).owner == nil) }
    ownership.release(scheduler)
  }

  @Test func aTaskOlderThanTheSchedulerIsNotItsOwnUnlessItIsBeingCreated() {
    let ownership = TaskOwnership()
    let scheduler = Scheduler(origin: .here())
    ownership.retain(scheduler, newestTask: { 10 })
    #expect(ownership.owner(ofReadyJob: 7, on: scheduler).owner == nil)
    #expect(ownership.claim(7, for: scheduler))
    #expect(ownership.owner(ofReadyJob: 7, on: nil).owner === scheduler)
    #expect(ownership.owner(ofReadyJob: 8, on: scheduler, isFirst: true).owner === scheduler)
    ownership.release(scheduler)
  }

  /// The hooks do not see tasks while there is no owner. Ownership knows them by their age.
  @Test func theNewestTaskIsAskedForWhenThereIsAnOwner() {
    let ownership = TaskOwnership()
    let owner = Scheduler(origin: .here())
    let other = Scheduler(origin: .here())
    ownership.retain(owner) {
      #expect(!ownership.isEmpty)
      // Until the owner's age is known, it owns only tasks that are claimed for it, and no unowned task is forgotten.
      #expect(ownership.owner(ofReadyJob: 8, on: owner).owner == nil)
      for id in 1...20 as ClosedRange<UInt64> {
        #expect(ownership.owner(ofReadyJob: id * 10_000, on: nil).owner == nil)
      }
      // Another thread may continue before this one, and knows the age.
      ownership.retain(owner, newestTask: { 9 })
      #expect(ownership.owner(ofReadyJob: 11, on: owner).owner === owner)
      return 9
    }
    ownership.release(owner)
    #expect(ownership.owner(ofReadyJob: 8, on: owner).owner == nil)
    #expect(ownership.owner(ofReadyJob: 10_000, on: owner).owner == nil)
    #expect(ownership.owner(ofReadyJob: 10, on: owner).owner === owner)
    ownership.retain(other) {
      #expect(ownership.owner(ofReadyJob: 200_001, on: other).owner == nil)
      return 200_001
    }
    ownership.retain(other) {
      Issue.record("it is known already")
      return 0
    }
    #expect(ownership.owner(ofReadyJob: 200_002, on: other).owner === other)
    for owner in [owner, other, other] { ownership.release(owner) }
    #expect(ownership.isEmpty)
    ownership.checkInvariants()
  }

  @Test func theSchedulerOfThreadsOwnsWhatUsesItsClocksAndLivesAsLongAsThey() {
    let ownership = TaskOwnership()
    func retain() -> TaskOwner {
      ownership.retainOwnerOfThreads(newestTask: { 10 }, make: { Scheduler(origin: .here()) })
    }
    let first = retain()
    #expect(retain() === first)
    #expect(ownership.owner(ofReadyJob: 11, on: nil).owner == nil)
    #expect(ownership.claim(12, for: first))
    #expect(ownership.owner(ofReadyJob: 12, on: nil).owner === first)
    ownership.release(first)
    #expect(retain() === first)
    for _ in 0..<2 { ownership.release(first) }
    #expect(ownership.isEmpty)
    let second = retain()
    #expect(second !== first)
    ownership.release(second)
    ownership.checkInvariants()
  }

  @Test func unownedJobsBelongToTheProcessWideOwnerWhileItIsAwake() {
    let ownership = TaskOwnership()
    let own = Scheduler(origin: .here())
    ownership.retain(own, newestTask: { 10 })
    #expect(ownership.claim(11, for: own))
    let wide = ownership.retainProcessWide { Scheduler(origin: .here()) }
    #expect(ownership.retainProcessWide { Scheduler(origin: .here()) } === wide)
    // Dormant: three unowned jobs are under way, and one of them ends.
    #expect(ownership.owner(ofReadyJob: 5, on: nil).owner == nil)
    for _ in 0..<3 { #expect(ownership.unownedJobWillRun()) }
    #expect(ownership.unownedJobHasRun() == nil)
    let isOver = Tally()
    #expect(ownership.wake(wide, for: (7, { isOver.value > 0 })).jobs == 2)
    #expect(ownership.wake(wide, for: (7, { isOver.value > 0 })).jobs == 0)
    #expect(ownership.wake(own, for: (7, { false })).jobs == 0)
    #expect(ownership.owner(ofReadyJob: 5, on: nil).owner === wide)
    #expect(ownership.owner(ofReadyJob: 6, on: nil).owner === wide)
    #expect(ownership.owner(ofReadyJob: 0, on: nil).owner === wide)
    #expect(ownership.owner(ofReadyJob: 11, on: wide).owner === own)
    #expect(ownership.owner(ofReadyJob: 12, on: own).owner === own)
    #expect(ownership.unownedJobHasRun() === wide)
    // Dormant again: it still waits for jobs that began while it was awake, and for no new ones.
    isOver.add()
    #expect(ownership.owner(ofReadyJob: 5, on: nil).owner == nil)
    #expect(ownership.unownedJobWillRun())
    #expect(ownership.wake(wide, for: (8, { isOver.value > 1 })).jobs == 1)
    #expect(ownership.unownedJobHasRun() === wide)
    #expect(ownership.unownedJobHasRun() === wide)
    ownership.checkInvariants()
    ownership.release(wide)
    #expect(ownership.owner(ofReadyJob: 5, on: nil).owner === wide)
    ownership.release(wide)
    #expect(ownership.owner(ofReadyJob: 6, on: nil).owner == nil)
    #expect(!ownership.unownedJobWillRun())
    ownership.release(own)
    #expect(ownership.isEmpty)
  }

  /// A task that outlives the test's first clock, and that the test resumes when it has made another one.
  @Test(arguments: 0..<10, [false, true])
  func aTaskThatOutlivesAClockBelongsToTheNextOneOfItsTest(_: Int, suspends: Bool) async {
    let (values, give) = AsyncStream.makeStream(of: Int.self)
    let log = Log<Int>()
    func start() async -> Task<Void, Never> {
      let clock = TestClock()
      let loop = Task {
        for await value in values {
          for _ in 0..<1_000 { await Task.yield() }
          log.add(value)
        }
      }
      await clock.settle()
      return loop
    }
    let loop = await start()
    // If the test suspends without a clock, it becomes unowned, and the next clock has another scheduler.
    if suspends { await Task.detached {}.value }
    let clock = TestClock()
    give.yield(1)
    await clock.settle()
    #expect(log.all == [1])
    give.finish()
    await loop.value
  }

  @Test func aLeftoverOfATestUnderWayIsOnlyThatTests() {
    var leftovers = LeftoverTasks()
    #expect(leftovers.add([1, 2], madeFor: 7) { false }.isEmpty)
    #expect(leftovers.add([3]) { false }.isEmpty)
    #expect(leftovers.removeIfTestOver(1, orMadeFor: 8) == nil)
    #expect(leftovers.removeIfTestOver(1, orMadeFor: 7) != nil)
    #expect(leftovers.removeIfTestOver(1, orMadeFor: 7) == nil)
    // Owners whose makers are not known do not belong together.
    #expect(leftovers.removeIfTestOver(3, orMadeFor: 0) == nil)
  }

  @Test func leftoversThatAreReplacedAreReturned() {
    var leftovers = LeftoverTasks()
    #expect(leftovers.add([1, 2]) { false }.isEmpty)
    #expect(leftovers.add([2, 3]) { true }.map { $0() } == [false])
    #expect(leftovers.removeIfTestOver(1) == nil)
    #expect(leftovers.removeIfTestOver(2) != nil)
    #expect(leftovers.removeIfTestOver(2) == nil)
  }

  @Test func leftoversDoNotRetainATestThatIsOver() {
    final class Over: Sendable {}
    var leftovers = LeftoverTasks()
    weak var first: Over?
    weak var second: Over?
    do {
      let (over, underWay) = (Over(), Over())
      (first, second) = (over, underWay)
      _ = leftovers.add([1]) { withExtendedLifetime(over) { true } }
      _ = leftovers.add([2]) { withExtendedLifetime(underWay) { false } }
    }
    #expect(first == nil)
    _ = leftovers.add([3]) { true }
    #expect(second != nil)
    #expect(leftovers.removeIfTestOver(1) != nil)
    #expect(leftovers.removeIfTestOver(2) == nil)
  }

  @Test func anUnownedJobMayOutliveTheProcessWideOwnerOfItsBeginning() {
    let ownership = TaskOwnership()
    let first = ownership.retainProcessWide { Scheduler(origin: .here()) }
    for _ in 0..<3 { #expect(ownership.unownedJobWillRun()) }
    ownership.release(first)
    #expect(ownership.unownedJobHasRun() == nil)
    let second = ownership.retainProcessWide { Scheduler(origin: .here()) }
    // The second owner is dormant, so it does not wait for the second job. When it wakes, it waits for the third.
    #expect(ownership.unownedJobHasRun() == nil)
    #expect(ownership.wake(second, for: (7, { false })).jobs == 1)
    #expect(ownership.unownedJobHasRun() === second)
    #expect(ownership.unownedJobWillRun())
    #expect(ownership.unownedJobHasRun() == nil)
    ownership.release(second)
    #expect(ownership.isEmpty)
  }
}

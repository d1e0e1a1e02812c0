import Clocks
import Synchronization
import TestTraits
import Testing
import TimeoutTask

/// Rules that have to hold when tasks run in parallel.
///
/// A test clock would run the tasks of a test one after another, so no test here makes one. A fault
/// would appear by chance, so each test tries often.
@Suite struct ParallelTests {
  @Test func theTimerIsOnTheClockBeforeTheWorkRuns() async throws {
    for _ in 0..<1000 {
      let clock = HandFiredClock()
      let task = TimeoutTask(timeout: .seconds(1), clock: clock) { clock.isSleeping }
      #expect(try await task.value)
      #expect(!clock.isSleeping)
    }
  }

  @Test func theTimerIsOnTheClockBeforeTheOperationBegins() async throws {
    for _ in 0..<1000 {
      let clock = HandFiredClock()
      #expect(try await withTimeout(.seconds(1), clock: clock) { clock.isSleeping })
      #expect(!clock.isSleeping)
    }
  }

  @Test func withoutTimeTheOperationBeginsCancelled() async throws {
    for _ in 0..<1000 { #expect(try await withTimeout(.zero) { Task.isCancelled }) }
  }

  @Test func onAnImmediateClockAllWorkBeginsCancelled() async throws {
    for _ in 0..<testCount() / 20 {
      #expect(try await withTimeout(.seconds(1), clock: ImmediateClock()) { Task.isCancelled })
      #expect(try await withTimeout(.seconds(1), clock: YieldingClock()) { Task.isCancelled })
      #expect(await Self.workBeginsCancelled(ImmediateClock()))
      #expect(await Self.workBeginsCancelled(YieldingClock()))
    }
  }

  /// A clock whose sleeps end immediately, although its time does not move.
  private struct StillClock: Clock {
    let now = ContinuousClock.now
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
  }

  @Test func workBeginsCancelledIfTheSleepOfItsTimerHasEnded() async {
    for _ in 0..<testCount() / 10 {
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<50 { group.addTask { await Self.workBeginsCancelled(StillClock()) } }
        for await beginsCancelled in group { #expect(beginsCancelled) }
      }
    }
  }

  /// Thread A escalates a task while thread B adds the task to those that wait for the work.
  @Test func anEscalationAtAnyMomentReachesTheWork() async throws {
    final class Flag: Sendable { let isSet = Atomic(false) }
    let threads = RacingThreads(1)
    defer { threads.end() }
    for round in 0..<500 {
      let task = TimeoutTask(seconds: 600, priority: .background) {
        for _ in 0..<10_000 {
          if Task.currentPriority >= .high { break }
          try await Task.sleep(for: .milliseconds(1))
        }
        return Task.currentPriority
      }
      let begins = Flag()
      let waiter = Task(priority: .background) {
        begins.isSet.store(true, ordering: .relaxed)
        return try await task.value
      }
      await threads.run { _ in
        while !begins.isSet.load(ordering: .relaxed) {}
        for _ in 0..<round % 100 { _ = begins.isSet.load(ordering: .relaxed) }
        waiter.escalatePriority(to: .high)
      }
      try #require(await waiter.value >= .high)
    }
  }

  /// A clock that reaches each deadline immediately, but whose sleep is suspended for a moment.
  private final class YieldingClock: Clock {
    private let base = ImmediateClock()

    var now: ImmediateClock<Duration>.Instant { base.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ImmediateClock<Duration>.Instant, tolerance: Duration?) async throws
    {
      try await base.sleep(until: deadline)
      await Task.yield()
    }
  }

  private static func workBeginsCancelled(_ clock: some Clock<Duration>) async -> Bool {
    let began = AsyncStream.makeStream(of: Bool.self)
    TimeoutTask(timeout: .seconds(1), clock: clock) {
      began.continuation.yield(Task.isCancelled)
    }
    for await isCancelled in began.stream { return isCancelled }
    return false
  }

  @Test func withoutTimeTheWorkBeginsCancelled() async {
    for _ in 0..<1000 {
      let began = AsyncStream.makeStream(of: Bool.self)
      TimeoutTask(seconds: 0) { began.continuation.yield(Task.isCancelled) }
      for await isCancelled in began.stream {
        #expect(isCancelled)
        break
      }
    }
  }

  /// A task has the deadline if and only if the deadline cancels it.
  @Test func childTasksHaveTheDeadlineAndUnstructuredTasksHaveNone() async throws {
    @Sendable func hasDeadline() -> Bool { Deadline.current() != nil }
    for _ in 0..<testCount() / 20 {
      try await withTimeout(.seconds(3600)) {
        async let child = hasDeadline()
        async let unstructured = Task { hasDeadline() }.value
        async let immediate = Task.immediate { hasDeadline() }.value
        async let detached = Task.detached { hasDeadline() }.value
        let inGroup = await withTaskGroup(of: Bool.self) { group in
          for _ in 0..<4 {
            group.addTask {
              async let grandchild = hasDeadline()
              let stranger = await Task { hasDeadline() }.value
              return await grandchild && hasDeadline() && !stranger
            }
          }
          return await group.allSatisfy { $0 }
        }
        let found = await [child, unstructured, immediate, detached]
        #expect(found == [true, false, false, false])
        #expect(inGroup)
      }
    }
  }

  @Test func workOnAnActorStartsInOrderAndOnTheActor() async throws {
    for _ in 0..<20 { #expect(try await Sequence().run() == Array(0..<50)) }
  }

  private actor Sequence {
    var numbers: [Int] = []

    func run() async throws -> [Int] {
      let tasks = (0..<50).map { number in
        TimeoutTask(seconds: 60) {
          self.preconditionIsolated()
          self.numbers.append(number)
        }
      }
      for task in tasks { try await task.value }
      return numbers
    }
  }

  @Test(.blocksAThread) @MainActor func aDeadlineCancelsAnOperationThatKeepsItsActorBusy() async {
    await #expect(throws: TimeoutError.self) {
      try await withTimeout(.milliseconds(5)) {
        while !Task.isCancelled {}
        throw CancellationError()
      }
    }
  }

  @Test(.blocksAThread) func aTimeoutReachesWaitersWhileTheWorkKeepsItsActorBusy() async {
    let busy = Gate()
    let task = TimeoutTask(timeout: .milliseconds(5)) { @Busy in
      busy.open()
      while !Task.isCancelled {}
    }
    await busy.pass()
    await #expect(throws: TimeoutError.self) { try await task.value }
  }

  @globalActor private actor Busy {
    static let shared = Busy()
  }
}

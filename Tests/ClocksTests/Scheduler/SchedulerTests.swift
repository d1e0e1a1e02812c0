import ClocksSupport
import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// What a scheduler runs and what it leaves to others.
@Suite struct SchedulerTests {
  /// The scheduler on whose behalf the current job runs.
  private static var current: Scheduler? { Scheduler.ofThread }

  /// Starts a task that is unowned, because there is no clock yet. Its value says whether it is still unowned when the
  /// meeting has ended.
  private func waitingTask(for meeting: Meeting) async -> Task<Bool, Never> {
    let unowned = Task {
      await meeting.wait()
      return Self.current == nil
    }
    await meeting.isAttended()
    return unowned
  }

  @Test(.repeated(10))
  func anUnownedTaskThatAWokenTaskResumesStaysUnowned() async throws {
    let meeting = Meeting()
    let unowned = await waitingTask(for: meeting)
    let clock = TestClock()
    Task {
      try await clock.sleep(for: .seconds(1))
      meeting.end()
    }
    await clock.advance(by: .seconds(1))
    #expect(await unowned.value)
  }

  @Test(.repeated(10))
  func anUnownedTaskThatIsResumedAfterACancellationStaysUnowned() async throws {
    let meeting = Meeting()
    let unowned = await waitingTask(for: meeting)
    let clock = TestClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    Task {
      sleeper.cancel()
      meeting.end()
    }
    await clock.settle()
    #expect(await unowned.value)
    await #expect(throws: CancellationError.self) { try await sleeper.value }
  }

  @Test func aTaskOfAnotherTestThatSleepsOnTheClockStaysWithItsScheduler() async throws {
    let (clocks, giveClock) = AsyncStream<TestClock<Duration>>.makeStream()
    var isHome: Bool?
    await withKnownIssue {
      let (made, hasMade) = AsyncStream<Void>.makeStream()
      // Makes its own clock before this test does, as a task of another test would.
      let other = Task {
        let own = TestClock()
        hasMade.finish()
        for await clock in clocks {
          try? await clock.sleep(for: .seconds(1))
          return Self.current === own.scheduler
        }
        return false
      }
      for await _ in made {}
      let clock = TestClock()
      giveClock.yield(clock)
      try? await clock.waitForSleeps()
      await clock.advance(by: .seconds(1))
      isHome = await other.value
    } matching: { issue in
      issue.comments.first?.rawValue.contains("a task of another test") == true
    }
    #expect(isHome == true)
  }

  @Test(.blocksAThread) func anExternallyStartedJobEndsBeforeTheNextJob() async {
    let log = Log<String>()
    let (clocks, giveClock) = AsyncStream<TestClock<Duration>>.makeStream()
    let gate = DispatchSemaphore(value: 0)
    // High priority: however many tests wait for a thread, it gets one before the job that waits for it is reported.
    let external = await unownedTask(priority: .high) {
      for await clock in clocks {
        clock.scheduler.admitCurrentTask()
        gate.signal()
        // Gives the next job enough time to run, if it did not wait.
        busy(for: 300)
        log.add("the externally started job has ended")
        return
      }
    }
    let clock = TestClock()
    Task {
      giveClock.yield(clock)
      gate.block()
    }
    Task { log.add("the next job") }
    await clock.settle()
    await external.value
    #expect(log.all == ["the externally started job has ended", "the next job"])
  }

  @Test func anImmediateTaskStaysOwnedWhenAThreadResumesIt() async throws {
    let clock = TestClock()
    let task = Task.immediate {
      try await clock.sleep(for: .seconds(1))
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume() }
      }
      return Self.current === clock.scheduler
    }
    await clock.advance(by: .seconds(1))
    #expect(try await task.value)
  }

  // MARK: - What is not a runaway

  @Test func jobsAreCountedAnewWhenTimeHasMoved() async {
    let clock = TestClock()
    clock.scheduler.change { $0.runaway.limits = RunawayLimits(jobs: 200) }
    let ticker = Task {
      for _ in 0..<20 {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<30 { await Task.yield() }
      }
    }
    await clock.advance(by: .seconds(20))
    await #expect(throws: Never.self) { try await ticker.value }
  }

  @Test func wakesInAScopeAreCountedAnewWhenItsBodyRuns() async throws {
    try await withVirtualTime { time in
      time.scheduler.change { $0.runaway.limits = RunawayLimits(wakes: 50) }
      for _ in 0..<200 { try await Task.sleep(for: .seconds(1)) }
      #expect(time.now.offset == .seconds(200))
    }
  }

  // MARK: - Holding a scope's time

  @Test func aScopeIsNotStuckWhileItIsHeld() async throws {
    try await withVirtualTime(stuckAfter: .milliseconds(5)) { time in
      await time.holding { await realTimePasses(0.05) }
      #expect(!Task.isCancelled)
    }
  }

  @Test func aScopeContinuesWhenAnUnownedTaskEndsItsHold() async throws {
    let (scopes, giveScope) = AsyncStream<VirtualTime>.makeStream()
    let (holds, tell) = AsyncStream<Void>.makeStream()
    // Started before there is a scope, so it is unowned.
    let unowned = Task {
      for await time in scopes {
        await time.holding {
          tell.yield()
          // Until the body sleeps, and so only this task can make the scope continue.
          while time.clock.pendingSleeps.isEmpty { busy() }
        }
        return
      }
    }
    try await withVirtualTime { time in
      giveScope.yield(time)
      await time.holding { for await _ in holds { return } }
      try await Task.sleep(for: .seconds(1))
      #expect(time.now.offset == .seconds(1))
    }
    await unowned.value
  }

  // MARK: - A scope that begins in the queue of a busy actor

  private actor Place {
    /// Enters a scope while another task waits for this actor.
    ///
    /// So the scope's first job runs on behalf of the test whose task made the actor run.
    func enterScope() async throws -> Bool {
      Task { self.isEntered() }
      return try await withVirtualTime { time in
        let start = time.now
        try await Task.sleep(for: .seconds(3600))
        guard VirtualTime.current === time, start.duration(to: time.now) == .seconds(3600) else {
          return false
        }
        await time.holding {
          await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume() }
          }
        }
        return VirtualTime.current === time
      }
    }

    private func isEntered() { busy() }
  }

  @Test(.repeated(10))
  func aScopeThatBeginsOnABusyActorOwnsItsWholeBody() async throws {
    #expect(try await Place().enterScope())
  }

  /// The first jobs of two scopes run in one turn of the actor's queue; both are notified of its end.
  @Test(arguments: 0..<4)
  func scopesThatBeginOnABusyActorOwnTheirWholeBodies(_ repetition: Int) async throws {
    let place = Place()
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 { group.addTask { try await place.enterScope() } }
      while let isWhole = try await group.next() { #expect(isWhole) }
    }
  }

  @Test func aScopeThatBeginsOnAnActorThatATestKeepsBusyOwnsItsWholeBody() async throws {
    let clock = TestClock()
    let task = Task { try await Place().enterScope() }
    await clock.settle()
    #expect(try await task.value)
    let later = Log<Duration>()
    Task {
      try await clock.sleep(for: .seconds(1))
      later.add(clock.now.offset)
    }
    await clock.advance(by: .seconds(1))
    #expect(later.all == [.seconds(1)])
  }

  // MARK: - What a scope tells

  @Test func aScopeDescribesItsTimeAndItsSleeps() async throws {
    try await withVirtualTime { time in
      #expect(time.scheduler.scopeDescription == "It is 0.0 seconds. Pending sleeps: none")
      await time.advance(by: .seconds(1))
      Task(name: "tick") { try await Task.sleep(for: .seconds(2)) }
      await time.settle()
      let text = time.scheduler.scopeDescription
      #expect(
        text.hasPrefix(
          """
          It is 1.0 seconds. Pending sleeps:
            - until 3.0 seconds, since 1.0 seconds, task "tick" (#
          """))
      #expect(text.hasSuffix("), on ContinuousClock"))
    }
    #expect(TestClock().scheduler.scopeDescription == "")
  }

  @Test func leftoversThatSleepAgainAndAgainAreAFailure() async throws {
    let sleeps = Log<Task<Void, Never>>()
    let hasEnded = Tally()
    let issues = try await recordedIssues {
      try await withVirtualTime { time in
        let clock = time.clock
        Task {
          // This task is not cancelled: only the tasks that sleep for it are.
          while hasEnded.value == 0 {
            let sleep = Task { _ = try? await clock.sleep(for: .seconds(1)) }
            sleeps.add(sleep)
            await sleep.value
          }
        }
        await time.settle()
      }
    }
    #expect(issues.count == 1)
    #expect(
      issues.first?.message.hasPrefix(
        """
        withVirtualTime has cancelled the tasks that still slept when its operation returned, a \
        hundred times, but there is 1 sleep pending again:
        """) == true)
    #expect(sleeps.all.count == 101)
    hasEnded.add()
    sleeps.all.last?.cancel()
  }

  @Test func aSleepOfNoTimeInAScopeReturns() async throws {
    try await withVirtualTime(autoAdvance: false) { time in
      try await Task.sleep(for: .zero)
      try await Task.sleep(for: .seconds(-1))
      try await ContinuousClock().sleep(until: .now)
      try await SuspendingClock().sleep(until: .now.advanced(by: .seconds(-1)))
      #expect(time.now.offset == .zero)
    }
  }
}

/// Keeps the current thread busy for a moment.
private func busy(for milliseconds: UInt32 = 20) { usleep(1_000 * milliseconds) }

extension DispatchSemaphore {
  /// Waits, also where a task should not: here that is the point. On a busy machine others may have
  /// the threads for a minute.
  fileprivate func block() { _ = wait(timeout: .now() + 100) }
}

/// One task waits, and another one ends that.
private final class Meeting: Sendable {
  private let lock = Lock()
  nonisolated(unsafe) private var continuation: UnsafeContinuation<Void, Never>?
  private let attendance = AsyncStream<Void>.makeStream()

  func wait() async {
    await withUnsafeContinuation { continuation in
      lock.withLock { self.continuation = continuation }
      attendance.continuation.yield()
    }
  }

  func isAttended() async {
    for await _ in attendance.stream { return }
  }

  func end() {
    lock.withLock { continuation }?.resume()
  }
}

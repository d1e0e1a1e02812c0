import ClocksSupport
import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// Set before it is read.
private final class Box<Value>: @unchecked Sendable {
  var value: Value?
}

/// Why a protocol: a direct use of a deprecated name is a warning.
private protocol DeprecatedSleep {
  static func sleep(_ duration: UInt64) async
}

extension Task: DeprecatedSleep where Success == Never, Failure == Never {}

private func sleepWithoutCancellation(_ duration: UInt64) async {
  let deprecated: any DeprecatedSleep.Type = Task<Never, Never>.self
  await deprecated.sleep(duration)
}

/// A scope in which all time is virtual.
@Suite struct VirtualTimeTests {
  @Test func timeJumpsWhenNothingCanRun() async throws {
    let start = ContinuousClock.now
    try await withVirtualTime { time in
      #expect(time.now == .init())
      try await Task.sleep(for: .seconds(86_400))
      #expect(time.now.offset == .seconds(86_400))
      try await Task.sleep(nanoseconds: 1_000_000_000)
      #expect(time.now.offset == .seconds(86_401))
      try await ContinuousClock().sleep(for: .seconds(9))
      try await SuspendingClock().sleep(for: .seconds(10))
      #expect(time.now.offset == .seconds(86_420))
    }
    #expect(ContinuousClock.now - start < .seconds(3600))
  }

  @Test func everyKindOfTaskSleepsVirtually() async throws {
    actor Sleeper {
      func sleep() async throws { try await Task.sleep(for: .seconds(3600)) }
    }
    let log = Log<String>()
    try await withVirtualTime { time in
      async let child: Void = Task.sleep(for: .seconds(3600))
      let tasks = [
        Task { try await Task.sleep(for: .seconds(3600)) },
        Task.detached { try await Task.sleep(for: .seconds(3600)) },
        Task { @MainActor in try await Task.sleep(for: .seconds(3600)) },
        Task { try await Sleeper().sleep() },
        Task.immediate { try await Task.sleep(for: .seconds(3600)) },
        Task { try await time.clock.sleep(for: .seconds(3600)) },
        Task { try await TestClock().sleep(for: .seconds(3600)) },
      ]
      for task in tasks { try await task.value }
      try await child
      log.add("\(time.now)")
    }
    #expect(log.all == ["3600.0 seconds"])
  }

  @Test func equalDeadlinesWakeInTheOrderOfTheCalls() async throws {
    let log = Log<Int>()
    try await withVirtualTime { time in
      await withThrowingTaskGroup { group in
        for number in 0..<100 {
          group.addTask {
            try await Task.sleep(for: .seconds(1))
            log.add(number)
          }
        }
      }
      #expect(time.now.offset == .seconds(1))
    }
    #expect(log.all == Array(0..<100))
  }

  @MainActor @Test func theCallersIsolationIsKept() async throws {
    final class NotSendable { var ticks = 0 }
    let object = NotSendable()
    let result = try await withVirtualTime { time in
      MainActor.preconditionIsolated()
      try await Task.sleep(for: .seconds(1))
      MainActor.preconditionIsolated()
      object.ticks += 1
      return NotSendable()
    }
    #expect(object.ticks == 1)
    #expect(result.ticks == 0)
  }

  @Test func errorsPassThrough() async {
    struct Oops: Error {}
    await #expect(throws: Oops.self) {
      try await withVirtualTime { _ in
        try await Task.sleep(for: .seconds(1))
        throw Oops()
      }
    }
  }

  @Test func aCancelledSleepLeavesNothingBehind() async throws {
    try await withVirtualTime { time in
      let sleeper = Task { try await Task.sleep(for: .seconds(1_000)) }
      try await Task.sleep(for: .seconds(1))
      #expect(time.clock.pendingSleeps.count == 1)
      sleeper.cancel()
      await #expect(throws: CancellationError.self) { try await sleeper.value }
      #expect(time.clock.pendingSleeps.isEmpty)
      #expect(time.now.offset == .seconds(1))
      #expect(await time.advanceToNextSleep() == nil)
      // A race against a timeout: time must not jump to the deadline of the loser.
      try await withThrowingTaskGroup { group in
        group.addTask { try await Task.sleep(for: .seconds(2)) }
        group.addTask { try await Task.sleep(for: .seconds(500)) }
        try await group.next()
        group.cancelAll()
      }
      #expect(time.now.offset == .seconds(3))
    }
  }

  @Test func aTaskThatHasSleptIsFreed() async throws {
    final class Canary: Sendable {}
    nonisolated(unsafe) weak var canary: Canary?
    try await withVirtualTime { _ in
      let task = Task {
        try await Task.sleep(for: .seconds(1))
        return Canary()
      }
      canary = try await task.value
      #expect(canary != nil)
      withExtendedLifetime(task) {}
    }
    #expect(canary == nil)
  }

  /// Thread A begins a sleep; thread B cancels its task before thread A suspends it.
  ///
  /// The task continues immediately, and the runtime does not report the end of the sleep.
  @Test func aSleepThatIsCancelledBeforeTheTaskIsSuspendedLeavesNothingBehind() async throws {
    let log = Log<String>()
    try await withVirtualTime(autoAdvance: false) { time in
      let scheduler = time.clock.scheduler
      let captured = ThreadContext.capturingNextJob { Task { log.add("the sleep's job has run") } }
      let held = try #require(captured)
      let sleeper = Task {
        let task = UnownedTask.current!
        scheduler.enqueue(
          DelayedJob(job: held, task: task.job, delay: .seconds(1), clock: .continuous))
        withUnsafeCurrentTask { $0?.cancel() }
        #expect(time.clock.pendingSleeps.map(\.deadline.offset) == [.seconds(1)])
      }
      await sleeper.value
      #expect(time.clock.pendingSleeps.isEmpty)
      #expect(await time.advanceToNextSleep() == nil)
      #expect(log.all == [])
    }
    #expect(log.all == ["the sleep's job has run"])
  }

  /// The deprecated `Task.sleep(_:)` does not end when its task is cancelled.
  @Test(arguments: ["before", "during", "never"])
  func aSleepWithoutCancellationEndsAtItsDeadline(_ isCancelled: String) async throws {
    try await withVirtualTime { time in
      let sleeper = Task { await sleepWithoutCancellation(2_000_000_000) }
      if isCancelled == "before" { sleeper.cancel() }
      try await Task.sleep(for: .seconds(1))
      if isCancelled == "during" { sleeper.cancel() }
      await sleeper.value
      #expect(time.now.offset == .seconds(2))
    }
  }

  @Test func negativeTimesAreReportedAndNotUsed() async throws {
    let reports = Log<String>()
    let options = ScopeOptions(
      jumpsAfter: .seconds(-1), stuckAfter: .seconds(-2), runningLimit: .seconds(-3))
    try await VirtualTime(options, at: .here(), record: { reports.add($0) }).run { time in
      try await Task.sleep(for: .seconds(1))
      #expect(time.now.offset == .seconds(1))
    }
    #expect(
      reports.all == [
        """
        The times of a scope cannot be negative, but `jumpsAfter:` is -1.0 seconds and `stuckAfter:` is -2.0 seconds \
        and `runningLimit:` is -3.0 seconds. The standard value is used instead. Pass zero or more, or leave the \
        argument out.
        """
      ])
  }

  /// Its thread never ends, so all test cases share it.
  private static let loop = LoopExecutor(isSerial: false, pause: 20_000)

  /// From the end of the sleep until the task runs on its executor, nothing but the task's status shows that it will.
  @Test func timeDoesNotJumpBeforeATaskContinuesOnItsExecutor() async throws {
    try await withVirtualTime { time in
      let sleeper = Task(executorPreference: Self.loop) {
        await sleepWithoutCancellation(1_000_000_000)
        return time.now.offset
      }
      let other = Task { try await Task.sleep(for: .seconds(5)) }
      #expect(await sleeper.value == .seconds(1))
      try await other.value
    }
  }

  @Test func aSleepWithoutCancellationEndsWithItsScope() async throws {
    let log = Log<Duration>()
    try await withVirtualTime { time in
      Task {
        await sleepWithoutCancellation(10_000_000_000)
        log.add(time.now.offset)
      }
      try await Task.sleep(for: .seconds(1))
    }
    #expect(log.all == [.seconds(1)])
  }

  /// Threads cancel sleeps at random moments.
  @Test func threadsCancelSleepsAtAnyMoment() async throws {
    try await withVirtualTime(autoAdvance: false) { time in
      for round in 1...5_000 {
        let box = Box<Task<Void, Never>>()
        let sleeper = Task {
          DispatchQueue.global().async { box.value?.cancel() }
          for _ in 0..<(round * 7919 % 1_000) { _ = Task.isCancelled }
          await #expect(throws: CancellationError.self) { try await Task.sleep(for: .seconds(1)) }
        }
        box.value = sleeper
        await time.holding { await sleeper.value }
        #expect(time.clock.pendingSleeps.isEmpty)
      }
      #expect(time.now.offset == .zero)
    }
  }

  @Test func movingTimeByHand() async throws {
    let log = Log<String>()
    try await withVirtualTime(autoAdvance: false) { time in
      Task {
        for tick in 1...5 {
          try await Task.sleep(for: .seconds(1))
          log.add("\(tick)")
        }
      }
      await time.settle()
      #expect(log.all == [])
      await time.advance(by: .seconds(1))
      #expect(log.all == ["1"])
      await time.advance(to: .init(offset: .seconds(3)))
      #expect(log.all == ["1", "2", "3"])
      #expect(await time.advanceToNextSleep()?.offset == .seconds(4))
      #expect(await time.advance(upTo: .seconds(10), until: { log.all.count == 5 }))
      #expect(time.now.offset == .seconds(5))
      #expect(await !time.advance(upTo: .seconds(10), until: { log.all.count == 6 }))
      #expect(time.now.offset == .seconds(15))
    }
  }

  @Test func clocksInAScopeShareItsTime() async throws {
    try await withVirtualTime { time in
      let clock = TestClock()
      try await clock.sleep(for: .seconds(2))
      #expect(time.now.offset == .seconds(2))
      await clock.advance(by: .seconds(3))
      #expect(time.now.offset == .seconds(5))
      #expect(TestClock().now.offset == .seconds(5))
      #expect(VirtualTime.current === time)
    }
    #expect(VirtualTime.current == nil)
  }

  @Test func scopesNest() async throws {
    let log = Log<String>()
    try await withVirtualTime { outer in
      let other = Task {
        try await Task.sleep(for: .seconds(1))
        log.add("other at \(outer.now)")
      }
      try await withVirtualTime { inner in
        #expect(VirtualTime.current === inner)
        try await Task.sleep(for: .seconds(3600))
        #expect(inner.now.offset == .seconds(3600))
        #expect(outer.now.offset == .zero)
        log.add("inner over")
      }
      #expect(VirtualTime.current === outer)
      try await other.value
      #expect(outer.now.offset == .seconds(1))
    }
    #expect(log.all == ["inner over", "other at 1.0 seconds"])
  }

  @Test func aTestWithAClockMayOpenAScope() async throws {
    let clock = TestClock()
    let log = Log<String>()
    let ticker = Task {
      try await clock.sleep(for: .seconds(1))
      log.add("tick")
    }
    try await withVirtualTime { _ in try await Task.sleep(for: .seconds(100)) }
    #expect(clock.now.offset == .zero)
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["tick"])
    try await ticker.value
  }

  @Test(.repeated(200)) func parallelScopesDoNotAffectEachOther() async throws {
    let number = RepeatedTrait.number
    try await withVirtualTime { time in
      let counter = Counter()
      for second in 1...20 {
        Task {
          try await Task.sleep(for: .seconds(second * (number + 1)))
          await counter.incrementSlowly(yields: number % 5)
        }
      }
      await time.settle()
      for second in 1...20 {
        try await Task.sleep(for: .seconds(number + 1))
        #expect(await counter.count == second)
        #expect(time.now.offset == .seconds(second * (number + 1)))
      }
    }
  }

  @Test func timeDoesNotJumpDuringHolding() async throws {
    try await withVirtualTime { time in
      let ticker = Task { try await Task.sleep(for: .seconds(3600)) }
      await time.holding { await realTimePasses(0.02) }
      #expect(time.now.offset == .zero)
      try await ticker.value
      #expect(time.now.offset == .seconds(3600))
    }
  }

  @Test func timeDoesNotJumpBeforeThePauseIsOver() async throws {
    try await withVirtualTime(jumpsAfter: .seconds(600)) { time in
      let ticker = Task { try await Task.sleep(for: .seconds(3600)) }
      await realTimePasses(0.02)
      #expect(time.now.offset == .zero)
      ticker.cancel()
    }
  }

  @Test func timeJumpsAfterThePause() async throws {
    let start = RealTime(in: .zero)
    try await withVirtualTime(jumpsAfter: .milliseconds(20)) { time in
      try await Task.sleep(for: .seconds(3600))
      #expect(time.now.offset == .seconds(3600))
    }
    #expect(start.nanosecondsSince >= 20_000_000)
  }

  @Test func sleepsFromOutsideWorkCanBeWaitedFor() async throws {
    try await withVirtualTime { time in
      let clock = time.clock
      onAThread(after: 0.01) {
        Task { try await clock.sleep(for: .seconds(1)) }
      }
      try await time.waitForSleeps(timeout: .seconds(600))
      #expect(time.now.offset == .zero)
      #expect(clock.pendingSleeps.count == 1)
    }
  }

  @Test func leftoverSleepsAreCancelled() async throws {
    let log = Log<String>()
    try await withVirtualTime { time in
      for _ in 0..<3 {
        Task {
          do { try await Task.sleep(for: .seconds(1)) } catch { log.add("\(type(of: error))") }
        }
      }
      Task {
        do { try await time.clock.sleep(for: .seconds(1)) } catch { log.add("\(type(of: error))") }
      }
      Task {
        // This clock's time moves only when it is advanced.
        let clock = TestClock(now: .init(offset: .seconds(5)))
        do { try await clock.sleep(for: .seconds(1)) } catch { log.add("\(type(of: error))") }
      }
      await time.settle()
    }
    #expect(log.all == Array(repeating: "CancellationError", count: 5))
  }

  @Test func aSleepOnAnotherClockOfTheScopeIsALeftover() async throws {
    let issues = try await recordedIssues {
      try await withVirtualTime(leftoverSleeps: .fail) { time in
        let clock = TestClock(now: .init(offset: .seconds(5)))
        Task(name: "poll") { try await clock.sleep(for: .seconds(2)) }
        await time.settle()
      }
    }
    #expect(issues.count == 1)
    #expect(
      issues.first?.message.contains("until 7.0 seconds, since 5.0 seconds, task \"poll\"") == true)
  }

  @Test func leftoverSleepsCanBeAFailure() async throws {
    let line: Int = #line + 2
    let issues = try await recordedIssues {
      try await withVirtualTime(leftoverSleeps: .fail) { time in
        await time.advance(by: .seconds(1))
        Task(name: "heartbeat") { try await Task.sleep(for: .seconds(2)) }
      }
    }
    #expect(issues.map(\.line) == [line])
    let text = issues.first?.message ?? ""
    #expect(
      text.hasPrefix(
        """
        withVirtualTime expects that no task sleeps any more when its operation returns, but at \
        1.0 seconds there is 1 sleep pending:
          - until 3.0 seconds, since 1.0 seconds, task "heartbeat" (#
        """))
    #expect(
      text.withoutDump.hasSuffix(
        """
        ), on ContinuousClock
        Await those tasks or cancel them before the operation returns.
        """))
  }

  @Test func aDayOfPollingTakesADayOfVirtualTime() async throws {
    try await withVirtualTime { time in
      let poller = Task { for _ in 1...86_400 { try await Task.sleep(for: .seconds(1)) } }
      try await poller.value
      #expect(time.now.offset == .seconds(86_400))
    }
  }

  // MARK: - Failures

  @Test func failuresNameTheMethodsOfTheScope() async throws {
    let issues = try await recordedIssues {
      try await withVirtualTime { time in
        await time.advance(by: .nanoseconds(1))
        await time.advance(by: .seconds(-1))
        await time.advance(to: .init())
        await time.advance(upTo: .seconds(-1)) { true }
      }
    }
    #expect(
      issues.map { String($0.message.prefix { $0 != "," }) } == [
        "VirtualTime.advance(by:) expects a duration of zero or more",
        "VirtualTime.advance(to:) expects an instant that is not in the past",
        "VirtualTime.advance(upTo:until:) expects a limit of zero or more",
      ])
    #expect(issues.allSatisfy { $0.message.contains("at 0.000000001 seconds") })
  }

  @Test func aScopeThatIsStuckIsAFailure() async throws {
    let line: Int = #line + 3
    let issues = try await recordedIssues {
      do {
        try await withVirtualTime(stuckAfter: .milliseconds(50)) { time in
          try await Task.sleep(for: .seconds(3))
          for await _ in AsyncStream<Int>.makeStream().stream {}
          try Task.checkCancellation()
        }
      } catch is CancellationError {}
    }
    #expect(issues.map(\.line) == [line])
    #expect(
      issues.map(\.message.withoutDump) == [
        """
        withVirtualTime is stuck at 3.0 seconds: for 0.05 seconds of real time nothing could run, \
        no sleep was pending, and its operation was not finished. Its tasks wait for each other \
        (a deadlock), or for a wake-up that was lost (a continuation or a stream that no code resumes or \
        finishes), or for work outside the scope: put only the last into \
        `time.holding { … }`. The operation has been cancelled.
        """
      ])
  }

  @Test func aSleepOnTheClockOfTheOuterScopeIsNamed() async throws {
    let reports = Log<String>()
    let options = ScopeOptions(stuckAfter: .milliseconds(50))
    try await withVirtualTime { outer in
      try await VirtualTime(options, at: .here(), record: reports.add).run { _ in
        await #expect(throws: CancellationError.self) {
          try await outer.clock.sleep(for: .seconds(2))
        }
      }
    }
    #expect(reports.all.count == 1)
    #expect(reports.all.first?.contains("\n" + ScopeProblem.sleepsOutside) == true)
  }

  @Test func aStuckScopeThatIgnoresCancellationIsReportedWhileItRuns() async throws {
    let reports = Log<String>()
    let (stream, source) = AsyncStream<Int>.makeStream()
    let report = { @Sendable (text: String) in
      reports.add(text)
      // Only this ends the loop.
      source.finish()
    }
    let options = ScopeOptions(stuckAfter: .milliseconds(20))
    try await VirtualTime(options, at: .here(), record: report).run { _ in
      let task = Task { for await _ in stream {} }
      await task.value
    }
    #expect(reports.all.count == 1)
    #expect(reports.all.first?.hasPrefix("withVirtualTime is stuck at 0.0 seconds") == true)
    #expect(
      reports.all.first?.withoutDump.hasSuffix(
        """
        It is still not over: it awaits something that does not react to cancellation, for example the value of another task. So all its tasks have been cancelled, too.
        """) == true)
  }

  @Test(.blocksAThread) func aScopeThatWaitsForABusyTestIsNotStuck() async throws {
    let reports = Log<String>()
    let options = ScopeOptions(stuckAfter: .milliseconds(100), runningLimit: .seconds(600))
    try await VirtualTime(options, at: .here(), record: reports.add).run { _ in
      await withCheckedContinuation { continuation in
        let isBusy = DispatchSemaphore(value: 0)
        onAThread {
          Task.detached {
            // This job makes the detached task a test that is busy for longer than the limit.
            let clock = TestClock()
            isBusy.signal()
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.4)
            continuation.resume()
            withExtendedLifetime(clock) {}
          }
        }
        isBusy.wait()
      }
    }
    #expect(reports.all == [])
  }

  @Test func aVirtualSleepWithinHoldingIsAFailure() async throws {
    let reports = Log<String>()
    let options = ScopeOptions(heldFor: .milliseconds(50))
    await #expect(throws: CancellationError.self) {
      try await VirtualTime(options, at: .here(), record: reports.add).run { time in
        try await Task.sleep(for: .seconds(2))
        try await time.holding { try await Task.sleep(for: .seconds(1)) }
      }
    }
    #expect(reports.all.count == 1)
    #expect(
      reports.all.first?.withoutDump.hasPrefix(
        """
        withVirtualTime is stuck at 2.0 seconds: for 0.05 seconds of real time nothing could run, \
        and `holding` keeps time from jumping. If the code in `holding` sleeps in virtual time, the \
        sleep and `holding` wait for each other: put only real work into it. The operation has been \
        cancelled. Pending sleeps:
          - until 3.0 seconds, since 2.0 seconds, task #
        """) == true)
  }

  @Test func holdingMayTakeLongIfNothingSleeps() async throws {
    let reports = Log<String>()
    let options = ScopeOptions(heldFor: .milliseconds(20))
    try await VirtualTime(options, at: .here(), record: reports.add).run { time in
      await time.holding { await realTimePasses(0.1) }
    }
    #expect(reports.all == [])
  }

  @Test func aScopeInWhichNoTaskMovesTimeIsAFailure() async throws {
    let issues = try await recordedIssues {
      try? await withVirtualTime(autoAdvance: false, stuckAfter: .milliseconds(50)) { _ in
        try await Task.sleep(for: .seconds(3))
      }
    }
    #expect(issues.count == 1)
    #expect(
      issues.first?.message.contains(
        "no task has moved time. With `autoAdvance: false`, time does not move by itself: call "
          + "`time.advance(by:)`, or leave the option out. The operation has been cancelled. "
          + "Pending sleeps:\n  - until 3.0 seconds, since 0.0 seconds, task #") == true)
  }

  @Test func aTimerThatNeverEndsIsAFailure() async throws {
    let issues = try await recordedIssues {
      let options = ScopeOptions(limits: RunawayLimits(wakes: 1_000))
      try? await VirtualTime(options, at: .here()).run { _ in
        Task {
          while true { try await Task.sleep(for: .seconds(1)) }
        }
        for await _ in AsyncStream<Int>.makeStream().stream {}
      }
    }
    #expect(
      issues.map(\.message.withoutDump) == [
        """
        withVirtualTime gave up at 1000.0 seconds, because the test does not become idle: 1000 \
        sleeps have woken. A task sleeps in an endless loop: cancel it. If that loop is meant to go on, \
        the test waits for something that never comes: look for it among the other tasks. The operation \
        has been cancelled.
        """
      ])
  }

  @Test func aTaskThatYieldsForEverIsAFailure() async throws {
    let ends = Tally()
    let issues = try await recordedIssues {
      let options = ScopeOptions(limits: RunawayLimits(jobs: 1_000))
      try? await VirtualTime(options, at: .here()).run { _ in
        Task {
          while !Task.isCancelled { await Task.yield() }
          ends.add()
        }
        try await Task.sleep(for: .seconds(1))
      }
    }
    #expect(ends.value == 1)
    #expect(issues.count == 1)
    #expect(
      issues.first?.message.hasPrefix(
        """
        withVirtualTime gave up at 0.0 seconds, because the test does not become idle: 1000 jobs \
        have run without time moving, the last one of task #
        """) == true)
  }
}

import Foundation
import Testing

@testable import Clocks

/// The methods of `TestClock` that the table of semantics does not cover.
@Suite struct TestClockTests {
  let clock = TestClock()

  @Test func advanceToNextSleepWakesDueSleepsAndReturnsTheDeadline() async {
    let log = Log<Int>()
    for seconds in [2, 1, 2] {
      Task { [clock] in
        try await clock.sleep(for: .seconds(seconds))
        log.add(seconds)
      }
    }
    #expect(await clock.advanceToNextSleep()?.offset == .seconds(1))
    #expect(log.all == [1])
    #expect(await clock.advanceToNextSleep()?.offset == .seconds(2))
    #expect(log.all == [1, 2, 2])
    #expect(await clock.advanceToNextSleep() == nil)
    #expect(clock.now.offset == .seconds(2))
  }

  @Test func runWakesEverySleep() async {
    let log = Log<Swift.Duration>()
    Task { [clock] in
      for days in 1...100 {
        try await clock.sleep(for: .seconds(86_400 * days))
        log.add(clock.now.offset)
      }
    }
    await clock.run()
    #expect(log.all.count == 100)
    #expect(clock.now.offset == .seconds(86_400 * 5050))
    #expect(clock.pendingSleeps.isEmpty)
  }

  @Test func runThatNeverEndsIsAFailureThatNamesTheSleep() async {
    let clock = clock
    let task = Task(name: "poll") {
      while true { try await clock.sleep(for: .seconds(1)) }
    }
    let line: Int = #line + 2
    await withKnownIssue {
      await clock.run(timeout: .milliseconds(5))
    } matching: { issue in
      let text = issue.comments.first?.rawValue ?? ""
      return issue.sourceLocation?.line == line
        && text.contains("after 0.005 seconds of real time")
        && text.contains("there still is one:\n  - until ")
        && text.contains("task \"poll\" (#")
    }
    #expect(clock.pendingSleeps.count == 1)
    task.cancel()
  }

  @Test func timeWithoutAThreadDoesNotCountForRun() async throws {
    let clock = clock
    let task = Task {
      for wake in 1...100 {
        try await clock.sleep(for: .seconds(1))
        guard wake == 10 else { continue }
        clock.scheduler.change {
          $0.activity.waitedForThread(nanoseconds: 3_600_000_000_000)
        }
      }
    }
    await clock.run(timeout: .zero)
    #expect(clock.now.offset == .seconds(100))
    try await task.value
  }

  @Test func theSchedulerKnowsHowLongItHasWaitedForThreads() async {
    let scheduler = clock.scheduler
    var waits: [UInt64] = []
    for _ in 1...3 {
      waits.append(scheduler.change { $0.activity.nanosecondsWithoutThread })
      await withCheckedContinuation { continuation in
        onAThread {
          // Until the test is suspended.
          while !scheduler.change({ $0.idleness.askWhetherIdle() }) { usleep(100) }
          continuation.resume()
        }
      }
    }
    #expect(waits[0] < waits[1] && waits[1] < waits[2])
  }

  @Test func checkSuspensionNamesThePendingSleeps() async throws {
    let clock = clock
    await clock.advance(by: .seconds(1))
    let task = Task(name: "heartbeat") { try await clock.sleep(for: .seconds(2)) }
    let error = await #expect(throws: SuspensionError.self) { try await clock.checkSuspension() }
    let sleep = try #require(clock.pendingSleeps.first)
    #expect(
      error?.description.withoutDump == """
        Expected that no task sleeps any more, but at 1.0 seconds there is 1 sleep pending on the \
        clock:
          - until 3.0 seconds, since 1.0 seconds, task "heartbeat" (#\(sleep.taskID))
        Advance the clock as far as the last deadline, or cancel the task that sleeps.
        """)
    task.cancel()
  }

  @Test func descriptionsSayTimeAndSleeps() async throws {
    let clock = clock
    #expect(clock.description == "TestClock at 0.0 seconds, no pending sleep")
    #expect(clock.debugDescription == clock.description)
    let tasks = [
      Task(name: "late") { try await clock.sleep(for: .seconds(5)) },
      Task { try await clock.sleep(for: .seconds(2)) },
    ]
    await clock.advance(by: .seconds(1))
    let ids = clock.pendingSleeps.map(\.taskID)
    #expect(clock.description == "TestClock at 1.0 seconds, 2 pending sleeps")
    #expect(
      clock.debugDescription.withoutDump == """
        TestClock at 1.0 seconds, 2 pending sleeps:
          - until 2.0 seconds, since 0.0 seconds, task #\(ids[0])
          - until 5.0 seconds, since 0.0 seconds, task "late" (#\(ids[1]))
        """)
    for task in tasks { task.cancel() }
  }

  @Test func acceptsCustomDurations() async {
    let clock = TestClock<Beats>(now: .init(offset: Beats(count: 7)))
    let log = Log<Int>()
    Task {
      for _ in 0..<4 {
        try await clock.sleep(for: Beats(count: 4))
        log.add(clock.now.offset.count)
      }
    }
    await clock.advance(by: Beats(count: 9))
    #expect(log.all == [11, 15])
  }

  @Test func customDurationsTakeAllTurnsOfASleep() async throws {
    let clock = TestClock<Minutes>()
    var registrations = clock.sleepRegistrations().makeAsyncIterator()
    await clock.advance(by: Minutes(count: 1))
    try await clock.sleep(until: .init(offset: Minutes(count: 1)))
    let sleeper = Task {
      try await clock.sleep(until: .init(offset: Minutes(count: 2.5)), tolerance: Minutes(count: 1))
    }
    let other = Task { try await clock.sleep(for: Minutes(count: 1)) }
    try await clock.waitForSleeps(atLeast: 2)
    #expect(await registrations.next()?.deadline.offset == Minutes(count: 2.5))
    #expect(await registrations.next()?.deadline.offset == Minutes(count: 2))
    #expect(clock.pendingSleeps.map(\.tolerance) == [nil, Minutes(count: 1)])
    #expect(clock.pendingSleeps.map(\.number) == [1, 0])
    other.cancel()
    await #expect(throws: CancellationError.self) { try await other.value }
    #expect(await clock.advanceToNextSleep()?.offset == Minutes(count: 2.5))
    try await sleeper.value
    await clock.run()
    #expect(clock.now.offset == Minutes(count: 2.5))
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(until: .init(offset: Minutes(count: 1)))
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    clock.checkInvariants()
  }

  /// A thread may cancel a task between its check for cancellation and the registration of its sleep.
  @Test(arguments: [true, false])
  func aSleepThatIsCancelledBeforeItIsRegisteredThrows(_ isFast: Bool) async {
    let clock = clock
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      let sleep = ClockSleep(
        taskID: UnownedTask.currentID!, deadline: .seconds(1), tolerance: nil, isOwn: true)
      if isFast, clock.scheduler.usesFastWay {
        try await clock.scheduler.sleep(sleep, on: clock.virtualClock)
      } else {
        try await clock.scheduler.sleepOnNoActor(sleep, on: clock.virtualClock)
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.pendingSleeps.isEmpty)
    clock.checkInvariants()
  }

  @Test func clocksAreTheirOwnIdentity() {
    let other = TestClock()
    #expect(clock.id == clock.id)
    #expect(clock.id != other.id)
  }

  @Test func twoClocksOfATestShareOneSchedulerAndNotTheirTime() async {
    let fast = clock
    let slow = TestClock()
    #expect(fast.scheduler === slow.scheduler)
    let log = Log<String>()
    Task {
      try await fast.sleep(for: .seconds(1))
      log.add("fast")
      try await slow.sleep(for: .seconds(1))
      log.add("slow")
    }
    await fast.advance(by: .seconds(10))
    #expect(log.all == ["fast"])
    #expect(slow.now.offset == .zero)
    await slow.advance(by: .seconds(1))
    #expect(log.all == ["fast", "slow"])
  }

  // MARK: - waitForSleeps

  @Test func waitForSleepsReturnsImmediatelyIfEnoughArePending() async throws {
    let clock = clock
    let tasks = (0..<3).map { _ in Task { try await clock.sleep(for: .seconds(1)) } }
    await clock.settle()
    try await clock.waitForSleeps(atLeast: 3)
    try await clock.waitForSleeps(atLeast: 0)
    try await clock.waitForSleeps(atLeast: -1)
    for task in tasks { task.cancel() }
  }

  @Test func waitForSleepsThrowsAfterTheTimeout() async throws {
    let clock = clock
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    let error = await #expect(throws: SleepArrivalError.self) {
      try await clock.waitForSleeps(atLeast: 2, timeout: .milliseconds(10))
    }
    #expect(error?.expected == 2)
    #expect(error?.pendingSleeps.count == 1)
    task.cancel()
  }

  @Test func waitForSleepsThrowsAfterANegativeTimeout() async throws {
    let clock = clock
    for timeout in [Duration.seconds(-1), .seconds(-1e20), Duration(attoseconds: .min)] {
      let error = await #expect(throws: SleepArrivalError.self) {
        try await clock.waitForSleeps(timeout: timeout)
      }
      #expect(error?.expected == 1)
      #expect(error?.timeout == timeout)
    }
  }

  @Test func waitForSleepsNamesTheTasksThatSleepInRealTime() async throws {
    let clock = clock
    let task = Task {
      try await Task.sleep(for: .seconds(3600))
      try await clock.sleep(for: .seconds(1))
    }
    await clock.settle()
    let error = await #expect(throws: SleepArrivalError.self) {
      try await clock.waitForSleeps(timeout: .milliseconds(1))
    }
    let text = error?.description ?? ""
    #expect(text.contains("there is 1 task asleep on one of the runtime's real clocks"), "\(text)")
    #expect(text.contains(/task #\d+ for 3(600\.0|5\d\d\.\d) seconds more/), "\(text)")
    #expect(text.contains("Inject this clock there"), "\(text)")
    task.cancel()
  }

  @Test func waitForSleepsCanBeCancelled() async throws {
    let clock = clock
    let task = Task { try await clock.waitForSleeps() }
    await clock.settle()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.scheduler.change { _ in clock.virtualClock.waiters.isEmpty })
  }
}

import ClocksSupport
import Dispatch
import Foundation
import Testing

@testable import Clocks

/// One test for each row of the table of semantics, named after it.
@Suite struct SemanticsTests {
  let clock = TestClock()

  // MARK: - Order of wakes

  @Test func orderOfWakesIsByDeadlineThenByRegistration() async {
    let log = Log<String>()
    for (name, seconds) in [("a", 3), ("b", 1), ("c", 2), ("d", 1), ("e", 3), ("f", 2)] {
      Task { [clock] in
        try await clock.sleep(for: .seconds(seconds))
        log.add(name)
      }
    }
    await clock.advance(by: .seconds(3))
    #expect(log.all == ["b", "d", "c", "f", "a", "e"])
  }

  @Test func aWakeIsSettledBeforeTheNext() async {
    let log = Log<String>()
    let counter = Counter()
    for name in ["a", "b"] {
      Task { [clock] in
        try await clock.sleep(for: .seconds(1))
        log.add("\(name) woke")
        await counter.incrementSlowly(yields: 100)
        log.add("\(name) done")
      }
    }
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["a woke", "a done", "b woke", "b done"])
  }

  @Test func aWokenTaskCanCancelAPeerThatIsDueAtTheSameInstant() async {
    let log = Log<String>()
    let clock = clock
    // The first task to sleep wakes first, so it has to receive a task that is started later.
    let peers = AsyncStream<Task<Void, Never>>.makeStream()
    Task {
      var iterator = peers.stream.makeAsyncIterator()
      try await clock.sleep(for: .seconds(1))
      await iterator.next()?.cancel()
      log.add("first at \(clock.now)")
    }
    let peer = Task {
      do {
        try await clock.sleep(for: .seconds(1))
        log.add("peer woke")
      } catch {
        log.add("peer cancelled")
      }
    }
    peers.continuation.yield(peer)
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["first at 1.0 seconds", "peer cancelled"])
    #expect(clock.pendingSleeps.isEmpty)
  }

  // MARK: - Sleeps registered during an advance

  @Test func sleepsRegisteredDuringAnAdvanceWakeInItAtTheirOwnDeadline() async {
    let log = Log<String>()
    Task { [clock] in
      try await clock.sleep(for: .seconds(1))
      log.add("outer \(clock.now)")
      Task {
        try await clock.sleep(for: .milliseconds(1500))
        log.add("inner \(clock.now)")
      }
      try await clock.sleep(for: .seconds(1))
      log.add("outer \(clock.now)")
      try await clock.sleep(for: .seconds(10))
      log.add("too early")
    }
    await clock.advance(by: .seconds(3))
    #expect(log.all == ["outer 1.0 seconds", "outer 2.0 seconds", "inner 2.5 seconds"])
    #expect(clock.now.offset == .seconds(3))
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(12)])
  }

  // MARK: - now seen by a woken task

  @Test func nowSeenByAWokenTaskIsExactlyItsDeadline() async {
    let log = Log<Bool>()
    for nanoseconds in [1, 999, 1_000_000_007, 2_999_999_999] {
      Task { [clock] in
        let deadline = clock.now.advanced(by: .nanoseconds(nanoseconds))
        try await clock.sleep(until: deadline)
        log.add(clock.now == deadline)
        await Task.yield()
        log.add(clock.now == deadline)
      }
    }
    await clock.advance(by: .seconds(3))
    #expect(log.all == Array(repeating: true, count: 8))
  }

  // MARK: - Deadline in the past or equal to now

  @Test func aDeadlineThatIsNotInTheFutureReturnsWithoutAnAdvance() async throws {
    await clock.advance(by: .seconds(5))
    try await clock.sleep(until: clock.now)
    try await clock.sleep(until: .init(offset: .seconds(1)))
    try await clock.sleep(for: .zero)
    try await clock.sleep(for: .seconds(-1))
    #expect(clock.now.offset == .seconds(5))
  }

  @Test func cancellationIsCheckedBeforeADeadlineInThePast() async {
    let clock = clock
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(until: .init(offset: .seconds(-1)))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  // MARK: - Cancel

  @Test func cancelBeforeTheWaitThrowsImmediatelyAndLeavesNothingBehind() async {
    let clock = clock
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.pendingSleeps.isEmpty)
    #expect(clock.now.offset == .zero)
  }

  @Test func cancelDuringTheWaitThrowsImmediatelyAndLeavesNothingBehind() async {
    let log = Log<String>()
    let task = Task { [clock] in
      do {
        try await clock.sleep(for: .seconds(1))
      } catch {
        log.add("\(type(of: error)) at \(clock.now)")
      }
    }
    await clock.advance(by: .milliseconds(500))
    #expect(clock.pendingSleeps.count == 1)
    task.cancel()
    #expect(clock.pendingSleeps.isEmpty)
    await clock.settle()
    #expect(log.all == ["CancellationError at 0.5 seconds"])
    clock.checkInvariants()
  }

  @Test func cancelAfterTheWakeLetsTheSleepReturnNormally() async {
    let log = Log<String>()
    let clock = clock
    let sleeper = Task {
      do {
        try await clock.sleep(for: .seconds(1))
        log.add("returned, cancelled: \(Task.isCancelled)")
      } catch {
        log.add("threw")
      }
    }
    Task {
      try await clock.sleep(for: .seconds(1))
      sleeper.cancel()
    }
    await clock.settle()
    // The sleeper wakes; before it runs, the other task wakes and runs first.
    clock.scheduler.change { $0.order.chooser = LastJob() }
    await clock.advance(by: .seconds(1))
    clock.scheduler.change { $0.order.chooser = nil }
    #expect(log.all == ["returned, cancelled: true"])
  }

  /// Wakes the first sleep that is due, and runs the job that was queued last.
  private final class LastJob: Chooser {
    func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int {
      if case .sleep = candidates[0] { 0 } else { candidates.count - 1 }
    }
  }

  // MARK: - Several advances

  @Test func twoConcurrentAdvancesAreQueuedAndAddUp() async {
    async let first: Void = clock.advance(by: .seconds(1))
    async let second: Void = clock.advance(by: .seconds(1))
    _ = await (first, second)
    #expect(clock.now.offset == .seconds(2))
  }

  @Test func aHundredConcurrentAdvancesAddUp() async {
    let log = Log<Swift.Duration>()
    Task { [clock] in
      for _ in 0..<100 {
        try await clock.sleep(for: .seconds(1))
        log.add(clock.now.offset)
      }
    }
    await withTaskGroup { group in
      for _ in 0..<100 { group.addTask { await clock.advance(by: .seconds(1)) } }
    }
    #expect(clock.now.offset == .seconds(100))
    #expect(log.all == (1...100).map { .seconds($0) })
  }

  @Test func anAdvanceFromAWokenTaskIsQueuedBehindTheRunningOne() async {
    let log = Log<String>()
    let inner = Task { [clock] in
      try await clock.sleep(for: .seconds(1))
      log.add("woken at \(clock.now)")
      await clock.advance(by: .seconds(10))
      log.add("inner done at \(clock.now)")
    }
    await clock.advance(by: .seconds(5))
    log.add("outer done at \(clock.now)")
    try? await inner.value
    #expect(
      log.all == [
        "woken at 1.0 seconds", "outer done at 5.0 seconds", "inner done at 15.0 seconds",
      ])
  }

  @Test func aSettleFromAWokenTaskReturnsBeforeTimeMovesOn() async {
    let log = Log<String>()
    let clock = clock
    Task {
      try await clock.sleep(for: .seconds(1))
      Task { log.add("started by the woken task") }
      await clock.settle()
      log.add("settled at \(clock.now)")
    }
    Task {
      try await clock.sleep(for: .seconds(2))
      log.add("second at \(clock.now)")
    }
    await clock.advance(by: .seconds(2))
    #expect(
      log.all == ["started by the woken task", "settled at 1.0 seconds", "second at 2.0 seconds"])
  }

  // MARK: - Backwards

  @Test func anAdvanceByANegativeDurationIsAFailureAndTimeStays() async {
    await clock.advance(by: .seconds(3))
    let line: Int = #line + 2
    await withKnownIssue {
      await clock.advance(by: .seconds(-1))
    } matching: { issue in
      issue.sourceLocation?.line == line
        && issue.comments.map(\.rawValue) == [
          """
          TestClock.advance(by:) expects a duration of zero or more, but got -1.0 seconds. \
          Time stays at 3.0 seconds: a clock does not run backwards. \
          Make a new clock to start again.
          """
        ]
    }
    #expect(clock.now.offset == .seconds(3))
  }

  @Test func anAdvanceToThePastIsAFailureAndTimeStays() async {
    await clock.advance(by: .seconds(3))
    let line: Int = #line + 2
    await withKnownIssue {
      await clock.advance(to: .init(offset: .seconds(2)))
    } matching: { issue in
      issue.sourceLocation?.line == line
        && issue.comments.map(\.rawValue) == [
          """
          TestClock.advance(to:) expects an instant that is not in the past, but got 2.0 seconds. \
          Time stays at 3.0 seconds: a clock does not run backwards. \
          Make a new clock to start again.
          """
        ]
    }
    #expect(clock.now.offset == .seconds(3))
  }

  @Test func aRunWithANegativeTimeoutIsAFailureAndTimeStays() async {
    await clock.advance(by: .seconds(3))
    let clock = clock
    let task = Task { try? await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    let line: Int = #line + 2
    await withKnownIssue {
      await clock.run(timeout: .seconds(-1))
    } matching: { issue in
      issue.sourceLocation?.line == line
        && issue.comments.map(\.rawValue) == [
          """
          TestClock.run(timeout:) expects a timeout of zero or more, but got -1.0 seconds. \
          Time stays at 3.0 seconds. Pass the real time that the call may take, or leave the argument out.
          """
        ]
    }
    #expect(clock.now.offset == .seconds(3))
    #expect(clock.pendingSleeps.count == 1)
    await clock.run()
    await task.value
  }

  // MARK: - The ends of the range

  @Test func theLongestSleepDoesNotTrapAndIsNeverDue() async {
    let longest = Swift.Duration(attoseconds: .max)
    let clock = TestClock(now: .init(offset: .seconds(1)))
    let task = Task { try await clock.sleep(for: longest) }
    await clock.advance(by: .seconds(Int64.max))
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [longest])
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func anAdvanceBeyondTheEndOfTheRangeStopsThere() async {
    let longest = Swift.Duration(attoseconds: .max)
    await clock.advance(by: longest)
    await clock.advance(by: longest)
    #expect(clock.now.offset == longest)
  }

  @Test func aClockAtTheStartOfTheRangeWorks() async {
    let clock = TestClock(now: .init(offset: Swift.Duration(attoseconds: .min)))
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    await #expect(throws: Never.self) { try await task.value }
  }

  // MARK: - Tolerance

  @Test func toleranceIsIgnoredForWakingAndVisible() async {
    let log = Log<String>()
    let clock = clock
    Task {
      try await clock.sleep(until: .init(offset: .seconds(2)), tolerance: .seconds(5))
      log.add("tolerant")
    }
    Task {
      try await clock.sleep(until: .init(offset: .seconds(3)))
      log.add("strict")
    }
    await clock.settle()
    #expect(clock.pendingSleeps.map(\.tolerance) == [.seconds(5), nil])
    await clock.advance(by: .seconds(2))
    #expect(log.all == ["tolerant"])
  }

  // MARK: - Parallel tests are independent

  @Test(.repeated(50)) func clocksInParallelTestsAreIndependent() async {
    let number = RepeatedTrait.number
    let log = Log<Int>()
    for _ in 0..<10 {
      Task { [clock] in
        for tick in 1...10 {
          try await clock.sleep(for: .seconds(number + 1))
          log.add(tick)
        }
      }
    }
    for tick in 1...10 {
      await clock.advance(by: .seconds(number + 1))
      #expect(log.all.count == tick * 10)
    }
    #expect(log.all == (1...10).flatMap { Array(repeating: $0, count: 10) })
  }

  // MARK: - External work

  @Test func externalWorkIsNotSeenAndCanBeAwaited() async throws {
    let clock = clock
    let mayBegin = Tally()
    onAThread {
      while mayBegin.value == 0 { usleep(1_000) }
      Task { try await clock.sleep(for: .seconds(1)) }
    }
    await clock.settle()
    #expect(clock.pendingSleeps.isEmpty)
    mayBegin.add()
    try await clock.waitForSleeps(timeout: .seconds(600))
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(1)])
    await clock.advance(by: .seconds(1))
    #expect(clock.pendingSleeps.isEmpty)
  }
}
